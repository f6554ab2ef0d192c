/*
 * sample_table.c - see sample_table.h.
 *
 * A free may come on any thread, in a signal handler, or while the thread that
 * inserts has been killed: so there is no lock, and each change is one
 * compare-and-swap of a key.  Two buckets by two hashes, of which the emptier
 * is taken, let the table fill to 5/8 with hardly a failed insert.  A key is
 * stored after its fields and cleared before them, so a reader that sees the
 * key sees the fields, too.
 */
#include "sample_table.h"

#include "block_filter.h"
#include "recorder_state.h"

struct buckets {
    uint32_t first[2]; /* first slot of each bucket */
};

static struct buckets
buckets_of(uint64_t key)
{
    uint64_t h = (key >> 3) * 0x9e3779b97f4a7c15ULL;
    uint64_t count = recorder_state.sample_capacity / SEGMENT_BUCKET;

    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ULL;
    return (struct buckets){
        {(uint32_t)((h >> 32) * count >> 32) * SEGMENT_BUCKET,
         (uint32_t)((h & UINT32_MAX) * count >> 32) * SEGMENT_BUCKET}};
}

/* Finds the slot with this key; key 0 finds a free slot. */
static bool
find_sample_slot(const struct buckets *buckets, uint64_t key, uint32_t *slot)
{
    for (int b = 0; b < 2; b++) {
        for (uint32_t i = 0; i < SEGMENT_BUCKET; i++) {
            *slot = buckets->first[b] + i;
            if (__atomic_load_n(&recorder_state.keys[*slot],
                                __ATOMIC_RELAXED) == key)
                return true;
        }
    }
    return false;
}

static unsigned
count_free(uint32_t first)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < SEGMENT_BUCKET; i++)
        n += __atomic_load_n(&recorder_state.keys[first + i],
                             __ATOMIC_RELAXED) == 0;
    return n;
}

static bool
replace_key(uint32_t slot, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n(&recorder_state.keys[slot], &from, to,
                                       false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static uint64_t
own_claim(void)
{
    uint64_t generation =
        recorder_local.thread_generation & SEGMENT_CLAIM_GENERATION;

    return SEGMENT_CLAIM | generation << 32 | recorder_local.thread;
}

/* Claims a free slot in the emptier bucket, so that both seldom overflow. */
static bool
claim_sample_slot(struct buckets buckets, uint32_t *slot)
{
    if (count_free(buckets.first[1]) > count_free(buckets.first[0]))
        buckets = (struct buckets){{buckets.first[1], buckets.first[0]}};
    while (find_sample_slot(&buckets, 0, slot)) {
        if (replace_key(*slot, 0, own_claim()))
            return true;
    }
    return false;
}

static void
count_live(uint64_t size, int step)
{
    struct segment_header *header = recorder_state.header;
    const uint64_t n = (uint64_t)(int64_t)step;

    __atomic_fetch_add(&header->live_samples, n, __ATOMIC_RELAXED);
    if (size >= SEGMENT_LARGE)
        __atomic_fetch_add(&header->live_large, n, __ATOMIC_RELAXED);
}

bool
sample_clear(uint32_t slot, uint64_t key, uint64_t size)
{
    if (!replace_key(slot, key, 0))
        return false;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    block_filter_add((const void *)key, -1);
    count_live(size, -1);
    return true;
}

bool
sample_insert(const struct segment_sample *sample)
{
    struct buckets buckets = buckets_of(sample->key);
    uint32_t slot;

    /* A sample with this address is left: its block was freed in a way that we
     * do not see, and the memory was given out again. */
    if (find_sample_slot(&buckets, sample->key, &slot))
        sample_clear(slot, sample->key, recorder_state.samples[slot].size);
    if (!claim_sample_slot(buckets, &slot))
        return false;
    /* The filter before the key: a key that the filter does not know would
     * never be removed. */
    block_filter_add((const void *)sample->key, 1);
    recorder_state.samples[slot] = *sample;
    __atomic_store_n(&recorder_state.keys[slot], sample->key, __ATOMIC_RELEASE);
    count_live(sample->size, 1);
    return true;
}

/* Finds a block's sample and reads its fields.  The caller then swaps the key:
 * if that succeeds the fields were this sample's; after that the slot may be
 * reused. */
static bool
find_sample(const void *block, uint32_t *slot, struct segment_sample *sample)
{
    struct buckets buckets = buckets_of((uint64_t)block);

    if (!block || !find_sample_slot(&buckets, (uint64_t)block, slot))
        return false;
    *sample = recorder_state.samples[*slot];
    return true;
}

bool
sample_remove(const void *block, struct segment_sample *sample)
{
    uint32_t slot;

    return find_sample(block, &slot, sample) &&
           sample_clear(slot, (uint64_t)block, sample->size);
}

uint32_t
sample_claim_realloc(const void *block, struct segment_sample *sample)
{
    uint32_t slot;

    if (!find_sample(block, &slot, sample) ||
        !replace_key(slot, (uint64_t)block, own_claim() | SEGMENT_REALLOC))
        return 0;
    return slot + 1;
}

void
sample_put_back(const void *block, uint32_t claimed)
{
    __atomic_store_n(&recorder_state.keys[claimed - 1], (uint64_t)block,
                     __ATOMIC_RELEASE);
}

void
sample_drop(const struct segment_sample *sample, uint32_t claimed)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    block_filter_add((const void *)sample->key, -1);
    __atomic_store_n(&recorder_state.keys[claimed - 1], 0, __ATOMIC_RELEASE);
    count_live(sample->size, -1);
}
