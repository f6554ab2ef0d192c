/*
 * unseen.h - what of the allocated memory a profile does not see, and why.
 *
 * The one place that subtracts a profile from the allocators' figures: the head
 * of each view says it in words, pictures draw it.  Pure.
 */
#ifndef HW_UNSEEN_H
#define HW_UNSEEN_H

#include <stdbool.h>

struct profile;
struct snapshot;
struct snapshot_memory;
struct agent_hello;

/* Bytes. */
struct unseen {
    bool compared;    /* figures and profile are of one moment: all but margin
                         and elsewhere is 0 otherwise */
    double missing;   /* allocated by the profiled jemalloc, less the profile;
                         may be negative */
    double margin;    /* of missing, by chance: profile_margin() */
    double pages;     /* of missing, at most: pages of the samples themselves */
    double elsewhere; /* in jemallocs of the process that are not profiled */
    const char *why;  /* ... missing is, where it is beyond chance */
};

/* hello: of the greeting before the dump. */
void unseen_find(const struct profile *profile,
                 const struct snapshot_memory *memory,
                 const struct agent_hello *hello, struct unseen *out);

/* Whether more is missing than chance explains. */
bool unseen_is_beyond_chance(const struct unseen *unseen);

/* Fills snapshot->profile->unseen. */
void unseen_fill(struct snapshot *snapshot);

#endif
