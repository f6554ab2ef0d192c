/* test_merge.c - profiles of several nodes, added up. */
#include <inttypes.h>

#include "arena.h"
#include "buffer.h"
#include "diff.h"
#include "failing_memory.h"
#include "forms.h"
#include "merge.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view_options.h"

#define MAPS "MAPPED_LIBRARIES:\n\n" /* nothing was cut off */
#define MIB  1048576

/* Where a function stands in its file, and what it is called there. */
struct place {
    uint64_t offset;
    const char *function, *file;
    uint64_t start; /* of its symbol */
};

static const struct place one_build[] = {{0x1000, "malloc", "", 0x1000},
                                         {0x2000, "parse", "parse.c", 0x2000},
                                         {0x3000, "store", "store.c", 0x3000},
                                         {0x4000, "main", "main.c", 0x4000},
                                         {0, NULL, NULL, 0}};

/* The next one has all of it elsewhere. */
static const struct place next_build[] = {{0x1100, "malloc", "", 0x1100},
                                          {0x2200, "parse", "parse.c", 0x2200},
                                          {0x3300, "store", "store.c", 0x3300},
                                          {0x4400, "main", "main.c", 0x4400},
                                          {0, NULL, NULL, 0}};

static const struct place *
place_of(const struct place *places, uint64_t offset)
{
    for (; places->function; places++)
        if (offset / 0x100 == places->offset / 0x100)
            return places;
    return NULL;
}

/* A process that has its program mapped there.  dump's addresses are those of
 * one that is mapped at 0. */
static struct profile *
process(const char *text, const struct place *places, uint64_t mapped,
        const char *build)
{
    struct names *names = names_new(1 << 20);
    struct error err = {0};
    struct heap_dump *dump = heap_dump_parse(text, strlen(text), &err);
    struct profile_module *module;
    struct profile *profile;

    ck_assert_msg(dump != NULL, "%s", err.text);
    for (size_t i = 0; i < dump->address_count; i++) {
        uint64_t *address = &dump->addresses[i], offset = *address;
        const struct place *place = place_of(places, offset);
        struct frame frame = {"", "", 7};

        *address += mapped;
        if (!place)
            continue;
        frame.function = place->function;
        frame.file = place->file;
        ck_assert_int_eq(names_add(names, *address, &frame, 1, false), 0);
        names_set_symbol(names, *address, place->function, place->start);
        names_set_module(names, *address, "db", offset);
    }
    profile = profile_new(dump, names, "/usr/bin/db", NULL, &err);
    ck_assert_ptr_nonnull(profile);
    module = arena_alloc(profile->arena, sizeof(*module));
    *module = (struct profile_module){mapped, mapped + 0x10000, 0,
                                      "/usr/bin/db", build};
    profile->modules = module;
    profile->module_count = 1;
    heap_dump_free(dump);
    names_free(names);
    return profile;
}

static const char first[] = "heap_v2/1\n"
                            "@ 0x1010 0x2010 0x4010\n"
                            "t*: 2: 2097152 [0: 0]\n"
                            "@ 0x1010 0x3010 0x4010\n"
                            "t*: 4: 4194304 [0: 0]\n" MAPS;
static const char second[] = "heap_v2/1\n"
                             "@ 0x1010 0x3010 0x4010\n"
                             "t*: 1: 1048576 [0: 0]\n"
                             "@ 0x1010 0x4010\n"
                             "t*: 3: 3145728 [0: 0]\n" MAPS;
static const char second_next[] = "heap_v2/1\n"
                                  "@ 0x1110 0x3310 0x4410\n"
                                  "t*: 1: 1048576 [0: 0]\n"
                                  "@ 0x1110 0x4410\n"
                                  "t*: 3: 3145728 [0: 0]\n" MAPS;

/* Frees both; ids are 1 and 2. */
static struct profile *
sum_of(struct profile *a, struct profile *b, bool by_node, const char *missing)
{
    struct error err = {0};
    struct merge *merge = merge_new(by_node, &err);
    struct profile *sum;

    ck_assert_ptr_nonnull(merge);
    ck_assert_int_eq(merge_add(merge, 1, a, NULL, &err), 0);
    profile_free(a); /* it needs it no more */
    ck_assert_int_eq(merge_add(merge, 2, b, NULL, &err), 0);
    profile_free(b);
    sum = merge_finish(merge, missing, &err);
    merge_free(merge);
    ck_assert_ptr_nonnull(sum);
    for (size_t i = 1; i < sum->location_count; i++)
        ck_assert_uint_lt(sum->locations[i - 1].address,
                          sum->locations[i].address);
    for (size_t i = 1; i < sum->module_count; i++)
        ck_assert_uint_le(sum->modules[i - 1].end, sum->modules[i].start);
    return sum;
}

static struct profile *
usual(bool by_node)
{
    return sum_of(process(first, one_build, 0x550000, "abcd"),
                  process(second, one_build, 0x7f0000, "abcd"), by_node, "");
}

typedef int renderer(const struct profile *profile,
                     const struct view_options *options, struct buffer *out,
                     struct error *err);

static void
check(struct profile *profile, renderer *render, const char *expected)
{
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_msg(render(profile, NULL, &out, &err) == 0, "%s", err.text);
    ck_assert_str_eq(out.data, expected);
    buffer_fini(&out);
    profile_free(profile);
}

START_TEST(locations_of_one_build_are_one_wherever_it_is_mapped)
{
    struct profile *sum = usual(false);

    ck_assert_uint_eq(sum->nodes, 2);
    ck_assert(!sum->difference);
    ck_assert_uint_eq(sum->location_count, 4);
    ck_assert_uint_eq(sum->stack_count, 3);
    ck_assert_uint_eq(sum->module_count, 1);
    ck_assert_uint_eq(sum->modules[0].start, 0x550000);
    ck_assert_double_eq(sum->bytes, 10.0 * MIB);
    ck_assert_double_eq(sum->objects, 10);
    ck_assert_uint_eq(sum->samples, 10);
    ck_assert_double_eq(sum->stacks[1].bytes, 5.0 * MIB);
    ck_assert_uint_eq(sum->stacks[1].in_use.objects, 5);
    check(sum, collapsed_write,
          "main;store 5242880\nmain 3145728\nmain;parse 2097152\n");
}
END_TEST

/* One node counts store among the allocator's, the other does not. */
START_TEST(each_node_says_what_is_the_allocators)
{
    struct profile *a = process(first, one_build, 0x550000, "abcd");
    struct profile *b = process(second, one_build, 0x7f0000, "abcd");

    for (size_t i = 0; i < a->location_count; i++)
        if (strcmp(a->locations[i].frames[0].function, "store") == 0)
            ((struct location *)a->locations)[i].wrapped = 1;
    check(sum_of(a, b, false, ""), collapsed_write,
          "main 7340032\nmain;parse 2097152\nmain;store 1048576\n");
}
END_TEST

static const char *const builds[] = {"ef01", ""};

START_TEST(a_function_of_two_builds_is_one)
{
    struct profile *sum = sum_of(
        process(first, one_build, 0x550000, _i ? "" : "abcd"),
        process(second_next, next_build, 0x550000, builds[_i]), false, "");

    ck_assert_uint_eq(sum->module_count, 2);
    ck_assert_uint_eq(sum->stack_count, 4);
    for (size_t i = 0; i < sum->location_count; i++)
        ck_assert_ptr_nonnull(
            profile_module_find(sum, sum->locations[i].address));
    check(sum, collapsed_write,
          "main;store 5242880\nmain 3145728\nmain;parse 2097152\n");
}
END_TEST

/* Two functions are called so, each in a file of its own. */
START_TEST(functions_of_one_name_stay_apart_in_all_builds)
{
    static const struct place old[] = {{0x1000, "malloc", "", 0x1000},
                                       {0x2000, "init", "a.c", 0x2000},
                                       {0x3000, "init", "b.c", 0x3000},
                                       {0, NULL, NULL, 0}};
    static const struct place new[] = {{0x1000, "malloc", "", 0x1000},
                                       {0x5000, "init", "a.c", 0x5000},
                                       {0x2000, "init", "b.c", 0x2000},
                                       {0, NULL, NULL, 0}};
    static const char both[] = "heap_v2/1\n"
                               "@ 0x1010 0x2010\nt*: 8: 8388608 [0: 0]\n"
                               "@ 0x1010 0x3010\nt*: 4: 4194304 [0: 0]\n" MAPS;
    static const char moved[] = "heap_v2/1\n"
                                "@ 0x1010 0x5010\nt*: 2: 2097152 [0: 0]\n"
                                "@ 0x1010 0x2010\nt*: 1: 1048576 [0: 0]\n" MAPS;

    check(sum_of(process(both, old, 0x10000, "ab"),
                 process(moved, new, 0x10000, "cd"), false, ""),
          text_write,
          "In use by node: 1 12.0 MB (80.0%), 2 3.0 MB (20.0%)\n"
          "Total: 15.0 MB\n"
          "    10.0  66.7%  66.7%     10.0  66.7% init@2000\n"
          "     5.0  33.3% 100.0%      5.0  33.3% init@3000\n");
}
END_TEST

/* The second is seen by one node alone: it is not the other's first. */
START_TEST(functions_of_one_build_are_matched_by_what_all_nodes_saw)
{
    static const struct place old[] = {{0x1000, "malloc", "", 0x1000},
                                       {0x2000, "init", "", 0x2000},
                                       {0x3000, "init", "", 0x3000},
                                       {0, NULL, NULL, 0}};
    static const char one[] = "heap_v2/1\n"
                              "@ 0x1010 0x3010\nt*: 4: 4194304 [0: 0]\n" MAPS;
    static const char both[] = "heap_v2/1\n"
                               "@ 0x1010 0x2010\nt*: 8: 8388608 [0: 0]\n"
                               "@ 0x1010 0x3010\nt*: 1: 1048576 [0: 0]\n" MAPS;

    check(sum_of(process(one, old, 0x10000, "ab"),
                 process(both, old, 0x20000, "ab"), false, ""),
          text_write,
          "In use by node: 2 9.0 MB (69.2%), 1 4.0 MB (30.8%)\n"
          "Total: 13.0 MB\n"
          "     8.0  61.5%  61.5%      8.0  61.5% init@2000\n"
          "     5.0  38.5% 100.0%      5.0  38.5% init@3000\n");
}
END_TEST

START_TEST(each_nodes_stacks_may_stand_on_its_frame)
{
    struct profile *sum = usual(true);

    ck_assert_uint_eq(sum->stack_count, 4);
    check(sum, collapsed_write,
          "node 1;main;store 4194304\nnode 2;main 3145728\n"
          "node 1;main;parse 2097152\nnode 2;main;store 1048576\n");
}
END_TEST

START_TEST(differences_are_added)
{
    struct error err = {0};
    struct profile *a = process(first, one_build, 0x550000, "abcd");
    struct profile *b = process(second, one_build, 0x7f0000, "abcd");
    struct profile *grew = diff_make(b, a, &err);
    struct profile *same = diff_make(b, a, &err), *sum;

    profile_free(a);
    profile_free(b);
    sum = sum_of(grew, same, false, "");
    ck_assert(sum->difference);
    ck_assert_double_eq(sum->bytes, -4.0 * MIB);
    ck_assert_str_eq(sum->memory, "Grew by node: 1 -2.0 MB, 2 -2.0 MB");
    check(sum, collapsed_write,
          "main 6291456\nmain;store -6291456\nmain;parse -4194304\n");
}
END_TEST

START_TEST(it_names_its_nodes_and_missing_ones)
{
    struct profile *sum = sum_of(process(first, one_build, 0x550000, "abcd"),
                                 process(second, one_build, 0x7f0000, "abcd"),
                                 false, "without node 3: timeout after 5s");

    ck_assert_str_eq(sum->program, "db on 2 nodes");
    ck_assert_str_eq(sum->memory,
                     "In use by node: 1 6.0 MB (60.0%), 2 4.0 MB (40.0%)");
    ck_assert_str_eq(sum->note, "without node 3: timeout after 5s");
    profile_free(sum);
}
END_TEST

START_TEST(of_many_nodes_the_largest_are_shown)
{
    struct error err = {0};
    struct merge *merge = merge_new(false, &err);
    struct profile *one = process(second, one_build, 0x7f0000, "abcd"), *sum;
    char others[64];

    for (uint64_t id = 1; id <= 100; id++)
        ck_assert_int_eq(merge_add(merge, id, one, NULL, &err), 0);
    profile_free(one);
    sum = merge_finish(merge, "", &err);
    merge_free(merge);
    ck_assert_double_eq(sum->bytes, 400.0 * MIB);
    snprintf(others, sizeof(others), ", %d others %d.0 MB (%d.0%%)",
             100 - MERGE_SHARES_SHOWN, 4 * (100 - MERGE_SHARES_SHOWN),
             100 - MERGE_SHARES_SHOWN);
    ck_assert_msg(strstr(sum->memory, others) != NULL, "%s", sum->memory);
    ck_assert_uint_eq(sum->stack_count, 2);
    profile_free(sum);
}
END_TEST

/* One has no file, one lies in the kernel's half, one says that it fills the
 * address space. */
START_TEST(what_lies_nowhere_keeps_its_name)
{
    static const char text[] = "heap_v2/1\n"
                               "@ 0x9000 0xa000\nt*: 1: 10 [0: 0]\n"
                               "@ 0xffffffff81000000 0xa000\n"
                               "t*: 1: 20 [0: 0]\n" MAPS;
    static const struct fixture_name names[] = {
        {0x9000, "jit_a", false, NULL, 0},
        {0xa000, "jit_b", false, NULL, 0},
        {0, NULL, false, NULL, 0}};
    static const struct profile_module whole = {0, UINT64_MAX, 0, "/x", "ab"};
    struct profile *a = fixture_profile(text, names, NULL);
    struct profile *b = fixture_profile(text, names, NULL), *sum;

    b->modules = &whole;
    b->module_count = 1;
    sum = sum_of(a, b, false, "");
    ck_assert_uint_eq(sum->module_count, 0);
    check(sum, collapsed_write, "jit_b 40\njit_b;jit_a 20\n");
}
END_TEST

/* It has no lines of the program on the first node. */
START_TEST(the_node_that_knows_more_names_it)
{
    static const struct place bare[] = {{0x1000, "malloc", "", 0x1000},
                                        {0x2000, "db+0x2000", "", 0x2000},
                                        {0, NULL, NULL, 0}};
    static const char text[] =
        "heap_v2/1\n@ 0x1010 0x2010\nt*: 1: 10 [0: 0]\n" MAPS;

    check(sum_of(process(text, bare, 0, "ab"),
                 process(text, one_build, 0, "ab"), false, ""),
          collapsed_write, "parse 20\n");
}
END_TEST

START_TEST(jemallocs_text_cannot_hold_it)
{
    struct profile *sum = usual(false);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(raw_write(sum, NULL, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "a sum of nodes"));
    buffer_fini(&out);
    profile_free(sum);
}
END_TEST

START_TEST(a_cancelled_one_stops)
{
    struct profile *one = process(first, one_build, 0, "ab");
    atomic_bool cancelled = true;
    struct error err = {0};
    struct merge *merge = merge_new(false, &err);

    ck_assert_int_eq(merge_add(merge, 1, one, &cancelled, &err), -1);
    ck_assert_uint_eq(err.code, ER_QUERY_INTERRUPTED);
    merge_free(merge);
    profile_free(one);
}
END_TEST

START_TEST(nothing_added_is_nothing)
{
    struct error err = {0};
    struct merge *merge = merge_new(true, &err);
    struct profile *sum = merge_finish(merge, "", &err);

    merge_free(merge);
    ck_assert_double_eq(sum->bytes, 0);
    ck_assert_str_eq(sum->program, "nothing on 0 nodes");
    profile_free(sum);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    struct profile *a = process(first, one_build, 0x550000, "abcd");
    struct profile *b = process(second_next, next_build, 0x550000, "ef01");
    struct profile *sum = NULL;
    struct merge *merge;
    struct error err;

    for (failing = 1; !sum; failing++) {
        memset(&err, 0, sizeof(err));
        allocations = 0;
        merge = merge_new(true, &err);
        if (merge && merge_add(merge, 1, a, NULL, &err) == 0 &&
            merge_add(merge, 2, b, NULL, &err) == 0)
            sum = merge_finish(merge, "", &err);
        if (!sum)
            ck_assert_int_eq(err.code, ER_OUT_OF_MEMORY);
        merge_free(merge);
        ck_assert_uint_lt(failing, 1000);
    }
    ck_assert_uint_gt(failing, 20);
    failing = 0;
    profile_free(sum);
    profile_free(a);
    profile_free(b);
}
END_TEST

/* Each is cut, so that none is missing without a word. */
START_TEST(long_notes_of_many_nodes_are_all_there)
{
    static const char text[] = "heap_v2/10000000\n"
                               "@ 0x1000 0x2001\n"
                               "t*: 300: 3000000000 [0: 0]\n" MAPS;
    struct profile *one =
        fixture_profile_of(PROFILE_CPU, 2000, text, NULL, NULL);
    char note[2048], missing[2048], name[32];
    struct profile *sum;
    struct error err = {0};
    struct merge *merge = merge_new(false, &err);

    memset(note, 'n', sizeof(note));
    note[sizeof(note) - 1] = '\0';
    memset(missing, 'm', sizeof(missing));
    missing[sizeof(missing) - 1] = '\0';
    one->note = note;
    for (uint64_t id = 1; id <= MERGE_NOTES_SHOWN + 1; id++)
        ck_assert_int_eq(merge_add(merge, id, one, NULL, &err), 0);
    sum = merge_finish(merge, missing, &err);
    ck_assert_msg(sum != NULL, "%s", err.text);
    for (int id = 1; id <= MERGE_NOTES_SHOWN; id++) {
        snprintf(name, sizeof(name), "; node %d: nnn", id);
        ck_assert_ptr_nonnull(strstr(sum->note, name));
    }
    ck_assert_ptr_nonnull(strstr(sum->note, "; other nodes have notes, too"));
    profile_free(sum);
    merge_free(merge);
    profile_free(one);
}
END_TEST

/* _i: the second one was sampled for another time. */
START_TEST(time_of_nodes_is_added_and_another_kind_refused)
{
    static const char text[] = "heap_v2/10000000\n"
                               "@ 0x1000 0x2001\n"
                               "t*: 300: 3000000000 [0: 0]\n" MAPS;
    struct profile *one =
        fixture_profile_of(PROFILE_CPU, 2000, text, NULL, NULL);
    struct profile *other =
        fixture_profile_of(PROFILE_CPU, _i ? 1500 : 1990, text, NULL, NULL);
    struct profile *heap = fixture_profile(text, NULL, NULL), *sum;
    struct error err = {0};
    struct merge *merge = merge_new(false, &err);
    struct buffer out;

    other->note = "2 stacks are cut";
    other->rate++; /* nobody need know: weights are time */
    ck_assert_int_eq(merge_add(merge, 10001, one, NULL, &err), 0);
    ck_assert_int_eq(merge_add(merge, 10002, other, NULL, &err), 0);
    sum = merge_finish(merge, "", &err);
    ck_assert_msg(sum != NULL, "%s", err.text);
    ck_assert_str_eq(sum->memory, "Time by node: 10001 3.0 s (50.0%), 10002 "
                                  "3.0 s (50.0%)");
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(tree_write(sum, NULL, &out, &err), 0);
    ck_assert_ptr_nonnull(strstr(
        out.data, _i ? "6.0 s on the processor\n"
                     : "6.0 s on the processor in 2.0 s: 3.00 processors\n"));
    ck_assert_str_eq(sum->note,
                     _i ? "the nodes were sampled for different times; node "
                          "10002: 2 stacks are cut"
                        : "node 10002: 2 stacks are cut");
    buffer_fini(&out);
    profile_free(sum);
    merge_free(merge);
    merge = merge_new(false, &err);
    ck_assert_int_eq(merge_add(merge, 10001, one, NULL, &err), 0);
    ck_assert_int_eq(merge_check(merge, other, &err), 0);
    ck_assert_int_eq(merge_check(merge, heap, &err), -1);
    ck_assert_str_eq(err.text, "its profile is of the heap, and those of the "
                               "other nodes are of the processor: they cannot "
                               "be added up");
    merge_free(merge);
    profile_free(one);
    profile_free(other);
    profile_free(heap);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("merge");
    TCase *tc = tcase_create("merge");

    tcase_add_test(tc, long_notes_of_many_nodes_are_all_there);
    tcase_add_loop_test(tc, time_of_nodes_is_added_and_another_kind_refused, 0,
                        2);
    tcase_add_test(tc, locations_of_one_build_are_one_wherever_it_is_mapped);
    tcase_add_test(tc, each_node_says_what_is_the_allocators);
    tcase_add_loop_test(tc, a_function_of_two_builds_is_one, 0,
                        sizeof(builds) / sizeof(builds[0]));
    tcase_add_test(tc, functions_of_one_name_stay_apart_in_all_builds);
    tcase_add_test(tc,
                   functions_of_one_build_are_matched_by_what_all_nodes_saw);
    tcase_add_test(tc, each_nodes_stacks_may_stand_on_its_frame);
    tcase_add_test(tc, differences_are_added);
    tcase_add_test(tc, it_names_its_nodes_and_missing_ones);
    tcase_add_test(tc, of_many_nodes_the_largest_are_shown);
    tcase_add_test(tc, what_lies_nowhere_keeps_its_name);
    tcase_add_test(tc, the_node_that_knows_more_names_it);
    tcase_add_test(tc, jemallocs_text_cannot_hold_it);
    tcase_add_test(tc, a_cancelled_one_stops);
    tcase_add_test(tc, nothing_added_is_nothing);
    tcase_add_test(tc, every_allocation_may_fail);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
