/* test_waste.c - free regions by who keeps them, and jemalloc's size classes.
 */
#include <math.h>

#include "functions.h"
#include "live_parts.h"
#include "size_class.h"
#include "suite.h"
#include "waste.h"
#include "waste_rows.h"
#include "waste_fixture.h"
#include "waste_spread.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- size classes ---- */

static const struct {
    uint64_t size, bytes;
} classes[] = {
    {0, 8},
    {1, 8},
    {8, 8},
    {9, 16},
    {17, 24},
    {48, 48},
    {64, 64},
    {65, 80},
    {80, 80},
    {81, 96},
    {97, 112},
    {128, 128},
    {129, 160},
    {160, 160},
    {161, 192},
    {193, 224},
    {225, 256},
    {257, 320},
    {4096, 4096},
    {4097, 5120},
    {14336, 14336},
    {14337, 16384},
    {65537, 81920},
    {1 << 20, 1 << 20},
    {(1 << 20) + 1, 5 << 18},
    {1ULL << 40, 1ULL << 40},
};

START_TEST(a_size_is_of_the_class_that_holds_it)
{
    uint32_t number = size_class_of(classes[_i].size);

    ck_assert_uint_eq(size_class_bytes(number), classes[_i].bytes);
}
END_TEST

START_TEST(classes_are_four_to_each_doubling)
{
    ck_assert_uint_eq(size_class_bytes(size_class_of(UINT64_MAX)), INT64_MAX);
    for (uint32_t i = 1; i < SIZE_CLASSES; i++) {
        uint64_t bytes = size_class_bytes(i), before = size_class_bytes(i - 1);

        if (bytes == INT64_MAX)
            break;
        ck_assert_uint_lt(before, bytes);
        ck_assert_uint_eq(size_class_of(bytes), i);
        ck_assert_uint_eq(size_class_of(before + 1), i);
        if (before >= 64 && size_class_bytes(i + 3) < INT64_MAX)
            ck_assert_uint_eq(size_class_bytes(i + 3), before * 2);
    }
}
END_TEST

/* ---- spreads ---- */

static double
mean_of_shares(const double *sizes, const struct spread_group *group, size_t n)
{
    double mean = 0;

    for (size_t i = 0; i < n; i++)
        mean += group->shares[i] * sizes[i];
    return mean;
}

START_TEST(two_classes_are_told_by_the_mean)
{
    static const double sizes[] = {16, 64, 160};
    static const double regions[] = {0, 3000, 1000};
    double shares[3], weights[3];
    struct spread_group group = {4000, 88, 0, shares};

    waste_spread(sizes, regions, 3, &group, 1, weights);
    ck_assert_double_eq_tol(shares[0], 0, 1e-9);
    ck_assert_double_eq_tol(shares[1], .75, 1e-6);
    ck_assert_double_eq_tol(shares[2], .25, 1e-6);
}
END_TEST

/* One may have 16 and 160, the other 64 and 160 or all: the regions decide. */
START_TEST(groups_share_the_regions)
{
    static const double sizes[] = {16, 64, 160};
    static const double regions[] = {1000, 3000, 1500};
    double shares[2][3], weights[3], sum;
    struct spread_group groups[] = {{1500, 64, 0, shares[0]},
                                    {4000, 88, 0, shares[1]}};

    waste_spread(sizes, regions, 3, groups, 2, weights);
    for (size_t g = 0; g < 2; g++)
        ck_assert_double_eq_tol(mean_of_shares(sizes, &groups[g], 3),
                                groups[g].mean, 1e-3);
    for (size_t i = 0; i < 3; i++) {
        sum =
            groups[0].objects * shares[0][i] + groups[1].objects * shares[1][i];
        ck_assert_double_eq_tol(sum, regions[i], regions[i] * .02);
    }
}
END_TEST

START_TEST(a_mean_beyond_all_classes_does_no_harm)
{
    static const double sizes[] = {16, 64};
    static const double regions[] = {10, 10}, none[] = {0, 0};
    double shares[2], weights[2];
    struct spread_group group = {10, 1000, 0, shares};

    waste_spread(sizes, regions, 2, &group, 1, weights);
    ck_assert_double_eq_tol(shares[1], 1, 1e-6);
    waste_spread(sizes, none, 2, &group, 1, weights);
    ck_assert_double_eq(shares[0] + shares[1], 0);
}
END_TEST

START_TEST(a_mean_limits_each_class)
{
    ck_assert_double_eq_tol(spread_most(90, 160, 10, 1000), 80.0 / 150, 1e-9);
    ck_assert_double_eq_tol(spread_most(90, 40, 10, 100), 10.0 / 60, 1e-9);
    ck_assert_double_eq(spread_most(90, 90, 10, 100), 1);
    ck_assert_double_eq(spread_most(90, 10, 10, 10), 0);
}
END_TEST

/* ---- profiles ---- */

static const struct waste_heap *const heap = &fixture_waste_heap;

static const struct waste_row *
find_row(const struct waste_rows *rows, const char *function, uint64_t size)
{
    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->list[i].size_class == size &&
            (function ? rows->list[i].function &&
                            strcmp(rows->list[i].function, function) == 0
                      : !rows->list[i].function))
            return &rows->list[i];
    return NULL;
}

static double
sum_within(const struct waste_rows *rows, const char *figure)
{
    double sum = 0;

    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->list[i].within && strcmp(rows->list[i].within, figure) == 0)
            sum += rows->list[i].waste;
    return sum;
}

/* 2310 free regions of class 160, by 100 of cache's, 100 of text's, 50. */
START_TEST(a_mean_between_classes_names_the_one_that_is_empty)
{
    struct profile *profile = fixture_waste();
    struct functions *functions = functions_new(profile, NULL, NULL);
    const struct waste_row *row;
    struct waste_rows rows;
    struct error err = {0};

    ck_assert(profile->wasted);
    ck_assert_int_eq(waste_rows_init(&rows, profile, functions, &err), 0);
    row = find_row(&rows, "cache", 160);
    ck_assert_ptr_nonnull(row);
    ck_assert_str_eq(row->method, "one class");
    ck_assert_double_eq_tol(row->waste, 2310 * 160 * .4, 1);
    ck_assert_double_eq_tol(row->utilization, 250 / 2560.0, 1e-6);
    row = find_row(&rows, "text", 160);
    ck_assert_ptr_nonnull(row);
    ck_assert_str_eq(row->method, "spread");
    ck_assert(fabs(row->waste - 2310 * 160 * .4) <= row->error);
    ck_assert_double_eq_tol(row->waste, 2310 * 160 * .4, 2310 * 160 * .15);
    row = find_row(&rows, NULL, 160);
    ck_assert_ptr_nonnull(row);
    ck_assert_str_eq(row->method, "not in the profile");
    row = find_row(&rows, "table", 81920);
    ck_assert_ptr_nonnull(row);
    ck_assert_double_eq(row->waste, 0);
    ck_assert_str_eq(row->kind, "large");
    ck_assert_double_eq_tol(sum_within(&rows, "active"),
                            (double)(heap->active - heap->allocated), 1e-3);
    ck_assert_double_eq_tol(sum_within(&rows, "resident"),
                            (double)(heap->resident - heap->active), 1e-3);
    ck_assert_double_eq(sum_within(&rows, "allocated"), 50 * 160);
    waste_rows_fini(&rows);
    functions_free(functions);
    profile_free(profile);
}
END_TEST

START_TEST(stacks_have_their_class_and_waste)
{
    struct profile *profile = fixture_waste();
    double sum = 0;

    ck_assert_uint_eq(profile->stacks[0].size_class, 160);
    ck_assert_uint_eq(profile->stacks[1].size_class, 0); /* of several */
    ck_assert_uint_eq(profile->stacks[2].size_class, 81920);
    for (size_t i = 0; i < profile->stack_count; i++)
        sum += profile_value(&profile->stacks[i], MEASURE_WASTE);
    ck_assert_double_eq(sum, profile_total(profile, MEASURE_WASTE));
    ck_assert_double_gt(sum, 0);
    profile_free(profile);
}
END_TEST

/* As jemalloc 5.3 wrote samples of class 160, 96 and 64, sampled each 8 KB. */
static const struct {
    const char *dump;
    uint64_t size;
} one_class[] = {
    {"heap_v2/8192\n@ 0x2001 0x5001\nt*: 169: 27013 [0: 0]\n", 160},
    {"heap_v2/8192\n@ 0x2001 0x5001\nt*: 430: 68732 [0: 0]\n", 160},
    {"heap_v2/8192\n@ 0x2001 0x5001\nt*: 2262: 217045 [0: 0]\n", 96},
    {"heap_v2/8192\n@ 0x2001 0x5001\nt*: 169: 27040 [0: 0]\n", 160},
    {"heap_v2/8192\n@ 0x2001 0x5001\nt*: 1: 160 [0: 0]\n", 160},
    {"heap_v2/8192\n@ 0x2001 0x5001\nt*: 1887: 134813 [0: 0]\n", 0},
    {"heap_v2/8192\n@ 0x2001 0x5001\nt*: 169: 26900 [0: 0]\n", 0},
};

START_TEST(a_mean_that_is_a_class_as_jemalloc_writes_it)
{
    static const struct waste_heap with = {
        .at_ms = 1,
        .class_count = 4,
        .classes = {{64, 64, 4096, 3100, 198393},
                    {96, 128, 12288, 1545, 197739},
                    {160, 128, 20480, 1610, 29401},
                    {224, 128, 28672, 760, 9924}},
    };
    struct profile *profile = fixture_wasteful(one_class[_i].dump, &with);

    ck_assert_uint_eq(profile->stacks[0].size_class, one_class[_i].size);
    profile_free(profile);
}
END_TEST

START_TEST(nothing_is_told_without_the_classes)
{
    static const struct waste_heap unknown;
    struct profile *profile = fixture_wasteful(FIXTURE_WASTE, &unknown);

    ck_assert_ptr_null(profile->waste);
    ck_assert(!profile->wasted);
    ck_assert_uint_eq(profile->stacks[0].size_class, 0);
    profile_free(profile);
}
END_TEST

/* More by the samples than there is: they share what there is. */
START_TEST(chance_does_not_make_more_waste_than_there_is)
{
    static const struct waste_heap few = {
        .at_ms = 1,
        .class_count = 1,
        .classes = {{160, 128, 20480, 20, 10}},
    };
    struct profile *profile = fixture_wasteful(
        "heap_v2/1\n@ 0x2001 0x5001\nt*: 100: 16000 [0: 0]\n", &few);

    ck_assert_double_eq_tol(profile->waste_bytes,
                            waste_free_bytes(&few.classes[0]), 1e-3);
    profile_free(profile);
}
END_TEST

/* A recorder's sizes, as they were asked for: of any stack, in any order. */
START_TEST(a_recorders_sizes_are_exact)
{
    struct profile *profile = fixture_waste_recorded();
    const struct waste_part *parts;

    ck_assert_uint_eq(profile->waste->count, 2);
    parts = profile->waste->parts;
    ck_assert_uint_eq(heap->classes[parts[0].number].size, 64);
    ck_assert_uint_eq(heap->classes[parts[1].number].size, 160);
    ck_assert_int_eq((int)parts[1].method, WASTE_SAMPLES);
    ck_assert_double_eq(parts[1].objects, 60);
    ck_assert_double_eq(parts[1].asked, 60 * 150);
    ck_assert_double_eq_tol(profile->waste->unseen[2], 190, 1e-9);
    ck_assert_uint_eq(profile->stacks[1].size_class, 64);
    profile_free(profile);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("waste");
    TCase *tc = tcase_create("waste");

    tcase_add_loop_test(tc, a_size_is_of_the_class_that_holds_it, 0,
                        COUNT(classes));
    tcase_add_test(tc, classes_are_four_to_each_doubling);
    tcase_add_test(tc, two_classes_are_told_by_the_mean);
    tcase_add_test(tc, groups_share_the_regions);
    tcase_add_test(tc, a_mean_beyond_all_classes_does_no_harm);
    tcase_add_test(tc, a_mean_limits_each_class);
    tcase_add_test(tc, a_mean_between_classes_names_the_one_that_is_empty);
    tcase_add_test(tc, stacks_have_their_class_and_waste);
    tcase_add_loop_test(tc, a_mean_that_is_a_class_as_jemalloc_writes_it, 0,
                        COUNT(one_class));
    tcase_add_test(tc, nothing_is_told_without_the_classes);
    tcase_add_test(tc, chance_does_not_make_more_waste_than_there_is);
    tcase_add_test(tc, a_recorders_sizes_are_exact);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
