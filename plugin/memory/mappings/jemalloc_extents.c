/*
 * jemalloc_extents.c - see jemalloc_extents.h.
 *
 * jemalloc 5's mallctl "arenas.lookup" would tell the arena of an address, but
 * ends the process with SIGSEGV for one that jemalloc never had (5.3.0), and
 * knows only the first page of an extent.  So nothing is asked: what jemalloc
 * has written is read from outside.
 *
 * It keeps what it knows of its memory in blocks of 2 MB and multiples, each
 * with its size and the next one in front, and itself as the first extent.  In
 * them lies a struct for each extent, whose address and size stand side by side
 * (edata_t of 5.3, extent_t of 5.0 to 5.2), behind a word of bits.  So any
 * three words there that are such bits, an address in anonymous memory, and a
 * size that ends within the same mapping, are one of its extents: what is the
 * program's own never stands there.
 */
#include "jemalloc_extents.h"

#include <stddef.h>
#include <stdint.h>

#include "map_peek.h"
#include "memory.h"
#include "memory_map.h"
#include "parts.h"
#include "search.h"

enum {
    BLOCK_ALIGNMENT = 2 << 20,
    CACHE_LINE = 64,
    PIECE = 65536, /* bytes that are read together */
    PIECE_PAGES = PIECE / MAP_PAGE,
    BLOCK_WORDS = 5, /* size, next, and of the first extent: bits, address, size
                      */
};

/* A mapping in which extents may lie. */
struct anonymous {
    uint64_t start, end;
};

struct extent_search {
    const struct map_peek *peek;
    struct parts *out;
    struct anonymous *list;
    size_t count;
    /* index of the last hit: neighbours in metadata are neighbours in memory */
    size_t last;
    uint64_t left;
    bool missed; /* what should have been read could not be */
    uint64_t words[PIECE / sizeof(uint64_t)];
};

static const struct anonymous *
find_anonymous(struct extent_search *s, uint64_t address)
{
    const struct anonymous *last = &s->list[s->last];

    if (address >= last->start && address < last->end)
        return last;
    if (address < s->list[0].start || address >= s->list[s->count - 1].end)
        return NULL;
    s->last = SEARCH_ABOVE(s->list, s->count, end, address);
    return address >= s->list[s->last].start ? &s->list[s->last] : NULL;
}

static void
add_extent(struct extent_search *s, uint64_t start, uint64_t end)
{
    const struct part part = {.start = start,
                              .end = end,
                              .kind = RANGE_JEMALLOC,
                              .owner = "",
                              .evidence = "its metadata"};

    parts_add(s->out, &part);
}

/* Any three words (bits, address, size) that fit.  The address of a large
 * extent may lie anywhere in its first page, at a cache line: jemalloc
 * randomizes it.  The lower bits of the size hold other fields. */
static void
read_extents(struct extent_search *s, size_t words)
{
    const uint64_t page = ~(uint64_t)(MAP_PAGE - 1);

    for (size_t i = 1; i + 1 < words; i++) {
        uint64_t bits = s->words[i - 1], at = s->words[i];
        uint64_t size = s->words[i + 1] & page;
        const struct anonymous *in;

        if (at < MAP_PAGE || at % CACHE_LINE != 0 || size == 0 ||
            size > (uint64_t)1 << 47 || bits == 0 || find_anonymous(s, bits))
            continue;
        in = find_anonymous(s, at);
        if (in && (at & page) >= in->start && size <= in->end - (at & page))
            add_extent(s, at & page, (at & page) + size);
    }
}

static void
read_block(struct extent_search *s, uint64_t at, uint64_t end)
{
    uint64_t entries[PIECE_PAGES];

    /* Runs of pages that are in memory are read at once; a page that is not was
     * never written, and holds no extent. */
    for (; at < end && s->left >= PIECE; at += PIECE) {
        size_t pages = s->peek->pages(s->peek->arg, at, entries, PIECE_PAGES);

        for (size_t i = 0, run; i < pages; i += run ? run : 1) {
            size_t size;

            for (run = 0; i + run < pages; run++)
                if (!(entries[i + run] & MAP_PAGE_PRESENT))
                    break;
            if (run == 0)
                continue;
            size = s->peek->read(s->peek->arg, at + i * MAP_PAGE, s->words,
                                 run * MAP_PAGE);
            s->missed |= size < run * MAP_PAGE;
            read_extents(s, size / sizeof(uint64_t));
            s->left -= run * MAP_PAGE;
        }
    }
}

/* Whether a block of metadata begins there (base_block_t): its size, the next
 * block, and itself as the first extent, within the block. */
static bool
is_metadata(struct extent_search *s, uint64_t at, uint64_t end, uint64_t *size)
{
    uint64_t w[BLOCK_WORDS];

    if (!map_peek_words(s->peek, at, w, BLOCK_WORDS))
        return false;
    *size = w[0];
    return w[0] > 0 && w[0] % BLOCK_ALIGNMENT == 0 && w[0] <= end - at &&
           w[1] % BLOCK_ALIGNMENT == 0 &&
           (w[1] == 0 || find_anonymous(s, w[1])) && w[3] >= at &&
           w[3] - at <= w[0] && w[4] <= w[0];
}

static void
list_anonymous(struct extent_search *s, const struct memory_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct memory_range *range = &map->list[i];

        if (memory_range_is_anonymous(range))
            s->list[s->count++] = (struct anonymous){range->start, range->end};
    }
}

bool
jemalloc_extents_find(const struct memory_map *map, const struct map_peek *peek,
                      struct parts *out)
{
    struct extent_search *s = mem_alloc(sizeof(*s));
    bool all = s && !out->full;

    if (s) {
        *s = (struct extent_search){.peek = peek, .out = out};
        s->left = EXTENTS_BYTES_MAX;
        s->list = mem_zalloc(map->count + 1, sizeof(*s->list));
        all = s->list != NULL;
    }
    if (all)
        list_anonymous(s, map);
    for (size_t i = 0; all && i < s->count; i++) {
        uint64_t end = s->list[i].end, size;
        uint64_t at = s->list[i].start + BLOCK_ALIGNMENT - 1;

        for (at -= at % BLOCK_ALIGNMENT; at < end && all; at += size) {
            if (is_metadata(s, at, end, &size)) {
                add_extent(s, at, at + size);
                read_block(s, at, at + size);
                all = s->left >= PIECE && !out->full && !s->missed;
            } else {
                size = BLOCK_ALIGNMENT;
            }
        }
    }
    if (s)
        mem_free(s->list);
    mem_free(s);
    return all;
}
