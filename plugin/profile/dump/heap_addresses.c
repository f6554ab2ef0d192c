/* heap_addresses.c - see heap_addresses.h. */
#include "heap_addresses.h"

#include <string.h>

#include "arena.h"
#include "memory.h"

enum {
    ROOM_FIRST = 1024, /* a power of two */
    RADIX_BITS = 8
};

static int
grow(struct heap_addresses *addresses)
{
    size_t room = addresses->room ? addresses->room * 2 : ROOM_FIRST;
    const struct heap_address_slot *before = addresses->slots;
    const size_t slots = addresses->room * 2;
    struct heap_address_slot *grown;
    uint64_t *list;

    if (room > addresses->max ||
        !arena_hold(addresses->holder,
                    room * (sizeof(*list) + 2 * sizeof(*grown))))
        return -1;
    list = mem_realloc(addresses->list, room * sizeof(*list));
    if (!list)
        return -1;
    addresses->list = list;
    grown = mem_zalloc(room * 2, sizeof(*grown));
    if (!grown)
        return -1;
    addresses->slots = grown;
    addresses->room = room;
    for (size_t i = 0; i < slots; i++)
        if (before[i].number)
            *heap_addresses_slot(addresses, &before[i].word) = before[i];
    mem_free((void *)before);
    return 0;
}

int
heap_addresses_init(struct heap_addresses *addresses, size_t max,
                    struct arena *holder)
{
    *addresses = (struct heap_addresses){
        .max = max, .seed = hash_seed(addresses), .holder = holder};
    return grow(addresses);
}

void
heap_addresses_fini(struct heap_addresses *addresses)
{
    mem_free(addresses->list);
    mem_free(addresses->slots);
}

int
heap_addresses_add(struct heap_addresses *addresses,
                   const struct heap_text_word *word, uint64_t address,
                   uint32_t *index)
{
    if (addresses->count == addresses->room && grow(addresses) != 0)
        return -1;
    *index = (uint32_t)addresses->count;
    addresses->list[addresses->count++] = address;
    *heap_addresses_slot(addresses, word) =
        (struct heap_address_slot){*word, (uint32_t)addresses->count};
    return 0;
}

struct numbered {
    uint64_t address;
    uint32_t old;
};

/* Radix sort, the lowest digit first; a digit that all numbers share is
 * skipped.  The result is in list or in other. */
static struct numbered *
sort_numbered(struct numbered *list, struct numbered *other, size_t count)
{
    size_t starts[1 << RADIX_BITS], sum, n;
    const uint64_t mask = (1 << RADIX_BITS) - 1;
    struct numbered *sorted;

    for (unsigned shift = 0; shift < 64; shift += RADIX_BITS) {
        memset(starts, 0, sizeof(starts));
        for (size_t i = 0; i < count; i++)
            starts[list[i].address >> shift & mask]++;
        if (count == 0 || starts[list[0].address >> shift & mask] == count)
            continue;
        sum = 0;
        for (size_t i = 0; i <= mask; i++, sum += n) {
            n = starts[i];
            starts[i] = sum;
        }
        for (size_t i = 0; i < count; i++)
            other[starts[list[i].address >> shift & mask]++] = list[i];
        sorted = other;
        other = list;
        list = sorted;
    }
    return list;
}

uint32_t *
heap_addresses_sort(struct heap_addresses *addresses)
{
    size_t count = addresses->count, kept = 0;
    const struct numbered *sorted;
    struct numbered *lists;
    uint32_t *now;

    mem_free(addresses->slots); /* makes room for the lists */
    addresses->slots = NULL;
    if (!arena_hold(addresses->holder,
                    count * (2 * sizeof(*lists) + sizeof(*now))))
        return NULL;
    lists = mem_zalloc(count, 2 * sizeof(*lists));
    now = mem_zalloc(count, sizeof(*now));
    if (!lists || !now) {
        mem_free(lists);
        mem_free(now);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        lists[i] = (struct numbered){addresses->list[i], (uint32_t)i};
    sorted = sort_numbered(lists, lists + count, count);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || sorted[i].address != sorted[i - 1].address)
            addresses->list[kept++] = sorted[i].address;
        now[sorted[i].old] = (uint32_t)kept - 1;
    }
    addresses->count = kept;
    mem_free(lists);
    return now;
}
