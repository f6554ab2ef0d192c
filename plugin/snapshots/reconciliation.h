/*
 * reconciliation.h - compares a profile's total with the allocator's figures,
 * the kernel's and the limit.
 *
 * Pure.
 */
#ifndef HW_RECONCILIATION_H
#define HW_RECONCILIATION_H

#include <stdbool.h>
#include <stdint.h>

struct agent_hello;
struct buffer;
struct profile;
struct snapshot;
struct snapshot_memory;
struct stats;

/* The figures that a snapshot keeps. */
void reconciliation_take(const struct stats *stats,
                         struct snapshot_memory *out);

/*
 * Appends a line: "profile 114.7 MB (1204 samples since 2026-11-21 12:01:13
 * UTC) of 120.3 MB allocated: 5.6 MB older than profiling; active 130.1: ...".
 * Parts between "; "; MB are 1048576 bytes, as in jeprof's reports.  Unknown
 * figures are left out.  hello is of the greeting before the dump; note is a
 * remark about the profile, or "".
 */
void reconciliation_write(const struct profile *profile,
                          const struct snapshot_memory *memory,
                          const struct agent_hello *hello, const char *note,
                          struct buffer *out);

/*
 * The allocated memory that a profile does not see, and why, in bytes.
 *
 * The one place that subtracts a profile from the allocators' figures: the head
 * of each view says it in words, pictures draw it.
 */
struct unseen {
    bool compared;  /* figures and profile are of one moment: all but margin
                       and elsewhere is 0 otherwise */
    double missing; /* allocated by the profiled jemalloc, less the profile;
                       may be negative */
    double margin;  /* how much of missing may be chance: profile_margin() */
    /* how much of missing may be pages of the samples themselves */
    double pages;
    double elsewhere; /* in jemallocs of the process that are not profiled */
    const char *why;  /* why missing is beyond chance */
};

/* An upper bound of the bytes of pages that so many samples have to
 * themselves. */
double reconciliation_sample_pages(const struct agent_hello *hello,
                                   uint64_t samples);

/* hello is the greeting before the dump. */
void unseen_find(const struct profile *profile,
                 const struct snapshot_memory *memory,
                 const struct agent_hello *hello, struct unseen *out);

/* Fills snapshot->profile->unseen. */
void unseen_fill(struct snapshot *snapshot);

#endif
