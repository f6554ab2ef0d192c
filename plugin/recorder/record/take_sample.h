/*
 * take_sample.h - what the replaced functions do in addition to the allocator.
 *
 * Most calls execute only the inline parts.
 */
#ifndef HW_TAKE_SAMPLE_H
#define HW_TAKE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "block_filter.h"
#include "recorder_state.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Counts a block that is to be allocated.  False: call sample_block() with it,
 * once it is there. */
static inline bool
sample_passes(size_t size)
{
    uint64_t left;

    /* left - size - 1 as an addition: a missing carry is the borrow, so one
     * instruction subtracts and compares. */
    if (unlikely(!__builtin_add_overflow(recorder_local.sampler.left,
                                         ~(uint64_t)size, &left)))
        return false;
    recorder_local.sampler.left = left;
    return true;
}

/* Samples a block, if it is hit, and returns it.  NULL is fine. */
void *sample_block(void *block, size_t size);

/* To be called before a block is freed for which block_filter_hits(). */
void sample_untrack(void *block);

/* Around a realloc of a block for which block_filter_hits(): begin, then failed
 * or done. */
struct realloc_sample {
    uint32_t slot; /* 0: the block has no sample */
    struct segment_sample sample;
};
void sample_realloc_begin(void *block, struct realloc_sample *moved);
void sample_realloc_failed(void *block, const struct realloc_sample *moved);
void sample_realloc_done(const struct realloc_sample *moved);

#endif
