/*
 * hash.h - slots in hash tables for untrusted keys.
 *
 * Addresses, stacks and names come from the database: an attacker who knows the
 * hash could make them all collide, and a table would take hours.
 */
#ifndef HW_HASH_H
#define HW_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

#endif
