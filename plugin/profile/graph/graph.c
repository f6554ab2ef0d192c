/*
 * graph.c - see graph.h.
 *
 * Walks over the stacks twice: the first walk weighs functions; then nodes are
 * chosen; the second walk weighs the calls between them.  One walk could
 * collect all calls, but there are many more calls than functions, and most
 * lead to functions that are dropped.
 *
 * Rules and order are jeprof's, even where they look odd, because people
 * compare the two.  weights_init() alone serves the reports of text.c.  Called
 * on the thread that renders the view.
 */
#include "graph.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "hash.h"
#include "memory.h"
#include "profile.h"
#include "texts.h"
#include "view_options.h"

struct weighing {
    struct weights *weights;
    const struct profile *profile;
    const struct view_options *options;
    uint32_t nameless; /* the text "": not weighed */
};

/* Adds a stack to the weights of its names.  Of a repeated name only the first
 * counts, so that recursion counts once. */
static int
weigh_stack(const struct weighing *w, const struct profile_stack *stack,
            uint32_t mark)
{
    struct weights *weights = w->weights;
    double value = profile_value(stack, w->options->measure);
    double variance =
        measure_has_variance(w->options->measure) ? stack->variance : 0;
    bool leaf = true; /* the next name is the innermost */
    size_t count;

    if (w->nameless < weights->count)
        weights->list[w->nameless].seen = mark;
    if (stack_names_list(&weights->names, stack, weights->frames, &count) != 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
        struct weight *weight = &weights->list[weights->frames[k]];

        if (weight->seen == mark)
            continue;
        weight->seen = mark;
        weight->cumulative += value;
        weight->cumulative_variance += variance;
        if (leaf) {
            leaf = false;
            weight->flat += value;
            weight->flat_variance += variance;
            weights->focus += value;
        }
    }
    return 0;
}

static int
weigh_profile_stacks(const struct weighing *w, struct error *err)
{
    struct weights *weights = w->weights;

    for (size_t i = 0; i < w->profile->stack_count; i++) {
        if (view_cancelled(w->options, i, err))
            return -1;
        if (weigh_stack(w, &w->profile->stacks[i], (uint32_t)i + 1) != 0) {
            error_memory(err, "the functions' names");
            return -1;
        }
    }
    for (uint32_t i = 0; i < weights->count; i++)
        if (weights->list[i].seen && i != w->nameless)
            weights->list[i].name = texts_get(weights->names.texts, i);
    return 0;
}

int
weights_init(struct weights *weights, const struct profile *profile,
             const struct view_options *options, struct arena *arena,
             struct error *err)
{
    struct weighing w = {
        .weights = weights, .profile = profile, .options = options};
    struct stack_names *names = &weights->names;

    memset(weights, 0, sizeof(*weights));
    if (stack_names_share(names, profile, options, arena, err) != 0)
        return -1;
    weights->count = names->texts_max;
    weights->list = mem_zalloc(weights->count, sizeof(*weights->list));
    weights->frames = mem_zalloc(names->longest, sizeof(*weights->frames));
    if (!weights->list || !weights->frames) {
        error_memory(err, "the functions' weights");
        return -1;
    }
    while (w.nameless < weights->count &&
           *texts_get(names->texts, w.nameless) != '\0')
        w.nameless++;
    return weigh_profile_stacks(&w, err);
}

void
weights_fini(struct weights *weights)
{
    stack_names_fini(&weights->names);
    mem_free(weights->list);
    mem_free(weights->frames);
    memset(weights, 0, sizeof(*weights));
}

enum {
    GRAPH_MEMORY_MAX = 1 << 30, /* bytes of its arena */
    EDGES_FIRST = 1024,         /* a power of two */
    EDGES_MAX = 1 << 24         /* distinct calls */
};

/* ---- the weights of the calls between nodes ---- */

struct sums {
    struct weights *weights;
    const struct profile *profile;
    const struct view_options *options;
    /* by text of the weights: 1 + its node's index; 0: no node */
    const uint32_t *nodes;
    struct graph_edge *edges;
    struct hash_index index; /* of edges */
    uint32_t edge_count, edge_capacity;
};

static int
grow_edges(struct sums *s)
{
    uint32_t room = s->edge_capacity ? s->edge_capacity * 2 : EDGES_FIRST;
    struct graph_edge *edges;

    if (room > EDGES_MAX)
        return -1;
    edges = mem_realloc(s->edges, room * sizeof(*edges));
    if (!edges)
        return -1;
    s->edges = edges;
    if (hash_index_reserve(&s->index, room) != 0)
        return -1;
    s->edge_capacity = room;
    return 0;
}

static int
add_call(struct sums *s, uint32_t caller, uint32_t callee, double value)
{
    uint64_t key = (uint64_t)caller << 32 | callee;
    /* Multiplies by 2^64 divided by the golden ratio, which spreads the key. */
    uint32_t hash = (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 32);
    struct hash_slot *slot;

    if (s->edge_count == s->edge_capacity && grow_edges(s) != 0)
        return -1;
    slot = hash_index_first(&s->index, hash);
    while (slot->entry && (s->edges[slot->entry - 1].caller != caller ||
                           s->edges[slot->entry - 1].callee != callee))
        slot = hash_index_next(&s->index, slot);
    if (slot->entry == 0) {
        s->edges[s->edge_count++] = (struct graph_edge){caller, callee, 0};
        *slot = (struct hash_slot){s->edge_count, hash};
    }
    s->edges[slot->entry - 1].value += value;
    return 0;
}

/* Adds a stack to the calls.  Unlike a node, an edge counts each time that it
 * is met in a recursion.  A dropped function between two nodes breaks the
 * chain. */
static int
add_stack_edges(struct sums *s, const struct profile_stack *stack)
{
    struct weights *weights = s->weights;
    double value = profile_value(stack, s->options->measure);
    uint32_t callee = 0;
    size_t count;

    if (stack_names_list(&weights->names, stack, weights->frames, &count) != 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
        uint32_t caller = s->nodes[weights->frames[k]];

        if (caller && callee && add_call(s, caller - 1, callee - 1, value) != 0)
            return -1;
        callee = caller;
    }
    return 0;
}

static int
add_all_stack_edges(struct sums *s, struct error *err)
{
    for (size_t i = 0; i < s->profile->stack_count; i++) {
        if (view_cancelled(s->options, i, err))
            return -1;
        if (add_stack_edges(s, &s->profile->stacks[i]) != 0) {
            error_memory(err, "the call graph");
            return -1;
        }
    }
    return 0;
}

/* ---- nodes and edges ---- */

struct builder {
    const struct profile *profile;
    struct view_options options;
    struct graph *graph;
    struct weights weights;
    uint32_t *nodes;          /* by text: 1 + its node's index; 0: not kept */
    struct graph_edge *calls; /* distinct, in the order of their first
                                 occurrence */
    uint32_t call_count;
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

    /* Whole bytes, as in jeprof, whose numbers are integers here. */
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

/* Keeps the heaviest edge into each node whatever its weight, so that the node
 * is reachable; the fraction and then the degrees decide on the others. */
static int
choose_edges(struct builder *b)
{
    struct graph *graph = b->graph;
    uint32_t *callers = mem_zalloc(graph->node_count, sizeof(*callers));
    uint32_t *callees = mem_zalloc(graph->node_count, sizeof(*callees));
    struct graph_edge *edges =
        arena_alloc(graph->arena, b->call_count * sizeof(*edges));
    size_t count = 0;
    int rc = -1;

    if (!callers || !callees || !edges)
        goto out;
    if (b->call_count)
        qsort_r(b->calls, b->call_count, sizeof(*b->calls), compare_edges,
                graph);
    for (uint32_t i = 0; i < b->call_count; i++) {
        const struct graph_edge *edge = &b->calls[i];

        if (callers[edge->callee] > 0 &&
            (fabs(edge->value) <= graph->edge_limit ||
             callees[edge->caller] >= b->options.maxdegree ||
             callers[edge->callee] >= b->options.maxdegree))
            continue;
        callees[edge->caller]++;
        callers[edge->callee]++;
        edges[count++] = *edge;
    }
    graph->edges = edges;
    graph->edge_count = count;
    rc = 0;
out:
    mem_free(callers);
    mem_free(callees);
    return rc;
}

/* On -1, *err may be empty: no memory. */
static int
weigh_calls(struct builder *b)
{
    struct sums sums = {.weights = &b->weights,
                        .profile = b->profile,
                        .options = &b->options,
                        .nodes = b->nodes};
    int rc;

    if (b->profile->location_count == 0)
        return 0;
    assert(b->weights.names.shown && b->weights.names.symbols.names);
    rc = add_all_stack_edges(&sums, b->err);
    b->calls = sums.edges; /* freed on failure, too */
    b->call_count = sums.edge_count;
    hash_index_fini(&sums.index);
    return rc;
}

static int
build_call_graph(struct builder *b)
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
        rc = build_call_graph(&b);
    }
    weights_fini(&b.weights);
    mem_free(b.nodes);
    mem_free(b.calls);
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
