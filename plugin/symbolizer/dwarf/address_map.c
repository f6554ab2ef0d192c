/*
 * address_map.c - see address_map.h.
 *
 * Ranges of units and of inlined calls nest and overlap, and each address must
 * have one owner.  Asking each range for each address would be quadratic; this
 * sweeps over the starts with a heap of the ranges that have begun, the winner
 * on top; a range that has ended is removed when it comes to the top.  n log n,
 * but for large n sorting is by digits: it would take most of the time.  Pure;
 * the caller charges the memory.
 */
#include "address_map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "search.h"

enum {
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    MANY = 1000 /* fewer ranges are sorted by comparison */
};

static int
by_start(const void *a, const void *b)
{
    const struct address_range *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

/* One pass of a radix sort by start: stable, so passes go from the lowest digit
 * to the highest.  spare has the same room. */
static void
sort_digit(const struct address_range *ranges, size_t count, unsigned shift,
           struct address_range *spare)
{
    size_t starts[DIGITS] = {0}, at = 0, n;

    for (size_t i = 0; i < count; i++)
        starts[ranges[i].start >> shift & (DIGITS - 1)]++;
    for (size_t i = 0; i < DIGITS; i++) {
        n = starts[i];
        starts[i] = at;
        at += n;
    }
    for (size_t i = 0; i < count; i++)
        spare[starts[ranges[i].start >> shift & (DIGITS - 1)]++] = ranges[i];
}

/* Sorts by start; the order of equal starts does not matter to the sweep.
 * Digits in which no two starts differ are skipped: the highest ones mostly. */
static void
sort_ranges(struct address_range *ranges, size_t count,
            struct address_range *spare)
{
    struct address_range *from = ranges, *to = spare, *sorted;
    uint64_t differ = 0;

    if (count < MANY) {
        qsort(ranges, count, sizeof(*ranges), by_start);
        return;
    }
    for (size_t i = 0; i < count; i++)
        differ |= ranges[i].start ^ ranges[0].start;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differ >> shift & (DIGITS - 1)) == 0)
            continue;
        sort_digit(from, count, shift, to);
        sorted = to;
        to = from;
        from = sorted;
    }
    if (from != ranges)
        memcpy(ranges, from, count * sizeof(*ranges));
}

static bool
is_range_preferred(const struct address_range *a, const struct address_range *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->value < b->value;
}

struct heap {
    const struct address_range **list;
    size_t count;
};

static void
heap_push(struct heap *h, const struct address_range *range)
{
    size_t at = h->count++;

    while (at > 0 && is_range_preferred(range, h->list[(at - 1) / 2])) {
        h->list[at] = h->list[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    h->list[at] = range;
}

static void
heap_pop(struct heap *h)
{
    const struct address_range *last = h->list[--h->count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < h->count) {
        if (child + 1 < h->count &&
            is_range_preferred(h->list[child + 1], h->list[child]))
            child++;
        if (!is_range_preferred(h->list[child], last))
            break;
        h->list[at] = h->list[child];
        at = child;
    }
    h->list[at] = last;
}

/* Adds [start, end) as the winner's; joined to the last range if it has the
 * same owner. */
static size_t
put_winner_range(struct address_range *map, size_t count,
                 const struct address_range *winner, uint64_t start,
                 uint64_t end)
{
    struct address_range *last = count > 0 ? &map[count - 1] : NULL;

    if (last && last->value == winner->value && last->end == start) {
        last->end = end;
        return count;
    }
    map[count] = *winner;
    map[count].start = start;
    map[count].end = end;
    return count + 1;
}

struct address_range *
address_map_make(struct address_range *ranges, size_t count, size_t *made)
{
    /* each range begins and ends once: at most 2 * count - 1 pieces; the map
     * also serves as the sort's spare array */
    struct address_range *map = mem_zalloc(count, 2 * sizeof(*map));
    struct heap h = {mem_zalloc(count, sizeof(*h.list)), 0};
    size_t next = 0, used = 0;
    uint64_t at = 0;

    *made = 0;
    if (!map || !h.list || count == 0) {
        mem_free(map);
        mem_free(h.list);
        return NULL;
    }
    sort_ranges(ranges, count, map);
    while (next < count || h.count > 0) {
        uint64_t end;

        if (h.count == 0)
            at = ranges[next].start;
        while (next < count && ranges[next].start <= at)
            heap_push(&h, &ranges[next++]);
        while (h.count > 0 && h.list[0]->end <= at)
            heap_pop(&h);
        if (h.count == 0)
            continue;
        end = h.list[0]->end;
        if (next < count && ranges[next].start < end)
            end = ranges[next].start;
        used = put_winner_range(map, used, h.list[0], at, end);
        at = end;
    }
    mem_free(h.list);
    *made = used;
    return map;
}

const struct address_range *
address_map_find(const struct address_range *map, size_t count,
                 uint64_t address)
{
    size_t low = SEARCH_ABOVE(map, count, end, address);

    return low < count && map[low].start <= address ? &map[low] : NULL;
}
