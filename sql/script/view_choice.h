/*
 * view_choice.h - the words that choose what a view shows: the same for a
 * chain in a script, .by("alloc_space").nodecount(20), and for a text in SQL,
 * 'by=alloc_space; nodecount=20'.
 */
#ifndef HW_VIEW_CHOICE_H
#define HW_VIEW_CHOICE_H

#include <stddef.h>

#include "reader.h"
#include "view_options.h"

struct arena;
struct error;

enum {
    CHOICE_COUNT_MAX = 1000000, /* of nodecount, maxdegree, top */
    CHOICE_TEXT_MAX = 4096      /* bytes of SQL's text */
};

struct view_choice {
    bool force; /* compare what cannot be compared */
    struct view_options options;
};

/* The value behind a word; the word decides which member is used. */
struct choice_value {
    bool flag;
    double number;
    struct span text;
};

/* Sets the value of the word name.  Patterns are copied to the arena.  -1 with
 * *err, which has the word, also where there is no such word. */
int choice_set(struct view_choice *choice, struct span name,
               const struct choice_value *value, struct arena *arena,
               struct error *err);
/* For words of others. */
int choice_count(const char *word, double given, double least, double most,
                 uint32_t *out, struct error *err);

/* 'by=alloc_space; focus=Block; force', with ; between them and blanks
 * anywhere around.  whole: the name of a form that shows all there is, and
 * takes force alone; or NULL.  -1 with *err. */
int choice_parse(struct view_choice *choice, struct span text,
                 const char *whole, struct arena *arena, struct error *err);

#endif
