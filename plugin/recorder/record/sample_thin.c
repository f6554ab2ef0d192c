/*
 * sample_thin.c - see sample_thin.h.
 *
 * A table that is full must not lose the newest samples, which would bias the
 * profile towards old blocks.  So the mean is doubled, and all live samples are
 * thinned by the same rule.  One thread does it within an allocation, in one
 * pass over the table; the others go on.  Each sample has its own mean, so
 * estimates are right at any moment of it.
 */
#include "sample_thin.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "recorder_state.h"
#include "sample_table.h"

enum {
    /* of the keys: up to there two buckets of eight seldom overflow */
    FULL_EIGHTHS = 5,
    LARGE_EIGHTHS = 2, /* of the keys, for samples of large blocks */
    THINNED_16TH = 13, /* of either limit: what it is thinned to */
    DOUBLINGS_MAX = 80
};

static uint64_t
sample_count_limit(uint64_t eighths)
{
    return recorder_state.sample_capacity * eighths / 8;
}

/* A longjmp out of a sample leaves the counts off by one, so they may fall
 * below 0. */
static uint64_t
live_sample_count(bool large)
{
    const struct segment_header *header = recorder_state.header;
    uint64_t count = __atomic_load_n(
        large ? &header->live_large : &header->live_samples, __ATOMIC_RELAXED);

    return (int64_t)count > 0 ? count : 0;
}

bool
sample_table_is_full(void)
{
    return live_sample_count(false) > sample_count_limit(FULL_EIGHTHS) ||
           live_sample_count(true) > sample_count_limit(LARGE_EIGHTHS);
}

static bool
is_sample_retained(uint64_t size, uint64_t old, uint64_t mean)
{
    return old >= mean || sampler_chooses(&recorder_local.sampler,
                                          estimator_stays(size, old, mean));
}

/* Whether a longjmp or a thread's end left a claim behind: its thread's slot
 * has another generation, or it is our own, as we are not inserting now. */
static bool
is_abandoned(uint64_t claim)
{
    uint32_t thread = (uint32_t)claim;
    uint32_t generation = (uint32_t)(claim >> 32) & SEGMENT_CLAIM_GENERATION;
    const struct segment_thread *t;

    if (thread == 0 || thread > recorder_state.thread_capacity)
        return false;
    t = &recorder_state.threads[thread - 1];
    return (__atomic_load_n(&t->generation, __ATOMIC_RELAXED) &
            SEGMENT_CLAIM_GENERATION) != generation ||
           (thread == recorder_local.thread && !(claim & SEGMENT_REALLOC));
}

static void
thin_live_sample(uint32_t i, uint64_t mean, bool large)
{
    struct segment_sample *sample = &recorder_state.samples[i];
    uint64_t *key = &recorder_state.keys[i];
    uint64_t block = __atomic_load_n(key, __ATOMIC_ACQUIRE);
    uint64_t old = __atomic_load_n(&sample->mean, __ATOMIC_RELAXED), size;

    if (block & SEGMENT_CLAIM) {
        if (is_abandoned(block))
            __atomic_compare_exchange_n(key, &block, 0, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED);
        return;
    }
    size = __atomic_load_n(&sample->size, __ATOMIC_RELAXED);
    if (block == 0 || old >= mean || (size >= SEGMENT_LARGE) != large)
        return;
    if (is_sample_retained(size, old, mean))
        __atomic_compare_exchange_n(&sample->mean, &old, mean, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    else
        sample_clear(i, block, size);
}

static uint64_t *
sample_mean_pointer(bool large)
{
    struct segment_header *header = recorder_state.header;

    return large ? &header->mean_large : &header->mean_bytes;
}

/* Doubles a mean and thins the table.  False: the mean is at its maximum. */
static bool
double_mean(bool large)
{
    uint64_t mean =
        __atomic_load_n(sample_mean_pointer(large), __ATOMIC_RELAXED) * 2;

    if (mean > SEGMENT_MEAN_MAX)
        return false;
    __atomic_store_n(sample_mean_pointer(large), mean, __ATOMIC_RELAXED);
    __atomic_fetch_add(&recorder_state.header->doublings, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < recorder_state.sample_capacity; i++)
        thin_live_sample(i, mean, large);
    return true;
}

bool
sample_thin(void)
{
    struct segment_header *header = recorder_state.header;
    const uint64_t many_large =
        sample_count_limit(LARGE_EIGHTHS) * THINNED_16TH / 16;
    const uint64_t many = sample_count_limit(FULL_EIGHTHS) * THINNED_16TH / 16;
    const uint32_t own = (uint32_t)syscall(SYS_gettid);
    uint32_t nobody = 0;

    /* The tid marks who thins, as not all threads have a slot in the list.  If
     * it is ours already, a longjmp left it behind. */
    if (!__atomic_compare_exchange_n(&header->thinning, &nobody, own, false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) &&
        nobody != own)
        return false;
    for (int i = 0;
         i < DOUBLINGS_MAX && (i == 0 || live_sample_count(false) > many ||
                               live_sample_count(true) > many_large);
         i++) {
        if (!double_mean(live_sample_count(true) > many_large))
            break;
    }
    __atomic_store_n(&header->thinning, 0, __ATOMIC_RELEASE);
    return true;
}

bool
sample_thin_one(struct segment_sample *sample)
{
    bool large = sample->size >= SEGMENT_LARGE;
    uint64_t mean =
        __atomic_load_n(sample_mean_pointer(large), __ATOMIC_RELAXED);

    if (!is_sample_retained(sample->size, sample->mean, mean))
        return false;
    if (sample->mean < mean)
        sample->mean = mean;
    return true;
}
