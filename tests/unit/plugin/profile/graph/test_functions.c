/* test_functions.c - what each function allocated, in bytes and objects. */
#include "functions.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "buffer.h"
#include "graph.h"
#include "profile_fixture.h"
#include "suite.h"
#include "texts.h"
#include "view_options.h"

static const struct fixture_name names[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "alpha()", false, NULL, 0},
    {0x3001, "beta()", false, NULL, 0},
    {0x5001, "main", false, NULL, 0},
    {0x6001, "inner(int)|delta(int)", false, NULL, 0},
    {0x7001, "ALPHA()", false, NULL, 0},
    {0x9001, "DoneCallback::Run()", false, NULL, 0},
    {0xa000, "prof_backtrace", true, NULL, 0},
    {0}};

static struct profile *profile;
static struct functions *functions;

static void
make(const char *stacks)
{
    char text[8192];
    struct error err = {0};

    snprintf(text, sizeof(text), "heap_v2/1\n%s", stacks);
    profile = fixture_profile(text, names, NULL);
    functions = functions_new(profile, NULL, &err);
    ck_assert_msg(functions != NULL, "%s", err.text);
}

static void
tear_down(void)
{
    functions_free(functions);
    profile_free(profile);
    functions = NULL;
    profile = NULL;
}

static void
check_function(uint32_t i, const char *name, double flat_bytes,
               double flat_objects, double bytes, double objects)
{
    const struct function *f = &functions->list[i];

    ck_assert_uint_lt(i, functions->count);
    ck_assert_str_eq(f->name, name);
    ck_assert_double_eq_tol(f->flat_bytes, flat_bytes, 1e-6);
    ck_assert_double_eq_tol(f->flat_objects, flat_objects, 1e-6);
    ck_assert_double_eq_tol(f->cumulative_bytes, bytes, 1e-6);
    ck_assert_double_eq_tol(f->cumulative_objects, objects, 1e-6);
}

START_TEST(bytes_and_objects_are_weighed_flat_and_cumulative)
{
    make("@ 0x1000 0x2001 0x5001\nt*: 2: 1000 [0: 0]\n"
         "@ 0x1000 0x3001 0x2001 0x5001\nt*: 3: 3000 [0: 0]\n");
    ck_assert_uint_eq(functions->count, 3);
    check_function(0, "alpha", 1000, 2, 4000, 5);
    check_function(1, "main", 0, 0, 4000, 5);
    check_function(2, "beta", 3000, 3, 3000, 3);
    ck_assert_double_eq_tol(functions->bytes, 4000, 1e-6);
    ck_assert_double_eq_tol(functions->objects, 5, 1e-6);
}
END_TEST

START_TEST(recursion_counts_once)
{
    make("@ 0x1000 0x2001 0x3001 0x2001 0x2001 0x5001\n"
         "t*: 1: 1000 [0: 0]\n");
    check_function(0, "alpha", 1000, 1, 1000, 1);
    check_function(1, "beta", 0, 0, 1000, 1);
}
END_TEST

/* Forty functions of one template, inlined and not, are eighty. */
START_TEST(template_arguments_distinguish_functions)
{
    enum { SITES = 40, FIRST = 0x10000, STEP = 0x100 };
    static char called[SITES][64];
    struct fixture_name list[SITES + 1] = {{0}};
    struct buffer stacks;
    struct error err = {0};

    buffer_init(&stacks, 8192);
    buffer_text(&stacks, "heap_v2/1\n");
    for (unsigned i = 0; i < SITES; i++) {
        snprintf(called[i], sizeof(called[i]),
                 "Site<%u>::go(int)|void run<%u>(int)", i, i);
        list[i].address = FIRST + i * STEP + 1;
        list[i].functions = called[i];
        buffer_format(&stacks, "@ 0x%x\nt*: 1: 100 [0: 0]\n",
                      FIRST + i * STEP + 1);
    }
    profile = fixture_profile(stacks.data, list, NULL);
    functions = functions_new(profile, NULL, &err);
    ck_assert_ptr_nonnull(functions);
    ck_assert_uint_eq(functions->count, 2 * SITES);
    for (unsigned i = 0; i < SITES; i++) {
        uint32_t first, end;
        char name[64];

        snprintf(name, sizeof(name), "Site<%u>::go (inline)", i);
        functions_find(functions, name, strlen(name), &first, &end);
        ck_assert_uint_eq(end, first + 1);
        ck_assert_double_gt(
            functions->list[functions->by_name[first]].flat_bytes, 99);
        snprintf(name, sizeof(name), "run<%u>", i);
        functions_find(functions, name, strlen(name), &first, &end);
        ck_assert_uint_eq(end, first + 1);
    }
    buffer_fini(&stacks);
}
END_TEST

START_TEST(a_stack_of_the_allocator_alone_is_nobodys)
{
    make("@ 0xa000 0x1000\nt*: 1: 1000 [0: 0]\n"
         "@ 0x1000 0x2001\nt*: 1: 500 [0: 0]\n");
    ck_assert_uint_eq(functions->count, 1);
    check_function(0, "alpha", 500, 1, 500, 1);
    ck_assert_double_eq_tol(functions->bytes, 500, 1e-6);
}
END_TEST

START_TEST(an_empty_profile_has_no_functions)
{
    uint32_t first, end;

    make("t*: 0: 0 [0: 0]\n");
    ck_assert_uint_eq(functions->count, 0);
    functions_find(functions, "main", 4, &first, &end);
    ck_assert_uint_eq(first, end);
}
END_TEST

START_TEST(stacks_have_the_frames_that_count)
{
    struct stack_frame frames[16];
    const struct texts *texts;

    make("@ 0xa000 0x1000 0x6001 0x9001 0x5001\nt*: 1: 1000 [0: 0]\n");
    texts = functions->names.texts;
    ck_assert_uint_le(functions->names.longest, 16);
    ck_assert_uint_eq(functions_stack(functions, 0, frames), 4);
    ck_assert_str_eq(texts_get(texts, frames[0].name), "inner (inline)");
    ck_assert_str_eq(texts_get(texts, frames[1].name), "delta");
    ck_assert_str_eq(texts_get(texts, frames[2].name), "Run#1");
    ck_assert_str_eq(texts_get(texts, frames[3].name), "main");
    ck_assert_uint_eq(frames[0].location, frames[1].location);
    ck_assert_uint_eq(frames[0].frame, 0);
    ck_assert_uint_eq(frames[1].frame, 1);
    ck_assert_uint_eq(profile->locations[frames[3].location].address, 0x5000);
}
END_TEST

START_TEST(names_are_found_whatever_their_case)
{
    static const struct {
        const char *name;
        uint32_t count;
    } cases[] = {{"alpha", 2},  {"AlPhA", 2}, {"beta", 1}, {"main", 1},
                 {"mai", 0},    {"mainz", 0}, {"", 0},     {"zzz", 0},
                 {"alphaa", 0}, {"alph", 0}};
    uint32_t first, end;

    make("@ 0x1000 0x2001 0x7001 0x3001 0x5001\nt*: 1: 1000 [0: 0]\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        functions_find(functions, cases[i].name, strlen(cases[i].name), &first,
                       &end);
        ck_assert_msg(end - first == cases[i].count, "%s: %u", cases[i].name,
                      end - first);
        for (; first < end; first++)
            ck_assert_int_eq(
                strcasecmp(functions->list[functions->by_name[first]].name,
                           cases[i].name),
                0);
    }
}
END_TEST

START_TEST(the_graph_says_the_same)
{
    static const struct view_options all = {.nodecount = 1000,
                                            .maxdegree = 1000};
    struct error err = {0};
    struct graph *graph;

    make("@ 0x1000 0x2001 0x9001 0x5001\nt*: 2: 1000 [0: 0]\n"
         "@ 0x1000 0x3001 0x9001 0x2001 0x5001\nt*: 3: 3000 [0: 0]\n"
         "@ 0x1000 0x6001 0x7001 0x5001\nt*: 1: 700 [0: 0]\n");
    graph = graph_new(profile, &all, &err);
    ck_assert_ptr_nonnull(graph);
    ck_assert_uint_eq(graph->node_count, functions->count);
    ck_assert_double_eq(graph->focus, functions->bytes);
    for (uint32_t i = 0; i < functions->count; i++) {
        ck_assert_str_eq(graph->nodes[i].name, functions->list[i].name);
        ck_assert_double_eq(graph->nodes[i].flat,
                            functions->list[i].flat_bytes);
        ck_assert_double_eq(graph->nodes[i].cumulative,
                            functions->list[i].cumulative_bytes);
    }
    graph_free(graph);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("functions");
    TCase *tc = tcase_create("functions");

    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_test(tc, bytes_and_objects_are_weighed_flat_and_cumulative);
    tcase_add_test(tc, recursion_counts_once);
    tcase_add_test(tc, template_arguments_distinguish_functions);
    tcase_add_test(tc, a_stack_of_the_allocator_alone_is_nobodys);
    tcase_add_test(tc, an_empty_profile_has_no_functions);
    tcase_add_test(tc, stacks_have_the_frames_that_count);
    tcase_add_test(tc, names_are_found_whatever_their_case);
    tcase_add_test(tc, the_graph_says_the_same);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
