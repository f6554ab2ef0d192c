/*
 * address_map.h - ranges that overlap, made into ranges that do not: at each
 * address the one of the lowest rank wins.
 */
#ifndef HW_ADDRESS_MAP_H
#define HW_ADDRESS_MAP_H

#include <stddef.h>
#include <stdint.h>

/* [start, end): start < end. */
struct address_range {
    uint64_t start, end;
    uint64_t rank;  /* lower ones win, of equal ones the lower value */
    uint32_t value; /* whose it is */
};

/*
 * Sorts ranges (in place) and gives a new array, ascending and without
 * overlaps, of at most 2 * count - 1 ranges; neighbours of one value are one.
 * NULL without memory, or when there are none.
 */
struct address_range *address_map_make(struct address_range *ranges,
                                       size_t count, size_t *made);

/* The range with address, or NULL. */
const struct address_range *address_map_find(const struct address_range *map,
                                             size_t count, uint64_t address);

#endif
