/*
 * stack_table.c - see stack_table.h.
 *
 * Open addressing without a lock; nothing is ever removed, so a slot, once
 * published, can be read without care.  Two threads that bring the same new
 * stack at once may both keep it, and the sums are right.  A stack is known by
 * 63 bits of hash, without comparing its frames, and by its modules: a library
 * that is loaded where another one was has stacks of its own.
 */
#include "stack_table.h"

#include "estimator.h"
#include "module_list.h"
#include "recorder_state.h"

/* A bound on each lookup: a table that is nearly full must not make malloc
 * slow. */
enum { STACK_PROBES = 64 };

static uint64_t
hash_frames(const uint64_t *frames, uint32_t depth)
{
    uint64_t h = depth;

    for (uint32_t i = 0; i < depth; i++) {
        h = (h ^ frames[i]) * 0x9e3779b97f4a7c15ULL;
        h ^= h >> 29;
    }
    h &= ~SEGMENT_CLAIM;
    return h ? h : 1;
}

/* Appends its frames to those of all stacks; false: no room. */
static bool
keep_frames(struct segment_stack *stack, const uint64_t *frames, uint32_t depth)
{
    uint64_t *used = &recorder_state.header->frame_count;
    const uint32_t room = recorder_state.frame_capacity;
    uint64_t at;

    if (depth > room)
        return false;
    /* Checked first, so that a full part's count stops growing. */
    if (__atomic_load_n(used, __ATOMIC_RELAXED) > room - depth)
        return false;
    at = __atomic_fetch_add(used, depth, __ATOMIC_RELAXED);
    if (at > room - depth)
        return false;
    for (uint32_t i = 0; i < depth; i++)
        recorder_state.frames[at + i] = module_frame(frames[i]);
    stack->first_frame = (uint32_t)at;
    stack->depth = depth;
    return true;
}

static bool
is_stack_loaded(const struct segment_stack *stack, uint32_t depth)
{
    return stack->depth == depth &&
           stack->first_frame <= recorder_state.frame_capacity - depth &&
           modules_are_loaded(recorder_state.frames + stack->first_frame,
                              depth);
}

void
stack_count_lost(void)
{
    __atomic_fetch_add(&recorder_state.header->lost_stacks, 1,
                       __ATOMIC_RELAXED);
}

uint32_t
stack_find(const uint64_t *frames, uint32_t depth, bool *fresh)
{
    uint64_t hash = hash_frames(frames, depth);
    uint32_t room = recorder_state.stack_capacity, i = (uint32_t)(hash % room);

    *fresh = false;
    for (int n = 0; n < STACK_PROBES && depth > 0; n++, i = (i + 1) % room) {
        struct segment_stack *stack = &recorder_state.stacks[i];
        uint64_t there = __atomic_load_n(&stack->hash, __ATOMIC_ACQUIRE);

        if (there == hash && i != SEGMENT_STACK_LOST &&
            is_stack_loaded(stack, depth))
            return i;
        if (there != 0 || i == SEGMENT_STACK_LOST ||
            !__atomic_compare_exchange_n(
                &stack->hash, &there, SEGMENT_CLAIM | recorder_local.thread,
                false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        *fresh = true;
        if (!keep_frames(stack, frames, depth)) {
            __atomic_store_n(&stack->hash, 0, __ATOMIC_RELEASE);
            break;
        }
        __atomic_store_n(&stack->hash, hash, __ATOMIC_RELEASE);
        return i;
    }
    stack_count_lost();
    return SEGMENT_STACK_LOST;
}

static void
add_weighted(const struct segment_sample *sample, uint64_t *bytes,
             uint64_t *objects)
{
    double weight = 1 / estimator_chance(sample->size, sample->mean);

    __atomic_fetch_add(bytes, (uint64_t)(weight * (double)sample->size + 0.5),
                       __ATOMIC_RELAXED);
    __atomic_fetch_add(objects, (uint64_t)(weight * SEGMENT_OBJECT + 0.5),
                       __ATOMIC_RELAXED);
}

void
stack_add_allocated(const struct segment_sample *sample)
{
    struct segment_stack *stack = &recorder_state.stacks[sample->stack];

    add_weighted(sample, &stack->allocated_bytes, &stack->allocated_objects);
}

void
stack_add_freed(const struct segment_sample *sample)
{
    struct segment_stack *stack = &recorder_state.stacks[sample->stack];

    if (sample->stack < recorder_state.stack_capacity)
        add_weighted(sample, &stack->freed_bytes, &stack->freed_objects);
}
