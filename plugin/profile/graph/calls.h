/*
 * calls.h - what the calls among a graph's nodes weigh.
 */
#ifndef HW_CALLS_H
#define HW_CALLS_H

#include <stdint.h>

struct error;
struct graph_edge;
struct view_options;
struct weights;

struct calls_among {
    const uint32_t *nodes; /* per text of the weights: 1 + its index; 0: none */
    uint32_t node_count;
};

struct calls {
    struct graph_edge *edges; /* distinct, as they were met */
    uint32_t count;
};

/* -1 without memory, past the ceiling or cancelled; *err may lack that it is
 * memory. */
int calls_weigh(struct calls *calls, struct weights *weights,
                const struct calls_among *among,
                const struct view_options *options, struct error *err);
void calls_fini(struct calls *calls); /* zeroed is fine */

#endif
