/*
 * graph.c - see graph.h.
 *
 * Two walks over the stacks: the first weighs functions, then the nodes that
 * stay are chosen, and the second weighs the calls among them.
 */
#include "graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "stack_names.h"
#include "texts.h"
#include "view_options.h"

enum {
    GRAPH_MEMORY_MAX = 1 << 30,
    EDGES_FIRST = 1024, /* a power of two */
    EDGES_MAX = 1 << 24
};

/* A function; the index is its number in the texts. */
struct weight {
    double flat, cumulative;
    uint32_t seen; /* 1 + the stack that it was last met in */
    uint32_t node; /* 1 + its index, once it is known to stay */
};

struct builder {
    const struct profile *profile;
    struct view_options options;
    struct graph *graph;
    struct stack_names names;
    struct weight *weights;
    struct stack_frame *frames; /* of the stack at hand */

    struct graph_edge *edges;
    uint32_t *slots; /* 1 + edge, by hash; twice edge_room */
    uint32_t edge_count, edge_room;
};

static int
weigh_functions(struct builder *b)
{
    size_t count;

    for (size_t i = 0; i < b->profile->stack_count; i++) {
        const struct profile_stack *stack = &b->profile->stacks[i];
        bool leaf = true;

        if (stack_names_get(&b->names, stack, b->frames, &count) != 0)
            return -1;
        for (size_t k = 0; k < count; k++) {
            uint32_t name = b->frames[k].name;
            struct weight *w = &b->weights[name];

            /* Recursion counts once; "" is what no name was left of. */
            if (w->seen == i + 1 || *texts_get(b->names.texts, name) == '\0')
                continue;
            w->seen = (uint32_t)i + 1;
            w->cumulative += stack->bytes;
            if (leaf) {
                w->flat += stack->bytes;
                b->graph->focus += stack->bytes;
            }
            leaf = false;
        }
    }
    return 0;
}

struct ranked {
    double weight;
    const char *name;
    uint32_t text;
};

static int
compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int
choose_nodes(struct builder *b)
{
    struct graph *graph = b->graph;
    uint32_t texts = texts_count(b->names.texts), count = 0;
    struct ranked *ranked = mem_zalloc(texts, sizeof(*ranked));
    struct graph_node *nodes;
    int rc = -1;

    graph->node_limit = floor(b->options.nodefraction * graph->focus);
    graph->edge_limit = floor(b->options.edgefraction * graph->focus);
    if (!ranked)
        goto out;
    for (uint32_t i = 0; i < texts; i++)
        if (b->weights[i].cumulative > graph->node_limit)
            ranked[count++] = (struct ranked){b->weights[i].cumulative,
                                              texts_get(b->names.texts, i), i};
    qsort(ranked, count, sizeof(*ranked), compare_ranked);
    if (count > b->options.nodecount)
        count = b->options.nodecount;
    nodes = arena_alloc(graph->arena, count * sizeof(*nodes));
    if (!nodes)
        goto out;
    for (uint32_t i = 0; i < count; i++) {
        struct weight *w = &b->weights[ranked[i].text];

        w->node = i + 1;
        nodes[i] = (struct graph_node){ranked[i].name, w->flat, w->cumulative};
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
    slots = mem_zalloc((size_t)room * 2, sizeof(*slots));
    if (!slots)
        return -1;
    mem_free(b->slots);
    b->slots = slots;
    b->edge_room = room;
    for (uint32_t i = 0; i < b->edge_count; i++)
        *edge_slot(b, edges[i].caller, edges[i].callee) = i + 1;
    return 0;
}

static int
add_call(struct builder *b, uint32_t caller, uint32_t callee, double bytes)
{
    uint32_t *slot;

    if (b->edge_count == b->edge_room && grow_edges(b) != 0)
        return -1;
    slot = edge_slot(b, caller, callee);
    if (*slot == 0) {
        b->edges[b->edge_count++] = (struct graph_edge){caller, callee, 0};
        *slot = b->edge_count;
    }
    b->edges[*slot - 1].bytes += bytes;
    return 0;
}

/* Unlike nodes, an edge counts each time it is met in a recursion. */
static int
weigh_calls(struct builder *b)
{
    size_t count;

    for (size_t i = 0; i < b->profile->stack_count; i++) {
        const struct profile_stack *stack = &b->profile->stacks[i];
        uint32_t callee = 0, caller;

        if (stack_names_get(&b->names, stack, b->frames, &count) != 0)
            return -1;
        for (size_t k = 0; k < count; k++, callee = caller) {
            caller = b->weights[b->frames[k].name].node;
            if (caller && callee &&
                add_call(b, caller - 1, callee - 1, stack->bytes) != 0)
                return -1;
        }
    }
    return 0;
}

static int
compare_edges(const void *a, const void *b, void *arg)
{
    const struct graph_edge *x = a, *y = b;
    const struct graph_node *nodes = ((struct graph *)arg)->nodes;
    int order;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
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
            (edge->bytes <= graph->edge_limit ||
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
    if (stack_names_init(&b->names, b->profile, b->options.allocator_frames,
                         b->graph->arena) != 0)
        return -1;
    b->weights = mem_zalloc(b->names.texts_max, sizeof(*b->weights));
    b->frames = mem_zalloc(b->names.longest, sizeof(*b->frames));
    if (!b->weights || !b->frames)
        return -1;
    if (weigh_functions(b) != 0 || choose_nodes(b) != 0 || weigh_calls(b) != 0)
        return -1;
    return choose_edges(b);
}

struct graph *
graph_new(const struct profile *profile, const struct view_options *options,
          struct error *err)
{
    struct builder b = {.profile = profile};
    int rc = -1;

    b.options = options ? *options : view_defaults;
    b.graph = mem_zalloc(1, sizeof(*b.graph));
    if (b.graph)
        b.graph->arena = arena_new(GRAPH_MEMORY_MAX);
    if (b.graph && b.graph->arena) {
        b.graph->total = profile->bytes;
        rc = build(&b);
    }
    stack_names_fini(&b.names);
    mem_free(b.weights);
    mem_free(b.frames);
    mem_free(b.edges);
    mem_free(b.slots);
    if (rc != 0) {
        error_memory(err, "the call graph");
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
