/* test_weights.c - what is added up of a profile's stacks, and drawn of it, is
 * what a plain walk adds up, whatever is in them. */
#include <math.h>

#include "arena.h"
#include "buffer.h"
#include "failing_memory.h"
#include "graph.h"
#include "profile_fixture.h"
#include "suite.h"
#include "texts.h"
#include "view_options.h"

enum {
    FUNCTIONS = 400, /* more than a table of edges is for */
    STACKS = 4597,
    DEPTH_MAX = 24,
    MEMORY = 1 << 26
};

/* ---- a profile ---- */

static uint32_t
next_random(uint32_t below)
{
    static uint64_t state = 88172645463325252ULL;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

static uint64_t
address_of(uint32_t function)
{
    return 0x10001 + (uint64_t)function * 0x10;
}

/* Of the i-th: the allocator's, what nothing is left of, some with frames that
 * call each other, and of one name at several addresses. */
static const char *
name_of(uint32_t i, char *room, size_t size)
{
    if (i < 3)
        return i == 0 ? "malloc" : i == 1 ? "je_prof" : "<lambda>";
    if (i % 7 == 0)
        snprintf(room, size, "small%u(int)|small%u()|big%u()", i, i / 2, i);
    else if (i % 11 == 0)
        snprintf(room, size, "inner()|malloc|outer%u()", i);
    else
        snprintf(room, size, "plain%u()", i - i % 2);
    return room;
}

/* From the leaf: through the allocator, then recursions, too. */
static void
write_stack(struct buffer *out)
{
    uint32_t depth = 1 + next_random(DEPTH_MAX);
    uint32_t function = next_random(FUNCTIONS);
    uint32_t objects = 1 + next_random(50), ever = 1 + next_random(50);

    buffer_text(out, "@");
    if (next_random(4) > 0)
        buffer_format(out, " 0x%x 0x%x", (unsigned)address_of(1) - 1,
                      (unsigned)address_of(0));
    for (uint32_t k = 0; k < depth; k++) {
        buffer_format(out, " 0x%x", (unsigned)address_of(function));
        if (next_random(5) > 0)
            function = next_random(8) > 0 ? (function * 5 + 1) % FUNCTIONS
                                          : next_random(FUNCTIONS);
    }
    buffer_format(out, "\n  t*: %u: %u [%u: %u]\n", objects,
                  objects * (8 + next_random(100000)), ever,
                  ever * (8 + next_random(100000)));
}

static struct profile *
make_profile(uint32_t stacks)
{
    static char room[FUNCTIONS][80];
    struct fixture_name names[FUNCTIONS + 1] = {0};
    struct profile *profile;
    struct buffer text;

    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        names[i].address = address_of(i);
        names[i].functions = name_of(i, room[i], sizeof(room[i]));
        names[i].in_allocator = i == 1;
        if (i % 5 == 0 && i % 7 != 0 && i % 11 != 0) {
            names[i].symbol = names[i].functions;
            names[i].symbol_start = address_of(i);
        }
    }
    buffer_init(&text, 16 << 20);
    buffer_text(&text, "heap_v2/524288\n");
    for (uint32_t i = 0; i < stacks; i++)
        write_stack(&text);
    buffer_char(&text, '\0');
    ck_assert(!text.failed);
    profile = fixture_profile(text.data, names, NULL);
    buffer_fini(&text);
    ck_assert_uint_gt(profile->stack_count, stacks * 9 / 10);
    return profile;
}

static const struct kind {
    enum measure measure;
    bool difference;
    bool allocator_frames;
    uint32_t nodecount;
} kinds[] = {
    {MEASURE_INUSE_SPACE, false, false, 80},
    {MEASURE_INUSE_SPACE, true, false, FUNCTIONS * 2},
    {MEASURE_ALLOC_SPACE, false, true, FUNCTIONS * 2},
    {MEASURE_INUSE_OBJECTS, true, true, 10},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct profile *
profile_of(const struct kind *kind, struct view_options *options)
{
    struct profile *profile = make_profile(STACKS);

    if (kind->difference)
        fixture_make_signed(profile);
    *options = view_defaults;
    options->measure = kind->measure;
    options->allocator_frames = kind->allocator_frames;
    options->nodecount = kind->nodecount;
    options->nodefraction = options->edgefraction = 0;
    options->maxdegree = FUNCTIONS * 2;
    return profile;
}

/* ---- a plain walk ---- */

enum { NAMES_MAX = FUNCTIONS * 3 };

static struct plain {
    double flat, cumulative, flat_variance, cumulative_variance;
    double calls[NAMES_MAX]; /* of others */
    size_t met;              /* 1 + the stack */
} plain[NAMES_MAX];

static void
add_plain(const struct stack_frame *frames, size_t count, double value,
          double variance, size_t mark, uint32_t nameless)
{
    bool leaf = true;

    for (size_t k = 0; k < count; k++) {
        uint32_t name = frames[k].name;
        struct plain *of = &plain[name];

        if (k > 0)
            of->calls[frames[k - 1].name] += value;
        if (name == nameless || of->met == mark)
            continue;
        of->met = mark;
        of->cumulative += value;
        of->cumulative_variance += variance;
        if (leaf) {
            of->flat += value;
            of->flat_variance += variance;
        }
        leaf = false;
    }
}

/* The text "" of names, or none. */
static uint32_t
walk_plainly(const struct profile *profile, struct stack_names *names,
             const struct view_options *options)
{
    uint32_t nameless = 0;
    size_t count;

    memset(plain, 0, sizeof(plain));
    ck_assert_uint_le(names->texts_max, NAMES_MAX);
    while (nameless < names->texts_max &&
           *texts_get(names->texts, nameless) != '\0')
        nameless++;
    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct profile_stack *stack = &profile->stacks[i];

        ck_assert_int_eq(stack_names_get(names, stack, names->frames, &count),
                         0);
        add_plain(names->frames, count, profile_value(stack, options->measure),
                  options->measure == MEASURE_INUSE_SPACE ? stack->variance : 0,
                  i + 1, nameless);
    }
    return nameless;
}

static void
check_near(double is, double should)
{
    ck_assert_double_le(fabs(is - should), 1e-12 * fabs(should));
}

static struct arena *arena;

static void
weigh(struct weights *weights, const struct profile *profile,
      const struct view_options *options)
{
    struct error err = {0};

    ck_assert_msg(weights_init(weights, profile, options, arena, &err) == 0,
                  "%s", err.text);
}

static void
check_weights(const struct weights *weights, uint32_t nameless)
{
    ck_assert_uint_gt(weights->count, 300);
    for (uint32_t i = 0; i < weights->count; i++) {
        const struct weight *w = &weights->list[i];

        ck_assert_int_eq(w->name != NULL, plain[i].met > 0 && i != nameless);
        ck_assert_double_eq(w->flat, plain[i].flat);
        ck_assert_double_eq(w->cumulative, plain[i].cumulative);
        check_near(w->flat_variance, plain[i].flat_variance);
        check_near(w->cumulative_variance, plain[i].cumulative_variance);
    }
}

START_TEST(weights_are_those_of_a_plain_walk)
{
    struct view_options options;
    struct profile *profile = profile_of(&kinds[_i], &options);
    struct weights weights;
    uint32_t nameless;

    arena = arena_new(MEMORY);
    weigh(&weights, profile, &options);
    nameless = walk_plainly(profile, &weights.names, &options);
    check_weights(&weights, nameless);
    weights_fini(&weights);
    arena_free(arena);
    profile_free(profile);
}
END_TEST

static uint32_t
text_of(const struct stack_names *names, const char *name)
{
    uint32_t i = 0;

    while (i < names->texts_max &&
           strcmp(texts_get(names->texts, i), name) != 0)
        i++;
    ck_assert_uint_lt(i, names->texts_max);
    return i;
}

static void
check_edges(const struct graph *graph, const struct stack_names *names)
{
    uint32_t texts[NAMES_MAX];

    ck_assert_uint_le(graph->node_count, NAMES_MAX);
    for (uint32_t i = 0; i < graph->node_count; i++)
        texts[i] = text_of(names, graph->nodes[i].name);
    for (size_t i = 0; i < graph->edge_count; i++) {
        const struct graph_edge *edge = &graph->edges[i];

        ck_assert_double_eq(
            edge->value, plain[texts[edge->caller]].calls[texts[edge->callee]]);
    }
}

START_TEST(graphs_are_those_of_a_plain_walk)
{
    const struct kind *kind = &kinds[_i];
    struct view_options options;
    struct profile *profile = profile_of(kind, &options);
    struct stack_names names;
    struct error err = {0};
    struct graph *graph;

    arena = arena_new(MEMORY);
    ck_assert_int_eq(stack_names_init(&names, profile, &options, arena, &err),
                     0);
    (void)walk_plainly(profile, &names, &options);
    graph = graph_new(profile, &options, &err);
    ck_assert_msg(graph != NULL, "%s", err.text);
    if (kind->nodecount < FUNCTIONS)
        ck_assert_uint_eq(graph->node_count, kind->nodecount);
    else
        ck_assert_uint_gt(graph->edge_count, 1024);
    check_edges(graph, &names);
    graph_free(graph);
    stack_names_fini(&names);
    arena_free(arena);
    profile_free(profile);
}
END_TEST

/* Once its symbols are kept, so that what fails is in the walks. */
START_TEST(every_allocation_may_fail)
{
    struct view_options options;
    struct profile *profile = profile_of(&kinds[1], &options);
    struct graph *graph;
    struct error err;

    graph = graph_new(profile, &options, NULL);
    ck_assert_ptr_nonnull(graph);
    graph_free(graph);
    graph = NULL;
    for (failing = 1; !graph; failing++) {
        memset(&err, 0, sizeof(err));
        allocations = 0;
        graph = graph_new(profile, &options, &err);
        if (!graph)
            ck_assert_msg(err.code == ER_OUT_OF_MEMORY, "%u: %d %s", failing,
                          err.code, err.text);
    }
    ck_assert_uint_gt(failing, 15);
    failing = 0;
    graph_free(graph);
    profile_free(profile);
}
END_TEST

START_TEST(cancelling_ends_it)
{
    atomic_bool yes = true;
    struct view_options options;
    struct profile *profile = profile_of(&kinds[0], &options);
    struct error err = {0};

    options.cancelled = &yes;
    ck_assert_ptr_null(graph_new(profile, &options, &err));
    ck_assert_int_eq(err.code, ER_QUERY_INTERRUPTED);
    profile_free(profile);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("weights");
    TCase *tc = tcase_create("weights");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, weights_are_those_of_a_plain_walk, 0, KINDS);
    tcase_add_loop_test(tc, graphs_are_those_of_a_plain_walk, 0, KINDS);
    tcase_add_test(tc, every_allocation_may_fail);
    tcase_add_test(tc, cancelling_ends_it);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
