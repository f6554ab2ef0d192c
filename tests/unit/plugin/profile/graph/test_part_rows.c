/* test_part_rows.c - rows of threads and of ages. */
#include "failing_memory.h"
#include "functions.h"
#include "part_rows.h"
#include "parts_fixture.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct profile *profile;
static struct functions *functions;
static struct part_rows rows;
static struct error err;

static void
set_up(void)
{
    profile = fixture_parts();
    functions = functions_new(profile, NULL, &err);
    ck_assert_ptr_nonnull(functions);
    ck_assert_int_eq(part_rows_init(&rows, profile, functions, &err), 0);
}

static void
tear_down(void)
{
    part_rows_fini(&rows);
    functions_free(functions);
    profile_free(profile);
}

START_TEST(threads_are_the_largest_first)
{
    static const struct {
        const char *name;
        uint64_t samples;
        double bytes;
        const char *top;
    } wanted[] = {
        {"io-1", 9, 4459, "leak"}, {"io-2", 1, 1000, "cache"},
        {"main", 1, 500, "leak"},  {"42", 1, 70, ""},
        {"", 1, 1, "leak"},
    };

    ck_assert_uint_eq(rows.thread_count, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        ck_assert_str_eq(rows.threads[i].thread->name, wanted[i].name);
        ck_assert_uint_eq(rows.threads[i].samples, wanted[i].samples);
        ck_assert_double_eq_tol(rows.threads[i].bytes, wanted[i].bytes, 1);
        ck_assert_str_eq(rows.threads[i].top, wanted[i].top);
    }
}
END_TEST

/* Whichever stacks they are of. */
START_TEST(the_top_function_is_that_of_most_bytes)
{
    static const struct fixture_mark marks[] = {{1, 0}, {1, 0}, {1, 0}};

    tear_down();
    profile = fixture_recorded("heap_v2/1\n@ 0x1000 0x2001\nt*: 1: 600 [0: 0]\n"
                               "@ 0x1000 0x3001\nt*: 1: 1000 [0: 0]\n"
                               "@ 0x1000 0x2001 0x5001\nt*: 1: 600 [0: 0]\n",
                               fixture_part_names, marks, 1);
    functions = functions_new(profile, NULL, &err);
    ck_assert_int_eq(part_rows_init(&rows, profile, functions, &err), 0);
    ck_assert_uint_eq(rows.thread_count, 1);
    ck_assert_str_eq(rows.threads[0].top, "cache");
}
END_TEST

START_TEST(ages_are_by_stack)
{
    static const struct {
        uint32_t stack, age;
        double bytes;
    } wanted[] = {{0, 0, 1400}, {0, 3, 50}, {1, 7, 4501}, {2, 1, 79}};
    uint32_t first, end;

    ck_assert_uint_eq(rows.age_count, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        ck_assert_uint_eq(rows.ages[i].stack, wanted[i].stack);
        ck_assert_uint_eq(rows.ages[i].age, wanted[i].age);
        ck_assert_double_eq_tol(rows.ages[i].bytes, wanted[i].bytes, 1);
    }
    part_rows_find(&rows, 0, &first, &end);
    ck_assert(first == 0 && end == 2);
    part_rows_find(&rows, 2, &first, &end);
    ck_assert(first == 3 && end == 4);
    part_rows_find(&rows, 3, &first, &end);
    ck_assert(first == 4 && end == 4);
}
END_TEST

START_TEST(want_of_memory_is_an_error)
{
    unsigned last;
    int rc = -1;

    for (last = 1; rc != 0; last++) {
        part_rows_fini(&rows);
        allocations = 0;
        failing = last;
        err.code = 0;
        rc = part_rows_init(&rows, profile, functions, &err);
        failing = 0;
        ck_assert(rc == 0 || err.code == ER_OUT_OF_MEMORY);
    }
    ck_assert_uint_ge(last, 4);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("part_rows");
    TCase *tc = tcase_create("part_rows");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, threads_are_the_largest_first);
    tcase_add_test(tc, the_top_function_is_that_of_most_bytes);
    tcase_add_test(tc, ages_are_by_stack);
    tcase_add_test(tc, want_of_memory_is_an_error);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
