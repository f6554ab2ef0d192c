/*
 * live_parts.c - see live_parts.h.
 *
 * A list is made once with its greatest size, filled in the dump's order and
 * then sorted: adding to a table of sums would need a hash and as much memory.
 * Names of threads are copied, because the profile outlives the dump.  Called
 * by profile.c.
 */
#include "live_parts.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "heap_dump.h"

static size_t
count_samples(const struct heap_dump *dump)
{
    size_t count = 0;

    for (const struct heap_piece *piece = dump->stacks.first; piece;
         piece = piece->next)
        for (size_t i = 0; i < piece->count; i++)
            count += piece->stacks[i].objects > 0;
    return count;
}

static bool
copy_threads(struct arena *arena, const struct heap_threads *from,
             struct heap_threads *to)
{
    struct heap_thread *list = arena_alloc(arena, from->count * sizeof(*list));

    if (!list)
        return false;
    for (size_t i = 0; i < from->count; i++) {
        const char *name = from->list[i].name;

        list[i] = from->list[i];
        list[i].name = arena_strndup(arena, name, strlen(name));
        if (!list[i].name)
            return false;
    }
    *to = (struct heap_threads){list, from->count, from->numbered};
    return true;
}

struct live_parts *
live_parts_new(struct arena *arena, const struct heap_dump *dump)
{
    struct live_parts *parts = arena_alloc(arena, sizeof(*parts));

    if (!parts || !copy_threads(arena, &dump->threads, &parts->threads))
        return NULL;
    parts->list = arena_alloc(arena, (count_samples(dump) + dump->share_count) *
                                         sizeof(*parts->list));
    return parts->list ? parts : NULL;
}

void
live_parts_add(struct live_parts *parts, const struct live_part *part)
{
    ((struct live_part *)parts->list)[parts->count++] = *part;
}

static int
compare_parts_by_stack(const void *a, const void *b)
{
    const struct live_part *x = a, *y = b;

    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->age < y->age ? -1 : x->age > y->age;
}

void
live_parts_finish(struct live_parts *parts)
{
    struct live_part *list = (struct live_part *)parts->list;
    size_t kept = 0;

    if (parts->count > 0)
        qsort(list, parts->count, sizeof(*list), compare_parts_by_stack);
    for (size_t i = 0; i < parts->count; i++) {
        if (kept == 0 ||
            compare_parts_by_stack(&list[kept - 1], &list[i]) != 0) {
            list[kept++] = list[i];
            continue;
        }
        list[kept - 1].samples += list[i].samples;
        list[kept - 1].objects += list[i].objects;
        list[kept - 1].bytes += list[i].bytes;
    }
    parts->count = kept;
}

/* ---- by size class ---- */

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
live_sizes_finish(struct live_sizes *sizes)
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
