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

#include <stdatomic.h>
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
    _Atomic uint8_t *pages, *counters;
    _Atomic uint64_t mask; /* of counters */
};

extern struct block_filter block_filter;

static inline _Atomic uint8_t *
block_filter_page(const void *block)
{
    return &block_filter
                .pages[(uint64_t)block >> 12 & (BLOCK_FILTER_PAGES - 1)];
}

static inline _Atomic uint8_t *
block_filter_counter(const void *block)
{
    uint64_t address = (uint64_t)block;
    uint64_t page = (address >> 12) * 0x9e3779b97f4a7c15ULL >> 24;
    uint64_t mask =
        atomic_load_explicit(&block_filter.mask, memory_order_relaxed);

    return &block_filter.counters[(page + (address >> 4 & 255)) & mask];
}

static inline bool
block_filter_hits(const void *block)
{
    return atomic_load_explicit(block_filter_page(block),
                                memory_order_relaxed) != 0 &&
           atomic_load_explicit(block_filter_counter(block),
                                memory_order_relaxed) != 0;
}

static inline void
block_filter_count(_Atomic uint8_t *place, int step)
{
    uint8_t old = atomic_load_explicit(place, memory_order_relaxed);

    while (old != BLOCK_FILTER_FULL && (step > 0 || old > 0) &&
           !atomic_compare_exchange_weak_explicit(
               place, &old, (uint8_t)(old + step), memory_order_relaxed,
               memory_order_relaxed)) {
    }
}

static inline void
block_filter_add(const void *block, int step)
{
    block_filter_count(block_filter_page(block), step);
    block_filter_count(block_filter_counter(block), step);
}

#endif
