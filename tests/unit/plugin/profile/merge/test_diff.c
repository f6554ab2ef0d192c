/* test_diff.c - what grew and what shrank between two profiles. */
#include <math.h>

#include "arena.h"
#include "buffer.h"
#include "diff.h"
#include "failing_memory.h"
#include "forms.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view_options.h"

#define MAPS "MAPPED_LIBRARIES:\n\n" /* nothing was cut off */

/* The same program twice, mapped elsewhere the second time. */
static const struct fixture_name here[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "leak()\037leak.cc\0377", false, NULL, 0},
    {0x3001, "cache()\037cache.cc\0379", false, NULL, 0},
    {0x4001, "main\037main.cc\0373", false, NULL, 0},
    {0}};
static const struct fixture_name there[] = {
    {0x71000, "malloc", false, NULL, 0},
    {0x72001, "leak()\037leak.cc\0378", false, NULL, 0},
    {0x73001, "cache()\037cache.cc\0379", false, NULL, 0},
    {0x74001, "main\037main.cc\0373", false, NULL, 0},
    {0x75001, "fresh()\037main.cc\0374", false, NULL, 0},
    {0}};

static const char before[] = "heap_v2/1\n"
                             "@ 0x1000 0x2001 0x4001\n"
                             "t*: 1: 1048576 [2: 2097152]\n"
                             "@ 0x1000 0x3001 0x4001\n"
                             "t*: 4: 4194304 [4: 4194304]\n" MAPS;
static const char after[] = "heap_v2/1\n"
                            "@ 0x71000 0x73001 0x74001\n"
                            "t*: 1: 1048576 [5: 5242880]\n"
                            "@ 0x71000 0x72001 0x74001\n"
                            "t*: 9: 9437184 [12: 12582912]\n"
                            "@ 0x71000 0x75001 0x74001\n"
                            "t*: 1: 524288 [1: 524288]\n" MAPS;

static struct profile *
difference_of(struct profile *now, struct profile *base)
{
    struct error err = {0};
    struct profile *diff = diff_make(now, base, &err);

    ck_assert_msg(diff != NULL, "%s", err.text);
    profile_free(now);
    profile_free(base);
    return diff;
}

static struct profile *
usual(void)
{
    return difference_of(fixture_profile(after, there, NULL),
                         fixture_profile(before, here, NULL));
}

static void
check(struct profile *profile, const struct view_options *options,
      const char *expected)
{
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_msg(text_write(profile, options, &out, &err) == 0, "%s",
                  err.text);
    ck_assert_str_eq(out.data, expected);
    buffer_fini(&out);
    profile_free(profile);
}

START_TEST(stacks_are_matched_by_name)
{
    struct profile *diff = usual();

    ck_assert(diff->difference);
    ck_assert_uint_eq(diff->stack_count, 3);
    ck_assert_uint_eq(diff->location_count, 5);
    ck_assert_uint_eq(diff->samples, 16);
    ck_assert_double_eq_tol(diff->bytes, 5.5 * 1048576, 1e-3);
    ck_assert_double_eq_tol(diff->stacks[0].bytes, -3 * 1048576, 1e-3);
    ck_assert_double_eq_tol(diff->stacks[0].objects, -3, 1e-3);
    ck_assert_uint_eq(diff->stacks[0].in_use.bytes, 0);
    for (size_t i = 1; i < diff->location_count; i++)
        ck_assert_uint_lt(diff->locations[i - 1].address,
                          diff->locations[i].address);
    check(diff, NULL,
          "Total: 5.5 MB\n"
          "     8.0 145.5% 145.5%      8.0 145.5% leak\n"
          "     0.5   9.1% 154.5%      0.5   9.1% fresh\n"
          "     0.0   0.0% 154.5%      5.5 100.0% main\n"
          "    -3.0 -54.5% 100.0%     -3.0 -54.5% cache\n");
}
END_TEST

START_TEST(top_begins_with_the_largest_changes)
{
    struct profile *diff = usual();
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(text_write_top(diff, NULL, &out, &err), 0);
    ck_assert_str_eq(out.data, "Total: 5.5 MB\n"
                               "     8.0 145.5% 145.5%      8.0 145.5% leak\n"
                               "    -3.0 -54.5%  90.9%     -3.0 -54.5% cache\n"
                               "     0.5   9.1% 100.0%      0.5   9.1% fresh\n"
                               "     0.0   0.0% 100.0%      5.5 100.0% main\n");
    buffer_fini(&out);
    profile_free(diff);
}
END_TEST

START_TEST(top_has_no_minus_before_zero)
{
    static const char less[] = "heap_v2/1\n@ 0x1000 0x2001\n"
                               "t*: 1: 1048576 [0: 0]\n"
                               "@ 0x1000 0x3001\nt*: 1: 10 [0: 0]\n" MAPS;
    static const char none[] = "heap_v2/1\n@ 0x1000 0x3001\n"
                               "t*: 1: 20 [0: 0]\n" MAPS;
    struct profile *diff = difference_of(fixture_profile(less, here, NULL),
                                         fixture_profile(none, here, NULL));
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(text_write_top(diff, NULL, &out, &err), 0);
    ck_assert_ptr_null(strstr(out.data, "-0.0"));
    ck_assert_ptr_nonnull(
        strstr(out.data, "     0.0   0.0% 100.0%      0.0   0.0% cache\n"));
    buffer_fini(&out);
    profile_free(diff);
}
END_TEST

static const struct {
    enum measure measure;
    const char *first;
} measured[] = {
    {MEASURE_INUSE_OBJECTS, "Total: 6 objects\n       8 133.3%"},
    {MEASURE_ALLOC_SPACE, "Total: 11.5 MB\n    10.0  87.0%"},
    {MEASURE_ALLOC_OBJECTS, "Total: 12 objects\n      10  83.3%"},
};

START_TEST(each_measure_has_a_difference)
{
    struct view_options options = view_defaults;
    struct profile *diff = usual();
    struct error err = {0};
    struct buffer out;

    options.measure = measured[_i].measure;
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(text_write(diff, &options, &out, &err), 0);
    ck_assert_msg(
        strncmp(out.data, measured[_i].first, strlen(measured[_i].first)) == 0,
        "%s", out.data);
    buffer_fini(&out);
    profile_free(diff);
}
END_TEST

START_TEST(what_was_ever_allocated_needs_both)
{
    static const char plain[] = "heap_v2/1\n@ 0x1000 0x2001\n"
                                "t*: 1: 10 [0: 0]\n";
    struct profile *diff = difference_of(fixture_profile(after, there, NULL),
                                         fixture_profile(plain, here, NULL));

    ck_assert(!diff->accumulated);
    profile_free(diff);
    diff = difference_of(fixture_profile(after, there, NULL),
                         fixture_profile("heap_v2/1\n" MAPS, here, NULL));
    ck_assert(diff->accumulated);
    profile_free(diff);
}
END_TEST

/* Mapped at an address, of a build; no lines are known. */
static struct profile *
placed(const char *dump, uint64_t mapped, const char *build)
{
    struct names *names = names_new(1 << 20);
    struct error err = {0};
    struct heap_dump *heap = heap_dump_parse(dump, strlen(dump), &err);
    struct profile_module *module;
    struct profile *profile;

    for (size_t i = 0; i < heap->address_count; i++) {
        uint64_t address = heap->addresses[i];
        struct frame frame = {(address & 0xf000) == 0x1000 ? "malloc" : "twice",
                              "", 0};

        names_add(names, address, &frame, 1, false);
        names_set_module(names, address, "db", address - mapped);
    }
    profile = profile_new(heap, names, "/usr/bin/db", NULL, &err);
    ck_assert_ptr_nonnull(profile);
    module = arena_alloc(profile->arena, sizeof(*module));
    *module = (struct profile_module){mapped, mapped + 0x10000, 0,
                                      "/usr/bin/db", build};
    profile->modules = module;
    profile->module_count = 1;
    heap_dump_free(heap);
    names_free(names);
    return profile;
}

static const struct {
    const char *build;
    size_t stacks;
} builds[] = {{"abcd", 2}, {"", 2}, {"ffff", 1}};

START_TEST(locations_of_one_build_are_distinguished)
{
    struct profile *diff =
        difference_of(placed("heap_v2/1\n@ 0x91000 0x92001\nt*: 1: 500 [0: 0]\n"
                             "@ 0x91000 0x93001\nt*: 1: 70 [0: 0]\n",
                             0x90000, builds[_i].build),
                      placed("heap_v2/1\n@ 0x11000 0x13001\nt*: 1: 30 [0: 0]\n",
                             0x10000, "abcd"));

    ck_assert_uint_eq(diff->stack_count, builds[_i].stacks);
    ck_assert_double_eq_tol(diff->bytes, 540, 1e-6);
    ck_assert_uint_eq(diff->module_count, 1);
    ck_assert_str_eq(diff->modules[0].path, "/usr/bin/db");
    ck_assert_double_eq_tol(diff->stacks[0].bytes, _i == 2 ? 540 : 500, 1e-6);
    if (_i < 2)
        ck_assert_double_eq_tol(diff->stacks[1].bytes, 40, 1e-6);
    profile_free(diff);
}
END_TEST

START_TEST(nothing_changed_is_nothing)
{
    struct profile *diff = difference_of(fixture_profile(before, here, NULL),
                                         fixture_profile(before, here, NULL));

    ck_assert_double_eq(diff->bytes, 0);
    check(diff, NULL, "nothing changed\n");
}
END_TEST

START_TEST(a_cancelled_one_stops)
{
    struct profile *now = fixture_profile(before, here, NULL);
    atomic_bool cancelled = true;
    struct error err = {0};
    struct profile *difference;

    ck_assert_ptr_null(diff_make_until(now, now, &cancelled, &err));
    ck_assert_uint_eq(err.code, ER_QUERY_INTERRUPTED);
    cancelled = false;
    difference = diff_make_until(now, now, &cancelled, &err);
    ck_assert_ptr_nonnull(difference);
    profile_free(difference);
    profile_free(now);
}
END_TEST

START_TEST(what_shrank_is_drawn)
{
    struct profile *diff =
        difference_of(fixture_profile("heap_v2/1\n" MAPS, here, NULL),
                      fixture_profile(before, here, NULL));
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(dot_write(diff, NULL, &out, &err), 0);
    ck_assert_ptr_nonnull(strstr(out.data, "Total MB: -5.0\\l"));
    ck_assert_ptr_nonnull(strstr(out.data, "abs(MB)\\l"));
    ck_assert_ptr_nonnull(
        strstr(out.data, "N1 [label=\"main\\n0.0 (-0.0%)\\rof -5.0 (100.0%)"
                         "\\r\",shape=box,fontsize=8.0];"));
    ck_assert_ptr_nonnull(strstr(out.data,
                                 "[label=-4.0, weight=43237, "
                                 "style=\"setlinewidth(2.000000)\"];"));
    ck_assert_ptr_null(strstr(out.data, "nan"));
    buffer_fini(&out);
    profile_free(diff);
}
END_TEST

/* Sampled one in 512 KiB: one object more or less is chance. */
START_TEST(changes_within_sampling_noise_are_marked)
{
    static const char first[] = "heap_v2/524288\n"
                                "@ 0x1000 0x2001\nt*: 10: 1000 [0: 0]\n"
                                "@ 0x1000 0x3001\nt*: 10: 1000 [0: 0]\n" MAPS;
    static const char then[] =
        "heap_v2/524288\n"
        "@ 0x1000 0x2001\nt*: 60: 6000 [0: 0]\n"
        "@ 0x1000 0x3001\nt*: 12: 1200 [0: 0]\n"
        "@ 0x1000 0x4001\nt*: 1: 100000000 [0: 0]\n" MAPS;
    struct view_options options = view_defaults;
    struct profile *diff = difference_of(fixture_profile(then, here, NULL),
                                         fixture_profile(first, here, NULL));

    /* 22 samples in two, each of about 524338 bytes; a fifth more, and what
     * that misses (diff.c). */
    ck_assert_double_eq_tol(sqrt(diff->stacks[1].variance),
                            sqrt(22 + 0.45 * sqrt(22)) * 524338, 1000);
    options.by_growth = true;
    check(diff, &options,
          "Total: 121.4 MB\n"
          "~ may be chance: within the sampling error\n"
          "    95.4   78.6%  78.6%     95.4   78.6% main\n"
          "    25.0   20.6%  99.2%     25.0   20.6% leak\n"
          "     1.0~   0.8% 100.0%      1.0~   0.8% cache\n");
}
END_TEST

START_TEST(callers_follow_what_grew_most)
{
    struct view_options options = view_defaults;
    struct profile *diff = difference_of(
        fixture_profile("heap_v2/1\n@ 0x1000 0x2001 0x4001 0x3001\n"
                        "t*: 1: 1048576 [0: 0]\n"
                        "@ 0x1000 0x2001 0x4001\nt*: 1: 1048576 [0: 0]\n" MAPS,
                        here, NULL),
        fixture_profile("heap_v2/1\n" MAPS, here, NULL));

    options.by_growth = true;
    check(diff, &options,
          "Total: 2.0 MB\n"
          "~ may be chance: within the sampling error\n"
          "     2.0  100.0% 100.0%      2.0  100.0% leak\n"
          "     0.0    0.0% 100.0%      2.0  100.0% main\n"
          "     0.0    0.0% 100.0%      1.0   50.0% cache\n");
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    struct profile *now = placed(after, 0x70000, "abcd");
    struct profile *base = placed(before, 0, "ef"), *diff = NULL;
    struct error err;

    for (failing = 1; !diff; failing++) {
        memset(&err, 0, sizeof(err));
        allocations = 0;
        diff = diff_make(now, base, &err);
        if (!diff)
            ck_assert_int_eq(err.code, ER_OUT_OF_MEMORY);
        ck_assert_uint_lt(failing, 1000);
    }
    ck_assert_uint_gt(failing, 20);
    failing = 0;
    profile_free(diff);
    profile_free(now);
    profile_free(base);
}
END_TEST

static const char idle[] = "heap_v2/10000000\n"
                           "@ 0x1000 0x2001 0x4001\n"
                           "t*: 100: 1000000000 [0: 0]\n" MAPS;
static const char busy[] = "heap_v2/10000000\n"
                           "@ 0x71000 0x72001 0x74001\n"
                           "t*: 300: 3000000000 [0: 0]\n"
                           "@ 0x71000 0x73001 0x74001\n"
                           "t*: 4: 40000000 [0: 0]\n" MAPS;

/* No sample of one profile is in the other. */
START_TEST(time_is_compared_by_its_sums)
{
    struct profile *base =
        fixture_profile_of(PROFILE_CPU, 10000, idle, here, NULL);
    struct profile *now =
        fixture_profile_of(PROFILE_CPU, 20000, busy, there, NULL);
    struct profile *diff;
    struct error err = {0};
    struct buffer out;

    base->memory = "by perf";
    now->memory = "by ptrace";
    base->note = "2 threads could not be seen";
    now->note = "no symbols of db";
    diff = difference_of(now, base);
    ck_assert_int_eq(diff->kind, PROFILE_CPU);
    ck_assert(diff->bytes == 2.04e9 && diff->objects == 204);
    ck_assert_double_eq_tol(diff->stacks[0].variance, 400e14, 1e6);
    ck_assert_double_eq_tol(diff->stacks[1].variance, 4e14, 1e6);
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(tree_write(diff, NULL, &out, &err), 0);
    ck_assert_ptr_nonnull(
        strstr(out.data, "db: +2.0 s on the processor since the base\n"
                         "sampled for 20.0 s, the base for 10.0 s: sums, not "
                         "rates; by ptrace\n"));
    ck_assert_str_eq(diff->note, "no symbols of db; of the base: 2 threads "
                                 "could not be seen");
    ck_assert_ptr_nonnull(strstr(out.data, "    +2.0 s  98.0%   "));
    ck_assert_ptr_nonnull(strstr(out.data, "  +40.0 ms   2.0% ~ "));
    profile_free(diff);
    buffer_fini(&out);
}
END_TEST

START_TEST(one_with_the_kernel_is_told_from_one_without)
{
    struct profile *now, *base, *diff;

    now = fixture_profile_of(PROFILE_CPU, 1000, idle, here, NULL);
    base = fixture_profile_of(PROFILE_CPU, 1000, idle, here, NULL);
    now->memory = "by perf" PROFILE_WITH_KERNEL PROFILE_CHANCE "9 points";
    base->memory = "by perf";
    diff = difference_of(now, base);
    ck_assert_str_eq(diff->memory,
                     "sampled for 1.0 s, the base for 1.0 s: sums, not rates; "
                     "the base is without the kernel's functions; "
                     "by perf" PROFILE_WITH_KERNEL);
    profile_free(diff);
}
END_TEST

START_TEST(two_kinds_are_not_compared)
{
    struct profile *now = fixture_profile_of(PROFILE_CPU, 1, idle, here, NULL);
    struct profile *base = fixture_profile(before, here, NULL);
    struct error err = {0};

    ck_assert_ptr_null(diff_make(now, base, &err));
    ck_assert_str_eq(err.text, "a profile of the processor cannot be compared "
                               "with one of the heap");
    profile_free(now);
    profile_free(base);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("diff");
    TCase *tc = tcase_create("diff");

    tcase_add_test(tc, time_is_compared_by_its_sums);
    tcase_add_test(tc, one_with_the_kernel_is_told_from_one_without);
    tcase_add_test(tc, two_kinds_are_not_compared);
    tcase_add_test(tc, stacks_are_matched_by_name);
    tcase_add_test(tc, top_begins_with_the_largest_changes);
    tcase_add_test(tc, top_has_no_minus_before_zero);
    tcase_add_loop_test(tc, each_measure_has_a_difference, 0,
                        sizeof(measured) / sizeof(measured[0]));
    tcase_add_test(tc, what_was_ever_allocated_needs_both);
    tcase_add_loop_test(tc, locations_of_one_build_are_distinguished, 0,
                        sizeof(builds) / sizeof(builds[0]));
    tcase_add_test(tc, nothing_changed_is_nothing);
    tcase_add_test(tc, a_cancelled_one_stops);
    tcase_add_test(tc, what_shrank_is_drawn);
    tcase_add_test(tc, changes_within_sampling_noise_are_marked);
    tcase_add_test(tc, callers_follow_what_grew_most);
    tcase_add_test(tc, every_allocation_may_fail);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
