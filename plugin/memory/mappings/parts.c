/*
 * parts.c - see parts.h.
 *
 * Collected unsorted, as one extent of jemalloc after the other is found in its
 * metadata, and sorted once: n log n.
 */
#include "parts.h"

#include <stdlib.h>

#include "memory.h"
#include "search.h"

enum { FIRST_CAPACITY = 1024 };

void
parts_fini(struct parts *parts)
{
    mem_free(parts->list);
    *parts = (struct parts){0};
}

static int
compare_parts_by_start(const void *left, const void *right)
{
    const struct part *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    /* so that it absorbs the shorter */
    return (a->end < b->end) - (a->end > b->end);
}

/* Texts are compared by address: parts of one source share theirs. */
static bool
is_same_owner(const struct part *a, const struct part *b)
{
    return a->kind == b->kind && a->tid == b->tid && a->owner == b->owner &&
           a->evidence == b->evidence;
}

void
parts_sort(struct parts *parts)
{
    struct part *last = NULL;
    size_t kept = 0;

    if (parts->count > 1)
        qsort(parts->list, parts->count, sizeof(*parts->list),
              compare_parts_by_start);
    for (size_t i = 0; i < parts->count; i++) {
        struct part part = parts->list[i];

        if (last && part.start <= last->end && is_same_owner(last, &part)) {
            if (part.end > last->end)
                last->end = part.end;
            continue;
        }
        if (last && part.start < last->end)
            part.start = last->end;
        if (part.start >= part.end)
            continue;
        last = &parts->list[kept++];
        *last = part;
    }
    parts->count = kept;
}

/* At the ceiling the list is sorted, which joins neighbours.  Unless that frees
 * half of it, it is full: else each further part would sort it again. */
static bool
grow_part_list(struct parts *parts)
{
    size_t room = parts->capacity ? parts->capacity * 2 : FIRST_CAPACITY;
    struct part *list;

    if (parts->capacity == PARTS_MAX) {
        parts_sort(parts);
        return parts->count <= PARTS_MAX / 2;
    }
    list = mem_realloc(parts->list, room * sizeof(*list));
    if (!list)
        return false;
    parts->list = list;
    parts->capacity = room;
    return true;
}

void
parts_add(struct parts *parts, const struct part *part)
{
    if (parts->full || part->start >= part->end)
        return;
    if (parts->count == parts->capacity && !grow_part_list(parts)) {
        parts->full = true;
        return;
    }
    parts->list[parts->count++] = *part;
}

size_t
parts_find(const struct parts *parts, uint64_t address)
{
    return SEARCH_ABOVE(parts->list, parts->count, end, address);
}
