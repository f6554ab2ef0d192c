/* test_budgets.c - budgets of functions and pools: sizes, crossings, the file.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "budgets.h"
#include "buffer.h"
#include "errors.h"
#include "failing_memory.h"
#include "files.h"
#include "parts_fixture.h"
#include "suite.h"

#define SPAN(text)   ((struct span){text, strlen(text)})
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char dir[64], said[4096];
static struct budgets *budgets;

static void
hear(const char *line)
{
    size_t size = strlen(said);

    snprintf(said + size, sizeof(said) - size, "%s\n", line);
}

static void
set_up(void)
{
    snprintf(dir, sizeof(dir), "/tmp/test_budgets.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    budgets = budgets_open(dir, hear);
    ck_assert_ptr_nonnull(budgets);
}

static void
tear_down(void)
{
    char command[128];

    budgets_close(budgets);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
}

static void
reopen(void)
{
    budgets_close(budgets);
    budgets = budgets_open(dir, hear);
    ck_assert_ptr_nonnull(budgets);
}

/* ---- sizes and names ---- */

static const struct {
    const char *text;
    uint64_t bytes; /* 0: refused */
} sizes[] = {
    {"1", 1},
    {"2147483648", 2147483648},
    {"64K", 65536},
    {"512M", 512 << 20},
    {"2G", (uint64_t)2 << 30},
    {"2g", (uint64_t)2 << 30},
    {" 3T ", (uint64_t)3 << 40},
    {"9223372036854775807", INT64_MAX},
    {"8388607T", (uint64_t)8388607 << 40},
    {"0", 0},
    {"0G", 0},
    {"", 0},
    {"G", 0},
    {"-1", 0},
    {"+1", 0},
    {"1.5G", 0},
    {"2GB", 0},
    {"2 G", 0},
    {"2P", 0},
    {"0x10", 0},
    {"1e9", 0},
    {"9223372036854775808", 0},
    {"99999999999999999999999", 0},
    {"8388608T", 0},
    {"2G; DROP", 0},
};

START_TEST(a_size_is_bytes_with_or_without_a_unit)
{
    struct error err = {0};
    uint64_t bytes = 7;
    int rc = budget_limit_parse(SPAN(sizes[_i].text), &bytes, &err);

    if (sizes[_i].bytes > 0) {
        ck_assert_int_eq(rc, 0);
        ck_assert_uint_eq(bytes, sizes[_i].bytes);
    } else {
        ck_assert_int_eq(rc, -1);
        ck_assert_uint_eq(bytes, 7);
        ck_assert_uint_eq(err.code, ER_WRONG_ARGUMENTS);
    }
}
END_TEST

START_TEST(names_are_of_functions_or_pools)
{
    static char long_name[BUDGET_NAME_MAX + 2];
    struct error err;

    memset(long_name, 'a', BUDGET_NAME_MAX + 1);
    ck_assert_int_eq(budget_check_name(SPAN(long_name), &err), -1);
    long_name[BUDGET_NAME_MAX] = '\0';
    ck_assert_int_eq(budget_check_name(SPAN(long_name), &err), 0);
    ck_assert_int_eq(budget_check_name(SPAN(""), &err), -1);
    ck_assert_int_eq(budget_check_name(SPAN("a\nb"), &err), -1);
    ck_assert_str_eq(err.text,
                     "the name of a budget has a control character at byte 2");
    ck_assert_int_eq(budget_check_name(SPAN("pool::get"), &err), 0);
    ck_assert_int_eq(
        budget_check_name(SPAN("std::vector<int*>::push_back(int* const&)"),
                          &err),
        0);
}
END_TEST

static const struct {
    const char *name, *error; /* NULL: it is none */
} pools[] = {
    {"pool worker-*", NULL},
    {"pool *", NULL},
    {"pool h2o", NULL},
    {"pool a b%s'\"<x>", NULL},
    {"pool ../../etc", NULL},
    {"pool \xff\xfe", NULL},
    {"pool ", "a pool's name has 1 to 15 bytes"},
    {"pool 16 bytes of nam", "'16 bytes of nam' is"},
    {"pool 16 bytes of name", "a pool's name has 1 to 15 bytes"},
    {"pool worker-12", "'worker-12' is a thread's name: a pool's has a * in "
                       "the place of each number; write 'pool worker-*'"},
    {"pool a\tb", "control character at byte 7"},
};

START_TEST(a_pool_is_called_as_threads_are)
{
    struct error err = {0};
    int rc = budget_check_name(SPAN(pools[_i].name), &err);

    ck_assert_int_eq(rc, pools[_i].error ? -1 : 0);
    if (pools[_i].error)
        ck_assert_msg(strstr(err.text, pools[_i].error) != NULL, "%s",
                      err.text);
}
END_TEST

START_TEST(a_star_at_the_end_stands_for_any_ending)
{
    struct budget exact = {.name = "LRUCache::Insert"};
    struct budget begin = {.name = "rocksdb::*"};
    struct budget middle = {.name = "f<int*>"};

    ck_assert(budget_matches(&exact, "LRUCache::Insert"));
    ck_assert(!budget_matches(&exact, "LRUCache::InsertMany"));
    ck_assert(!budget_matches(&exact, "lrucache::insert"));
    ck_assert(budget_matches(&begin, "rocksdb::LRUCache::Insert"));
    ck_assert(budget_matches(&begin, "rocksdb::"));
    ck_assert(!budget_matches(&begin, "x::rocksdb::y"));
    ck_assert(budget_matches(&middle, "f<int*>"));
    ck_assert(!budget_matches(&middle, "f<int"));
}
END_TEST

/* ---- the look ---- */

static const struct fixture_name names[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "cache::insert(int)", false, NULL, 0},
    {0x3001, "cache::evict()", false, NULL, 0},
    {0x5001, "main", false, NULL, 0},
    {0x6001, "list<int>::push(int)", false, NULL, 0},
    {0}};

/* At a sampling rate of 1 byte every allocation is sampled. */
static struct snapshot *
take(const char *stacks)
{
    static int64_t taken_ms = 1795228267000;
    struct snapshot *snapshot = snapshot_new();
    char text[4096];

    snprintf(text, sizeof(text), "heap_v2/1\n%s", stacks);
    snapshot->profile = fixture_profile(text, names, NULL);
    snapshot->taken_ms = taken_ms += 60000;
    snapshot->hello.pid = 4711;
    snapshot->hello.start_ticks = 99;
    snprintf(snapshot->name, sizeof(snapshot->name), "heap_1");
    return snapshot;
}

static struct snapshot *
take_insert(uint64_t bytes)
{
    char stack[128];

    snprintf(stack, sizeof(stack),
             "@ 0x1000 0x2001 0x5001\n  t*: 1: %llu [0: 0]\n",
             (unsigned long long)bytes);
    return take(stack);
}

/* Returns its row. */
static const struct budget *
see(struct snapshot *snapshot, bool named)
{
    static struct budget list[BUDGETS_MAX];
    struct error err;

    ck_assert_msg(budgets_see(budgets, snapshot, named, &err) == 0, "%s",
                  err.text);
    snapshot_unref(snapshot);
    ck_assert_uint_gt(budgets_list(budgets, list, BUDGETS_MAX), 0);
    return list;
}

static void
set(const char *function, uint64_t limit)
{
    struct error err;

    ck_assert_msg(budgets_set(budgets, SPAN(function), limit, &err) == 0, "%s",
                  err.text);
}

START_TEST(a_stack_counts_once_with_all_that_it_called)
{
    struct budget list[] = {{.name = "cache::insert"},
                            {.name = "cache::*"},
                            {.name = "main"},
                            {.name = "nowhere"},
                            {.name = "list<int>::push"}};
    struct snapshot *snapshot =
        take("@ 0x1000 0x2001 0x5001\n  t*: 1: 1000 [0: 0]\n"
             "@ 0x1000 0x2001 0x3001 0x2001 0x5001\n  t*: 1: 500 [0: 0]\n"
             "@ 0x1000 0x3001 0x5001\n  t*: 1: 30 [0: 0]\n"
             "@ 0x1000 0x6001\n  t*: 1: 7 [0: 0]\n");
    static const double expected[] = {1500, 1530, 1530, 0, 7};
    struct error err;

    ck_assert_int_eq(budget_measure(snapshot->profile, list, COUNT(list), &err),
                     0);
    for (size_t i = 0; i < COUNT(list); i++)
        ck_assert_double_eq_tol(list[i].now, expected[i], 1);
    snapshot_unref(snapshot);
}
END_TEST

START_TEST(a_pool_counts_what_its_threads_allocated)
{
    struct budget list[] = {{.name = "pool io-*"}, {.name = "pool main"},
                            {.name = "pool *"},    {.name = "pool io"},
                            {.name = "main"},      {.name = "*"}};
    /* Of parts_fixture.h: main is a function, too. */
    static const double expected[] = {5459, 500, 70, 0, 5951, 5951};
    struct profile *profile = fixture_parts();
    struct error err;

    ck_assert_int_eq(budget_measure(profile, list, COUNT(list), &err), 0);
    for (size_t i = 0; i < COUNT(list); i++)
        ck_assert_msg(fabs(list[i].now - expected[i]) < 1, "%s: %f",
                      list[i].name, list[i].now);
    profile_free(profile);
}
END_TEST

static const char *
kind_of(const struct profile *profile, const char *name)
{
    static struct error err;
    static struct budget budget;

    budget = (struct budget){.name = ""};
    snprintf(budget.name, sizeof(budget.name), "%s", name);
    return budget_find_kind(profile, &budget, &err) == 0 ? budget.name
                                                         : err.text;
}

START_TEST(a_name_is_found_in_the_profile)
{
    struct profile *profile = fixture_parts();

    ck_assert_str_eq(kind_of(profile, "cache"), "cache");
    ck_assert_str_eq(kind_of(profile, "ca*"), "ca*");
    ck_assert_str_eq(kind_of(profile, "io-*"), "pool io-*");
    ck_assert_str_eq(kind_of(profile, "main"),
                     "'main' is the name of a function and of a pool of "
                     "threads: write 'function main' or 'pool main'");
    ck_assert_ptr_nonnull(strstr(kind_of(profile, "none"),
                                 "no function and no pool of threads called "
                                 "'none' has memory in use"));
    ck_assert_ptr_nonnull(
        strstr(kind_of(profile, "io-* and more than a thread's name has"),
               "no function and no pool"));
    profile_free(profile);
}
END_TEST

START_TEST(without_memory_no_kind_is_found)
{
    struct profile *profile = fixture_parts();
    struct budget budget = {.name = "io-*"};
    struct error err = {0};
    int rc = -1;

    for (failing = 1; rc != 0; failing++) {
        ck_assert_uint_lt(failing, 1000);
        ck_assert_str_eq(budget.name, "io-*");
        allocations = 0;
        rc = budget_find_kind(profile, &budget, &err);
        ck_assert(rc == 0 || err.code == ER_OUT_OF_MEMORY);
    }
    failing = 0;
    ck_assert_str_eq(budget.name, "pool io-*");
    profile_free(profile);
}
END_TEST

START_TEST(a_pool_is_removed_by_its_name)
{
    struct error err;

    set("pool worker-*", 5);
    set("worker-*", 6);
    ck_assert_int_eq(budgets_remove(budgets, SPAN("worker-*"), &err), 0);
    reopen();
    ck_assert_int_eq(budgets_remove(budgets, SPAN("function worker-*"), &err),
                     -1);
    ck_assert_int_eq(budgets_remove(budgets, SPAN("worker-*"), &err), 0);
    ck_assert_int_eq(budgets_remove(budgets, SPAN("worker-*"), &err), -1);
    ck_assert_uint_eq(err.code, ER_KEY_NOT_FOUND);
}
END_TEST

START_TEST(without_threads_a_pool_is_not_known)
{
    const struct budget *b;

    set("pool worker-*", 1);
    set("cache::insert", 1);
    b = see(take_insert(12 << 20), false);
    ck_assert_int_eq(b[0].state, BUDGET_OVER);
    ck_assert_int_eq(b[1].state, BUDGET_THREADLESS);
    ck_assert_uint_eq(b[1].crossings, 0);
    b = see(take(""), false); /* nothing is in use */
    ck_assert_int_eq(b[1].state, BUDGET_WITHIN);
}
END_TEST

START_TEST(a_crossing_is_told_once)
{
    char reason[SNAPSHOT_REASON_MAX + 1] = "";
    const struct budget *b;

    set("cache::insert", 10 << 20);
    b = see(take_insert(10 << 20), false);
    ck_assert_int_eq(b->state, BUDGET_WITHIN);
    ck_assert_str_eq(said, "");
    b = see(take_insert(12 << 20), false);
    ck_assert_int_eq(b->state, BUDGET_OVER);
    ck_assert_uint_eq(b->crossings, 1);
    ck_assert_int_gt(b->crossed_ms, 0);
    ck_assert_str_eq(said, "cache::insert is over its budget: 12.0 MB in use "
                           "(+-0 bytes) of 10.0 MB\n");
    ck_assert(budgets_want_snapshot(budgets, reason));
    ck_assert_str_eq(reason,
                     "cache::insert is over its budget of 10.0 MB (12.0 MB)");
    *said = '\0';
    /* It goes up and down around the limit: the same crossing. */
    for (uint64_t mb = 20; mb >= 9; mb--)
        b = see(take_insert(mb << 20), false);
    ck_assert_int_eq(b->state, BUDGET_OVER);
    ck_assert_uint_eq(b->crossings, 1);
    ck_assert_str_eq(said, "");
    b = see(take_insert(10 << 20), true);
    ck_assert_str_eq(b->snapshot, "heap_1");
    ck_assert(!budgets_want_snapshot(budgets, reason));
    b = see(take_insert(8 << 20), false);
    ck_assert_int_eq(b->state, BUDGET_WITHIN);
    ck_assert_str_eq(said, "cache::insert is within its budget again: 8.0 MB "
                           "in use of 10.0 MB\n");
    b = see(take_insert(11 << 20), false);
    ck_assert_uint_eq(b->crossings, 2);
    ck_assert_str_eq(b->snapshot, "");
}
END_TEST

START_TEST(another_process_crosses_anew)
{
    struct snapshot *other = take_insert(12 << 20);
    const struct budget *b;

    set("cache::insert", 10 << 20);
    b = see(take_insert(12 << 20), true);
    ck_assert_uint_eq(b->crossings, 1);
    other->hello.start_ticks++;
    b = see(other, false);
    ck_assert_uint_eq(b->crossings, 2);
    ck_assert_str_eq(b->snapshot, "");
}
END_TEST

START_TEST(what_cannot_be_looked_at_is_not_known)
{
    char reason[SNAPSHOT_REASON_MAX + 1];
    const struct budget *b;
    struct budget list[1];

    set("cache::insert", 10 << 20);
    see(take_insert(12 << 20), false);
    budgets_miss(budgets, BUDGET_OFF);
    ck_assert_uint_eq(budgets_list(budgets, list, 1), 1);
    ck_assert_int_eq(list[0].state, BUDGET_OFF);
    ck_assert(!budgets_want_snapshot(budgets, reason));
    /* The crossing is the same one when it can be looked at again. */
    b = see(take_insert(12 << 20), false);
    ck_assert_uint_eq(b->crossings, 1);
    ck_assert_int_eq(b->state, BUDGET_OVER);
}
END_TEST

START_TEST(a_new_limit_begins_anew)
{
    const struct budget *b;

    set("cache::insert", 10 << 20);
    see(take_insert(12 << 20), true);
    set("cache::insert", 20 << 20);
    b = see(take_insert(12 << 20), true);
    ck_assert_int_eq(b->state, BUDGET_WITHIN);
    ck_assert_uint_eq(b->crossings, 0);
    ck_assert_int_eq(b->crossed_ms, 0);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
    struct snapshot *snapshot = take_insert(12 << 20);
    struct error err = {0};
    struct budget list[2];
    int rc = -1;

    set("cache::insert", 10 << 20);
    for (failing = 1; rc != 0; failing++) {
        ck_assert_uint_lt(failing, 1000);
        allocations = 0;
        rc = budgets_see(budgets, snapshot, true, &err);
        if (rc == 0)
            break;
        ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
        ck_assert_uint_eq(budgets_list(budgets, list, 2), 1);
        ck_assert_int_eq(list[0].state, BUDGET_UNSEEN);
    }
    rc = -1;
    for (failing = 1; rc != 0; failing++) {
        ck_assert_uint_lt(failing, 1000);
        allocations = 0;
        rc = budgets_set(budgets, SPAN("b"), 5, &err);
        if (rc != 0)
            ck_assert_uint_eq(budgets_list(budgets, list, 2), 1);
    }
    failing = 0;
    snapshot_unref(snapshot);
}
END_TEST

/* ---- the file ---- */

START_TEST(budgets_outlive_the_node)
{
    const struct budget *b;
    struct error err;

    set("cache::insert", 10 << 20);
    set("with spaces name=x limit=3", 5);
    see(take_insert(12 << 20), true);
    *said = '\0';
    reopen();
    b = see(take_insert(12 << 20), false);
    ck_assert_str_eq(said, ""); /* crossed by the same process: known */
    ck_assert_uint_eq(b[0].limit, 10 << 20);
    ck_assert_uint_eq(b[0].crossings, 1);
    ck_assert_str_eq(b[0].snapshot, "heap_1");
    ck_assert_str_eq(b[1].name, "with spaces name=x limit=3");
    ck_assert_int_eq(budgets_remove(budgets, SPAN("cache::insert"), &err), 0);
    reopen();
    ck_assert_int_eq(budgets_remove(budgets, SPAN("cache::insert"), &err), -1);
    ck_assert_uint_eq(err.code, ER_KEY_NOT_FOUND);
}
END_TEST

START_TEST(there_is_a_ceiling)
{
    struct error err;
    char name[32];

    for (int i = 0; i < BUDGETS_MAX; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        set(name, 1000);
    }
    ck_assert_int_eq(budgets_set(budgets, SPAN("one more"), 1000, &err), -1);
    ck_assert_uint_eq(err.code, ER_OUT_OF_RESOURCES);
    set("f3", 2000); /* one that is there */
    ck_assert_int_eq(budgets_remove(budgets, SPAN("f4"), &err), 0);
    set("one more", 1000);
}
END_TEST

START_TEST(what_cannot_be_written_changes_nothing)
{
    struct budget list[2];
    struct error err;
    char path[128];

    set("cache::insert", 10 << 20);
    snprintf(path, sizeof(path), "%s/" BUDGETS_NEW "/x", dir);
    path[strlen(path) - 2] = '\0';
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(budgets_set(budgets, SPAN("b"), 5, &err), -1);
    ck_assert_int_eq(budgets_remove(budgets, SPAN("cache::insert"), &err), -1);
    ck_assert_uint_eq(budgets_list(budgets, list, 2), 1);
    /* A crossing is known all the same. */
    see(take_insert(12 << 20), true);
    ck_assert_ptr_nonnull(strstr(said, "cannot write"));
}
END_TEST

static void
write_file(const void *data, size_t size)
{
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/" BUDGETS_FILE, dir);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fd_write_all(fd, data, size), 0);
    close(fd);
}

#define GOOD                                                                   \
    "limit=5 over=1 crossed=7 crossings=2 pid=3 start=4 snapshot=a name=f"

static const char *const hostile[] = {
    "",
    "limit=5",
    "limit=0 over=0 crossed=0 crossings=0 pid=0 start=0 snapshot= name=f",
    "limit=-5 over=0 crossed=0 crossings=0 pid=0 start=0 snapshot= name=f",
    "limit=9223372036854775808 over=0 crossed=0 crossings=0 pid=0 start=0 "
    "snapshot= name=f",
    "limit= over=0 crossed=0 crossings=0 pid=0 start=0 snapshot= name=f",
    "limit=5 over=2 crossed=0 crossings=0 pid=0 start=0 snapshot= name=f",
    "limit=5 over=0 crossed=253402300800000 crossings=0 pid=0 start=0 "
    "snapshot= name=f",
    "limit=5 over=0 crossed=0 crossings=0 pid=2147483648 start=0 snapshot= "
    "name=f",
    "limit=5 over=0 crossed=0 crossings=0 pid=0 start=0 snapshot=../../x "
    "name=f",
    "limit=5 over=0 crossed=0 crossings=0 pid=0 start=0 "
    "snapshot=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    " name=f",
    "limit=5 over=0 crossed=0 crossings=0 pid=0 start=0 snapshot= name=",
    "limit=5 over=0 crossed=0 crossings=0 pid=0 start=0 snapshot= "
    "name=a\x1b[31m",
    "limit=5 over=0 crossed=0 crossings=0 pid=0 start=0 snapshot= function=a\r",
    "name=f limit=5",
};

START_TEST(a_damaged_line_is_passed_over)
{
    char text[1024];
    struct budget list[4];

    *said = '\0';
    snprintf(text, sizeof(text), "heapwire budgets 1\n%s\n" GOOD "\n",
             hostile[_i]);
    write_file(text, strlen(text));
    reopen();
    ck_assert_uint_eq(budgets_list(budgets, list, 4), 1);
    ck_assert_str_eq(list[0].name, "f");
    ck_assert(list[0].over);
    ck_assert_int_eq(list[0].state, BUDGET_UNSEEN);
    ck_assert_ptr_nonnull(strstr(said, "skipped 1 line"));
}
END_TEST

START_TEST(a_torn_line_is_none)
{
    struct budget out;

    ck_assert(budget_parse(SPAN(GOOD), &out));
    for (size_t size = 0; size < strlen(GOOD); size++)
        ck_assert(!budget_parse((struct span){GOOD, size}, &out));
}
END_TEST

START_TEST(what_is_no_file_of_budgets_is_set_aside)
{
    static char large[BUDGETS_FILE_MAX + 1];
    struct budget list[1];
    char path[128];

    for (int i = 0; i < 4; i++) {
        *said = '\0';
        memset(large, 'x', sizeof(large));
        snprintf(path, sizeof(path), "%s/" BUDGETS_FILE, dir);
        if (i == 0)
            write_file("\0\n\xff", 3);
        else if (i == 1)
            write_file(large, sizeof(large));
        else if (i == 2)
            ck_assert_int_eq(symlink("/etc/passwd", path), 0);
        else
            ck_assert_int_eq(mkfifo(path, 0600), 0);
        reopen();
        ck_assert_uint_eq(budgets_list(budgets, list, 1), 0);
        ck_assert_msg(strstr(said, "budgets.damaged") != NULL, "%d: %s", i,
                      said);
        set("f", 5);
        ck_assert_int_eq(unlink(path), 0);
    }
}
END_TEST

START_TEST(too_many_lines_are_passed_over)
{
    static char text[BUDGETS_FILE_MAX];
    struct budget list[BUDGETS_MAX];
    size_t size = (size_t)snprintf(text, sizeof(text), "heapwire budgets 1\n");

    *said = '\0';
    for (int i = 0; i < BUDGETS_MAX + 3; i++)
        size +=
            (size_t)snprintf(text + size, sizeof(text) - size, GOOD "%d\n", i);
    write_file(text, size);
    reopen();
    ck_assert_uint_eq(budgets_list(budgets, list, BUDGETS_MAX), BUDGETS_MAX);
    ck_assert_ptr_nonnull(strstr(said, "skipped 3 lines"));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("budgets");
    TCase *tc = tcase_create("budgets");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, a_size_is_bytes_with_or_without_a_unit, 0,
                        COUNT(sizes));
    tcase_add_test(tc, names_are_of_functions_or_pools);
    tcase_add_loop_test(tc, a_pool_is_called_as_threads_are, 0, COUNT(pools));
    tcase_add_test(tc, a_pool_counts_what_its_threads_allocated);
    tcase_add_test(tc, a_name_is_found_in_the_profile);
    tcase_add_test(tc, without_memory_no_kind_is_found);
    tcase_add_test(tc, a_pool_is_removed_by_its_name);
    tcase_add_test(tc, without_threads_a_pool_is_not_known);
    tcase_add_test(tc, a_star_at_the_end_stands_for_any_ending);
    tcase_add_test(tc, a_stack_counts_once_with_all_that_it_called);
    tcase_add_test(tc, a_crossing_is_told_once);
    tcase_add_test(tc, another_process_crosses_anew);
    tcase_add_test(tc, what_cannot_be_looked_at_is_not_known);
    tcase_add_test(tc, a_new_limit_begins_anew);
    tcase_add_test(tc, without_memory_nothing_changes);
    tcase_add_test(tc, budgets_outlive_the_node);
    tcase_add_test(tc, there_is_a_ceiling);
    tcase_add_test(tc, what_cannot_be_written_changes_nothing);
    tcase_add_loop_test(tc, a_damaged_line_is_passed_over, 0, COUNT(hostile));
    tcase_add_test(tc, a_torn_line_is_none);
    tcase_add_test(tc, what_is_no_file_of_budgets_is_set_aside);
    tcase_add_test(tc, too_many_lines_are_passed_over);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
