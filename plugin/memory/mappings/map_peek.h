/*
 * map_peek.h - how the memory of another process is looked at, for what its
 * allocators have written there.
 *
 * Only pages that are in memory are read: a read of another one would put it
 * there.  What comes is untrusted.
 */
#ifndef HW_MAP_PEEK_H
#define HW_MAP_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAP_PAGE = 4096 };

#define MAP_PAGE_PRESENT (UINT64_C(1) << 63) /* of an entry of pagemap */

struct map_peek {
    /* How many bytes could be read, from the first on. */
    size_t (*read)(void *arg, uint64_t at, void *out, size_t size);
    /* Entries of /proc/<pid>/pagemap of that many pages from at on, which
     * begins one: how many could be read. */
    size_t (*pages)(void *arg, uint64_t at, uint64_t *out, size_t count);
    void *arg;
};

/* Words within one page, if that is in memory. */
static inline bool
map_peek_words(const struct map_peek *peek, uint64_t at, uint64_t *out,
               size_t count)
{
    uint64_t entry;

    return peek->pages(peek->arg, at & ~(uint64_t)(MAP_PAGE - 1), &entry, 1) ==
               1 &&
           entry & MAP_PAGE_PRESENT &&
           peek->read(peek->arg, at, out, count * sizeof(*out)) ==
               count * sizeof(*out);
}

#endif
