/*
 * glibc_blocks.h - what of a process's memory belongs to glibc's malloc, by
 * what that has written of it.
 */
#ifndef HW_GLIBC_BLOCKS_H
#define HW_GLIBC_BLOCKS_H

struct map_peek;
struct memory_map;
struct parts;

enum { GLIBC_HEAP = 64 << 20, GLIBC_BLOCKS_MAX = 65536 /* that are read */ };

/* Adds its arenas' heaps. */
void glibc_heaps_find(const struct memory_map *map, const struct map_peek *peek,
                      struct parts *out);
/* Adds the blocks that it has mapped one by one, where a mapping, or what
 * follows one of the (sorted) parts, begins with one. */
void glibc_blocks_find(const struct memory_map *map,
                       const struct map_peek *peek, const struct parts *known,
                       struct parts *out);

#endif
