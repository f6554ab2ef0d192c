/* heap_stacks.c - see heap_stacks.h. */
#include "heap_stacks.h"

#include <string.h>

#include "arena.h"
#include "memory.h"

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

void
heap_stacks_place(struct heap_stacks *stacks, const uint32_t *places)
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
