/* heap_join.c - see heap_join.h. */
#include "heap_join.h"

#include <string.h>

#include "arena.h"
#include "heap_dump.h"
#include "memory.h"

/* Where the parts' indices are in the list of both. */
struct joined {
    uint64_t *list;
    size_t count;
    uint32_t *now[2];
};

static int
join_addresses(struct joined *joined, const struct heap_dump *const parts[2])
{
    size_t counts[] = {parts[0]->address_count, parts[1]->address_count};
    size_t at[] = {0, 0};

    joined->list = mem_zalloc(counts[0] + counts[1], sizeof(*joined->list));
    joined->now[0] = mem_zalloc(counts[0], sizeof(uint32_t));
    joined->now[1] = mem_zalloc(counts[1], sizeof(uint32_t));
    if (!joined->list || !joined->now[0] || !joined->now[1])
        return -1;
    while (at[0] < counts[0] || at[1] < counts[1]) {
        uint64_t least = UINT64_MAX;

        for (int i = 0; i < 2; i++)
            if (at[i] < counts[i] && parts[i]->addresses[at[i]] < least)
                least = parts[i]->addresses[at[i]];
        for (int i = 0; i < 2; i++)
            if (at[i] < counts[i] && parts[i]->addresses[at[i]] == least)
                joined->now[i][at[i]++] = (uint32_t)joined->count;
        joined->list[joined->count++] = least;
    }
    return joined->count <= HEAP_DUMP_ADDRESSES_MAX ? 0 : -1;
}

static int
join_stacks(struct heap_dump *first, struct heap_dump *second)
{
    size_t count = first->stack_count + second->stack_count;
    struct heap_stack *grown;

    if (count > HEAP_DUMP_STACKS_MAX)
        return -1;
    grown = mem_realloc(first->stacks, count * sizeof(*grown));
    if (!grown)
        return -1;
    first->stacks = grown;
    memcpy(grown + first->stack_count, second->stacks,
           second->stack_count * sizeof(*grown));
    first->sorted &=
        second->sorted &&
        heap_stack_is_behind(first->addresses, &grown[first->stack_count],
                             &grown[first->stack_count - 1], 0);
    first->stack_count = count;
    return arena_adopt(first->indices, second->indices);
}

int
heap_join(struct heap_dump *first, struct heap_dump *second)
{
    const struct heap_dump *const parts[] = {first, second};
    struct joined joined = {NULL, 0, {NULL, NULL}};
    int rc = -1;

    if (first->stack_count == 0 || second->stack_count == 0 ||
        join_addresses(&joined, parts) != 0)
        goto out;
    for (int i = 0; i < 2; i++)
        heap_dump_renumber(parts[i], joined.now[i]);
    mem_free(first->addresses);
    first->addresses = joined.list;
    first->address_count = joined.count;
    joined.list = NULL;
    if (join_stacks(first, second) != 0 ||
        arena_adopt(first->arena, second->arena) != 0)
        goto out;
    first->maps = second->maps;
    first->has_maps = second->has_maps;
    first->truncated = second->truncated;
    rc = 0;
out:
    mem_free(joined.list);
    mem_free(joined.now[0]);
    mem_free(joined.now[1]);
    return rc;
}
