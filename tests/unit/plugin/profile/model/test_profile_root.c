/* test_profile_root.c - profiles rooted at threads and at pools; pools' names,
 * and the rows of what they grew by. */
#include "diff.h"
#include "failing_memory.h"
#include "forms.h"
#include "functions.h"
#include "parts_fixture.h"
#include "merge.h"
#include "pool_rows.h"
#include "profile_root.h"
#include "suite.h"
#include "view_options.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *name, *pool;
} pools[] = {
    {"worker-12", "worker-*"},
    {"worker-1", "worker-*"},
    {"bio_lazy_free", "bio_lazy_free"},
    {"pool-2-thread-7", "pool-*-thread-*"},
    {"io007", "io*"},
    {"123456789012345", "*"},
    {"7", "*"},
    {"1.2.3.4:65535", "*.*.*.*:*"},
    {"h2o", "h2o"},
    {"r2d2-worker-0", "r2d*-worker-*"},
    {"12a", "12a"},
    {"-", "-"},
    {"*", "*"},
    {"", ""},
    {"aaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaa"},
    {"aaaaaaaaaaaaa99", "aaaaaaaaaaaaa*"},
    {"99999999999999a", "99999999999999a"},
    {"\xc3\xa9\xe2\x82\xac-3", "\xc3\xa9\xe2\x82\xac-*"},
    {"\xff\x01\x1b[31m9", "\xff\x01\x1b[31m*"},
    {"longer than Linux has them 9", "longer than Lin"},
};

START_TEST(pools_are_names_without_numbers)
{
    char pool[HEAP_THREAD_NAME_MAX + 1];

    heap_thread_pool(pools[_i].name, pool);
    ck_assert_str_eq(pool, pools[_i].pool);
}
END_TEST

static struct profile *profile;
static struct error err;
static struct buffer out;

static void
set_up(void)
{
    profile = fixture_parts();
    buffer_init(&out, 1 << 20);
}

static void
tear_down(void)
{
    profile_free(profile);
    buffer_fini(&out);
}

/* The collapsed form of profile, rooted. */
static const char *
collapsed(bool by_thread, bool by_pool)
{
    struct view_options options = view_defaults;
    struct profile *rooted = NULL;

    options.by_thread = by_thread;
    options.by_pool = by_pool;
    ck_assert_msg(profile_root(profile, &options, &rooted, &err) == 0, "%s",
                  err.text);
    ck_assert_ptr_nonnull(rooted);
    ck_assert_double_eq_tol(rooted->bytes, profile->bytes, 0.01);
    ck_assert_double_eq_tol(rooted->objects, profile->objects, 0.01);
    ck_assert_double_eq_tol(profile_margin(rooted), profile_margin(profile),
                            0.01);
    buffer_clear(&out);
    ck_assert_int_eq(collapsed_write(rooted, &options, &out, &err), 0);
    profile_free(rooted);
    buffer_char(&out, '\0');
    return out.data;
}

START_TEST(stacks_begin_with_pools)
{
    const char *text = collapsed(false, true);

    ck_assert_msg(strstr(text, "pool io-*;main;cache 1450\n") != NULL, "%s",
                  text);
    ck_assert_msg(strstr(text, "pool io-*;main;leak 4000\n") != NULL, "%s",
                  text);
    ck_assert_msg(strstr(text, "pool main;main;leak 500\n") != NULL, "%s",
                  text);
    ck_assert_msg(strstr(text, "pool *") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "unknown pool;main;leak") != NULL, "%s", text);
}
END_TEST

START_TEST(stacks_begin_with_threads)
{
    const char *text = collapsed(true, false);

    ck_assert_msg(strstr(text, "thread 71 io-1;main;cache 450\n") != NULL, "%s",
                  text);
    ck_assert_msg(strstr(text, "thread 72 io-2;main;cache 1000\n") != NULL,
                  "%s", text);
    ck_assert_msg(strstr(text, "unknown thread;main;leak") != NULL, "%s", text);
    text = collapsed(true, true);
    ck_assert_msg(strstr(text, "pool io-*;thread 71 io-1;main;cache 450\n") !=
                      NULL,
                  "%s", text);
}
END_TEST

/* jemalloc's own numbers; a name that C++ would shorten stays whole. */
#define BY_THREAD                                                              \
    "heap_v2/1\n"                                                              \
    "  t*: 6: 6000 [0: 0]\n"                                                   \
    "  t0: 2: 2000 [0: 0] f<int>(x)\n"                                         \
    "  t7: 4: 4000 [0: 0] io-7\n"                                              \
    "  t9: 0: 0 [0: 0]\n"                                                      \
    "@ 0x1000 0x2001 0x5001\n"                                                 \
    "  t*: 5: 5000 [0: 0]\n"                                                   \
    "  t0: 2: 2000 [0: 0]\n"                                                   \
    "  t7: 3: 3000 [0: 0]\n"                                                   \
    "@ 0x1000 0x3001 0x5001\n"                                                 \
    "  t*: 1: 1000 [0: 0]\n"                                                   \
    "  t7: 1: 1000 [0: 0]\n"

START_TEST(jemallocs_threads_have_numbers)
{
    const char *text;

    profile_free(profile);
    profile = fixture_profile(BY_THREAD, fixture_part_names, NULL);
    text = collapsed(true, false);
    ck_assert_msg(strstr(text, "thread #0 f<int>(x);main;cache 2000\n") != NULL,
                  "%s", text);
    ck_assert_msg(strstr(text, "thread #7 io-7;main;cache 3000\n") != NULL,
                  "%s", text);
    text = collapsed(false, true);
    ck_assert_msg(strstr(text, "pool f<int>(x);main;cache 2000\n") != NULL,
                  "%s", text);
}
END_TEST

static const struct {
    enum granularity granularity;
    const char *wanted;
} details[] = {
    {GRANULARITY_LINES, "pool io-*;main ??:0;leak ??:0 4000\n"},
    {GRANULARITY_FILES, "pool io-*;0000000000005000;0000000000003000 4000\n"},
    {GRANULARITY_ADDRESSES, "pool io-*;0000000000005000 main ??:0;"},
};

START_TEST(roots_have_no_file_or_address)
{
    struct view_options options = view_defaults;
    struct profile *rooted;

    options.by_pool = true;
    options.granularity = details[_i].granularity;
    ck_assert_int_eq(profile_root(profile, &options, &rooted, &err), 0);
    ck_assert_int_eq(collapsed_write(rooted, &options, &out, &err), 0);
    profile_free(rooted);
    buffer_char(&out, '\0');
    ck_assert_msg(strstr(out.data, details[_i].wanted) != NULL, "%s", out.data);
}
END_TEST

static const struct {
    const char *dump;
    enum profile_kind kind;
    enum measure measure;
    const char *wanted;
} refused[] = {
    {"heap_v2/1\n@ 0x1000\nt*: 1: 1000 [0: 0]\n", PROFILE_HEAP,
     MEASURE_INUSE_SPACE,
     "by_pool: the threads of this profile are not known: neither a recorder "},
    {BY_THREAD, PROFILE_HEAP, MEASURE_ALLOC_SPACE,
     "by_pool: what was ever allocated is not known by thread"},
    {"heap_v2/1\n@ 0x1000\nt*: 1: 1000 [0: 0]\n", PROFILE_CPU, MEASURE_TIME,
     "by_pool: the threads of this profile are not known: it is a profile of "},
    {"heap_v2/1\nt1: 1: 1 [0: 0]\n@ 0x7fffffffffffff00\nt*: 1: 1 [0: 0]\n",
     PROFILE_HEAP, MEASURE_INUSE_SPACE, "by_pool: the profile has addresses"},
};

START_TEST(what_has_no_threads_is_an_error)
{
    struct view_options options = view_defaults;
    struct profile *rooted = profile;

    profile_free(profile);
    profile = fixture_profile_of(refused[_i].kind, 0, refused[_i].dump,
                                 fixture_part_names, NULL);
    options.by_pool = true;
    options.measure = refused[_i].measure;
    ck_assert_int_eq(profile_root(profile, &options, &rooted, &err), -1);
    ck_assert_ptr_null(rooted);
    ck_assert_msg(
        strncmp(err.text, refused[_i].wanted, strlen(refused[_i].wanted)) == 0,
        "%s", err.text);
}
END_TEST

START_TEST(an_empty_heap_and_plain_options_need_nothing)
{
    struct view_options options = view_defaults;
    struct profile *rooted = profile;

    ck_assert_int_eq(profile_root(profile, &options, &rooted, &err), 0);
    ck_assert_ptr_null(rooted);
    profile_free(profile);
    profile = fixture_profile("heap_v2/1\n", NULL, NULL);
    options.by_pool = true;
    ck_assert_int_eq(profile_root(profile, &options, &rooted, &err), 0);
    ck_assert_ptr_null(rooted);
}
END_TEST

START_TEST(waste_is_divided_as_bytes_are)
{
    struct view_options options = view_defaults;
    struct profile_stack *stacks = (struct profile_stack *)profile->stacks;
    double io = 0, all = 0;
    struct profile *rooted;

    for (size_t i = 0; i < profile->stack_count; i++)
        all += stacks[i].waste = stacks[i].bytes / 10;
    profile->waste_bytes = all;
    profile->wasted = true;
    options.by_pool = true;
    ck_assert_int_eq(profile_root(profile, &options, &rooted, &err), 0);
    ck_assert_double_eq_tol(rooted->waste_bytes, all, 0.01);
    for (size_t i = 0; i < rooted->stack_count; i++) {
        const struct profile_stack *stack = &rooted->stacks[i];
        uint32_t root = stack->locations[stack->depth - 1];

        if (strcmp(rooted->locations[root].frames[0].function, "pool io-*") ==
            0)
            io += stack->waste;
    }
    ck_assert_double_eq_tol(io, 545.9, 0.01);
    profile_free(rooted);
}
END_TEST

/* ---- what pools grew by ---- */

#define LATER                                                                  \
    "heap_v2/1\n"                                                              \
    "  t0: 1: 1 [0: 0] f<int>(x)\n  t7: 1: 1 [0: 0] io-7\n"                    \
    "  t8: 1: 1 [0: 0] io-8\n  t5: 1: 1 [0: 0]\n"                              \
    "@ 0x1000 0x2001 0x5001\n"                                                 \
    "  t*: 9: 9000 [0: 0]\n  t7: 1: 1000 [0: 0]\n  t8: 8: 8000 [0: 0]\n"       \
    "@ 0x1000 0x3001 0x5001\n"                                                 \
    "  t*: 3: 3000 [0: 0]\n  t8: 2: 2000 [0: 0]\n  t5: 1: 1000 [0: 0]\n"

static int
pools_of(unsigned fail_at, struct profile **difference,
         struct functions **functions, struct pool_rows *rows)
{
    struct profile *later = fixture_profile(LATER, fixture_part_names, NULL);
    struct view_options options = view_defaults;
    struct profile *roots[2] = {NULL, NULL};
    int rc = -1;

    profile_free(profile);
    profile = fixture_profile(BY_THREAD, fixture_part_names, NULL);
    options.by_pool = true;
    *difference = NULL;
    *functions = NULL;
    allocations = 0;
    failing = fail_at;
    if (profile_root(later, &options, &roots[0], &err) == 0 &&
        profile_root(profile, &options, &roots[1], &err) == 0)
        *difference = diff_make(roots[0], roots[1], &err);
    if (*difference)
        *functions = functions_new(*difference, &options, &err);
    if (*functions)
        rc = pool_rows_init(rows, *difference, *functions, &err);
    failing = 0;
    profile_free(roots[0]);
    profile_free(roots[1]);
    profile_free(later);
    return rc;
}

START_TEST(pools_grow)
{
    static const struct {
        const char *pool, *top;
        double bytes, objects, top_bytes;
    } wanted[] = {
        {"io-*", "cache", 7000, 7, 6000},
        {"", "leak", 1000, 1, 1000},
        {"f<int>(x)", "", -2000, -2, 0},
    };
    struct profile *difference;
    struct functions *functions;
    struct pool_rows rows = {0};

    ck_assert_msg(pools_of(0, &difference, &functions, &rows) == 0, "%s",
                  err.text);
    ck_assert_uint_eq(rows.count, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        ck_assert_str_eq(rows.list[i].pool, wanted[i].pool);
        ck_assert_str_eq(rows.list[i].top, wanted[i].top);
        ck_assert_double_eq_tol(rows.list[i].bytes, wanted[i].bytes, 0.01);
        ck_assert_double_eq_tol(rows.list[i].objects, wanted[i].objects, 0.01);
        ck_assert_double_eq_tol(rows.list[i].top_bytes, wanted[i].top_bytes,
                                0.01);
        ck_assert(rows.list[i].significant); /* each byte was sampled */
    }
    pool_rows_fini(&rows);
    functions_free(functions);
    profile_free(difference);
}
END_TEST

/* Each node's pool has a root of its own in the sum. */
START_TEST(a_pool_of_several_nodes_is_one_row)
{
    struct merge *merge = merge_new(false, &err);
    struct profile *difference, *sum;
    struct functions *functions;
    struct pool_rows rows = {0};

    for (uint64_t node = 1; node <= 2; node++) {
        ck_assert_int_eq(pools_of(0, &difference, &functions, &rows), 0);
        ck_assert_int_eq(merge_add(merge, node, difference, NULL, &err), 0);
        pool_rows_fini(&rows);
        functions_free(functions);
        profile_free(difference);
    }
    sum = merge_finish(merge, "", &err);
    ck_assert_msg(sum != NULL, "%s", err.text);
    functions = functions_new(sum, &view_defaults, &err);
    ck_assert_int_eq(pool_rows_init(&rows, sum, functions, &err), 0);
    ck_assert_uint_eq(rows.count, 3);
    ck_assert_str_eq(rows.list[0].pool, "io-*");
    ck_assert_str_eq(rows.list[0].top, "cache");
    ck_assert_double_eq_tol(rows.list[0].bytes, 14000, 0.01);
    ck_assert_double_eq_tol(rows.list[0].top_bytes, 12000, 0.01);
    ck_assert_double_eq_tol(rows.list[2].bytes, -4000, 0.01);
    pool_rows_fini(&rows);
    functions_free(functions);
    profile_free(sum);
    merge_free(merge);
}
END_TEST

START_TEST(want_of_memory_is_an_error)
{
    struct profile *difference;
    struct functions *functions;
    struct pool_rows rows = {0};
    unsigned last;
    int rc = -1;

    for (last = 1; rc != 0; last++) {
        err.code = 0;
        rc = pools_of(last, &difference, &functions, &rows);
        ck_assert(rc == 0 || err.code == ER_OUT_OF_MEMORY);
        pool_rows_fini(&rows);
        functions_free(functions);
        profile_free(difference);
    }
    ck_assert_uint_ge(last, 20);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("profile_root");
    TCase *tc = tcase_create("profile_root");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, pools_are_names_without_numbers, 0, COUNT(pools));
    tcase_add_test(tc, stacks_begin_with_pools);
    tcase_add_test(tc, stacks_begin_with_threads);
    tcase_add_test(tc, jemallocs_threads_have_numbers);
    tcase_add_loop_test(tc, roots_have_no_file_or_address, 0, COUNT(details));
    tcase_add_loop_test(tc, what_has_no_threads_is_an_error, 0, COUNT(refused));
    tcase_add_test(tc, an_empty_heap_and_plain_options_need_nothing);
    tcase_add_test(tc, waste_is_divided_as_bytes_are);
    tcase_add_test(tc, pools_grow);
    tcase_add_test(tc, a_pool_of_several_nodes_is_one_row);
    tcase_add_test(tc, want_of_memory_is_an_error);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
