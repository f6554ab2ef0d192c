/*
 * hash.h - hashes of untrusted keys, and the index that finds them.
 *
 * Addresses, stacks and names come from the database: an attacker who knows the
 * hash could make them all collide, and a table would take hours.
 */
#ifndef HW_HASH_H
#define HW_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"

/* Mixes key into h.  A table starts from hash_seed of its own address, which
 * the database cannot know. */
static inline uint64_t
hash_mix(uint64_t h, uint64_t key)
{
    h ^= key;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ h >> 33;
}

/*
 * Mixes two keys into h in half the time of hash_mix for one: it folds the two
 * halves of a 128-bit product.  Both factors depend on h: who does not know h
 * cannot choose a key that makes one of them 0.
 */
static inline uint64_t
hash_pair(uint64_t h, uint64_t a, uint64_t b)
{
    unsigned __int128 product =
        (unsigned __int128)(a ^ h) *
        (b ^ ((h << 32 | h >> 32) + 0x9e3779b97f4a7c15ULL));

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t
hash_bytes(uint64_t h, const char *bytes, size_t size)
{
    uint64_t pair[2];

    h = hash_mix(h, size);
    for (; size > sizeof(pair); bytes += sizeof(pair), size -= sizeof(pair)) {
        memcpy(pair, bytes, sizeof(pair));
        h = hash_pair(h, pair[0], pair[1]);
    }
    pair[0] = pair[1] = 0;
    if (size > 0) /* or bytes may be NULL */
        memcpy(pair, bytes, size);
    return hash_mix(hash_pair(h, pair[0], pair[1]), 0);
}

static inline uint64_t
hash_seed(const void *table)
{
    return (uint64_t)(uintptr_t)table * 0x9e3779b97f4a7c15ULL;
}

/* The hash beside the entry keeps most probes out of the array, and lets the
 * index grow without the keys. */
struct hash_slot {
    uint32_t entry; /* 1 + its place in the array; 0: free */
    uint32_t hash;
};

/*
 * Finds entries of a caller's array by hash: open addressing.  Zero it first.
 * The caller compares keys, and has the array's ceiling:
 *
 *     slot = hash_index_first(&index, hash);
 *     while (slot->entry && !is_equal(&list[slot->entry - 1], key))
 *         slot = hash_index_next(&index, slot);
 *     if (!slot->entry)
 *         *slot = (struct hash_slot){++count, hash};
 */
struct hash_index {
    struct hash_slot *slots; /* a power of two of them, half in use at most */
    size_t mask;
};

enum { HASH_SLOTS_LEAST = 32 };

static inline size_t
hash_index_slots(size_t entries)
{
    size_t slots = HASH_SLOTS_LEAST;

    while (slots / 2 < entries)
        slots *= 2;
    return slots;
}

/* How many entries it has room for. */
static inline size_t
hash_index_room(const struct hash_index *index)
{
    return index->slots ? (index->mask + 1) / 2 : 0;
}

/* What hash_index_reserve allocates for that many. */
static inline size_t
hash_index_bytes(size_t entries)
{
    return hash_index_slots(entries) * sizeof(struct hash_slot);
}

/* Makes room for that many entries in all.  -1: no memory, and the index is as
 * it was. */
static inline int
hash_index_reserve(struct hash_index *index, size_t entries)
{
    size_t count = hash_index_slots(entries);
    struct hash_index grown = {.mask = count - 1};

    if (entries <= hash_index_room(index))
        return 0;
    grown.slots = mem_zalloc(count, sizeof(*grown.slots));
    if (!grown.slots)
        return -1;
    for (size_t i = 0; index->slots && i <= index->mask; i++) {
        size_t at = index->slots[i].hash;

        if (!index->slots[i].entry)
            continue;
        /* all keys differ: only a free slot is looked for */
        while (grown.slots[at & grown.mask].entry)
            at++;
        grown.slots[at & grown.mask] = index->slots[i];
    }
    mem_free(index->slots);
    *index = grown;
    return 0;
}

static inline void
hash_index_fini(struct hash_index *index)
{
    mem_free(index->slots);
    *index = (struct hash_index){.mask = 0};
}

static inline struct hash_slot *
hash_index_probe(const struct hash_index *index, size_t i, uint32_t hash)
{
    struct hash_slot *slot = &index->slots[i & index->mask];

    while (slot->entry && slot->hash != hash)
        slot = &index->slots[++i & index->mask];
    return slot;
}

/* A slot with that hash, or the free one where it belongs.  Needs room. */
static inline struct hash_slot *
hash_index_first(const struct hash_index *index, uint32_t hash)
{
    return hash_index_probe(index, hash, hash);
}

/* The same, after a slot whose key is another. */
static inline struct hash_slot *
hash_index_next(const struct hash_index *index, const struct hash_slot *slot)
{
    return hash_index_probe(index, (size_t)(slot - index->slots) + 1,
                            slot->hash);
}

#endif
