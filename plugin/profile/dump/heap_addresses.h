/*
 * heap_addresses.h - the distinct addresses of a heap profile's text, found by
 * their spelling.
 *
 * A text repeats thousands of addresses in hundreds of thousands of places;
 * each spelling is converted to a number only once.  An address with several
 * spellings has several indices until the list is sorted.
 */
#ifndef HW_HEAP_ADDRESSES_H
#define HW_HEAP_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "heap_text.h"

/* The slot holds the spelling itself, so a look-up reads one place in memory.
 */
struct heap_address_slot {
    struct heap_text_word word;
    uint32_t number; /* 1 + index; 0: free */
};

struct arena;

struct heap_addresses {
    uint64_t *list; /* in the order of first use */
    size_t count, room, max;
    struct heap_address_slot *slots; /* by hash; twice the room */
    uint64_t seed;
    struct arena *holder;
};

/* Refuses more than max.  Counts all memory as holder's.  -1: no memory. */
int heap_addresses_init(struct heap_addresses *addresses, size_t max,
                        struct arena *holder);
void heap_addresses_fini(struct heap_addresses *addresses);

/* Adds an address that is not there yet.  -1: no memory, or count is max. */
int heap_addresses_add(struct heap_addresses *addresses,
                       const struct heap_text_word *word, uint64_t address,
                       uint32_t *index);

/* Sorts the list and removes duplicates; nothing can be found or added
 * afterwards.  Returns each old index's new one, to be freed by the caller;
 * NULL: no memory. */
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

/* The spelling's slot, or the free slot where it belongs. */
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
