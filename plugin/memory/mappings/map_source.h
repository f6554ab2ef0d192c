/*
 * map_source.h - a process's mappings as the kernel tells them: from outside,
 * or as its agent has handed them over.
 *
 * smaps makes the kernel look at each page of the process, and hold its memory
 * map meanwhile, a mapping at a time: its own mmap and munmap wait, 30 ms for
 * each GB.  So it is read for a statement, not every second; and of a large
 * process not at all: map_pages.h.
 */
#ifndef HW_MAP_SOURCE_H
#define HW_MAP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "reader.h"

struct error;
struct memory_map;

enum { MAP_SMAPS_GB = 1 /* in memory, or more: smaps is not read */ };

/* What is to be read. */
struct map_source {
    pid_t pid;            /* as we see it; 0: it is out of sight */
    uint64_t start_ticks; /* of that process */
    int smaps;            /* opened by map_source_open; -1: the agent's text */
    uint64_t too_large_bytes; /* in memory, if that is too much for smaps, so
                               * maps is read instead; else 0 */
    struct span text; /* the agent's: its smaps, and a line of each thread */
    struct span threads;
    bool cut;               /* the agent's text ends too soon */
    bool jemalloc;          /* it serves the process's malloc */
    uint64_t jemalloc_most; /* bytes that it has mapped; 0: not known */
    const char *remark;     /* what is to be said of it; "" */
};

/* What the process has in memory, if that is too much for smaps; else 0. */
uint64_t map_source_large_bytes(pid_t pid);
/* Opens smaps, or maps if too_large_bytes is set.  -1 with errno: EACCES,
 * EPERM: the process is closed to us. */
int map_source_open(struct map_source *source);
/* With owners.  NULL with *err: no memory, or there is nothing to read. */
struct memory_map *map_source_read(const struct map_source *source,
                                   struct error *err);
/* The address ranges alone; NULL: they cannot be read. */
struct memory_map *map_source_ranges(pid_t pid);

#endif
