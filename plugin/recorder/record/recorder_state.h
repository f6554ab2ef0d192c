/*
 * recorder_state.h - where the recorder's memory lies, and what a thread has.
 *
 * Set before main, and read by all threads without a lock.  A daemon that goes
 * on with its parent's segment has its own pid set before its recorder is on.
 */
#ifndef HW_RECORDER_STATE_H
#define HW_RECORDER_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "estimator.h"
#include "segment.h"

/* The segment, mapped; NULL and 0 without one. */
struct recorder_state {
    struct segment_header *header;
    struct segment_module *modules;
    struct segment_stack *stacks;
    uint64_t *frames;
    uint64_t *keys;
    struct segment_sample *samples;
    struct segment_thread *threads;
    uint32_t module_capacity, stack_capacity, frame_capacity, sample_capacity,
        thread_capacity;
    uint64_t pid, segment_bytes;
};

/* What each allocation touches comes first.  At most 64 bytes: initial-exec TLS
 * is a small reserve that the host's other libraries need, too. */
struct recorder_local {
    struct sampler sampler;
    uint64_t busy_at; /* stack pointer of the call that takes a sample, or 0 */
    uint32_t thread;  /* slot in the thread list + 1; 0: none yet */
    uint32_t thread_generation;
    /* The part of a stack that is known to be mapped. */
    uint64_t stack_low;
    uint32_t stack_bytes;
    uint16_t busy_skips; /* allocations that found the thread busy */
    bool no_thread_slot; /* the list had no room: it is not tried again */
};
_Static_assert(sizeof(struct recorder_local) == 64, "TLS of at most 64 bytes");

extern struct recorder_state recorder_state;
extern __thread struct recorder_local recorder_local;

/* 1 while this process records.  It lies in private memory that a child of fork
 * or of a raw clone finds zeroed. */
extern const _Atomic uint32_t *recorder_alive;

static inline bool
recorder_is_alive(void)
{
    return atomic_load_explicit(recorder_alive, memory_order_relaxed) != 0;
}

#endif
