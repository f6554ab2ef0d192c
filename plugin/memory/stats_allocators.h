/*
 * stats_allocators.h - the agent's list of the jemallocs in the database, read.
 *
 * Pure.  The format is agent/jemalloc/allocator_list.h's.
 */
#ifndef HW_STATS_ALLOCATORS_H
#define HW_STATS_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct stats;

enum {
    STATS_ALLOCATORS_MAX = 64,
    STATS_ALLOCATORS_TEXT_MAX = 256 << 10 /* bytes that an agent may send */
};

/* Texts missing in the agent's list are "", flags false. */
struct stats_allocator {
    const char *object, *mallctl, *version, *variable, *found, *note;
    bool chosen, callable, config_prof, opt_prof, active;
    bool serves_malloc, serves_new;
    bool counted;                 /* allocated is known */
    uint64_t allocated, resident; /* resident 0: an older agent */
};

/* Parses the list into stats, which keeps the texts.  -1 with *err: no such
 * list, or no memory. */
int stats_allocators_parse(struct stats *stats, const char *text, size_t size,
                           struct error *err);

#endif
