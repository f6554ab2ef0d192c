/*
 * index_numbering.h - which functions and inlined places an index file holds,
 * and in which order.
 *
 * Those that no range needs are left away.  A function's nodes follow each
 * other, and functions are in the order of their longest code: neighbours then
 * need few bits to name each other.  Places that nobody can tell apart (inlined
 * from one line into one node, with a linkage name) become one.
 */
#ifndef HW_INDEX_NUMBERING_H
#define HW_INDEX_NUMBERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_collected;
struct index_node;

struct index_numbering {
    struct index_node *nodes; /* parents before theirs, by new number */
    size_t count, capacity;
    uint32_t *number; /* of every collected node: its new one */
    size_t number_capacity;
};

/* numbering is zeroed by the caller; false: no room. */
bool index_numbering_init(struct index_numbering *numbering,
                          const struct index_collected *all);
void index_numbering_fini(struct index_numbering *numbering,
                          const struct index_collected *all);

#endif
