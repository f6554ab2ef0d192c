/*
 * stats.h - the node's memory figures, of allocator, kernel and cgroup.
 *
 * Immutable once made and shared by reference count (atomic).
 */
#ifndef HW_STATS_H
#define HW_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct stats_allocator;

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

/* A size class above the bins', in use, of all arenas together. */
struct stats_large {
    uint32_t index;
    uint64_t size;    /* bytes */
    uint64_t extents; /* in use */
};

struct stats_arena {
    uint32_t index;
    uint64_t threads;
    uint64_t small_allocated, large_allocated; /* bytes, so are all below */
    uint64_t active, dirty, muzzy, mapped, retained, metadata, resident;
    /* the part of allocated that is free, in threads' caches */
    uint64_t tcache;
};

/* A figure by its mallctl name; some of opt.* are words. */
struct stats_named {
    const char *name, *text;
    bool is_number;
    int64_t number;
};

struct stats {
    /* Wall clock.  jemalloc's figures may be a second old, and then so are
     * those of the process, if the agent took both at a time. */
    int64_t taken_ms;     /* of what the kernel says of the process */
    int64_t allocator_ms; /* 0: there are none */
    /* Bytes. */
    struct stats_figure allocated, active, metadata, resident, mapped, retained;
    /* The kernel's: of the process, then of the cgroup that holds it and has
     * the smallest limit (no limit: the process's own), just now. */
    struct stats_figure rss, rss_file, cgroup_current, cgroup_limit;
    /* the part of rss_file that is shared memory */
    struct stats_figure rss_shared;
    /* Of cgroup_current the file pages, which the kernel takes back first. */
    struct stats_figure cgroup_cache;
    const struct stats_named *named; /* what is not of a bin or an arena */
    size_t named_count;
    const struct stats_bin *bins; /* ascending by index, so by size */
    size_t bin_count;
    const struct stats_large *larges; /* ascending by index */
    size_t large_count;
    uint64_t page;                    /* bytes, as jemalloc has them; 0 */
    const struct stats_arena *arenas; /* ascending by index */
    size_t arena_count;
    /* All jemallocs of the database; NULL: its agent does not list them. */
    const struct stats_allocator *allocators;
    size_t allocator_count;
    /* Forked by the database, and not looked into; NULL: there are none. */
    const char *children;
    const char *failure; /* why the agent gave no figures, or NULL */
    /* Why there are no figures of an allocator, where that is more than that
     * the database has no jemalloc; or NULL. */
    const char *unusable;
    struct arena *arena; /* holds the arrays and the text */
    atomic_int references;
};

enum {
    /* Figures that were taken further apart than that are not subtracted from
     * each other. */
    STATS_TOGETHER_MS = 1500,
    STATS_TEXT_MAX = 4 << 20, /* bytes that an agent may send */
    STATS_NAMED_MAX = 512,
    STATS_BINS_MAX = 256,
    STATS_LARGES_MAX = 256,
    STATS_ARENAS_MAX = 1024
};

/* Parses the agent's text (jemalloc.h), and skips names that no table has.
 * NULL with *err: no such text, or no memory.  The kernel's figures stay
 * unknown. */
struct stats *stats_parse(const char *text, size_t size, struct error *err);

/* Whether figures of these two times may be compared; 0: time unknown. */
bool stats_together(int64_t a_ms, int64_t b_ms);

struct stats *stats_ref(struct stats *stats);
void stats_unref(struct stats *stats); /* NULL is fine */

#endif
