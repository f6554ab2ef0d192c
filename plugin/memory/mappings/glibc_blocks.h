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
    /* Pages that are looked at for a block: of 128 MB that are none. */
    GLIBC_PROBES_MAX = 32768
};

/* Adds its arenas' heaps. */
void glibc_heaps_find(const struct memory_map *map, const struct map_peek *peek,
                      struct parts *out);
/* Adds the blocks that it has mapped one by one, from where a mapping, or what
 * follows one of the (sorted) parts, begins.  anywhere: also behind what is
 * none. */
void glibc_blocks_find(const struct memory_map *map,
                       const struct map_peek *peek, const struct parts *known,
                       bool anywhere, struct parts *out);

#endif
