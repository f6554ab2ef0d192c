/*
 * stack_halves.h - walks over a profile's stacks in two halves, one of them on
 * a thread of its own.
 */
#ifndef HW_STACK_HALVES_H
#define HW_STACK_HALVES_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct profile;
struct view_options;

enum {
    STACK_HALVES_MIN = 4096, /* stacks: fewer take less than a millisecond */
    /* Bytes between the data of the two threads, which so never write to the
     * same cache line. */
    STACK_HALVES_APART = 64
};

/* Adds the stacks from first up to end to half.  -1 with *err. */
typedef int stack_walk(void *half, size_t first, size_t end, struct error *err);

/* Where the second half begins.  It depends on the profile alone, so one thread
 * can add up in the same order. */
size_t stack_halves_middle(const struct profile *profile);

/* Whether two threads pay off: the options allow them, and there are enough
 * cores and stacks. */
bool stack_halves_wanted(const struct profile *profile,
                         const struct view_options *options);

/* Walks over the first half, then the second; with at_once on two threads, if
 * one starts: then the halves share nothing that either changes.  -1 as walk.
 */
int stack_halves_walk(const struct profile *profile, bool at_once,
                      stack_walk *walk, void *first, void *second,
                      struct error *err);

#endif
