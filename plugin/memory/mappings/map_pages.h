/*
 * map_pages.h - how much of each mapping is in memory, by its pages' entries.
 *
 * smaps has the memory map locked for as long as it looks at one mapping,
 * however large; pagemap for 2 MB at a time.
 */
#ifndef HW_MAP_PAGES_H
#define HW_MAP_PAGES_H

#include <stdint.h>
#include <sys/types.h>

struct error;
struct memory_map;

/* Fills rss, anonymous and swap of a map that has address ranges alone, and
 * sets its remark.  rss: of the whole process, bytes; what is past the ceiling
 * is the rest of it.  -1 with *err: the entries cannot be read. */
int map_pages_count(pid_t pid, uint64_t rss, struct memory_map *map,
                    struct error *err);

#endif
