/*
 * graph.h - a profile as a call graph: which functions allocate, and their
 * callers.
 *
 * Has the nodes, edges, weights and drop rules of "jeprof --functions".  Ties
 * are broken by name, so equal profiles give equal graphs.
 */
#ifndef HW_GRAPH_H
#define HW_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "stack_names.h"

struct arena;
struct error;
struct profile;
struct view_options;

/*
 * The weight of each function of a profile, for graph and text.
 *
 * In the measure and granularity of the options, so a "function" may be a line,
 * a file or an address; only stacks in focus count.
 */

struct weight {
    const char *name;  /* NULL: no stack has it */
    double flat;       /* allocated by itself */
    double cumulative; /* by itself and all it called */
    /* Sums of the stacks' variances; 0 unless the measure has one. */
    double flat_variance, cumulative_variance;
    uint32_t seen; /* for weighing: 1 + the last stack with the name */
};

struct weights {
    struct stack_names names;
    struct weight *list; /* by number in the texts */
    uint32_t count;
    double focus;     /* of the stacks that have a frame left */
    uint32_t *frames; /* room for the names of one stack */
};

/* Names last as long as both profile and weights.  -1 with *err (see
 * stack_names_init): weights_fini is still needed. */
int weights_init(struct weights *weights, const struct profile *profile,
                 const struct view_options *options, struct arena *arena,
                 struct error *err);
void weights_fini(struct weights *weights); /* zeroed is fine */

/* Values are of the options' measure; signed in a difference. */
struct graph_node {
    const char *name;  /* as in symbols.h */
    double flat;       /* allocated by itself */
    double cumulative; /* by itself and all it called */
};

struct graph_edge {
    uint32_t caller, callee; /* indices of nodes */
    double value;
};

struct graph {
    const struct graph_node *nodes; /* the heaviest (cumulative) first */
    uint32_t node_count;
    const struct graph_edge *edges; /* the heaviest first */
    size_t edge_count;
    double total;                  /* of the profile */
    double focus;                  /* of the stacks that have a frame left */
    double node_limit, edge_limit; /* dropped at or below */
    struct arena *arena;
};

/* options NULL: view_defaults.  The profile may be freed afterwards.  NULL with
 * *err: no memory, past the ceiling, cancelled, or the profile lacks the
 * measure. */
struct graph *graph_new(const struct profile *profile,
                        const struct view_options *options, struct error *err);
void graph_free(struct graph *graph); /* NULL is fine */

#endif
