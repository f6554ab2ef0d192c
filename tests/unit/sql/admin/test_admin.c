/* test_admin.c - ADMIN EXECUTE: targets, rows, waiting and cancelling. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "poll_until.h"
#include "scripted_controller.h"
#include "sql_harness.h"
#include "suite.h"
#include "view_cache.h"

#define PROF   "HeapProf.getInstance()."
#define LISTED "SELECT name FROM heapwire.snapshots lists those that are"

static struct harness h;

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
}

static void
tear_down(void)
{
    harness_fini(&h);
    ck_assert_int_eq(scripted.seats, 0);
}

static const struct {
    const char *statement, *answer;
} cases[] = {
    {"ADMIN EXECUTE ON 10001 'System.print(1)'", "result\n1"},
    {"ADMIN EXECUTE ON '10001' 'System.print(1)'", "result\n1"},
    {"CALL admin_execute(10001, 'System.print(1)')", "result\n1"},
    {"call `heapwire`.admin_execute('10001', 'System.print(1)');", "result\n1"},
    {"CALL admin_execute((10001), (('System.print(1)')))", "result\n1"},
    {"CALL admin_execute((10001), ('System.print(1)')",
     "1064/42000 You have an error in your SQL syntax; check the manual that "
     "corresponds to your heapwire version for the right syntax to use near "
     "'' at line 1"},
    {"CALL admin_execute('10001, 7', 'System.print(1)')",
     "node_id|status|result\n7|ERROR|node not found\n10001|OK|1"},
    {"CALL admin_execute('ALL BACKENDS', 'System.print(1)')",
     "node_id|status|result\n10001|OK|1"},
    {"CALL admin_execute('', 'System.print(1)')",
     "1064/42000 You have an error in your SQL syntax; check the manual that "
     "corresponds to your heapwire version for the right syntax to use near "
     "'' at line 1"},
    {"CALL admin_execute(10001)",
     "1064/42000 You have an error in your SQL syntax; check the manual that "
     "corresponds to your heapwire version for the right syntax to use near "
     "')' at line 1"},
    {"CALL mysql.admin_execute(10001, 'System.print(1)')",
     "1305/42000 PROCEDURE mysql.admin_execute does not exist"},
    {"ADMIN EXECUTE ON 10001 ''", "result\n"},
    {"ADMIN EXECUTE ON 10001 'System.print(\"\")'", "result\n"},
    {"ADMIN EXECUTE ON 10001 'System.print(\"a\\\\n\\\\nb\\\\n\\\\n\")'",
     "result\na\n\nb"},
    {"ADMIN EXECUTE ON 10001 'System.print(\"a\\'b\")'", "result\na'b"},
    {"admin execute on 10001 'System.print(" PROF "enable_prof())'",
     "result\ninstance of HeapProf"},
    {"admin execute on 10001 'System.print(" PROF "disable_prof())'",
     "result\ninstance of HeapProf"},
    {"admin execute on 10001 'System.print(" PROF "has_enable())'",
     "result\nfalse"},
    {"admin execute on 10001 'System.print(" PROF "dump_dot_snapshot())'",
     "result\ndigraph \"x\" {\nN1;\n}"},
    {"ADMIN EXECUTE ON 10002 'System.print(1)'",
     "1032/HY000 node not found: 10002; SELECT id, address FROM heapwire.nodes "
     "lists the nodes"},
    {"ADMIN EXECUTE ON 18446744073709551615 'System.print(1)'",
     "1032/HY000 node not found: 18446744073709551615; SELECT id, address FROM "
     "heapwire.nodes lists the nodes"},
    {"ADMIN EXECUTE ON ALL 'System.print(1)'",
     "node_id|status|result\n10001|OK|1"},
    {"ADMIN EXECUTE ON ALL BACKENDS 'System.print(\"a\\\\nb\")'",
     "node_id|status|result\n10001|OK|a\nb"},
    {"ADMIN EXECUTE ON ALL COMPUTE NODES 'System.print(1)'",
     "1105/HY000 no target nodes resolved for ADMIN EXECUTE"},
    {"ADMIN EXECUTE ON (10001) 'System.print(1)'",
     "node_id|status|result\n10001|OK|1"},
    {"ADMIN EXECUTE ON 20000, 10001, 5, 5 'System.print(1)'",
     "node_id|status|result\n5|ERROR|node not found\n10001|OK|1\n"
     "20000|ERROR|node not found"},
    {"ADMIN EXECUTE ON (5, 6) 'System.print(1)'",
     "node_id|status|result\n5|ERROR|node not found\n"
     "6|ERROR|node not found"},
    {"ADMIN EXECUTE ON 5, 10001 '" PROF "to_dot_format(\"heap_9\")'",
     "node_id|status|result\n5|ERROR|node not found\n"
     "10001|ERROR|script line 1: no snapshot named 'heap_9' is kept; " LISTED},
    {"ADMIN EXECUTE ON 10001 '" PROF "to_dot_format(\"heap_9\")'",
     "1032/HY000 script line 1: no snapshot named 'heap_9' is kept; " LISTED},
    {"ADMIN EXECUTE ON 5, 10001 'System.'",
     "1064/42000 script line 1, column 8: a method's name is expected here"},
    {"ADMIN EXECUTE ON ALL 'Foo.x()'",
     "1064/42000 script line 1, column 1: unknown name 'Foo'; the classes are "
     "HeapProf, CpuProf, System, ExecEnv, Jemalloc, "
     "Profile"},
};

START_TEST(statements_have_starrocks_answers)
{
    ck_assert_str_eq(harness_run(&h, cases[_i].statement), cases[_i].answer);
}
END_TEST

START_TEST(methods_need_their_privileges)
{
    harness_fini(&h);
    harness_init(&h, PRIVILEGE_STATUS);
    ck_assert_str_eq(harness_run(&h,
                                 "ADMIN EXECUTE ON 10001 'System.print(" PROF
                                 "has_enable())'"),
                     "result\nfalse");
    ck_assert_str_eq(
        harness_run(&h, "ADMIN EXECUTE ON ALL '" PROF "dump_dot_snapshot()'"),
        "1227/42000 Access denied; you need (at least one of) the "
        "PROFILE privilege(s) for this operation");
    ck_assert_uint_eq(scripted.submitted, 1);
}
END_TEST

/* A thousand lines are pulled in steps of CURSOR_BATCH. */
START_TEST(many_lines_come_in_steps)
{
    static char statement[40000];
    size_t at = (size_t)sprintf(statement, "ADMIN EXECUTE ON 10001 '");
    size_t newlines = 0;
    const char *answer;

    for (int i = 0; i < 1000; i++)
        at += (size_t)sprintf(statement + at, "System.print(%d);", i);
    strcpy(statement + at, "'");
    answer = harness_run(&h, statement);
    for (const char *p = answer; *p; p++)
        newlines += *p == '\n';
    ck_assert_uint_eq(newlines, 1000);
    ck_assert_ptr_nonnull(strstr(answer, "\n998\n999"));
}
END_TEST

START_TEST(a_long_output_is_cut_in_a_list)
{
    struct buffer text;
    const char *answer, *end = "... [truncated after 8388608 bytes]";

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "ADMIN EXECUTE ON ALL 'var a0=\"0123456789abcdef\"\n");
    for (int i = 1; i < 17; i++)
        buffer_format(&text, "var a%d=a%d+a%d\n", i, i - 1, i - 1);
    for (int i = 0; i < 10; i++)
        buffer_text(&text, "System.print(a16)\n");
    buffer_text(&text, "'");
    answer = harness_run(&h, text.data);
    ck_assert_uint_gt(strlen(answer), 8 << 20);
    ck_assert_str_eq(answer + strlen(answer) - strlen(end), end);
    buffer_fini(&text);
}
END_TEST

/* ---- waiting and cancelling ---- */

static const char waiting[] =
    "ADMIN EXECUTE ON 10001 'System.print(" PROF "has_enable())'";

START_TEST(a_waiting_cursor_is_woken)
{
    scripted.answer = ANSWER_WAIT;
    ck_assert_ptr_nonnull(harness_open(&h, waiting));
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    scripted_finish(true);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\nfalse");
}
END_TEST

START_TEST(cancelling_wakes_and_interrupts)
{
    scripted.answer = ANSWER_HANG;
    harness_open(&h, waiting);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    harness_cancel(&h);
    harness_cancel(&h);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    ck_assert_str_eq(h.error.sqlstate, "70100");
    ck_assert_str_eq(h.error.text, "Query execution was interrupted");
    ck_assert_int_eq(scripted.seats, 0);
}
END_TEST

START_TEST(cancelled_before_the_first_step)
{
    harness_open(&h, waiting);
    harness_cancel(&h);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    ck_assert_uint_eq(scripted.submitted, 0);
}
END_TEST

START_TEST(a_list_is_interrupted_as_a_whole)
{
    scripted.answer = ANSWER_HANG;
    harness_open(&h, "ADMIN EXECUTE ON 5, 10001 '" PROF "snapshot()'");
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    harness_cancel(&h);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
}
END_TEST

START_TEST(a_failed_job_is_a_row_of_a_list)
{
    scripted.answer = ANSWER_REFUSE;
    ck_assert_str_eq(
        harness_run(&h, "ADMIN EXECUTE ON ALL '" PROF "has_enable()'"),
        "node_id|status|result\n10001|ERROR|script line 1: the database "
        "ended");
    scripted.answer = ANSWER_FAIL;
    ck_assert_str_eq(
        harness_run(&h, "ADMIN EXECUTE ON 10001 '" PROF "enable_prof()'"),
        "1105/HY000 script line 1: opt.prof is false");
}
END_TEST

START_TEST(the_cursor_needs_nothing_of_the_text)
{
    char *text = strdup(waiting);
    struct span span = {text, strlen(text)};

    scripted.answer = ANSWER_WAIT;
    ck_assert_ptr_nonnull(harness_open_span(&h, span));
    memset(text, '?', strlen(text));
    free(text);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    scripted_finish(true);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\nfalse");
}
END_TEST

static struct progress seen;

/* On the thread that renders, which may begin before it is waited for. */
static void
look(void)
{
    POLL_UNTIL(harness_progress(&h, &seen) &&
               strcmp(seen.text, "Rendering") == 0);
}

static void
render_on_a_thread(void)
{
    view_cache_stop(h.node.views);
    h.node.views = view_cache_start(scripted.store, 1, &h.error);
    ck_assert_ptr_nonnull(h.node.views);
}

START_TEST(a_profile_reports_its_stages_and_then_rendering)
{
    struct progress progress;

    render_on_a_thread();
    scripted.answer = ANSWER_WAIT;
    scripted.on_render = look;
    ck_assert_ptr_nonnull(harness_open(&h, "ADMIN EXECUTE ON 10001 '" PROF
                                           "dump_dot_snapshot()'"));
    ck_assert(!harness_progress(&h, &progress));
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert(harness_progress(&h, &progress));
    ck_assert_uint_eq(progress.stage, 2);
    ck_assert_uint_eq(progress.stages, 4);
    ck_assert_uint_eq(progress.percent, 50);
    ck_assert_str_eq(progress.text, "naming");
    scripted_finish(true);
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    ck_assert_uint_eq(seen.stage, 4);
    ck_assert_uint_eq(seen.stages, 4);
    ck_assert_str_eq(seen.text, "Rendering");
    ck_assert(!harness_progress(&h, &progress));
}
END_TEST

START_TEST(what_is_not_rendered_has_the_jobs_stages_alone)
{
    struct progress progress;

    scripted.answer = ANSWER_WAIT;
    harness_open(&h, "ADMIN EXECUTE ON 10001 '" PROF "snapshot()'");
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert(harness_progress(&h, &progress));
    ck_assert_uint_eq(progress.stages, 3);
    render_on_a_thread();
    scripted_keep("heap_1");
    scripted.on_render = look;
    harness_open(&h,
                 "ADMIN EXECUTE ON 10001 '" PROF "to_dot_format(\"heap_1\")'");
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    ck_assert_uint_eq(seen.stage, 2); /* it was read first */
    ck_assert_uint_eq(seen.stages, 2);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("admin");
    TCase *tc = tcase_create("admin");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, statements_have_starrocks_answers, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tc, methods_need_their_privileges);
    tcase_add_test(tc, many_lines_come_in_steps);
    tcase_add_test(tc, a_long_output_is_cut_in_a_list);
    tcase_add_test(tc, a_waiting_cursor_is_woken);
    tcase_add_test(tc, cancelling_wakes_and_interrupts);
    tcase_add_test(tc, cancelled_before_the_first_step);
    tcase_add_test(tc, a_list_is_interrupted_as_a_whole);
    tcase_add_test(tc, a_failed_job_is_a_row_of_a_list);
    tcase_add_test(tc, the_cursor_needs_nothing_of_the_text);
    tcase_add_test(tc, a_profile_reports_its_stages_and_then_rendering);
    tcase_add_test(tc, what_is_not_rendered_has_the_jobs_stages_alone);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
