/*
 * address_map.h - turns overlapping ranges into ranges that do not overlap: at
 * each address, the lowest rank wins.
 */
#ifndef HW_ADDRESS_MAP_H
#define HW_ADDRESS_MAP_H

#include <stddef.h>
#include <stdint.h>

/* [start, end): start < end. */
struct address_range {
    uint64_t start, end;
    uint64_t rank;  /* the lower wins; of equal ranks the lower value */
    uint32_t value; /* the owner */
};

/*
 * Sorts ranges in place, and returns a new array, ascending and without
 * overlaps, of at most 2 * count - 1 ranges; adjacent ranges of one value are
 * joined.  NULL without memory, or if there are none.
 */
struct address_range *address_map_make(struct address_range *ranges,
                                       size_t count, size_t *made);

/* The range that contains address, or NULL. */
const struct address_range *address_map_find(const struct address_range *map,
                                             size_t count, uint64_t address);

#endif
