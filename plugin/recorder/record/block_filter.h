/*
 * block_filter.h - whether a block may be a sampled one, asked at each free.
 *
 * Two arrays of counters; with bits, clearing one would lose other samples that
 * share it.  The first has a counter for each page of 64 MB of addresses, and
 * stays in the processor's first-level cache: where few samples live, hardly a
 * free gets further.  The second has 64 counters for each sample that may live,
 * which is megabytes: if it were asked alone, each free would cost a cache and
 * a TLB miss (80 ns, measured).  A page's blocks have neighbouring counters
 * there. Both lie in memory that a forked child finds zeroed, so that its frees
 * hit nothing.
 */
#ifndef HW_BLOCK_FILTER_H
#define HW_BLOCK_FILTER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BLOCK_FILTER_PAGES = 1 << 14, /* counters of the first */
    /* a counter that is full is never lowered again; that only costs time */
    BLOCK_FILTER_FULL = 255
};

/* Set once, counters before mask: a signal handler that frees meanwhile sees
 * few counters or all of them. */
struct block_filter {
    uint8_t *pages, *counters;
    uint64_t mask; /* of counters */
};

extern struct block_filter block_filter;

static inline uint8_t *
block_filter_page(const void *block)
{
    return &block_filter
                .pages[(uint64_t)block >> 12 & (BLOCK_FILTER_PAGES - 1)];
}

static inline uint8_t *
block_filter_counter(const void *block)
{
    uint64_t address = (uint64_t)block;
    uint64_t page = (address >> 12) * 0x9e3779b97f4a7c15ULL >> 24;

    return &block_filter
                .counters[(page + (address >> 4 & 255)) & block_filter.mask];
}

static inline bool
block_filter_hits(const void *block)
{
    return __atomic_load_n(block_filter_page(block), __ATOMIC_RELAXED) != 0 &&
           __atomic_load_n(block_filter_counter(block), __ATOMIC_RELAXED) != 0;
}

static inline void
block_filter_count(uint8_t *place, int step)
{
    uint8_t old = __atomic_load_n(place, __ATOMIC_RELAXED);

    while (old != BLOCK_FILTER_FULL && (step > 0 || old > 0) &&
           !__atomic_compare_exchange_n(place, &old, (uint8_t)(old + step),
                                        true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
    }
}

static inline void
block_filter_add(const void *block, int step)
{
    block_filter_count(block_filter_page(block), step);
    block_filter_count(block_filter_counter(block), step);
}

#endif
