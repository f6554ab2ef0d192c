/* calls.h - the weights of the calls between a graph's nodes. */
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
    struct graph_edge
        *edges; /* distinct, in the order of their first occurrence */
    uint32_t count;
};

/* -1: no memory, past the ceiling or cancelled; *err may not mention memory. */
int calls_weigh(struct calls *calls, struct weights *weights,
                const struct calls_among *among,
                const struct view_options *options, struct error *err);
void calls_fini(struct calls *calls); /* zeroed is fine */

#endif
