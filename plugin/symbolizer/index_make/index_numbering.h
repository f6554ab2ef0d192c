/*
 * index_numbering.h - the functions and inlined places of an index file, in
 * their order.
 *
 * Leaves out those that no range needs.  A function's nodes are adjacent, and
 * functions are in the order of their longest code: so neighbors refer to each
 * other with few bits.  Places that cannot be told apart (inlined from one line
 * into one node, with a linkage name) become one.
 */
#ifndef HW_INDEX_NUMBERING_H
#define HW_INDEX_NUMBERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_collected;
struct index_node;

struct index_numbering {
    struct index_node *nodes; /* by new number, parents first */
    size_t count, capacity;
    uint32_t *number; /* by collected node: its new number */
    size_t number_capacity;
};

/* numbering must be zeroed; false: no room. */
bool index_numbering_init(struct index_numbering *numbering,
                          const struct index_collected *all);
void index_numbering_fini(struct index_numbering *numbering,
                          const struct index_collected *all);

#endif
