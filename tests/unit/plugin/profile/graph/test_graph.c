/* test_graph.c - nodes, edges, and which of them are dropped. */
#include "graph.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view_options.h"

static const struct fixture_name functions[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "a()", false, NULL, 0},
    {0x3001, "b()", false, NULL, 0},
    {0x4001, "c()", false, NULL, 0},
    {0x5001, "main", false, NULL, 0},
    {0x6001, "inner(int)|d(int)", false, NULL, 0},
    {0x7001, "twice(int)", false, "twice(int)", 0x700},
    {0x8001, "twice(char)", false, "twice(char)", 0x800},
    {0x9001, "DoneCallback::Run()", false, NULL, 0},
    {0xa000, "prof_backtrace", true, NULL, 0},
    {0xb001, "<lambda>", false, NULL, 0},
    {0}};

static struct graph *
graph_of(const char *stacks, const struct view_options *options)
{
    char text[8192];
    struct profile *profile;
    struct graph *graph;
    struct error err = {0};

    snprintf(text, sizeof(text), "heap_v2/1\n%s", stacks);
    profile = fixture_profile(text, functions, NULL);
    graph = graph_new(profile, options, &err);
    ck_assert_msg(graph != NULL, "%s", err.text);
    profile_free(profile);
    return graph;
}

static void
check_node(const struct graph *graph, uint32_t i, const char *name, double flat,
           double cumulative)
{
    ck_assert_uint_lt(i, graph->node_count);
    ck_assert_str_eq(graph->nodes[i].name, name);
    ck_assert_double_eq_tol(graph->nodes[i].flat, flat, 1e-3);
    ck_assert_double_eq_tol(graph->nodes[i].cumulative, cumulative, 1e-3);
}

static void
check_edge(const struct graph *graph, size_t i, const char *caller,
           const char *callee, double bytes)
{
    ck_assert_uint_lt(i, graph->edge_count);
    ck_assert_str_eq(graph->nodes[graph->edges[i].caller].name, caller);
    ck_assert_str_eq(graph->nodes[graph->edges[i].callee].name, callee);
    ck_assert_double_eq_tol(graph->edges[i].value, bytes, 1e-3);
}

START_TEST(flat_and_cumulative_are_weighed)
{
    struct graph *graph = graph_of("@ 0x1000 0x2001 0x5001\n"
                                   "t*: 1: 1000 [0: 0]\n"
                                   "@ 0x1000 0x3001 0x2001 0x5001\n"
                                   "t*: 1: 3000 [0: 0]\n",
                                   NULL);

    ck_assert_uint_eq(graph->node_count, 3);
    check_node(graph, 0, "a", 1000, 4000);
    check_node(graph, 1, "main", 0, 4000);
    check_node(graph, 2, "b", 3000, 3000);
    ck_assert_uint_eq(graph->edge_count, 2);
    check_edge(graph, 0, "main", "a", 4000);
    check_edge(graph, 1, "a", "b", 3000);
    ck_assert_double_eq_tol(graph->total, 4000, 1e-6);
    ck_assert_double_eq_tol(graph->focus, 4000, 1e-6);
    ck_assert_double_eq(graph->node_limit, 20);
    ck_assert_double_eq(graph->edge_limit, 4);
    graph_free(graph);
}
END_TEST

START_TEST(recursion_counts_once_per_node_and_each_time_per_edge)
{
    struct graph *graph = graph_of("@ 0x1000 0x2001 0x2001 0x2001 0x5001\n"
                                   "t*: 1: 1000 [0: 0]\n",
                                   NULL);

    check_node(graph, 0, "a", 1000, 1000);
    check_edge(graph, 0, "a", "a", 2000);
    check_edge(graph, 1, "main", "a", 1000);
    graph_free(graph);
}
END_TEST

START_TEST(inlined_frames_are_nodes_of_their_own)
{
    struct graph *graph =
        graph_of("@ 0x1000 0x6001 0x5001\nt*: 1: 1000 [0: 0]\n", NULL);

    check_node(graph, 0, "d", 0, 1000);
    check_node(graph, 1, "inner (inline)", 1000, 1000);
    check_node(graph, 2, "main", 0, 1000);
    check_edge(graph, 0, "d", "inner (inline)", 1000);
    check_edge(graph, 1, "main", "d", 1000);
    graph_free(graph);
}
END_TEST

START_TEST(functions_of_one_name_are_distinguished)
{
    struct graph *graph = graph_of("@ 0x1000 0x7001\nt*: 1: 2000 [0: 0]\n"
                                   "@ 0x1000 0x8001\nt*: 1: 1000 [0: 0]\n",
                                   NULL);

    check_node(graph, 0, "twice@700", 2000, 2000);
    check_node(graph, 1, "twice@800", 1000, 1000);
    graph_free(graph);
    graph = graph_of("@ 0x1000 0x7001\nt*: 1: 2000 [0: 0]\n", NULL);
    check_node(graph, 0, "twice", 2000, 2000);
    graph_free(graph);
}
END_TEST

START_TEST(callbacks_are_distinguished_by_their_callees)
{
    struct graph *graph =
        graph_of("@ 0x1000 0x2001 0x9001\nt*: 1: 2000 [0: 0]\n"
                 "@ 0x1000 0x3001 0x9001\nt*: 1: 1000 [0: 0]\n"
                 "@ 0x1000 0x4001 0x2001 0x9001\nt*: 1: 500 [0: 0]\n",
                 NULL);

    check_node(graph, 0, "Run#1", 0, 2500);
    check_node(graph, 1, "a", 2000, 2500);
    check_node(graph, 2, "Run#2", 0, 1000);
    graph_free(graph);
}
END_TEST

START_TEST(allocator_frames_go_unless_wanted)
{
    static const char stacks[] = "@ 0xa000 0x1001 0x2001\n"
                                 "t*: 1: 1000 [0: 0]\n"
                                 "@ 0xa000 0x2001\n"
                                 "t*: 1: 500 [0: 0]\n"
                                 "@ 0xa000\n"
                                 "t*: 1: 300 [0: 0]\n";
    struct view_options keep = view_defaults;
    struct graph *graph = graph_of(stacks, NULL);

    ck_assert_uint_eq(graph->node_count, 1);
    check_node(graph, 0, "a", 1500, 1500);
    ck_assert_double_eq_tol(graph->total, 1800, 1e-6);
    ck_assert_double_eq_tol(graph->focus, 1500, 1e-6);
    graph_free(graph);
    keep.allocator_frames = true;
    graph = graph_of(stacks, &keep);
    check_node(graph, 0, "a", 1000, 1500);
    check_node(graph, 1, "prof_backtrace", 800, 800);
    graph_free(graph);
}
END_TEST

START_TEST(nodes_are_dropped_at_the_fraction_and_past_the_count)
{
    static const char stacks[] = "@ 0x1000 0x2001\nt*: 1: 990 [0: 0]\n"
                                 "@ 0x1000 0x3001\nt*: 1: 6 [0: 0]\n"
                                 "@ 0x1000 0x4001\nt*: 1: 5 [0: 0]\n";
    struct view_options options = view_defaults;
    struct graph *graph = graph_of(stacks, NULL);

    /* floor(0.005 * 1001) = 5: c's 5.03 (estimated) stays above it. */
    ck_assert_double_eq(graph->node_limit, 5);
    ck_assert_uint_eq(graph->node_count, 3);
    graph_free(graph);
    options.nodefraction = .007;
    graph = graph_of(stacks, &options);
    ck_assert_uint_eq(graph->node_count, 1);
    graph_free(graph);
    options = view_defaults;
    options.nodecount = 2;
    graph = graph_of(stacks, &options);
    ck_assert_uint_eq(graph->node_count, 2);
    check_node(graph, 1, "b", 6.014909, 6.014909);
    graph_free(graph);
    options.nodecount = 0;
    graph = graph_of(stacks, &options);
    ck_assert_uint_eq(graph->node_count, 0);
    ck_assert_uint_eq(graph->edge_count, 0);
    graph_free(graph);
}
END_TEST

START_TEST(ties_are_broken_by_name)
{
    struct view_options options = view_defaults;
    struct graph *graph;

    options.nodecount = 2;
    graph = graph_of("@ 0x1000 0x4001\nt*: 1: 100 [0: 0]\n"
                     "@ 0x1000 0x3001\nt*: 1: 100 [0: 0]\n"
                     "@ 0x1000 0x2001\nt*: 1: 100 [0: 0]\n",
                     &options);
    ck_assert_str_eq(graph->nodes[0].name, "a");
    ck_assert_str_eq(graph->nodes[1].name, "b");
    graph_free(graph);
}
END_TEST

START_TEST(edges_are_dropped_unless_a_node_needs_them)
{
    /* a is called by b (much), c (little) and main (least). */
    static const char stacks[] = "@ 0x1000 0x2001 0x3001\n"
                                 "t*: 1: 100000 [0: 0]\n"
                                 "@ 0x1000 0x2001 0x4001\n"
                                 "t*: 1: 500 [0: 0]\n"
                                 "@ 0x1000 0x2001 0x5001\n"
                                 "t*: 1: 50 [0: 0]\n"
                                 "@ 0x1000 0x4001 0x5001\n"
                                 "t*: 1: 60 [0: 0]\n";
    struct view_options options = view_defaults;
    struct graph *graph;

    options.nodefraction = 0;
    graph = graph_of(stacks, &options);
    ck_assert_uint_eq(graph->node_count, 4);
    ck_assert_double_eq(graph->edge_limit, 100);
    ck_assert_uint_eq(graph->edge_count, 3);
    check_edge(graph, 0, "b", "a", 100000);
    check_edge(graph, 1, "c", "a", 500);
    check_edge(graph, 2, "main", "c", 60); /* light, but c's only one */
    graph_free(graph);

    options.edgefraction = 0;
    graph = graph_of(stacks, &options);
    ck_assert_uint_eq(graph->edge_count, 4);
    graph_free(graph);

    options.maxdegree = 2;
    graph = graph_of(stacks, &options);
    ck_assert_uint_eq(graph->edge_count, 3);
    graph_free(graph);

    options.maxdegree = 0;
    graph = graph_of(stacks, &options);
    ck_assert_uint_eq(graph->edge_count, 2);
    check_edge(graph, 1, "main", "c", 60);
    graph_free(graph);
}
END_TEST

START_TEST(names_of_which_nothing_is_left_are_no_nodes)
{
    struct view_options options = view_defaults;
    struct graph *graph;

    options.jeprof_names = true;
    graph =
        graph_of("@ 0x1000 0xb001 0x2001 0x5001\nt*: 1: 10 [0: 0]\n", &options);
    ck_assert_uint_eq(graph->node_count, 2);
    check_node(graph, 0, "a", 10.000454, 10.000454);
    ck_assert_uint_eq(graph->edge_count, 1);
    graph_free(graph);
}
END_TEST

START_TEST(addresses_of_no_process_are_skipped)
{
    struct graph *graph = graph_of("@ 0x1000 0x2001 0xffffffff80000000\n"
                                   "t*: 1: 100 [0: 0]\n",
                                   NULL);

    ck_assert_uint_eq(graph->node_count, 1);
    graph_free(graph);
}
END_TEST

START_TEST(no_stacks_no_graph)
{
    struct graph *graph = graph_of("", NULL);

    ck_assert_uint_eq(graph->node_count, 0);
    ck_assert_uint_eq(graph->edge_count, 0);
    ck_assert_double_eq(graph->total, 0);
    graph_free(graph);
    graph_free(NULL);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("graph");
    TCase *tc = tcase_create("graph");

    tcase_add_test(tc, flat_and_cumulative_are_weighed);
    tcase_add_test(tc, recursion_counts_once_per_node_and_each_time_per_edge);
    tcase_add_test(tc, inlined_frames_are_nodes_of_their_own);
    tcase_add_test(tc, functions_of_one_name_are_distinguished);
    tcase_add_test(tc, callbacks_are_distinguished_by_their_callees);
    tcase_add_test(tc, allocator_frames_go_unless_wanted);
    tcase_add_test(tc, nodes_are_dropped_at_the_fraction_and_past_the_count);
    tcase_add_test(tc, ties_are_broken_by_name);
    tcase_add_test(tc, edges_are_dropped_unless_a_node_needs_them);
    tcase_add_test(tc, names_of_which_nothing_is_left_are_no_nodes);
    tcase_add_test(tc, addresses_of_no_process_are_skipped);
    tcase_add_test(tc, no_stacks_no_graph);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
