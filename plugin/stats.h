/*
 * stats.h - what the node's allocator, kernel and cgroup say of its memory.
 *
 * Immutable once made and shared by reference count (atomic).
 */
#ifndef HW_STATS_H
#define HW_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* A figure that may be unknown. */
struct stats_figure {
    bool known;
    uint64_t value;
};

/* Of all arenas together. */
struct stats_bin {
    uint64_t size;      /* bytes of one region */
    uint64_t regions;   /* of one slab */
    uint64_t slab_size; /* bytes */
    uint64_t nmalloc, ndalloc, nrequests;
    uint64_t curregs, curslabs, nonfull_slabs;
};

struct stats_arena {
    uint32_t index;
    uint64_t threads;
    uint64_t small_allocated, large_allocated; /* bytes, so are all below */
    uint64_t active, dirty, muzzy, mapped, retained, metadata, resident;
};

struct stats_named {
    const char *name; /* as mallctl has it */
    uint64_t value;
};

struct stats {
    int64_t taken_ms; /* wall clock */
    /* Bytes. */
    struct stats_figure allocated, active, metadata, resident, mapped, retained;
    struct stats_figure rss, cgroup_current, cgroup_limit;
    const struct stats_named *named; /* every figure that the agent gave */
    size_t named_count;
    const struct stats_bin *bins; /* ascending by size */
    size_t bin_count;
    const struct stats_arena *arenas; /* ascending by index */
    size_t arena_count;
    struct arena *arena; /* holds the arrays */
    int references;      /* atomic */
};

struct stats *stats_ref(struct stats *stats);
void stats_unref(struct stats *stats); /* NULL is fine */

#endif
