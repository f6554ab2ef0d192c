/*
 * jemalloc_extents.h - what of a process's memory belongs to a jemalloc, by
 * what that has written of it.
 */
#ifndef HW_JEMALLOC_EXTENTS_H
#define HW_JEMALLOC_EXTENTS_H

#include <stdbool.h>

struct map_peek;
struct memory_map;
struct parts;

enum {
    /* Bytes of jemalloc's metadata that are read: what 25 GB of small objects
     * have, or much more of large ones. */
    EXTENTS_BYTES_MAX = 512 << 20
};

/* Adds them.  False: metadata past that ceiling were not read, or no longer
 * there, so some of its memory may be missing. */
bool jemalloc_extents_find(const struct memory_map *map,
                           const struct map_peek *peek, struct parts *out);

#endif
