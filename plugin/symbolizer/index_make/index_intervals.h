/*
 * index_intervals.h - facts about ranges of addresses, added in any order and
 * sorted.
 */
#ifndef HW_INDEX_INTERVALS_H
#define HW_INDEX_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dwarf_room;

struct index_interval {
    uint64_t start, end;
    uint32_t a, b; /* the fact */
};

struct index_intervals {
    struct index_interval *items;
    size_t count, capacity;
};

/* Ignores empty ones.  False: no room. */
bool index_intervals_add(struct index_intervals *intervals,
                         struct dwarf_room *room,
                         const struct index_interval *item);
void index_intervals_fini(struct index_intervals *intervals,
                          struct dwarf_room *room);

/* Sorts by start; where they overlap, the first in that order wins, and of
 * equal ones the one added first.  False: no room. */
bool index_intervals_sort(struct index_intervals *intervals,
                          struct dwarf_room *room);

#endif
