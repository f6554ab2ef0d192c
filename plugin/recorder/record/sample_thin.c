/*
 * sample_thin.c - see sample_thin.h.
 *
 * One thread does it, in the course of its allocation; the others go on.  Each
 * sample has its own mean, so that the table tells the truth at any moment.
 * Blocks much greater than the mean hardly thin: it is doubled until there is
 * room, and they give way when it has come to their size.
 */
#include "sample_thin.h"

#include "block_filter.h"
#include "recorder_state.h"

enum {
    FULL_EIGHTHS = 5,    /* of the keys: two buckets of eight seldom overflow */
    THINNED_EIGHTHS = 4, /* what is thinned to */
    DOUBLINGS_MAX = 40
};

static bool
is_above(uint64_t eighths)
{
    uint64_t live =
        __atomic_load_n(&recorder_state.header->live_samples, __ATOMIC_RELAXED);

    return live > recorder_state.sample_room * eighths / 8;
}

bool
sample_table_is_full(void)
{
    return is_above(FULL_EIGHTHS);
}

static bool
stays(uint64_t size, uint64_t old, uint64_t mean)
{
    return old >= mean || sampler_chooses(&recorder_local.sampler,
                                          estimator_stays(size, old, mean));
}

/* A longjmp, or a thread's end, has left it behind.  Ours would be, as we are
 * not inserting now. */
static bool
is_abandoned(uint64_t claim)
{
    uint32_t thread = (uint32_t)claim;
    uint32_t generation = (uint32_t)(claim >> 32) & SEGMENT_CLAIM_GENERATION;
    const struct segment_thread *t;

    if (thread == 0 || thread > recorder_state.thread_room)
        return false;
    t = &recorder_state.threads[thread - 1];
    return (__atomic_load_n(&t->generation, __ATOMIC_RELAXED) &
            SEGMENT_CLAIM_GENERATION) != generation ||
           (thread == recorder_local.thread && !(claim & SEGMENT_HELD));
}

static void
thin_place(uint32_t i, uint64_t mean)
{
    struct segment_sample *sample = &recorder_state.samples[i];
    uint64_t *key = &recorder_state.keys[i];
    uint64_t block = __atomic_load_n(key, __ATOMIC_ACQUIRE);
    uint64_t old = __atomic_load_n(&sample->mean, __ATOMIC_RELAXED);

    if (block & SEGMENT_CLAIM) {
        if (is_abandoned(block))
            __atomic_compare_exchange_n(key, &block, 0, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED);
        return;
    }
    if (block == 0 || old >= mean)
        return;
    if (stays(sample->size, old, mean)) {
        __atomic_compare_exchange_n(&sample->mean, &old, mean, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        return;
    }
    if (__atomic_compare_exchange_n(key, &block, 0, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        block_filter_add((const void *)block, -1);
        __atomic_fetch_sub(&recorder_state.header->live_samples, 1,
                           __ATOMIC_RELAXED);
    }
}

static void
thin_to(uint64_t mean)
{
    struct segment_header *header = recorder_state.header;

    __atomic_store_n(&header->mean_bytes, mean, __ATOMIC_RELAXED);
    __atomic_fetch_add(&header->doublings, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < recorder_state.sample_room; i++)
        thin_place(i, mean);
}

bool
sample_thin(void)
{
    struct segment_header *header = recorder_state.header;
    uint32_t nobody = 0;

    /* If it is ours already, a longjmp has left it behind. */
    if (!__atomic_compare_exchange_n(&header->thinning, &nobody,
                                     recorder_local.thread, false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) &&
        nobody != recorder_local.thread)
        return false;
    for (int i = 0; i < DOUBLINGS_MAX; i++) {
        uint64_t mean = __atomic_load_n(&header->mean_bytes, __ATOMIC_RELAXED);

        if (mean >= SEGMENT_MEAN_MAX || (i > 0 && !is_above(THINNED_EIGHTHS)))
            break;
        thin_to(mean * 2);
    }
    __atomic_store_n(&header->thinning, 0, __ATOMIC_RELEASE);
    return true;
}

bool
sample_thin_one(struct segment_sample *sample)
{
    uint64_t mean =
        __atomic_load_n(&recorder_state.header->mean_bytes, __ATOMIC_RELAXED);

    if (!stays(sample->size, sample->mean, mean))
        return false;
    if (sample->mean < mean)
        sample->mean = mean;
    return true;
}
