/*
 * prof_flags.h - heapwire-prof's command line, with jeprof's flags.
 *
 * Each form of view_forms, each measure and each granularity is a flag; there
 * are some more.
 */
#ifndef HW_PROF_FLAGS_H
#define HW_PROF_FLAGS_H

#include <stdbool.h>

#include "view_options.h"
#include "allocator.h"

struct view_form;

struct prof_command {
    const struct view_form *form;
    struct view_options options; /* its wrappers point to the next field */
    char wrappers[WRAPPERS_TEXT_BYTES];
    const char *base;    /* a profile to subtract, or NULL */
    bool force;          /* subtract it even if it does not fit */
    bool index;          /* make the symbol index of the one argument */
    const char *output;  /* NULL: beside the argument */
    const char *symbols; /* a directory of indexes, or NULL */
    char **arguments;    /* words that are not flags */
    int argument_count;
    bool help, version; /* given; nothing else is done */
};

/* Borrows the words.  -1: an error was printed to stderr. */
int prof_flags_parse(int argc, char **argv, struct prof_command *out);

/* To stdout. */
void prof_flags_usage(void);

#endif
