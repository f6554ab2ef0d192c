/*
 * glibc_blocks.h - what of a process's memory belongs to glibc's malloc, by
 * what that has written of it.
 */
#ifndef HW_GLIBC_BLOCKS_H
#define HW_GLIBC_BLOCKS_H

#include <stdbool.h>

struct map_peek;
struct memory_map;
struct parts;

enum {
    GLIBC_HEAP = 64 << 20,
    /* At most so many pages are looked at for a block, found or not: 128 MB
     * without any. */
    GLIBC_PROBES_MAX = 32768
};

/* Adds its arenas' heaps. */
void glibc_heaps_find(const struct memory_map *map, const struct map_peek *peek,
                      struct parts *out);
/* Adds the blocks that malloc has mapped one by one.  They are looked for where
 * a mapping begins, and behind each of the (sorted) known parts; with anywhere
 * also behind pages that are no block. */
void glibc_blocks_find(const struct memory_map *map,
                       const struct map_peek *peek, const struct parts *known,
                       bool anywhere, struct parts *out);

#endif
