/* heap_join.c - see heap_join.h. */
#include "heap_join.h"

#include <string.h>

#include "arena.h"
#include "heap_dump.h"
#include "memory.h"

/* By address in each part: its index in the common list. */
struct joined {
    uint64_t *list;
    size_t count;
    uint32_t *now[2];
};

static int
join_addresses(struct joined *joined, struct heap_dump *const parts[2])
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

/* The last or the first stack of a part, with common indices. */
static struct heap_stack
stack_at(const struct heap_stacks *part, bool last,
         uint32_t indices[HEAP_DUMP_DEPTH_MAX])
{
    struct heap_stack stack = last ? part->last->stacks[part->last->count - 1]
                                   : part->first->stacks[0];

    for (uint32_t k = 0; k < stack.depth; k++)
        indices[k] = part->places[stack.addresses[k]];
    stack.addresses = indices;
    return stack;
}

static bool
are_sorted(const struct heap_dump *first, const struct heap_dump *second)
{
    uint32_t indices[2][HEAP_DUMP_DEPTH_MAX];
    struct heap_stack last = stack_at(&first->parts[0], true, indices[0]);
    struct heap_stack next = stack_at(&second->parts[0], false, indices[1]);

    return first->sorted && second->sorted &&
           heap_stack_is_behind(first->addresses, &next, &last, 0);
}

/* Each stack is renumbered once, later. */
static void
move_places(struct heap_stacks *part, const uint32_t *now)
{
    for (size_t i = 0; i < part->place_count; i++)
        part->places[i] = now[part->places[i]];
}

int
heap_join(struct heap_dump *first, struct heap_dump *second)
{
    struct heap_dump *const parts[] = {first, second};
    struct joined joined = {NULL, 0, {NULL, NULL}};
    int rc = -1;

    if (first->stack_count == 0 || second->stack_count == 0 ||
        first->stack_count + second->stack_count > HEAP_DUMP_STACKS_MAX ||
        join_addresses(&joined, parts) != 0 ||
        arena_adopt(first->arena, second->arena) != 0 ||
        arena_adopt(first->parts[0].indices, second->parts[0].indices) != 0)
        goto out;
    for (int i = 0; i < 2; i++)
        move_places(&parts[i]->parts[0], joined.now[i]);
    mem_free(first->addresses);
    first->addresses = joined.list;
    first->address_count = joined.count;
    joined.list = NULL;
    first->sorted = are_sorted(first, second);
    first->parts[1] = second->parts[0];
    memset(&second->parts[0], 0, sizeof(second->parts[0]));
    first->stack_count += second->stack_count;
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
