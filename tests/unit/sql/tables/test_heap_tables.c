/* test_heap_tables.c - a heap profile as tables: rows, large ones, limits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "profile_fixture.h"
#include "scripted_controller.h"
#include "snapshot.h"
#include "sql_harness.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct harness h;

static const struct fixture_name names[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "alpha(int)", false, NULL, 0},
    {0x3001, "beta[u8; 4]", false, NULL, 0},
    {0x5001, "main", false, NULL, 0},
    {0x6001, "inner(int)|ns::outer(char)", false, NULL, 0},
    {0xa000, "prof_backtrace", true, NULL, 0},
    {0}};

static struct profile *
make_small(void)
{
    return fixture_profile("heap_v2/1\n"
                           "@ 0xa000 0x1000 0x6001 0x2001 0x5001\n"
                           "t*: 2: 6000 [0: 0]\n"
                           "@ 0x1000 0x2001 0x2001 0x5001\n"
                           "t*: 1: 3000 [0: 0]\n"
                           "@ 0xa000 0x1000\n"
                           "t*: 1: 500 [0: 0]\n"
                           "@ 0x1000 0x3001\n"
                           "t*: 1: 1000 [0: 0]\n",
                           names, NULL);
}

enum { LARGE_STACKS = 20000, LARGE_DEPTH = 30 };

/* A profile as large as a database's: 600,000 frames of some 3,000
 * functions. */
static struct profile *
make_large(void)
{
    size_t room = LARGE_STACKS * ((size_t)LARGE_DEPTH * 10 + 64), used;
    char *text = malloc(room);
    struct profile *profile;

    used = (size_t)snprintf(text, room, "heap_v2/1\n");
    for (unsigned i = 0; i < LARGE_STACKS; i++) {
        used += (size_t)snprintf(text + used, room - used, "@");
        for (unsigned k = 0; k < LARGE_DEPTH; k++)
            used += (size_t)snprintf(
                text + used, room - used, " 0x%x",
                0x100000 + (k < 3 ? i >> (k * 4) & 0xfff : k) * 16);
        used += (size_t)snprintf(text + used, room - used,
                                 "\nt*: 1: %u [0: 0]\n", i + 1);
    }
    profile = fixture_profile(text, NULL, NULL);
    free(text);
    return profile;
}

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
    scripted.profile = make_small;
}

static void
set_up_large(void)
{
    harness_init(&h, PRIVILEGE_ALL);
    scripted.profile = make_large;
    scripted_keep("large");
}

static void
tear_down(void)
{
    harness_fini(&h);
    ck_assert_int_eq(scripted.seats, 0);
}

static const struct {
    const char *query, *answer;
} cases[] = {
    {"select * from heapwire.heap_functions",
     "snapshot|function|module|flat_bytes|flat_percent|cum_bytes|cum_percent|"
     "flat_objects|cum_objects|flat_error|cum_error\n"
     "now|alpha|\\N|#3000|~30|#9000|~90|#1|#3|#0|#0\n"
     "now|main|\\N|#0|~0|#9000|~90|#0|#3|#0|#0\n"
     "now|inner (inline)|\\N|#6000|~60|#6000|~60|#2|#2|#0|#0\n"
     "now|ns::outer|\\N|#0|~0|#6000|~60|#0|#2|#0|#0\n"
     "now|beta[u8; 4]|\\N|#1000|~10|#1000|~10|#1|#1|#0|#0"},
    {"select * from heapwire.heap_stacks",
     "snapshot|stack|depth|bytes|objects|function|folded|size_class\n"
     "now|#1|#4|#6000|#2|inner (inline)|main;alpha;ns::outer;inner (inline)|"
     "\\N\n"
     "now|#2|#3|#3000|#1|alpha|main;alpha;alpha|\\N\n"
     "now|#3|#0|#500|#1|\\N|\\N|\\N\n"
     "now|#4|#1|#1000|#1|beta[u8; 4]|beta[u8: 4]|\\N"},
    {"select stack, depth, function, symbol, file, line, inlined, module, "
     "module_offset, bytes, objects from heapwire.heap_frames",
     "stack|depth|function|symbol|file|line|inlined|module|module_offset|"
     "bytes|objects\n"
     "#1|#0|inner (inline)|inner(int)|\\N|\\N|#1|\\N|\\N|#6000|#2\n"
     "#1|#1|ns::outer|ns::outer(char)|\\N|\\N|#0|\\N|\\N|#6000|#2\n"
     "#1|#2|alpha|alpha(int)|\\N|\\N|#0|\\N|\\N|#6000|#2\n"
     "#1|#3|main|main|\\N|\\N|#0|\\N|\\N|#6000|#2\n"
     "#2|#0|alpha|alpha(int)|\\N|\\N|#0|\\N|\\N|#3000|#1\n"
     "#2|#1|alpha|alpha(int)|\\N|\\N|#0|\\N|\\N|#3000|#1\n"
     "#2|#2|main|main|\\N|\\N|#0|\\N|\\N|#3000|#1\n"
     "#4|#0|beta[u8; 4]|beta[u8; 4]|\\N|\\N|#0|\\N|\\N|"
     "#1000|#1"},
    {"select * from heapwire.heap_flame_graph",
     "snapshot|frame|level|label|value|self\n"
     "now|#1|#0|all|#10500|#0\n"
     "now|#2|#1|(no frames)|#500|#500\n"
     "now|#3|#1|beta[u8; 4]|#1000|#1000\n"
     "now|#4|#1|main|#9000|#0\n"
     "now|#5|#2|alpha|#9000|#0\n"
     "now|#6|#3|alpha|#3000|#3000\n"
     "now|#7|#3|ns::outer|#6000|#0\n"
     "now|#8|#4|inner (inline)|#6000|#6000"},
    {"select label, value from heapwire.heap_flame_graph where frame = 3",
     "label|value\nbeta[u8; 4]|#1000"},
    {"select frame from heapwire.heap_flame_graph where frame in (0, 9, -1)",
     "frame"},
    {"select label from heapwire.heap_flame_graph where label = 'ALPHA' and "
     "level = 2",
     "label\nalpha"},
    /* lookups by the key, whatever it is */
    {"select bytes from heapwire.heap_stacks where stack = 2", "bytes\n#3000"},
    {"select bytes from heapwire.heap_stacks where stack = '4'",
     "bytes\n#1000"},
    {"select bytes from heapwire.heap_stacks where stack = 2.5", "bytes"},
    {"select bytes from heapwire.heap_stacks where stack in (0, -1, 5, "
     "99999999999)",
     "bytes"},
    {"select bytes from heapwire.heap_stacks where stack = null", "bytes"},
    {"select bytes from heapwire.heap_stacks where stack <=> 4",
     "bytes\n#1000"},
    {"select count(*) n from heapwire.heap_frames where stack = 3", "n\n#0"},
    {"select depth from heapwire.heap_frames where stack = 2 and depth > 0",
     "depth\n#1\n#2"},
    {"select cum_bytes from heapwire.heap_functions where function = 'ALPHA'",
     "cum_bytes\n#9000"},
    {"select cum_bytes from heapwire.heap_functions where function = 'alph'",
     "cum_bytes"},
    {"select cum_bytes from heapwire.heap_functions where function = "
     "'\xc3\xa1lpha  ' and cum_bytes > '1 KB' and cum_bytes < 'zzz'",
     "cum_bytes"},
    {"select cum_bytes from heapwire.heap_functions where function = "
     "'\xc3\xa1lpha  ' and cum_bytes > '1 KB' and cum_bytes > ''",
     "cum_bytes\n#9000"},
    {"select cum_bytes from heapwire.heap_functions where function = 'alpha  '",
     "cum_bytes\n#9000"},
    {"select function from heapwire.heap_functions where function like 'a%'",
     "function\nalpha"},
    {"select count(*) n from heapwire.heap_functions where function in "
     "('main', 'alpha', 'main', 'nope')",
     "n\n#2"},
    /* what people ask */
    {"select f.function, sum(s.bytes) b from heapwire.heap_stacks s join "
     "heapwire.heap_frames f using (snapshot, stack) where f.depth = 0 group "
     "by 1 order by 2 desc",
     "function|b\ninner (inline)|6000\nalpha|3000\n"
     "beta[u8; 4]|1000"},
    {"select function from heapwire.heap_functions order by flat_bytes desc "
     "limit 1",
     "function\ninner (inline)"},
};

START_TEST(profiles_are_tables)
{
    ck_assert_str_eq(harness_run(&h, cases[_i].query), cases[_i].answer);
}
END_TEST

START_TEST(columns_have_their_types)
{
    const struct column *c;

    harness_open(&h, "select flat_percent, flat_bytes, function from "
                     "heapwire.heap_functions");
    c = h.cursor->columns;
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    ck_assert_int_eq(c[0].type, COLUMN_DOUBLE);
    ck_assert_int_eq(c[1].type, COLUMN_BIGINT);
    ck_assert_int_eq(c[2].type, COLUMN_TEXT);
}
END_TEST

START_TEST(snapshots_are_listed)
{
    scripted_keep("heap_a");
    scripted.status.profiled = true; /* later, and not kept */
    scripted.status.samples = 7;
    ck_assert_str_eq(harness_run(&h, "select samples from heapwire.profiler"),
                     "samples\n#7");
    ck_assert_str_eq(
        harness_run(
            &h,
            "select name, taken, node_id, pid, program, jemalloc_version, "
            "sample_rate, active_since, samples, stacks, bytes, objects, "
            "truncated, note from heapwire.snapshots where age_seconds > 3600"),
        "name|taken|node_id|pid|program|jemalloc_version|"
        "sample_rate|active_since|samples|stacks|bytes|objects|truncated|"
        "note\n"
        "heap_a|2026-11-21 02:31:07|#10001|#4711|/usr/bin/db|5.3.0-test|#1|"
        "\\N|#5|#4|#10500|#5|#1|");
}
END_TEST

/* ---- as large as they come ---- */

/* Rows under a second or so each, on this machine; ten times that is a wrong
 * plan. */
static const struct {
    const char *query, *answer;
} large[] = {
    {"select sum(self) = max(value) whole, max(level) l from "
     "heapwire.heap_flame_graph where snapshot = 'large'",
     "whole|l\n#1|#30"},
    {"select count(*) n, sum(bytes) b from heapwire.heap_frames where snapshot "
     "= 'large'",
     "n|b\n#600000|6000300030"},
    {"select count(*) n, sum(s.bytes) b from heapwire.heap_stacks s join "
     "heapwire.heap_frames f using (snapshot, stack) where s.snapshot = "
     "'large'",
     "n|b\n#600000|6000300030"},
    {"select count(*) n, sum(s.bytes) b from heapwire.heap_frames f join "
     "heapwire.heap_stacks s using (snapshot, stack) where f.snapshot = "
     "'large'",
     "n|b\n#600000|6000300030"},
    {"select count(*) n from (select s.bytes, f.function from "
     "heapwire.heap_stacks s join heapwire.heap_frames f using (snapshot, "
     "stack) where s.snapshot = 'large' and s.bytes > 19990) t",
     "n\n#300"},
    {"select count(*) n from heapwire.heap_functions a join "
     "heapwire.heap_functions b using (function) where a.snapshot = 'large' "
     "and b.snapshot = 'large' and a.cum_bytes = b.cum_bytes",
     "n\n#5346"},
    {"select count(distinct function) n from heapwire.heap_frames where "
     "snapshot = 'large'",
     "n\n#5346"},
    {"select count(*) n from heapwire.heap_stacks where snapshot = 'large' and "
     "folded like '0x%'",
     "n\n#20000"},
};

START_TEST(large_profiles_are_walked)
{
    uint64_t start = clock_ms();

    ck_assert_str_eq(harness_run(&h, large[_i].query), large[_i].answer);
    fprintf(stderr, "%5llu ms: %s\n", (unsigned long long)(clock_ms() - start),
            large[_i].query);
}
END_TEST

START_TEST(a_heavy_join_is_killed_at_once)
{
    struct value values[2 * CURSOR_BATCH];
    struct rows rows = {values, 0, CURSOR_BATCH};
    uint64_t start = suite_cpu_ms();

    harness_open(&h, "select count(*), 1 from heapwire.heap_frames a, "
                     "heapwire.heap_frames b where a.snapshot = 'large' and "
                     "b.snapshot = 'large' and a.line = b.line");
    harness_cancel(&h);
    ck_assert_int_eq(h.cursor->ops->step(h.cursor, &rows, &h.error), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    ck_assert_uint_lt(suite_cpu_ms() - start, 1000);
}
END_TEST

START_TEST(sorting_too_much_says_the_ceiling)
{
    ck_assert_str_eq(
        harness_run(&h, "select function, symbol, bytes, concat(symbol, "
                        "symbol, symbol, symbol, symbol, symbol, symbol, "
                        "symbol, symbol, symbol, symbol, symbol) w from "
                        "heapwire.heap_frames where snapshot = 'large' order "
                        "by bytes, w"),
        "1038/HY001 Out of sort memory: this SELECT needs more than the 64 MB "
        "that one may take to sort, group and join; select less, or fewer "
        "columns");
    /* and takes nothing from the next */
    ck_assert_str_eq(harness_run(&h, "select max(bytes) m from "
                                     "heapwire.heap_frames where snapshot = "
                                     "'large'"),
                     "m\n#20000");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("heap_tables");
    TCase *tc = tcase_create("heap_tables"), *slow = tcase_create("large");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, profiles_are_tables, 0, COUNT(cases));
    tcase_add_test(tc, columns_have_their_types);
    tcase_add_test(tc, snapshots_are_listed);
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(slow, set_up_large, tear_down);
    tcase_set_timeout(slow, 60);
    tcase_add_loop_test(slow, large_profiles_are_walked, 0, COUNT(large));
    tcase_add_test(slow, a_heavy_join_is_killed_at_once);
    tcase_add_test(slow, sorting_too_much_says_the_ceiling);
    suite_add_tcase(suite, slow);
    return suite_run(suite);
}
