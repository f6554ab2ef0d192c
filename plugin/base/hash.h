/*
 * hash.h - places in hash tables for keys that somebody else chose.
 *
 * Addresses, stacks and names come from the database: with a hash that is known
 * beforehand they could be made to meet in one place, and a table to take
 * hours.
 */
#ifndef HW_HASH_H
#define HW_HASH_H

#include <stdint.h>

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

static inline uint64_t
hash_seed(const void *table)
{
    return (uint64_t)(uintptr_t)table * 0x9e3779b97f4a7c15ULL;
}

#endif
