/* test_admin_peers.c - ADMIN EXECUTE on other nodes, and on many. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_peers.h"
#include "memory.h"
#include "scripted_controller.h"
#include "sql_harness.h"
#include "sql_session.h"
#include "suite.h"

#define PROF  "HeapProf.getInstance()."
#define CPU   "CpuProf.getInstance()."
#define CHEAP "'System.print(1)'"
#define SLOW  "'System.print(" PROF "dump_dot_snapshot())'"
#define BYTES "'System.print(Profile.now().pprof())'"
#define DENIED                                                                 \
    "1227/42000 Access denied; you need (at least one of) the CLUSTER "        \
    "privilege(s) for this operation"

static struct harness h;

/* 10001 is this one; 10003 is a compute node. */
static void
set_up_with(uint32_t privileges)
{
    harness_init(&h, privileges);
    fake_peers_reset();
    h.node.peers = &fake_peers.peers;
    fake_peers_add(10001, PEER_BACKEND)->row.self = true;
    fake_peers_add(10002, PEER_BACKEND)->rows = "two";
    fake_peers_add(10003, PEER_COMPUTE_NODE)->rows = "three\n\nlines";
    fake_peers.nodes[0].rows = "one";
}

static void
set_up(void)
{
    set_up_with(PRIVILEGE_ALL);
}

static void
tear_down(void)
{
    harness_fini(&h);
    ck_assert_uint_eq(fake_peers.asked, fake_peers.released);
    fake_peers_fini();
    ck_assert_int_eq(scripted.seats, 0);
}

static struct fake_node *
node(uint64_t id)
{
    return &fake_peers.nodes[id - 10001];
}

static const struct {
    const char *statement, *answer;
    unsigned asked;
} cases[] = {
    {"ADMIN EXECUTE ON 10001 'System.print(\"here\")'", "result\nhere", 0},
    {"ADMIN EXECUTE ON 10002 " CHEAP, "result\ntwo", 1},
    {"ADMIN EXECUTE ON 10003 " CHEAP, "result\nthree\n\nlines", 1},
    {"CALL admin_execute(10002, " CHEAP ")", "result\ntwo", 1},
    {"CALL admin_execute('ALL BACKENDS', " CHEAP ")",
     "node_id|status|result\n10001|OK|one\n10002|OK|two", 1},
    {"ADMIN EXECUTE ON 7 " CHEAP,
     "1032/HY000 node not found: 7; SELECT id, address FROM heapwire.nodes "
     "lists the nodes",
     1},
    {"ADMIN EXECUTE ON (7) " CHEAP,
     "node_id|status|result\n7|ERROR|node not found", 1},
    {"ADMIN EXECUTE ON (10001) " CHEAP, "node_id|status|result\n10001|OK|one",
     1},
    {"ADMIN EXECUTE ON 10003, 10001, 7, 10003 " CHEAP,
     "node_id|status|result\n7|ERROR|node not found\n10001|OK|one\n"
     "10003|OK|three\n\nlines",
     1},
    {"ADMIN EXECUTE ON ALL " CHEAP,
     "node_id|status|result\n10001|OK|one\n10002|OK|two\n"
     "10003|OK|three\n\nlines",
     1},
    {"ADMIN EXECUTE ON ALL BACKENDS " CHEAP,
     "node_id|status|result\n10001|OK|one\n10002|OK|two", 1},
    {"ADMIN EXECUTE ON ALL COMPUTE NODES " CHEAP,
     "node_id|status|result\n10003|OK|three\n\nlines", 1},
    {"ADMIN EXECUTE ON 10002 'System.'",
     "1064/42000 script line 1, column 8: a method's name is expected here", 0},
    {"ADMIN EXECUTE ON ALL 'System.'",
     "1064/42000 script line 1, column 8: a method's name is expected here", 0},
};

START_TEST(the_nodes_that_are_named_answer)
{
    ck_assert_str_eq(harness_run(&h, cases[_i].statement), cases[_i].answer);
    ck_assert_uint_eq(fake_peers.asked, cases[_i].asked);
    ck_assert_uint_eq(fake_peers.released, cases[_i].asked);
}
END_TEST

START_TEST(a_request_carries_its_caller_and_deadline)
{
    harness_run(&h, "ADMIN EXECUTE ON 10002 'System.print(\"a\\'b\")'");
    ck_assert_int_eq(fake_peers.request.verb, PEER_SCRIPT);
    ck_assert_str_eq(fake_peers.text.data, "System.print(\"a'b\")");
    ck_assert_uint_eq(fake_peers.request.column_count, 1);
    ck_assert_uint_eq(fake_peers.request.timeout_ms, 60000);
    ck_assert_uint_eq(fake_peers.request.node_bytes_max, 64 << 20);
    ck_assert_str_eq(fake_peers.caller.user, "admin");
    ck_assert_uint_eq(fake_peers.caller.privileges, PRIVILEGE_ALL);
    ck_assert_uint_eq(fake_peers.request.connection_id, 7);
    harness_run(&h, "ADMIN EXECUTE ON ALL " CHEAP);
    ck_assert_uint_eq(fake_peers.request.node_bytes_max, 8 << 20);
    ck_assert_uint_eq(fake_peers.request.bytes_max, 64 << 20);
}
END_TEST

START_TEST(slow_scripts_take_turns_and_others_do_not)
{
    harness_run(&h, "ADMIN EXECUTE ON ALL " CHEAP);
    ck_assert_uint_eq(fake_peers.request.parallel, 0);
    harness_run(&h, "ADMIN EXECUTE ON ALL '" PROF "enable_prof()'");
    ck_assert_uint_eq(fake_peers.request.parallel, 0);
    harness_run(&h, "ADMIN EXECUTE ON ALL " SLOW);
    ck_assert_uint_eq(fake_peers.request.parallel, 2);
    harness_run(&h, "ADMIN EXECUTE ON ALL '" CPU "snapshot(1)'");
    ck_assert_uint_eq(fake_peers.request.parallel, 0);
    harness_run(&h,
                "ADMIN EXECUTE ON ALL 'var p = " CPU "profile(1); p.top()'");
    ck_assert_uint_eq(fake_peers.request.parallel, 0);
    harness_run(&h, "ADMIN EXECUTE ON ALL '" PROF "dump_dot_snapshot(); " CPU
                    "profile(1)'");
    ck_assert_uint_eq(fake_peers.request.parallel, 2);
    harness_run(&h, "SET heapwire_parallel = 5");
    harness_run(&h, "ADMIN EXECUTE ON ALL " SLOW);
    ck_assert_uint_eq(fake_peers.request.parallel, 5);
    harness_run(&h, "ADMIN EXECUTE ON ALL " CHEAP);
    ck_assert_uint_eq(fake_peers.request.parallel, 5);
}
END_TEST

/* The time limit of the whole statement; rows that report a timeout come
 * within the grace period. */
static const struct {
    const char *before, *statement;
    unsigned timeout_ms, parallel, asked_ms;
} timed[] = {
    {"DO 1", "ADMIN EXECUTE ON ALL " CHEAP, 62000, 0, 60000},
    {"SET heapwire_timeout = 7", "ADMIN EXECUTE ON ALL " CHEAP, 9000, 0, 7000},
    {"SET heapwire_timeout = 90", "ADMIN EXECUTE ON 10002 " CHEAP, 92000, 0,
     90000},
    {"SET heapwire_timeout = 7", "ADMIN EXECUTE ON 10001 " CHEAP, 7000, 0, 0},
    {"DO 1", "ADMIN EXECUTE ON 10001 " CHEAP, 0, 0, 0},
    {"SET heapwire_timeout = 7", "SELECT * FROM heapwire.users", 7000, 0, 0},
    {"DO 1", "ADMIN EXECUTE /*+ heapwire_timeout(5) */ ON 10001 " CHEAP, 5000,
     0, 0},
    {"SET heapwire_timeout = 7",
     "ADMIN EXECUTE/*+HEAPWIRE_PARALLEL(3) heapwire_timeout( 5 )*/ON ALL " SLOW,
     7000, 3, 5000},
    {"DO 1", "ADMIN EXECUTE /*+ */ /*+ heapwire_timeout(5) */ ON ALL " CHEAP,
     62000, 0, 60000},
    {"DO 1", "SET STATEMENT heapwire_timeout=5 FOR ADMIN EXECUTE ON ALL " CHEAP,
     7000, 0, 5000},
    {"SET heapwire_parallel = 9",
     "SET STATEMENT heapwire_timeout=5, heapwire_parallel = 4 FOR CALL "
     "admin_execute('ALL', " CHEAP ")",
     7000, 4, 5000},
    {"DO 1", "ADMIN EXECUTE ON ALL '" CPU "profile(600)'", 662000, 0, 660000},
    {"SET heapwire_parallel = 2", "ADMIN EXECUTE ON ALL '" CPU "profile(600)'",
     1262000, 2, 1260000},
    {"DO 1", "SET STATEMENT heapwire_timeout=5 FOR SELECT 1", 5000, 0, 0},
    {"DO 1", "SELECT 1", 0, 0, 0},
};

START_TEST(a_statement_has_its_own_time_and_share)
{
    for (int twice = 0; twice < 2; twice++) {
        ck_assert_str_eq(harness_run(&h, timed[_i].before), "OK");
        fake_peers.request.timeout_ms = fake_peers.request.parallel = 0;
        ck_assert_ptr_nonnull(harness_open(&h, timed[_i].statement));
        ck_assert_uint_eq(h.cursor->timeout_ms, timed[_i].timeout_ms);
        ck_assert_int_eq(harness_pull(&h), STEP_DONE);
        ck_assert_uint_eq(fake_peers.request.timeout_ms, timed[_i].asked_ms);
        ck_assert_uint_eq(fake_peers.request.parallel, timed[_i].parallel);
    }
}
END_TEST

static const struct {
    const char *statement, *answer;
} untimed[] = {
    {"ADMIN EXECUTE /*+ heapwire_timeout(0) */ ON ALL " CHEAP,
     "1231/42000 Variable 'heapwire_timeout' can't be set to the value of '0'; "
     "it takes 1 to 86400"},
    {"SET STATEMENT heapwire_timeout=86401 FOR ADMIN EXECUTE ON ALL " CHEAP,
     "1231/42000 Variable 'heapwire_timeout' can't be set to the value of "
     "'86401'; it takes 1 to 86400"},
    {"SET STATEMENT wait_timeout=1 FOR SELECT 1",
     "1193/HY000 'wait_timeout' cannot be set for one statement; "
     "heapwire_timeout and heapwire_parallel can"},
    {"ADMIN EXECUTE /*+ heapwire_timeout 5 */ ON ALL " CHEAP,
     "1064/42000 You have an error in your SQL syntax; check the manual that "
     "corresponds to your heapwire version for the right syntax to use near "
     "'5 */ ON ALL 'System.print(1)'' at line 1"},
    {"SET STATEMENT heapwire_timeout=5 FOR SET a = 1",
     "1064/42000 You have an error in your SQL syntax; check the manual that "
     "corresponds to your heapwire version for the right syntax to use near "
     "'SET a = 1' at line 1"},
    {"SET STATEMENT heapwire_timeout=5",
     "1064/42000 You have an error in your SQL syntax; check the manual that "
     "corresponds to your heapwire version for the right syntax to use near "
     "'' at line 1"},
};

START_TEST(a_wrong_limit_is_an_error)
{
    ck_assert_str_eq(harness_run(&h, untimed[_i].statement),
                     untimed[_i].answer);
    ck_assert_uint_eq(fake_peers.asked, 0);
}
END_TEST

static const struct {
    const char *statement, *answer;
    unsigned asked;
} privileged[] = {
    {"ADMIN EXECUTE ON 10001 " CHEAP, "result\n1", 0},
    {"ADMIN EXECUTE ON (10001) " CHEAP, "node_id|status|result\n10001|OK|one",
     1},
    {"ADMIN EXECUTE ON 10002 " CHEAP, DENIED, 0},
    {"ADMIN EXECUTE ON 7 " CHEAP, DENIED, 0},
    {"ADMIN EXECUTE ON 10001, 10002 " CHEAP, DENIED, 0},
    {"ADMIN EXECUTE ON ALL " CHEAP, DENIED, 0},
    {"ADMIN EXECUTE ON 10001, 10002 '" PROF "enable_prof()'",
     "1227/42000 Access denied; you need (at least one of) the CONTROL "
     "privilege(s) for this operation",
     0},
};

START_TEST(other_nodes_need_the_privilege_cluster)
{
    tear_down();
    set_up_with(PRIVILEGE_STATUS | PRIVILEGE_PROFILE);
    ck_assert_str_eq(harness_run(&h, privileged[_i].statement),
                     privileged[_i].answer);
    ck_assert_uint_eq(fake_peers.asked, privileged[_i].asked);
}
END_TEST

START_TEST(what_was_forwarded_asks_no_further)
{
    static const char refused[] =
        "1105/HY000 this statement was forwarded once already: it may not ask "
        "other nodes";

    h.session->forwarded = true;
    ck_assert_str_eq(harness_run(&h, "ADMIN EXECUTE ON 10002 " CHEAP), refused);
    ck_assert_str_eq(harness_run(&h, "ADMIN EXECUTE ON ALL " CHEAP), refused);
    ck_assert_str_eq(harness_run(&h, "ADMIN EXECUTE ON 10001 " CHEAP),
                     "result\n1");
    ck_assert_uint_eq(fake_peers.asked, 0);
}
END_TEST

START_TEST(no_nodes_to_ask_is_an_error)
{
    fake_peers.count = 2;
    ck_assert_str_eq(
        harness_run(&h, "ADMIN EXECUTE ON ALL COMPUTE NODES " CHEAP),
        "1105/HY000 no target nodes resolved for ADMIN EXECUTE");
    fake_peers.count = 0;
    ck_assert_str_eq(harness_run(&h, "ADMIN EXECUTE ON ALL " CHEAP),
                     "1105/HY000 no target nodes resolved for ADMIN EXECUTE");
    ck_assert_uint_eq(fake_peers.asked, 0);
}
END_TEST

START_TEST(a_question_that_cannot_be_put_fails)
{
    fake_peers.refuses = true;
    ck_assert_str_eq(harness_run(&h, "ADMIN EXECUTE ON 10002 " CHEAP),
                     "1037/HY001 Out of memory for the question");
    ck_assert_str_eq(harness_run(&h, "ADMIN EXECUTE ON ALL " CHEAP),
                     "1037/HY001 Out of memory for the question");
}
END_TEST

/* ---- one node ---- */

START_TEST(one_nodes_failure_is_the_statements)
{
    node(10002)->rows = NULL;
    node(10002)->error = ER_QUERY_TIMEOUT;
    node(10002)->why = "timeout after 5s";
    ck_assert_str_eq(harness_run(&h, "ADMIN EXECUTE ON 10002 " CHEAP),
                     "3024/HY000 timeout after 5s");
    node(10002)->error = ER_PRIVILEGE;
    node(10002)->why = "Access denied";
    ck_assert_str_eq(harness_run(&h, "ADMIN EXECUTE ON 10002 " CHEAP),
                     "1227/42000 Access denied");
}
END_TEST

START_TEST(one_nodes_lines_come_before_its_end)
{
    node(10002)->held = true;
    node(10002)->rows = "last";
    ck_assert_ptr_nonnull(harness_open(&h, "ADMIN EXECUTE ON 10002 " SLOW));
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    fake_peers_say(10002, "first\nsecond");
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_str_eq(h.answer.data, "\nfirst\nsecond");
    fake_peers_let_go(10002);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\nfirst\nsecond\nlast");
}
END_TEST

START_TEST(a_slow_reader_holds_the_node_back)
{
    struct value value[1];
    struct rows rows = {value, 0, 1};
    struct error err;

    node(10002)->rows = "a\nb";
    ck_assert_ptr_nonnull(harness_open(&h, "ADMIN EXECUTE ON 10002 " CHEAP));
    ck_assert_int_eq(h.cursor->ops->step(h.cursor, &rows, &err), STEP_MORE);
    ck_assert_uint_eq(rows.count, 1);
    ck_assert_uint_eq(fake_peers_waiting(), 1); /* its end */
    ck_assert_int_eq(h.cursor->ops->step(h.cursor, &rows, &err), STEP_MORE);
    ck_assert_int_eq(memcmp(value[0].data, "b", 1), 0);
    ck_assert_uint_eq(fake_peers_waiting(), 1);
    ck_assert_int_eq(h.cursor->ops->step(h.cursor, &rows, &err), STEP_DONE);
    ck_assert_uint_eq(fake_peers_waiting(), 0);
}
END_TEST

START_TEST(bytes_stay_what_they_are)
{
    node(10002)->value = (struct span){"\0\xff\n", 3};
    ck_assert_ptr_nonnull(harness_open(&h, "ADMIN EXECUTE ON 10002 " BYTES));
    ck_assert_int_eq(h.cursor->columns[0].type, COLUMN_BLOB);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    ck_assert_uint_eq(h.answer.size, 4);
    ck_assert_int_eq(memcmp(h.answer.data, "\n\0\xff\n", 4), 0);
    ck_assert_ptr_nonnull(harness_open(&h, "ADMIN EXECUTE ON ALL " BYTES));
    ck_assert_int_eq(h.cursor->columns[2].type, COLUMN_BLOB);
}
END_TEST

START_TEST(half_of_one_nodes_answer_is_a_failure)
{
    node(10002)->truncated = true;
    ck_assert_str_eq(harness_run(&h, "ADMIN EXECUTE ON 10002 " CHEAP),
                     "1105/HY000 the answer of node 10002 is longer than 64 "
                     "MB");
}
END_TEST

START_TEST(killing_gives_the_nodes_up)
{
    static const char *const statements[] = {"ADMIN EXECUTE ON 10002 " CHEAP,
                                             "ADMIN EXECUTE ON ALL " CHEAP};

    node(10002)->held = true;
    harness_open(&h, statements[_i]);
    while (harness_pull(&h) != STEP_PARKED)
        ;
    harness_cancel(&h);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    fake_peers_say(10002, "too late");
    harness_close(&h);
    ck_assert_uint_eq(fake_peers.released, 1);
}
END_TEST

START_TEST(a_closed_caller_releases_the_nodes)
{
    harness_open(&h, "ADMIN EXECUTE ON ALL " CHEAP);
    ck_assert_uint_eq(fake_peers.asked, 0); /* a client may only prepare it */
    harness_close(&h);
    node(10001)->held = true;
    harness_open(&h, "ADMIN EXECUTE ON ALL " CHEAP);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    harness_close(&h);
    ck_assert_uint_eq(fake_peers.released, 1);
}
END_TEST

START_TEST(describing_asks_no_node)
{
    static const char *const texts[] = {"ADMIN EXECUTE ON ALL " CHEAP,
                                        "ADMIN EXECUTE ON 10002 " CHEAP,
                                        "CALL admin_execute(?, ?)"};
    static const size_t columns[] = {3, 1, 1};
    struct sql_description told;
    struct error err;
    struct span text = {texts[_i], strlen(texts[_i])};

    ck_assert_int_eq(sql_describe(h.session, text, NULL, &told, &err), 0);
    ck_assert_uint_eq(told.column_count, columns[_i]);
    sql_description_fini(&told);
    ck_assert_uint_eq(fake_peers.asked, 0);
}
END_TEST

/* ---- many ---- */

START_TEST(a_failed_node_has_a_row_and_fails_no_other)
{
    node(10002)->error = ER_UNKNOWN;
    node(10002)->why = "submit failed for 127.0.0.2:9036: Connection refused";
    ck_assert_str_eq(
        harness_run(&h, "ADMIN EXECUTE ON ALL " CHEAP),
        "node_id|status|result\n10001|OK|one\n10002|ERROR|submit failed for "
        "127.0.0.2:9036: Connection refused\n10003|OK|three\n\nlines");
}
END_TEST

START_TEST(rows_go_out_once_all_smaller_ids_have_theirs)
{
    node(10001)->held = node(10002)->held = true;
    harness_open(&h, "ADMIN EXECUTE ON ALL " CHEAP);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_uint_eq(h.answer.size, 0);
    fake_peers_let_go(10001);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_str_eq(h.answer.data, "\n10001|OK|one");
    fake_peers_say(10002, "some");
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_str_eq(h.answer.data, "\n10001|OK|one");
    fake_peers_let_go(10002);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\n10001|OK|one\n10002|OK|some\ntwo\n"
                                    "10003|OK|three\n\nlines");
}
END_TEST

START_TEST(a_node_that_breaks_off_keeps_none_of_its_lines)
{
    node(10002)->held = true;
    node(10002)->rows = NULL;
    node(10002)->error = ER_UNKNOWN;
    node(10002)->why = "rpc failed 127.0.0.2:9036: lost";
    harness_open(&h, "ADMIN EXECUTE ON (10002) " CHEAP);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    fake_peers_say(10002, "half of it");
    fake_peers_let_go(10002);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data,
                     "\n10002|ERROR|rpc failed 127.0.0.2:9036: lost");
}
END_TEST

START_TEST(progress_counts_answers)
{
    struct progress progress;

    node(10003)->held = true;
    harness_open(&h, "ADMIN EXECUTE ON ALL " CHEAP);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert(harness_progress(&h, &progress));
    ck_assert_uint_eq(progress.percent, 66);
    ck_assert_str_eq(progress.text, "Asking the nodes");
}
END_TEST

/* The cases of a cut: in the middle of a character, at a line's end, before
 * it. */
START_TEST(a_long_answer_is_cut_and_says_so)
{
    size_t size = (8 << 20) + 1 + (size_t)_i;
    char *text = mem_zalloc(size + 1, 1);
    const char *answer, *tail;

    ck_assert_ptr_nonnull(text);
    memset(text, 'x', size);
    memcpy(text + (8 << 20) - 2, "\xe2\x82\xac", 3); /* a euro sign, cut */
    node(10002)->rows = text;
    answer = harness_run(&h, "ADMIN EXECUTE ON (10002) " CHEAP);
    tail = strstr(answer, "x... [truncated after 8388606 bytes]");
    ck_assert_ptr_nonnull(tail);
    ck_assert_uint_eq(strlen(tail), 36);
    mem_free(text);
}
END_TEST

START_TEST(newlines_count_to_a_cells_size)
{
    size_t lines = (8 << 20) + 10;
    char *text = mem_zalloc(lines + 1, 1);
    const char *answer;

    memset(text, '\n', lines);
    node(10002)->rows = text;
    answer = harness_run(&h, "ADMIN EXECUTE ON (10002) " CHEAP);
    ck_assert_ptr_nonnull(
        strstr(answer, "\n... [truncated after 8388608 bytes]"));
    mem_free(text);
}
END_TEST

START_TEST(cut_bytes_are_no_answer)
{
    node(10002)->value = (struct span){"x", 1};
    node(10002)->truncated = true;
    ck_assert_str_eq(
        harness_run(&h, "ADMIN EXECUTE ON (10002) " BYTES),
        "node_id|status|result\n10002|ERROR|the output is more than the 8 MB "
        "of a cell, or all nodes' is more than 64 MB; ask this node alone");
}
END_TEST

/* A thousand, held back from the last to the first. */
START_TEST(a_thousand_nodes_answer_in_any_order)
{
    const char *at;
    char line[64];

    for (uint64_t id = 10004; id <= 11000; id++)
        fake_peers_add(id, PEER_BACKEND)->rows = "x";
    for (size_t i = 0; i < fake_peers.count; i++)
        fake_peers.nodes[i].held = true;
    harness_open(&h, "ADMIN EXECUTE ON ALL " CHEAP);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    for (uint64_t id = 11000; id >= 10001; id--)
        fake_peers_let_go(id);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    at = h.answer.data;
    for (uint64_t id = 10004; id <= 11000; id++) {
        snprintf(line, sizeof(line), "\n%" PRIu64 "|OK|x", id);
        at = strstr(at, line);
        ck_assert_ptr_nonnull(at);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("admin_peers");
    TCase *tc = tcase_create("admin_peers");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, the_nodes_that_are_named_answer, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tc, a_request_carries_its_caller_and_deadline);
    tcase_add_test(tc, slow_scripts_take_turns_and_others_do_not);
    tcase_add_loop_test(tc, a_statement_has_its_own_time_and_share, 0,
                        sizeof(timed) / sizeof(timed[0]));
    tcase_add_loop_test(tc, a_wrong_limit_is_an_error, 0,
                        sizeof(untimed) / sizeof(untimed[0]));
    tcase_add_loop_test(tc, other_nodes_need_the_privilege_cluster, 0,
                        sizeof(privileged) / sizeof(privileged[0]));
    tcase_add_test(tc, what_was_forwarded_asks_no_further);
    tcase_add_test(tc, no_nodes_to_ask_is_an_error);
    tcase_add_test(tc, a_question_that_cannot_be_put_fails);
    tcase_add_test(tc, one_nodes_failure_is_the_statements);
    tcase_add_test(tc, one_nodes_lines_come_before_its_end);
    tcase_add_test(tc, a_slow_reader_holds_the_node_back);
    tcase_add_test(tc, bytes_stay_what_they_are);
    tcase_add_test(tc, half_of_one_nodes_answer_is_a_failure);
    tcase_add_loop_test(tc, killing_gives_the_nodes_up, 0, 2);
    tcase_add_test(tc, a_closed_caller_releases_the_nodes);
    tcase_add_loop_test(tc, describing_asks_no_node, 0, 3);
    tcase_add_test(tc, a_failed_node_has_a_row_and_fails_no_other);
    tcase_add_test(tc, rows_go_out_once_all_smaller_ids_have_theirs);
    tcase_add_test(tc, a_node_that_breaks_off_keeps_none_of_its_lines);
    tcase_add_test(tc, progress_counts_answers);
    tcase_add_loop_test(tc, a_long_answer_is_cut_and_says_so, 0, 3);
    tcase_add_test(tc, newlines_count_to_a_cells_size);
    tcase_add_test(tc, cut_bytes_are_no_answer);
    tcase_add_test(tc, a_thousand_nodes_answer_in_any_order);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
