/*
 * stack_halves.h - a walk over a profile's stacks as two halves, one of them on
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
    /* Bytes between what one thread writes and what the other does: then they
     * do not take a line of the cache from each other all the time. */
    STACK_HALVES_APART = 64
};

/* Adds stacks from first up to end to what half has.  -1 with *err. */
typedef int stack_walk(void *half, size_t first, size_t end, struct error *err);

/* Where the second half begins: that depends on nothing but the profile, so
 * whoever walks alone can add up in the same order. */
size_t stack_halves_middle(const struct profile *profile);

/* Whether two threads are worth their while: the options allow it, there are
 * cores and stacks enough. */
bool stack_halves_wanted(const struct profile *profile,
                         const struct view_options *options);

/* Walks over the first half and then over the second; or at_once, if a thread
 * starts: they share nothing then that either changes.  -1 like the walk. */
int stack_halves_walk(const struct profile *profile, bool at_once,
                      stack_walk *walk, void *first, void *second,
                      struct error *err);

#endif
