/*
 * graph.c - see graph.h.
 *
 * Two walks over the stacks: the first weighs functions, then the nodes that
 * stay are chosen, and the second weighs the calls among them.
 */
#include "graph.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "view_options.h"
#include "weights.h"

enum {
    GRAPH_MEMORY_MAX = 1 << 30,
    EDGES_FIRST = 1024, /* a power of two */
    EDGES_MAX = 1 << 24,
    TABLE_NODES_MAX = 256 /* whose edges are looked up without a hash */
};

/* Of a location: which nodes (from 1; 0: none) its frames are, where the
 * allocator's own do not hide some. */
struct passage {
    uint32_t inner, outer; /* the innermost frame's, and the outermost's */
    bool shown;            /* it has frames */
    bool calls;            /* some call each other */
};

/* Of one whose frames call each other: the stacks that all of them are in. */
struct met {
    double value;
    bool any;
};

struct builder {
    const struct profile *profile;
    struct view_options options;
    struct graph *graph;
    struct weights weights;
    uint32_t *nodes; /* per text: 1 + its index, once it is known to stay */
    struct passage *passages; /* per location */
    struct met *met;          /* likewise */
    struct error *err;

    struct graph_edge *edges;
    uint32_t *slots; /* 1 + edge, by hash; twice edge_room */
    uint32_t edge_count, edge_room;
    uint32_t *table; /* 1 + edge, per caller and callee, or NULL */
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

    /* Of a difference, what shrank much matters as what grew does. */
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

static uint32_t *
edge_slot(const struct builder *b, uint32_t caller, uint32_t callee)
{
    uint64_t key = (uint64_t)caller << 32 | callee;
    uint32_t mask = b->edge_room * 2 - 1;
    uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 32) & mask;

    for (; b->slots[i]; i = (i + 1) & mask) {
        const struct graph_edge *edge = &b->edges[b->slots[i] - 1];

        if (edge->caller == caller && edge->callee == callee)
            break;
    }
    return &b->slots[i];
}

static int
grow_edges(struct builder *b)
{
    uint32_t room = b->edge_room ? b->edge_room * 2 : EDGES_FIRST;
    struct graph_edge *edges;
    uint32_t *slots;

    if (room > EDGES_MAX)
        return -1;
    edges = mem_realloc(b->edges, room * sizeof(*edges));
    if (!edges)
        return -1;
    b->edges = edges;
    b->edge_room = room;
    if (b->table)
        return 0;
    slots = mem_zalloc((size_t)room * 2, sizeof(*slots));
    if (!slots)
        return -1;
    mem_free(b->slots);
    b->slots = slots;
    for (uint32_t i = 0; i < b->edge_count; i++)
        *edge_slot(b, edges[i].caller, edges[i].callee) = i + 1;
    return 0;
}

static int
add_call(struct builder *b, uint32_t caller, uint32_t callee, double value)
{
    uint32_t *slot;

    if (b->edge_count == b->edge_room && grow_edges(b) != 0)
        return -1;
    slot = b->table ? &b->table[caller * b->graph->node_count + callee]
                    : edge_slot(b, caller, callee);
    if (*slot == 0) {
        b->edges[b->edge_count++] = (struct graph_edge){caller, callee, 0};
        *slot = b->edge_count;
    }
    b->edges[*slot - 1].value += value;
    return 0;
}

/* Names of frames that follow each other, after one of *callee. */
static int
add_calls(struct builder *b, const uint32_t *names, size_t count, double value,
          uint32_t *callee)
{
    for (size_t k = 0; k < count; k++) {
        uint32_t caller = b->nodes[names[k]];

        if (caller && *callee &&
            add_call(b, caller - 1, *callee - 1, value) != 0)
            return -1;
        *callee = caller;
    }
    return 0;
}

/*
 * Where names are those of the locations: few frames are nodes that stay, and
 * the calls within a location are added once, at the end.
 */
static int
weigh_locations(struct builder *b, const struct profile_stack *stack,
                double value)
{
    const struct stack_names *names = &b->weights.names;
    struct allocator_cut cut = stack_names_cut(names, stack);
    uint32_t callee = 0, at = cut.location;

    if (cut.frame > 0) {
        struct shown_frames shown = names->shown[stack->locations[at++]];

        if (cut.frame < shown.count &&
            add_calls(b, names->symbols.names + shown.first + cut.frame,
                      shown.count - cut.frame, value, &callee) != 0)
            return -1;
    }
    for (; at < stack->depth; at++) {
        const struct passage *passage = &b->passages[stack->locations[at]];

        if (!passage->shown)
            continue;
        if (passage->inner && callee &&
            add_call(b, passage->inner - 1, callee - 1, value) != 0)
            return -1;
        if (passage->calls) {
            struct met *met = &b->met[stack->locations[at]];

            met->any = true;
            met->value += value;
        }
        callee = passage->outer;
    }
    return 0;
}

static int
weigh_within_locations(struct builder *b)
{
    const struct stack_names *names = &b->weights.names;

    for (size_t i = 0; i < b->profile->location_count; i++) {
        struct shown_frames shown = names->shown[i];
        uint32_t callee = 0;

        if (b->met[i].any &&
            add_calls(b, names->symbols.names + shown.first, shown.count,
                      b->met[i].value, &callee) != 0)
            return -1;
    }
    return 0;
}

/* Few nodes, as nearly always. */
static int
make_table(struct builder *b)
{
    size_t count = b->graph->node_count;

    if (count > TABLE_NODES_MAX)
        return 0;
    b->table = mem_zalloc(count * count, sizeof(*b->table));
    return b->table ? 0 : -1;
}

static int
make_passages(struct builder *b)
{
    const struct stack_names *names = &b->weights.names;

    b->passages = mem_zalloc(b->profile->location_count, sizeof(*b->passages));
    b->met = mem_zalloc(b->profile->location_count, sizeof(*b->met));
    if (!b->passages || !b->met)
        return -1;
    for (size_t i = 0; i < b->profile->location_count; i++) {
        const uint32_t *of = names->symbols.names + names->shown[i].first;
        struct passage *passage = &b->passages[i];
        uint32_t count = names->shown[i].count;

        for (uint32_t k = 1; k < count; k++)
            passage->calls |= b->nodes[of[k - 1]] && b->nodes[of[k]];
        passage->shown = count > 0;
        passage->inner = count ? b->nodes[of[0]] : 0;
        passage->outer = count ? b->nodes[of[count - 1]] : 0;
    }
    return 0;
}

/* Unlike nodes, an edge counts each time it is met in a recursion. */
static int
weigh_calls(struct builder *b)
{
    struct stack_names *names = &b->weights.names;
    bool as_located = stack_names_are_located(names);
    uint32_t callee;
    size_t count;
    int rc;

    if (b->profile->location_count == 0)
        return 0;
    assert(names->shown && names->symbols.names);
    if (make_table(b) != 0 || (as_located && make_passages(b) != 0))
        return -1;
    for (size_t i = 0; i < b->profile->stack_count; i++) {
        const struct profile_stack *stack = &b->profile->stacks[i];
        double value = profile_value(stack, b->options.measure);

        if (view_cancelled(&b->options, i, b->err))
            return -1;
        callee = 0;
        if (as_located)
            rc = weigh_locations(b, stack, value);
        else if (stack_names_list(names, stack, b->weights.frames, &count) == 0)
            rc = add_calls(b, b->weights.frames, count, value, &callee);
        else
            rc = -1;
        if (rc != 0)
            return -1;
    }
    return as_located ? weigh_within_locations(b) : 0;
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

/* The first edge into a node stays whatever its weight, so that the node can
 * be reached; then the fraction decides, then the degrees. */
static int
choose_edges(struct builder *b)
{
    struct graph *graph = b->graph;
    uint32_t *in = mem_zalloc(graph->node_count, sizeof(*in));
    uint32_t *out = mem_zalloc(graph->node_count, sizeof(*out));
    struct graph_edge *edges =
        arena_alloc(graph->arena, b->edge_count * sizeof(*edges));
    size_t count = 0;
    int rc = -1;

    if (!in || !out || !edges)
        goto out;
    if (b->edge_count)
        qsort_r(b->edges, b->edge_count, sizeof(*b->edges), compare_edges,
                graph);
    for (uint32_t i = 0; i < b->edge_count; i++) {
        const struct graph_edge *edge = &b->edges[i];

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
    if (weights_init(&b->weights, b->profile, &b->options, b->graph->arena,
                     b->err) != 0)
        return -1;
    b->graph->focus = b->weights.focus;
    b->nodes = mem_zalloc(b->weights.count, sizeof(*b->nodes));
    if (!b->nodes || choose_nodes(b) != 0 || weigh_calls(b) != 0)
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
    mem_free(b.passages);
    mem_free(b.met);
    mem_free(b.edges);
    mem_free(b.slots);
    mem_free(b.table);
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
