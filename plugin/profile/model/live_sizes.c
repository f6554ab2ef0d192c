/*
 * live_sizes.c - see live_sizes.h.
 *
 * As live_parts.c: a list of its greatest size is filled in the dump's order
 * and then sorted.  Called by profile.c, for a recorder's dumps.
 */
#include "live_sizes.h"

#include <stdlib.h>

#include "arena.h"
#include "heap_dump.h"

static size_t
count_sizes(const struct heap_dump *dump)
{
    size_t count = 0;

    for (const struct heap_piece *piece = dump->stacks.first; piece;
         piece = piece->next)
        for (size_t i = 0; i < piece->count; i++)
            count += piece->stacks[i].size_count;
    return count;
}

struct live_sizes *
live_sizes_new(struct arena *arena, const struct heap_dump *dump)
{
    struct live_sizes *sizes = arena_alloc(arena, sizeof(*sizes));

    if (!sizes)
        return NULL;
    sizes->list = arena_alloc(arena, count_sizes(dump) * sizeof(*sizes->list));
    return sizes->list ? sizes : NULL;
}

void
live_sizes_add(struct live_sizes *sizes, uint32_t stack,
               const struct heap_stack *from)
{
    struct live_size *list = (struct live_size *)sizes->list;

    for (uint32_t i = 0; i < from->size_count; i++) {
        const struct heap_size *size = &from->sizes[i];

        list[sizes->count++] = (struct live_size){
            stack, size->number, size->objects, size->bytes, size->variance};
    }
}

static int
compare_sizes_by_stack(const void *a, const void *b)
{
    const struct live_size *x = a, *y = b;

    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void
live_sizes_end(struct live_sizes *sizes)
{
    struct live_size *list = (struct live_size *)sizes->list;
    size_t kept = 0;

    if (sizes->count > 0)
        qsort(list, sizes->count, sizeof(*list), compare_sizes_by_stack);
    for (size_t i = 0; i < sizes->count; i++) {
        if (kept == 0 ||
            compare_sizes_by_stack(&list[kept - 1], &list[i]) != 0) {
            list[kept++] = list[i];
            continue;
        }
        list[kept - 1].objects += list[i].objects;
        list[kept - 1].bytes += list[i].bytes;
        list[kept - 1].variance += list[i].variance;
    }
    sizes->count = kept;
}
