/*
 * prof_flags.h - what heapwire-prof was told to do: jeprof's flags.
 *
 * A flag for each form of view_forms, each measure and each granularity, and
 * those of a table of their own.
 */
#ifndef HW_PROF_FLAGS_H
#define HW_PROF_FLAGS_H

#include <stdbool.h>

#include "view_options.h"
#include "wrappers.h"

struct view_form;

struct prof_command {
    const struct view_form *form;
    struct view_options options; /* its wrappers are these: */
    char wrappers[WRAPPERS_TEXT_BYTES];
    const char *base;    /* a profile to subtract, or NULL */
    bool force;          /* subtract it, whatever it is of */
    bool index;          /* make the symbol index of the one argument */
    const char *output;  /* where to; NULL: beside it */
    const char *symbols; /* a directory of indexes, or NULL */
    char **arguments;    /* the rest of the words */
    int argument_count;
    bool help, version; /* was asked for, and nothing else is to be done */
};

/* Borrows the words.  -1: said what is wrong to stderr. */
int prof_flags_parse(int argc, char **argv, struct prof_command *out);

/* To stdout. */
void prof_flags_usage(void);

#endif
