/*
 * block_filter.h - whether a block may be a sampled one, asked at each free.
 *
 * A counter a place, and 64 places for each sample that may live: a shared bit,
 * once cleared, would lose other samples.  In memory that a forked child finds
 * zeroed, so that its frees hit nothing.  A page's blocks have neighbouring
 * places: what is freed together is looked up in few cache lines.
 */
#ifndef HW_BLOCK_FILTER_H
#define HW_BLOCK_FILTER_H

#include <stdbool.h>
#include <stdint.h>

enum { BLOCK_FILTER_FULL = 255 }; /* such a counter stays: it only costs time */

/* Set once, the places first: whoever frees meanwhile, in a signal's handler,
 * sees few places or all. */
struct block_filter {
    uint8_t *places;
    uint64_t mask;
};

extern struct block_filter block_filter;

static inline uint8_t *
block_filter_place(const void *block)
{
    uint64_t address = (uint64_t)block;
    uint64_t page = (address >> 12) * 0x9e3779b97f4a7c15ULL >> 24;

    return &block_filter
                .places[(page + (address >> 4 & 255)) & block_filter.mask];
}

static inline bool
block_filter_hits(const void *block)
{
    return __atomic_load_n(block_filter_place(block), __ATOMIC_RELAXED) != 0;
}

static inline void
block_filter_add(const void *block, int step)
{
    uint8_t *place = block_filter_place(block);
    uint8_t old = __atomic_load_n(place, __ATOMIC_RELAXED);

    while (old != BLOCK_FILTER_FULL && (step > 0 || old > 0) &&
           !__atomic_compare_exchange_n(place, &old, (uint8_t)(old + step),
                                        true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
    }
}

#endif
