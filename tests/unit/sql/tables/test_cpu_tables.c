/* test_cpu_tables.c - profiles of time: their names, cpu_functions, cpu_stacks,
 * views. */
#include <stdio.h>

#include "observed_name.h"
#include "profile_fixture.h"
#include "scripted_controller.h"
#include "snapshot.h"
#include "sql_harness.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct harness h;

/* main calls work, in three samples of half a second, and idle, in one. */
static struct profile *
make_cpu(void)
{
    static const struct fixture_name names[] = {
        {0x1000, "work"}, {0x2000, "main"}, {0x3000, "idle"}, {0, NULL}};
    struct profile *profile =
        fixture_profile("heap_v2/1\n"
                        "@ 0x1000 0x2001\nt*: 3: 1500000000 [0: 0]\n"
                        "@ 0x3000 0x2001\nt*: 1: 500000000 [0: 0]\n",
                        names, NULL);

    profile->kind = PROFILE_CPU;
    return profile;
}

static struct profile *
make_heap(void)
{
    struct profile *profile = make_cpu();

    profile->kind = PROFILE_HEAP;
    return profile;
}

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
    scripted.profile = make_heap;
    scripted_keep("h");
    scripted.profile = make_cpu;
    scripted_keep("c");
}

static void
tear_down(void)
{
    harness_fini(&h);
    ck_assert_int_eq(scripted.seats, 0);
}

/* ---- names ---- */

static const struct {
    const char *text;
    struct observed_name name;
} right[] = {
    {"cpu", {OBSERVE_CPU, OBSERVE_SECONDS, 0}},
    {"CPU:1", {OBSERVE_CPU, 1, 0}},
    {"cpu:600:1000", {OBSERVE_CPU, 600, 1000}},
    {"cpu:010", {OBSERVE_CPU, 10, 0}},
    {"cpu:kernel", {OBSERVE_CPU, OBSERVE_SECONDS, 0, true}},
    {"cpu:1:KERNEL", {OBSERVE_CPU, 1, 0, true}},
    {"cpu:1:99:kernel", {OBSERVE_CPU, 1, 99, true}},
    {"wall", {OBSERVE_WALL, OBSERVE_SECONDS, 0}},
    {"wall:10:20", {OBSERVE_WALL, 10, 20}},
};

START_TEST(names_say_kind_seconds_and_hz)
{
    const struct observed_name *wanted = &right[_i].name;
    struct observed_name name;
    struct error err;

    ck_assert(observed_name_is(right[_i].text));
    ck_assert_int_eq(observed_name_parse(right[_i].text, &name, &err), 0);
    ck_assert_int_eq(name.kind, wanted->kind);
    ck_assert_uint_eq(name.seconds, wanted->seconds);
    ck_assert_uint_eq(name.hz, wanted->hz);
    ck_assert(name.kernel == wanted->kernel);
}
END_TEST

static const char *const wrong[] = {
    "cpu:",
    "cpu:0",
    "cpu:601",
    "cpu:1x",
    "cpu:x",
    "cpu:-1",
    "cpu: 1",
    "cpu:1 ",
    "cpu:1:",
    "cpu:1:0",
    "cpu:1:1001",
    "cpu:1:2:3",
    "cpu:1.5",
    "cpu::9",
    "wall:601:1",
    "cpu:4294967297",
    "cpu:1:99999999999999999999",
    "wall:0x1",
    "wall:kernel",
    "wall:1:20:kernel",
    "cpu:kernel:1",
    "cpu:1:kernel:99",
    "cpu:1:99:kernels",
    "cpu::kernel",
    "cpu:0:kernel",
};

START_TEST(wrong_names_say_what_is_right)
{
    struct observed_name name;
    struct error err = {0};

    ck_assert(observed_name_is(wrong[_i]));
    ck_assert_int_eq(observed_name_parse(wrong[_i], &name, &err), -1);
    ck_assert_uint_eq(err.code, ER_WRONG_ARGUMENTS);
    ck_assert_ptr_nonnull(strstr(err.text, "write cpu:SECONDS"));
}
END_TEST

START_TEST(other_names_are_others)
{
    static const char *const others[] = {
        "", "cp", "cpux", "cpu_1", "walls", "now", "cluster:cpu:1", "xcpu:1"};

    for (size_t i = 0; i < COUNT(others); i++)
        ck_assert(!observed_name_is(others[i]));
}
END_TEST

/* ---- statements ---- */

static const struct {
    const char *query, *answer;
    unsigned observed;
} cases[] = {
    {"select snapshot, function, module, flat_samples, flat_time, "
     "flat_percent, cum_samples, cum_time, cum_percent "
     "from heapwire.cpu_functions where snapshot = 'cpu:2'",
     "snapshot|function|module|flat_samples|flat_time|flat_percent|"
     "cum_samples|cum_time|cum_percent\n"
     "cpu:2|main|\\N|#0|~0|~0|#4|~2|~100\n"
     "cpu:2|work|\\N|#3|~1.5|~75|#3|~1.5|~75\n"
     "cpu:2|idle|\\N|#1|~0.5|~25|#1|~0.5|~25",
     1},
    {"select * from heapwire.cpu_stacks where snapshot = 'WALL:2:20'",
     "snapshot|stack|depth|samples|time|function|folded\n"
     "WALL:2:20|#1|#2|#3|~1.5|work|main;work\n"
     "WALL:2:20|#2|#2|#1|~0.5|idle|main;idle",
     1},
    {"select snapshot, function from heapwire.cpu_functions where function = "
     "'work'",
     "snapshot|function\nc|work", 0},
    {"select count(*) n from heapwire.cpu_stacks", "n\n#2", 0},
    {"select snapshot, count(*) n from heapwire.cpu_stacks where snapshot <> "
     "'' group by snapshot",
     "snapshot|n\nc|#2", 0},
    {"select snapshot, count(*) n from heapwire.heap_stacks where snapshot "
     "like '%' group by snapshot",
     "snapshot|n\nh|#2", 0},
    {"select name, kind from heapwire.snapshots", "name|kind\nh|heap\nc|cpu",
     0},
    {"select sum(samples) n from heapwire.cpu_stacks where snapshot in ('c', "
     "'cpu:1')",
     "n\n8", 1},
    {"select s.name, count(*) n from heapwire.snapshots s join "
     "heapwire.cpu_stacks t on t.snapshot = s.name where s.kind = 'cpu' "
     "group by 1",
     "name|n\nc|#2", 0},
    {"select a.samples, b.flat_samples, length(dot('cpu:10')) n from "
     "heapwire.cpu_stacks a join heapwire.cpu_functions b using (snapshot, "
     "`function`) where a.snapshot = 'cpu' and a.stack = 1",
     "samples|flat_samples|n\n#3|#3|#19", 1},
    {"select length(dot('cpu:1')) + length(dot('CPU:1', null, "
     "'nodecount=1')) + length(dot('cpu:1:9')) + length(dot('cpu:1:kernel')) n",
     "n\n#76", 3},
    {"select dot(null)", "dot(null)\n\\N", 0},
};

START_TEST(statements_take_one_profile_a_name)
{
    ck_assert_str_eq(harness_run(&h, cases[_i].query), cases[_i].answer);
    ck_assert_uint_eq(scripted.observed, cases[_i].observed);
}
END_TEST

static const struct {
    const char *query, *why;
} refused[] = {
    {"select * from heapwire.heap_functions where snapshot = 'cpu:1'",
     "'cpu:1' is a profile of time, and not of the heap"},
    {"select * from heapwire.heap_stacks where snapshot = 'c'",
     "'c' is a profile of time, and not of the heap"},
    {"select * from heapwire.heap_functions where snapshot = 'cluster:cpu:1'",
     "is a profile of time"},
    {"select * from heapwire.heap_diff where snapshot = 'cpu:1' and base = 'c'",
     "SELECT top('cpu:1', 'c') does"},
    {"select * from heapwire.heap_diff where snapshot = 'c' and base = 'b'",
     "'c' is a profile of time, which no table compares: SELECT top('c', 'b') "
     "does, and so do flamegraph and the other views"},
    {"select * from heapwire.cpu_functions where snapshot = 'now'",
     "'now' is a snapshot of the heap"},
    {"select * from heapwire.cpu_functions where snapshot = 'h'",
     "'h' is a snapshot of the heap"},
    {"select * from heapwire.cpu_stacks where snapshot = 'cluster'",
     "'cluster' is a snapshot of the heap"},
    {"select * from heapwire.heap_diff where base = 'cpu:600'",
     "'cpu:600' is a profile of time"},
    {"select * from heapwire.heap_diff where snapshot = 'h' and base = "
     "'wall:600'",
     "'wall:600' is a profile of time"},
    {"select * from heapwire.heap_diff where base = 'cpu:600' and snapshot "
     "like '%'",
     "'cpu:600' is a profile of time"},
    {"select * from heapwire.cpu_stacks where snapshot = 'cpu:0'",
     "'cpu:0' names no profile that can be taken"},
    {"select dot('wall:601')", "'wall:601' names no profile"},
    {"select dot('c', 'cpu:1')", "a base is a kept snapshot, and not 'cpu:1'"},
    {"select dot('cluster:cpu:0')", "'cpu:0' names no profile"},
    {"select dot('cluster:c', 'cluster:cpu:1')", "a base is a kept snapshot"},
    {"select dot('cpu:1', null, 'seconds=3')", "the name is 'now'"},
    {"select * from heapwire.cluster_cpu_functions where snapshot = 'cpu:x'",
     "'cpu:x' names no profile"},
};

START_TEST(what_cannot_be_is_refused_before_anything_is_sampled)
{
    const char *answer;

    scripted_keep("b");
    answer = harness_run(&h, refused[_i].query);
    ck_assert_msg(strstr(answer, "1210/HY000") == answer &&
                      strstr(answer, refused[_i].why) != NULL,
                  "%s", answer);
    ck_assert_uint_eq(scripted.observed, 0);
}
END_TEST

START_TEST(a_statement_takes_so_many)
{
    ck_assert_ptr_nonnull(
        strstr(harness_run(&h, "select dot('cpu:1'), dot('cpu:2'), "
                               "dot('cpu:3'), dot('cpu:4'), dot('cpu:5'), "
                               "dot('cpu:6'), dot('cpu:7'), dot('cpu:8'), "
                               "dot('cpu:9')"),
               "at most 8 profiles"));
    ck_assert_uint_eq(scripted.observed, OBSERVED_MAX);
}
END_TEST

START_TEST(no_kept_snapshot_is_called_so)
{
    ck_assert_ptr_nonnull(
        strstr(harness_run(&h, "admin execute on 10001 "
                               "'CpuProf.getInstance().snapshot(\"wall\", 1)'"),
               "'wall' is what views and tables call a profile"));
}
END_TEST

START_TEST(who_is_killed_leaves)
{
    scripted.answer = ANSWER_WAIT;
    ck_assert_ptr_nonnull(harness_open(&h, "select dot('cpu:600')"));
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_int_eq(scripted.seats, 1);
    harness_cancel(&h);
    ck_assert_int_eq(harness_finish(&h), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    ck_assert_int_eq(scripted.seats, 0);
    harness_close(&h);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("cpu_tables");
    TCase *tc = tcase_create("cpu_tables");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, names_say_kind_seconds_and_hz, 0, COUNT(right));
    tcase_add_loop_test(tc, wrong_names_say_what_is_right, 0, COUNT(wrong));
    tcase_add_test(tc, other_names_are_others);
    tcase_add_loop_test(tc, statements_take_one_profile_a_name, 0,
                        COUNT(cases));
    tcase_add_loop_test(tc,
                        what_cannot_be_is_refused_before_anything_is_sampled, 0,
                        COUNT(refused));
    tcase_add_test(tc, a_statement_takes_so_many);
    tcase_add_test(tc, no_kept_snapshot_is_called_so);
    tcase_add_test(tc, who_is_killed_leaves);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
