/*
 * graph.h - a profile as a call graph: who allocates, and who called.
 *
 * The nodes, edges, weights and drop rules of "jeprof --functions".  Ties are
 * broken by name, so equal profiles give equal graphs.
 */
#ifndef HW_GRAPH_H
#define HW_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct profile;

struct graph_options {
    uint32_t nodecount;    /* at most so many nodes */
    double nodefraction;   /* drop nodes of at most this part of the total */
    double edgefraction;   /* drop edges of at most this part of the total */
    uint32_t maxdegree;    /* at most so many edges into, and out of, a node */
    bool allocator_frames; /* keep them, as jeprof does: see allocator.h */
};

/* 80, .005, .001, 8, false: jeprof's */
extern const struct graph_options graph_defaults;

/* Values are bytes in use. */
struct graph_node {
    const char *name;  /* short function name, perhaps with " (inline)" */
    double flat;       /* allocated by it */
    double cumulative; /* by it and whatever it called */
};

struct graph_edge {
    uint32_t caller, callee; /* indices of nodes */
    double bytes;
};

struct graph {
    const struct graph_node *nodes; /* the heaviest (cumulative) first */
    uint32_t node_count;
    const struct graph_edge *edges; /* the heaviest first */
    size_t edge_count;
    double total;                  /* of the profile */
    double focus;                  /* of the stacks that have any frame left */
    double node_limit, edge_limit; /* dropped at or below, bytes */
    struct arena *arena;
};

/* options NULL: graph_defaults.  The graph does not need the profile any
 * more.  NULL with *err without memory or past the ceiling. */
struct graph *graph_new(const struct profile *profile,
                        const struct graph_options *options, struct error *err);
void graph_free(struct graph *graph); /* NULL is fine */

#endif
