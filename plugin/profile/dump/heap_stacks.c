/* heap_stacks.c - see heap_stacks.h. */
#include "heap_stacks.h"

#include <string.h>

#include "arena.h"
#include "memory.h"

enum { RADIX_BITS = 8 };

int
heap_stacks_init(struct heap_stacks *stacks, size_t limit_bytes)
{
    memset(stacks, 0, sizeof(*stacks));
    stacks->indices = arena_new(limit_bytes);
    return stacks->indices ? 0 : -1;
}

void
heap_stacks_fini(struct heap_stacks *stacks)
{
    struct heap_piece *next;

    for (struct heap_piece *piece = stacks->first; piece; piece = next) {
        next = piece->next;
        mem_free(piece);
    }
    arena_free(stacks->indices);
    memset(stacks, 0, sizeof(*stacks));
}

struct heap_stack *
heap_stacks_add(struct heap_stacks *stacks)
{
    struct heap_piece *piece = stacks->last;

    if (!piece || piece->count == HEAP_STACKS_PIECE) {
        piece = arena_hold(stacks->indices, sizeof(*piece))
                    ? mem_alloc(sizeof(*piece))
                    : NULL;
        if (!piece)
            return NULL;
        piece->next = NULL;
        piece->count = 0;
        if (stacks->last)
            stacks->last->next = piece;
        else
            stacks->first = piece;
        stacks->last = piece;
    }
    return &piece->stacks[piece->count++];
}

/* Replaces the indices by those that places has for them. */
static void
place(struct heap_stacks *stacks, const uint32_t *places)
{
    const uint32_t *before = NULL;

    for (struct heap_piece *piece = stacks->first; piece; piece = piece->next)
        for (size_t i = 0; i < piece->count; i++) {
            const struct heap_stack *stack = &piece->stacks[i];
            uint32_t *indices = stack->addresses;

            /* Counts repeated under one '@' share the stack's indices. */
            for (uint32_t k = 0; k < stack->depth && indices != before; k++)
                indices[k] = places[indices[k]];
            before = indices;
        }
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

int
heap_stacks_sort(struct heap_stacks *stacks, uint64_t *list, size_t *count,
                 struct arena *holder)
{
    size_t kept = 0;
    const struct numbered *sorted;
    struct numbered *lists;
    uint32_t *places;
    int rc = -1;

    if (!arena_hold(holder, *count * (2 * sizeof(*lists) + sizeof(*places))))
        return -1;
    lists = mem_zalloc(*count, 2 * sizeof(*lists));
    places = mem_zalloc(*count, sizeof(*places));
    if (!lists || !places)
        goto out;
    for (size_t i = 0; i < *count; i++)
        lists[i] = (struct numbered){list[i], (uint32_t)i};
    sorted = sort_numbered(lists, lists + *count, *count);
    for (size_t i = 0; i < *count; i++) {
        if (i == 0 || sorted[i].address != sorted[i - 1].address)
            list[kept++] = sorted[i].address;
        places[sorted[i].old] = (uint32_t)kept - 1;
    }
    *count = kept;
    place(stacks, places);
    rc = 0;
out:
    mem_free(lists);
    mem_free(places);
    return rc;
}

bool
heap_stack_is_behind(const uint64_t *list, const struct heap_stack *stack,
                     const struct heap_stack *last, uint32_t common)
{
    uint64_t a, b, change;

    /* An address with two spellings has two indices. */
    while (common < stack->depth && common < last->depth &&
           (stack->addresses[common] == last->addresses[common] ||
            list[stack->addresses[common]] == list[last->addresses[common]]))
        common++;
    if (common == last->depth)
        return common < stack->depth;
    if (common == stack->depth)
        return false;
    change = common > 0; /* the text has it again */
    a = list[stack->addresses[common]] + change;
    b = list[last->addresses[common]] + change;
    return __builtin_bswap64(a) > __builtin_bswap64(b);
}
