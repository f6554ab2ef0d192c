/*
 * heap_addresses.h - the distinct addresses of a heap profile's text, found by
 * how they are written.
 *
 * Thousands of them are repeated in hundreds of thousands of places, so each
 * is made a number once only.  One that is written in more than one way has
 * more than one index until they are sorted.
 */
#ifndef HW_HEAP_ADDRESSES_H
#define HW_HEAP_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "heap_text.h"

/* With the text itself: to find one is to touch one place of memory. */
struct heap_address_slot {
    struct heap_text_word word;
    uint32_t number; /* 1 + index; 0: free */
};

struct arena;

struct heap_addresses {
    uint64_t *list; /* in the order of their first use */
    size_t count, room, max;
    struct heap_address_slot *slots; /* by hash; twice the room */
    uint64_t seed;
    struct arena *holder;
};

/* Refuses more than max.  All of it counts as holder's.  -1: no memory. */
int heap_addresses_init(struct heap_addresses *addresses, size_t max,
                        struct arena *holder);
void heap_addresses_fini(struct heap_addresses *addresses);

/* A new one.  -1: no memory, or more than max, which count is then. */
int heap_addresses_add(struct heap_addresses *addresses,
                       const struct heap_text_word *word, uint64_t address,
                       uint32_t *index);

/* Sorts the list and leaves each once; none is found or added then.  Answers
 * where each index is now, which the caller frees; NULL: no memory. */
uint32_t *heap_addresses_sort(struct heap_addresses *addresses);

static inline struct heap_address_slot *
heap_addresses_place(const struct heap_addresses *addresses,
                     const struct heap_text_word *word)
{
    return &addresses->slots[hash_pair(addresses->seed, word->text[0],
                                       word->text[1]) &
                             (addresses->room * 2 - 1)];
}

static inline void
heap_addresses_expect(const struct heap_addresses *addresses,
                      const struct heap_text_word *word)
{
    __builtin_prefetch(heap_addresses_place(addresses, word));
}

/* Its slot, or the free one for it. */
static inline struct heap_address_slot *
heap_addresses_slot(const struct heap_addresses *addresses,
                    const struct heap_text_word *word)
{
    struct heap_address_slot *slot = heap_addresses_place(addresses, word);

    while (slot->number && (slot->word.text[0] != word->text[0] ||
                            slot->word.text[1] != word->text[1]))
        if (++slot == addresses->slots + addresses->room * 2)
            slot = addresses->slots;
    return slot;
}

static inline bool
heap_addresses_find(const struct heap_addresses *addresses,
                    const struct heap_text_word *word, uint32_t *index)
{
    uint32_t number = heap_addresses_slot(addresses, word)->number;

    *index = number - 1;
    return number > 0;
}

#endif
