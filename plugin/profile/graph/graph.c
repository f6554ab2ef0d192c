/*
 * graph.c - see graph.h.
 *
 * Walks over the stacks twice: the first walk weighs functions; then it chooses
 * nodes; the second walk weighs the calls between them (calls.c).
 */
#include "graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "calls.h"
#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "view_options.h"
#include "weights.h"

enum { GRAPH_MEMORY_MAX = 1 << 30 };

struct builder {
    const struct profile *profile;
    struct view_options options;
    struct graph *graph;
    struct weights weights;
    uint32_t *nodes; /* per text: 1 + its index if it is kept */
    struct calls calls;
    struct error *err;
};

struct ranked {
    double weight;
    const char *name;
    uint32_t text;
};

static int
compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    /* In a difference, a large decrease matters like a large growth. */
    if (fabs(x->weight) != fabs(y->weight))
        return fabs(x->weight) < fabs(y->weight) ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int
choose_nodes(struct builder *b)
{
    struct graph *graph = b->graph;
    uint32_t texts = b->weights.count, count = 0;
    struct ranked *ranked = mem_zalloc(texts, sizeof(*ranked));
    struct graph_node *nodes;
    int rc = -1;

    graph->node_limit = trunc(b->options.nodefraction * graph->focus);
    graph->edge_limit = trunc(b->options.edgefraction * graph->focus);
    if (!ranked)
        goto out;
    for (uint32_t i = 0; i < texts; i++) {
        const struct weight *w = &b->weights.list[i];

        if (w->name && fabs(w->cumulative) > graph->node_limit)
            ranked[count++] = (struct ranked){w->cumulative, w->name, i};
    }
    if (count > 0)
        qsort(ranked, count, sizeof(*ranked), compare_ranked);
    if (count > b->options.nodecount)
        count = b->options.nodecount;
    nodes = arena_alloc(graph->arena, count * sizeof(*nodes));
    if (!nodes)
        goto out;
    for (uint32_t i = 0; i < count; i++) {
        const struct weight *w = &b->weights.list[ranked[i].text];

        b->nodes[ranked[i].text] = i + 1;
        nodes[i] = (struct graph_node){
            arena_strndup(graph->arena, ranked[i].name, strlen(ranked[i].name)),
            w->flat, w->cumulative};
        if (!nodes[i].name)
            goto out;
    }
    graph->nodes = nodes;
    graph->node_count = count;
    rc = 0;
out:
    mem_free(ranked);
    return rc;
}

static int
compare_edges(const void *a, const void *b, void *arg)
{
    const struct graph_edge *x = a, *y = b;
    const struct graph_node *nodes = ((struct graph *)arg)->nodes;
    int order;

    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    order = strcmp(nodes[x->caller].name, nodes[y->caller].name);
    return order ? order : strcmp(nodes[x->callee].name, nodes[y->callee].name);
}

/* The first edge into a node is kept whatever its weight, so that the node is
 * reachable; the fraction decides on the others, then the degrees. */
static int
choose_edges(struct builder *b)
{
    struct graph *graph = b->graph;
    uint32_t *in = mem_zalloc(graph->node_count, sizeof(*in));
    uint32_t *out = mem_zalloc(graph->node_count, sizeof(*out));
    struct graph_edge *edges =
        arena_alloc(graph->arena, b->calls.count * sizeof(*edges));
    size_t count = 0;
    int rc = -1;

    if (!in || !out || !edges)
        goto out;
    if (b->calls.count)
        qsort_r(b->calls.edges, b->calls.count, sizeof(*b->calls.edges),
                compare_edges, graph);
    for (uint32_t i = 0; i < b->calls.count; i++) {
        const struct graph_edge *edge = &b->calls.edges[i];

        if (in[edge->callee] > 0 &&
            (fabs(edge->value) <= graph->edge_limit ||
             out[edge->caller] >= b->options.maxdegree ||
             in[edge->callee] >= b->options.maxdegree))
            continue;
        out[edge->caller]++;
        in[edge->callee]++;
        edges[count++] = *edge;
    }
    graph->edges = edges;
    graph->edge_count = count;
    rc = 0;
out:
    mem_free(in);
    mem_free(out);
    return rc;
}

static int
build(struct builder *b)
{
    struct calls_among among;

    if (weights_init(&b->weights, b->profile, &b->options, b->graph->arena,
                     b->err) != 0)
        return -1;
    b->graph->focus = b->weights.focus;
    b->nodes = mem_zalloc(b->weights.count, sizeof(*b->nodes));
    if (!b->nodes || choose_nodes(b) != 0)
        return -1;
    among = (struct calls_among){b->nodes, b->graph->node_count};
    if (calls_weigh(&b->calls, &b->weights, &among, &b->options, b->err) != 0)
        return -1;
    return choose_edges(b);
}

struct graph *
graph_new(const struct profile *profile, const struct view_options *options,
          struct error *err)
{
    struct error failure = {0};
    struct builder b = {.profile = profile, .err = &failure};
    int rc = -1;

    b.options = options ? *options : view_defaults;
    b.graph = mem_zalloc(1, sizeof(*b.graph));
    if (b.graph)
        b.graph->arena = arena_new(GRAPH_MEMORY_MAX);
    if (b.graph && b.graph->arena) {
        b.graph->total = profile_total(profile, b.options.measure);
        rc = build(&b);
    }
    weights_fini(&b.weights);
    mem_free(b.nodes);
    calls_fini(&b.calls);
    if (rc != 0) {
        if (failure.code == 0)
            error_memory(&failure, "the call graph");
        if (err)
            *err = failure;
        graph_free(b.graph);
        return NULL;
    }
    return b.graph;
}

void
graph_free(struct graph *graph)
{
    if (!graph)
        return;
    arena_free(graph->arena);
    mem_free(graph);
}
