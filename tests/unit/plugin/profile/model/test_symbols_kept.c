/* test_symbols_kept.c - symbols that stay with their names. */
#include <pthread.h>

#include "arena.h"
#include "graph.h"
#include "profile_fixture.h"
#include "stack_names.h"
#include "suite.h"
#include "texts.h"
#include "view_options.h"

static const struct fixture_name functions[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "a(int)", false, NULL, 0},
    {0x3001, "FirstCallback::Run()", false, NULL, 0},
    {0x4001, "main", false, NULL, 0},
};

static const char two[] = "heap_v2/1\n@ 0x1000 0x2001 0x4001\n"
                          "t*: 1: 1000 [0: 0]\n@ 0x1000 0x4001\n"
                          "t*: 1: 500 [0: 0]\n";
static const char less[] = "heap_v2/1\n@ 0x1000 0x4001\n"
                           "t*: 1: 1000 [0: 0]\n";
static const char run[] = "heap_v2/1\n@ 0x1000 0x2001 0x3001 0x4001\n"
                          "t*: 1: 1000 [0: 0]\n";

static struct names *names;

static void
set_up(void)
{
    names = names_new(1 << 20);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        fixture_add(names, &functions[i]);
}

static void
tear_down(void)
{
    names_free(names);
}

static const char *second_name; /* of the symbols that were got last */

static const struct symbols_kept *
get(const struct profile *profile, const struct view_options *options)
{
    struct arena *arena = arena_new(1 << 20);
    const struct symbols_kept *kept;
    struct stack_names stacks;
    struct error err;

    ck_assert_int_eq(stack_names_share(&stacks, profile, options, arena, &err),
                     0);
    kept = stacks.kept;
    ck_assert(!stacks.owns_kept);
    if (kept)
        second_name = texts_get(stacks.texts, stacks.symbols.names[1]);
    stack_names_fini(&stacks);
    arena_free(arena);
    return kept;
}

static struct profile *
profile_of(const char *text)
{
    struct error err = {0};
    struct heap_dump *dump = heap_dump_parse(text, strlen(text), &err);
    struct profile *profile = profile_new(dump, names, "/bin/db", NULL, &err);

    ck_assert_ptr_nonnull(profile);
    heap_dump_free(dump);
    return profile;
}

START_TEST(the_next_profile_of_the_same_addresses_has_them)
{
    struct profile *first = profile_of(two), *second = profile_of(two);
    struct profile *other = profile_of(less);
    size_t before = names_memory(names);
    const struct symbols_kept *kept;

    kept = get(first, &view_defaults);
    ck_assert_ptr_nonnull(kept);
    ck_assert_uint_gt(names_memory(names), before);
    ck_assert_str_eq(second_name, "a");
    profile_free(first);
    ck_assert_ptr_eq(get(second, &view_defaults), kept);
    ck_assert_ptr_null(get(other, &view_defaults));
    profile_free(second);
    profile_free(other);
}
END_TEST

START_TEST(other_options_and_runs_have_none)
{
    struct view_options lines = view_defaults, all = view_defaults;
    struct profile *profile = profile_of(two), *runs;

    lines.granularity = GRANULARITY_LINES;
    all.allocator_frames = true;
    ck_assert_ptr_null(get(profile, &lines));
    ck_assert_ptr_null(get(profile, &all));
    ck_assert_ptr_null(names_made(names, 0));
    profile_free(profile);
    runs = profile_of(run);
    for (int i = 0; i < 2; i++)
        ck_assert_ptr_null(get(runs, &view_defaults));
    profile_free(runs);
}
END_TEST

START_TEST(a_graph_outlives_them)
{
    struct profile *profile = profile_of(two);
    struct graph *graphs[2];
    struct error err = {0};

    for (int i = 0; i < 2; i++)
        graphs[i] = graph_new(profile, NULL, &err);
    profile_free(profile);
    names_free(names);
    names = NULL;
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(graphs[i]->node_count, 2);
        ck_assert_str_eq(graphs[i]->nodes[0].name, "main");
        ck_assert_str_eq(graphs[i]->nodes[1].name, "a");
        ck_assert_double_eq_tol(graphs[i]->nodes[0].cumulative, 1500, 1e-3);
        graph_free(graphs[i]);
    }
}
END_TEST

/* They stay, and only what is the allocator's is asked anew. */
START_TEST(other_wrappers_have_the_same_names)
{
    static const char *const wrappers[] = {NULL, "a", "", "a", "main*"};
    static const double flat[][2] = {
        {1000, 500}, {0, 1500}, {1000, 500}, {0, 1500}, {0, 0}};
    struct profile *profile = profile_of(two);
    const struct symbols_kept *kept = NULL;
    struct error err = {0};

    for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
        struct view_options options = view_defaults;
        double a = 0, main = 0;
        struct graph *graph;

        options.wrappers = wrappers[i];
        graph = graph_new(profile, &options, &err);
        ck_assert_ptr_nonnull(graph);
        for (uint32_t k = 0; k < graph->node_count; k++)
            *(graph->nodes[k].name[0] == 'a' ? &a : &main) =
                graph->nodes[k].flat;
        ck_assert_double_eq_tol(a, flat[i][0], 1);
        ck_assert_double_eq_tol(main, flat[i][1], 1);
        graph_free(graph);
        if (kept)
            ck_assert_ptr_eq(get(profile, &options), kept);
        kept = get(profile, &options);
    }
    profile_free(profile);
}
END_TEST

static void *
get_graph(void *profile)
{
    struct error err = {0};

    return graph_new(profile, NULL, &err);
}

START_TEST(many_may_be_the_first)
{
    enum { THREADS = 8 };
    struct profile *profile = profile_of(two);
    pthread_t threads[THREADS];
    void *graph;

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, get_graph, profile),
                         0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &graph);
        ck_assert_ptr_nonnull(graph);
        ck_assert_str_eq(((struct graph *)graph)->nodes[1].name, "a");
        graph_free(graph);
    }
    profile_free(profile);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("symbols_kept");
    TCase *tc = tcase_create("symbols_kept");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, the_next_profile_of_the_same_addresses_has_them);
    tcase_add_test(tc, other_options_and_runs_have_none);
    tcase_add_test(tc, a_graph_outlives_them);
    tcase_add_test(tc, other_wrappers_have_the_same_names);
    tcase_add_test(tc, many_may_be_the_first);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
