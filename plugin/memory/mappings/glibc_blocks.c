/*
 * glibc_blocks.c - see glibc_blocks.h.
 *
 * An arena but the first has heaps of 64 MB, each where a multiple of that
 * begins, with a heap_info in front: arena, previous heap, size, and how much
 * of it may be used.  A block of more than the threshold (128 KB, up to 32 MB)
 * is a mapping of its own; in front are the bytes that alignment took, and the
 * size, a number of pages, with the second bit set.  glibc 2.3 to 2.41 agree.
 */
#include "glibc_blocks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map_peek.h"
#include "memory_map.h"
#include "parts.h"

/* Whether a heap_info (malloc/arena.c) lies there: ar_ptr, prev, size,
 * mprotect_size.  *usable is the last: up to there the heap is writable. */
static bool
is_heap(const struct map_peek *peek, uint64_t at, uint64_t *usable)
{
    uint64_t w[4];

    if (!map_peek_words(peek, at, w, 4))
        return false;
    *usable = w[3];
    return w[0] != 0 && w[0] % sizeof(void *) == 0 && w[1] % GLIBC_HEAP == 0 &&
           w[2] > 0 && w[2] % MAP_PAGE == 0 && w[3] % MAP_PAGE == 0 &&
           w[2] <= w[3] && w[3] <= GLIBC_HEAP;
}

void
glibc_heaps_find(const struct memory_map *map, const struct map_peek *peek,
                 struct parts *out)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct memory_range *range = &map->list[i];
        uint64_t at = range->start + GLIBC_HEAP - 1, usable;

        if (!memory_range_is_anonymous(range))
            continue;
        for (at -= at % GLIBC_HEAP; at < range->end; at += GLIBC_HEAP) {
            struct part part = {.start = at,
                                .kind = RANGE_GLIBC,
                                .owner = "an arena's heap",
                                .evidence = "its header"};

            if (!is_heap(peek, at, &usable))
                continue;
            part.end = usable < range->end - at ? at + usable : range->end;
            parts_add(out, &part);
        }
    }
}

/* The size of a mapped block (malloc_chunk: prev_size, size with IS_MMAPPED 2
 * as its only flag); 0 if there is none. */
static uint64_t
read_block_size(const struct map_peek *peek, uint64_t at, uint64_t end)
{
    uint64_t w[2], size;

    if (!map_peek_words(peek, at, w, 2) || (w[1] & 7) != 2)
        return 0;
    size = w[1] & ~(uint64_t)7;
    return size % MAP_PAGE == 0 && w[0] < size && size <= end - at ? size : 0;
}

/* Where the row of adjacent blocks that begins at at ends. */
static uint64_t
find_row_end(const struct map_peek *peek, uint64_t at, uint64_t end,
             size_t *left)
{
    uint64_t size = 1;

    for (; at < end && size > 0 && *left > 0; at += size) {
        --*left;
        size = read_block_size(peek, at, end);
    }
    return at;
}

/* A row that does not begin where the stretch does must reach its end: words
 * that merely look like a header do not lead to one. */
static void
add_blocks(const struct map_peek *peek, uint64_t start, uint64_t end,
           bool anywhere, size_t *left, struct parts *out)
{
    struct part part = {.kind = RANGE_GLIBC,
                        .owner = "blocks of their own mapping",
                        .evidence = "their headers"};

    for (uint64_t at = start; at<end && * left> 0; at += MAP_PAGE) {
        uint64_t row_end = find_row_end(peek, at, end, left);

        if (row_end > at && (at == start || row_end == end)) {
            part.start = at;
            part.end = row_end;
            parts_add(out, &part);
            at = row_end - MAP_PAGE;
        }
        if (!anywhere)
            return;
    }
}

void
glibc_blocks_find(const struct memory_map *map, const struct map_peek *peek,
                  const struct parts *known, bool anywhere, struct parts *out)
{
    size_t left = GLIBC_PROBES_MAX;

    for (size_t i = 0; i < map->count; i++) {
        const struct memory_range *range = &map->list[i];
        uint64_t at = range->start;

        if (!memory_range_is_anonymous(range))
            continue;
        for (size_t k = parts_find(known, at); at < range->end; k++) {
            const struct part *next = k < known->count ? &known->list[k] : NULL;
            uint64_t end =
                next && next->start < range->end ? next->start : range->end;

            if (at < end)
                add_blocks(peek, at, end, anywhere, &left, out);
            at = next && next->start < range->end ? next->end : range->end;
        }
    }
}
