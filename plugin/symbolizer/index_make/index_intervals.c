/* index_intervals.c - see index_collected.h. */
#include "index_collected.h"

#include <string.h>

#include "dwarf_room.h"

bool
index_intervals_add(struct index_intervals *intervals, struct dwarf_room *room,
                    const struct index_interval *item)
{
    if (item->end <= item->start)
        return true;
    if (!dwarf_room_grow(room, &intervals->items, &intervals->capacity,
                         intervals->count + 1, sizeof(*item)))
        return false;
    intervals->items[intervals->count++] = *item;
    return true;
}

void
index_intervals_fini(struct index_intervals *intervals, struct dwarf_room *room)
{
    dwarf_room_drop(room, &intervals->items, &intervals->capacity,
                    sizeof(*intervals->items));
    intervals->count = 0;
}

/* The end of the ascending run that starts at i. */
static size_t
run_end(const struct index_interval *items, size_t i, size_t count)
{
    for (i++; i < count && items[i - 1].start <= items[i].start; i++)
        ;
    return i < count ? i : count;
}

static void
merge(const struct index_interval *from, size_t left, size_t right, size_t end,
      struct index_interval *to)
{
    size_t i = left, k = right;

    while (i < right && k < end)
        *to++ = from[k].start < from[i].start ? from[k++] : from[i++];
    memcpy(to, from + i, (right - i) * sizeof(*to));
    memcpy(to + (right - i), from + k, (end - k) * sizeof(*to));
}

/*
 * Merges adjacent runs until one is left: units come sorted, and mostly one
 * behind the other.
 */
static bool
sort(struct index_intervals *intervals, struct dwarf_room *room)
{
    struct index_interval *spare = NULL;
    size_t spare_capacity = 0;

    while (run_end(intervals->items, 0, intervals->count) < intervals->count) {
        struct index_interval *swap = intervals->items;
        size_t swap_capacity = intervals->capacity, middle, end;

        if (!spare && !dwarf_room_grow(room, &spare, &spare_capacity,
                                       intervals->count, sizeof(*spare)))
            return false;
        for (size_t i = 0; i < intervals->count; i = end) {
            middle = run_end(swap, i, intervals->count);
            end = middle < intervals->count
                      ? run_end(swap, middle, intervals->count)
                      : middle;
            merge(swap, i, middle, end, spare + i);
        }
        intervals->items = spare;
        intervals->capacity = spare_capacity;
        spare = swap;
        spare_capacity = swap_capacity;
    }
    dwarf_room_drop(room, &spare, &spare_capacity, sizeof(*spare));
    return true;
}

bool
index_intervals_sort(struct index_intervals *intervals, struct dwarf_room *room)
{
    uint64_t end = 0;
    size_t kept = 0;

    if (!sort(intervals, room))
        return false;
    for (size_t i = 0; i < intervals->count; i++) {
        struct index_interval item = intervals->items[i];

        if (item.start < end)
            item.start = end;
        if (item.start >= item.end)
            continue;
        end = item.end;
        intervals->items[kept++] = item;
    }
    intervals->count = kept;
    return true;
}
