/*
 * index_intervals.h - runs of addresses with something said of each, collected
 * in any order and put in order.
 */
#ifndef HW_INDEX_INTERVALS_H
#define HW_INDEX_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_room;

struct index_interval {
    uint64_t start, end;
    uint32_t a, b; /* what is said */
};

struct index_intervals {
    struct index_interval *items;
    size_t count, capacity;
};

/* Empty ones are left away.  false: no room. */
bool index_intervals_add(struct index_intervals *intervals,
                         const struct index_room *room,
                         const struct index_interval *item);
void index_intervals_fini(struct index_intervals *intervals,
                          const struct index_room *room);

/* Sorted by start; where they overlap, the first in that order, and of equals
 * the first that was added, keeps what it has.  false: no room. */
bool index_intervals_sort(struct index_intervals *intervals,
                          const struct index_room *room);

#endif
