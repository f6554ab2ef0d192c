/*
 * view_choice.h - the options of a view.
 *
 * A chain in a script writes .by("alloc_space").nodecount(20), and a text in
 * SQL 'by=alloc_space; nodecount=20'.
 */
#ifndef HW_VIEW_CHOICE_H
#define HW_VIEW_CHOICE_H

#include <stddef.h>

#include "reader.h"
#include "view_options.h"

struct arena;
struct error;

enum {
    CHOICE_COUNT_MAX = 1000000, /* largest nodecount, maxdegree, top */
    CHOICE_SECONDS_MAX = 3600,
    CHOICE_TEXT_MAX = 4096 /* bytes of the text in SQL */
};

struct view_choice {
    bool force;       /* compare snapshots that do not match */
    uint32_t seconds; /* SQL's: what grows within them; 0: none */
    struct view_options options;
};

/* The value of an option; the option decides which member is used. */
struct choice_value {
    bool flag;
    double number;
    struct span text;
};

/* Sets the option called name.  Copies patterns to the arena.  -1 with *err,
 * which names the option, also if it is unknown. */
int choice_set(struct view_choice *choice, struct span name,
               const struct choice_value *value, struct arena *arena,
               struct error *err);
/* Checks the number of another option. */
int choice_count(const char *word, double given, double least, double most,
                 uint32_t *out, struct error *err);

/* Reads 'by=alloc_space; focus=Block; force': options separated by ; with
 * blanks anywhere around. whole: the name of a form that accepts force alone,
 * since it shows everything; or NULL.  -1 with *err. */
int choice_parse(struct view_choice *choice, struct span text,
                 const char *whole, struct arena *arena, struct error *err);

#endif
