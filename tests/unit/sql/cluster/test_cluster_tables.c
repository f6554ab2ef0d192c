/* test_cluster_tables.c - tables and profiles of all nodes, which a SELECT asks
 * for. */
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "cluster_ask.h"
#include "fake_peers.h"
#include "memory.h"
#include "profile_fixture.h"
#include "scripted_controller.h"
#include "snapshot.h"
#include "snapshot_file.h"
#include "sql_harness.h"
#include "sql_session.h"
#include "suite.h"

static struct harness h;
static struct buffer files[2];

/* 10001 is this one, 10002 answers, 10003 does not. */
static void
set_up(void)
{
    struct fake_node *node;

    harness_init(&h, PRIVILEGE_ALL);
    fake_peers_reset();
    h.node.peers = &fake_peers.peers;
    node = fake_peers_add(10001, PEER_BACKEND);
    node->row.self = true;
    node->rows = "opt.prof|1|true";
    fake_peers_add(10002, PEER_BACKEND)->rows =
        "opt.prof|0|false\nversion|\\N|5.3.0";
    node = fake_peers_add(10003, PEER_COMPUTE_NODE);
    node->rows = NULL;
    node->error = ER_QUERY_TIMEOUT;
    node->why = "timeout after 5s";
}

static void
tear_down(void)
{
    harness_fini(&h);
    ck_assert_uint_eq(fake_peers.asked, fake_peers.released);
    fake_peers_fini();
    for (size_t i = 0; i < 2; i++)
        buffer_fini(&files[i]);
}

static const char *
run(const char *text)
{
    return harness_run(&h, text);
}

#define WARNED "Level|Code|Message\nWarning|#3024|node 10003: timeout after 5s"

/* ---- tables ---- */

START_TEST(each_nodes_rows_and_a_warning_for_silent_nodes)
{
    ck_assert_str_eq(run("SELECT * FROM heapwire.cluster_malloc_stats"),
                     "node_id|name|value|text\n#10001|opt.prof|#1|true\n"
                     "#10002|opt.prof|#0|false\n#10002|version|\\N|5.3.0");
    ck_assert_uint_eq(sql_session_warnings(h.session), 1);
    ck_assert_str_eq(run("SHOW WARNINGS"), WARNED);
    ck_assert_uint_eq(fake_peers.asked, 1);
    ck_assert_uint_eq(fake_peers.request.parallel, 0);
    ck_assert_uint_eq(fake_peers.request.timeout_ms, 54000);
    ck_assert_str_eq(fake_peers.text.data, "SELECT `name`, `value`, `text` "
                                           "FROM heapwire.`malloc_stats`");
}
END_TEST

static const struct {
    const char *condition;
    size_t asked;
    const char *answer;
} restricted[] = {
    {"node_id = 10002", 1, "n\n#2"},
    {"node_id IN (10002, 10001, 10002)", 2, "n\n#3"},
    {"node_id = 10002 AND name = 'version'", 1, "n\n#1"},
    {"node_id > 10001", 3, "n\n#2"},
    {"node_id = 10001 OR name = 'version'", 3, "n\n#2"},
    {"node_id IN (SELECT 10001 UNION SELECT 10002)", 2, "n\n#3"},
};

START_TEST(only_nodes_that_are_named_are_asked)
{
    char text[256];

    snprintf(text, sizeof(text),
             "SELECT count(*) n FROM heapwire.cluster_malloc_stats WHERE %s",
             restricted[_i].condition);
    ck_assert_str_eq(run(text), restricted[_i].answer);
    ck_assert_uint_eq(fake_peers.request.id_count, restricted[_i].asked);
}
END_TEST

#define HISTORY                                                                \
    "SELECT count(*) n FROM heapwire.cluster_memory_history "                  \
    "WHERE at "

/* The question that the nodes get ends so; SQLite compares the rows again. */
static const struct {
    const char *condition, *end;
} bounded[] = {
    {"> '2026-11-29 18:00:01'", "` WHERE `at` >= '2026-11-29 18:00:01'"},
    {">= '2026-11-29'", "` WHERE `at` >= '2026-11-29"},
    {">= from_unixtime(1796000000)", "` WHERE `at` >= '2026-11-30 00:53:20'"},
    {"> from_unixtime(1796000000.5)", "` WHERE `at` >= '2026-11-30 00:53:20'"},
    {"BETWEEN '2026-11-29 18:00:01' AND '2026-11-30 00:00:00'",
     "FROM heapwire.`memory_history`"},
    {"> '2026-11-29 18:00:01' AND rss > 5",
     "` WHERE `at` >= '2026-11-29 18:00:01'"},
    {"< '2026-11-29 18:00:01'", "FROM heapwire.`memory_history`"},
    {"> '2026-11-29 18:00:01' OR rss > 5", "FROM heapwire.`memory_history`"},
    {"> 5", "FROM heapwire.`memory_history`"},
    {"> NULL", NULL},
};

START_TEST(nodes_are_asked_from_that_time_on)
{
    const char *end = bounded[_i].end, *asked;
    char text[256];

    snprintf(text, sizeof(text), HISTORY "%s", bounded[_i].condition);
    run(text);
    asked = fake_peers.text.data ? fake_peers.text.data : "";
    if (end)
        ck_assert_msg(strstr(asked, end) != NULL, "%s: %s", text, asked);
}
END_TEST

/* The nodes are asked once, not for each row. */
START_TEST(a_join_by_time_asks_at_most_twice)
{
    run("SELECT count(*) FROM (SELECT '2026-11-29 18:00:01' AS t UNION SELECT "
        "'2026-11-29 18:00:02' UNION SELECT '2026-11-29 18:00:03' UNION SELECT "
        "'2026-11-29 18:00:04') l JOIN heapwire.cluster_memory_history m ON "
        "m.at > l.t");
    ck_assert_uint_ge(fake_peers.asked, 1);
    ck_assert_uint_le(fake_peers.asked, 2);
}
END_TEST

START_TEST(an_impossible_condition_asks_no_node)
{
    ck_assert_str_eq(run("SELECT count(*) n FROM heapwire.cluster_malloc_stats "
                         "WHERE node_id = NULL"),
                     "n\n#0");
    ck_assert_uint_eq(fake_peers.asked, 0);
}
END_TEST

START_TEST(a_join_asks_all_at_once)
{
    ck_assert_str_eq(
        run("SELECT n.id, s.name FROM (SELECT 10001 AS id UNION SELECT 10002 "
            "UNION SELECT 10003) n LEFT JOIN "
            "heapwire.cluster_malloc_stats s ON s.node_id = n.id AND s.name = "
            "'opt.prof'"),
        "id|name\n#10001|opt.prof\n#10002|opt.prof\n#10003|\\N");
    ck_assert_uint_eq(fake_peers.asked, 1);
}
END_TEST

static const struct {
    const char *condition, *answer;
} unanswered[] = {
    {"node_id = 10003", "3024/HY000 node 10003: timeout after 5s"},
    {"node_id = 1", "1032/HY000 there is no node 1"},
    {"node_id IN (1, 10003)",
     "1032/HY000 none of 2 nodes has an answer; there is no node 1"},
};

START_TEST(no_answer_at_all_is_an_error)
{
    char text[256];

    snprintf(text, sizeof(text),
             "SELECT * FROM heapwire.cluster_malloc_stats WHERE %s",
             unanswered[_i].condition);
    ck_assert_str_eq(run(text), unanswered[_i].answer);
    ck_assert_str_eq(run("SELECT 1 AS n"), "n\n#1");
}
END_TEST

START_TEST(it_waits_and_a_kill_ends_it)
{
    struct progress progress;

    fake_peers.nodes[1].held = true;
    ck_assert_ptr_nonnull(
        harness_open(&h, "SELECT count(*) FROM heapwire.cluster_malloc_stats"));
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_uint_eq(fake_peers.asked, 1);
    ck_assert(harness_progress(&h, &progress));
    ck_assert_str_eq(progress.text, "Asking the nodes");
    ck_assert_uint_eq(progress.percent, 66);
    if (_i == 0) {
        fake_peers_let_go(10002);
        ck_assert_int_eq(harness_pull(&h), STEP_DONE);
        ck_assert(!harness_progress(&h, &progress));
        ck_assert_str_eq(h.answer.data, "\n#3");
    } else {
        harness_cancel(&h);
        ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
        ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    }
    harness_close(&h);
}
END_TEST

static const struct {
    const char *rows, *answer;
} hostile[] = {
    {"a|not a number|b", "#10002|a|\\N|b"},
    {"a|12x|b", "#10002|a|\\N|b"},
    {"a|99999999999999999999|b", "#10002|a|\\N|b"},
    {"\x1b[31m|1|\xff", "#10002|?[31m|#1|?"},
    {"|1|", "#10002||#1|"},
};

START_TEST(what_is_no_value_of_its_column_is_null)
{
    char expected[128];

    fake_peers.nodes[1].rows = hostile[_i].rows;
    snprintf(expected, sizeof(expected), "node_id|name|value|text\n%s",
             hostile[_i].answer);
    ck_assert_str_eq(run("SELECT * FROM heapwire.cluster_malloc_stats WHERE "
                         "node_id = 10002"),
                     expected);
}
END_TEST

START_TEST(sentences_have_lines_and_names_have_none)
{
    fake_peers.nodes[1].rows = "1|leak|certain|a\vname|5|why|1. look\v2. act";
    ck_assert_str_eq(
        run("SELECT subject, steps FROM heapwire.cluster_diagnosis "
            "WHERE node_id = 10002"),
        "subject|steps\na?name|1. look\n2. act");
}
END_TEST

START_TEST(a_cut_answer_is_a_warning)
{
    fake_peers.nodes[1].truncated = true;
    run("SELECT * FROM heapwire.cluster_malloc_stats WHERE node_id = 10002");
    ck_assert_str_eq(run("SHOW WARNINGS"),
                     "Level|Code|Message\n"
                     "Warning|#1105|node 10002: the answer was truncated");
}
END_TEST

START_TEST(the_nodes_take_a_profile_for_what_is_named_alone)
{
    static const char head[] = "SELECT `taken`, ";

    fake_peers.nodes[0].rows = fake_peers.nodes[1].rows = NULL;
    for (int i = 0; i < 2; i++) {
        run("SELECT node_id, rss FROM heapwire.cluster_memory WHERE rss > 0");
        ck_assert_uint_eq(fake_peers.request.parallel, 0);
        ck_assert_int_eq(strncmp(fake_peers.text.data, head, sizeof(head) - 1),
                         0);
        ck_assert_ptr_nonnull(strstr(fake_peers.text.data,
                                     "`cgroup_limit`, NULL, NULL, "
                                     "`unexplained`, NULL, `answered`, "));
        run("SELECT * FROM heapwire.cluster_memory");
        ck_assert_uint_eq(fake_peers.request.parallel, 2);
        ck_assert_ptr_nonnull(strstr(
            fake_peers.text.data, "`cgroup_limit`, `profile_bytes`, "
                                  "`profile_samples`, `unexplained`, `note`, "
                                  "`answered`, "));
    }
}
END_TEST

START_TEST(a_profile_of_each_rolls_and_a_kept_one_does_not)
{
    fake_peers.nodes[0].rows = fake_peers.nodes[1].rows = NULL;
    run("SELECT count(*) FROM heapwire.cluster_heap_functions WHERE "
        "snapshot = 'it''s'");
    ck_assert_uint_eq(fake_peers.request.parallel, 0);
    ck_assert_ptr_nonnull(
        strstr(fake_peers.text.data, "WHERE snapshot = 'it''s'"));
    run("SELECT count(*) FROM heapwire.cluster_heap_functions");
    ck_assert_uint_eq(fake_peers.request.parallel, 2);
    run("SET STATEMENT heapwire_timeout = 10, heapwire_parallel = 7 FOR SELECT "
        "count(*) FROM heapwire.cluster_heap_functions");
    ck_assert_uint_eq(fake_peers.request.parallel, 7);
    ck_assert_uint_eq(fake_peers.request.timeout_ms, 9000);
}
END_TEST

static const struct {
    const char *statement, *asked;
    unsigned parallel;
} turns[] = {
    {"SELECT count(*) FROM heapwire.cluster_heap_functions WHERE snapshot LIKE "
     "'n%' OR snapshot = 'now'",
     " WHERE snapshot LIKE '%' OR snapshot = 'now'", 2},
    {"SELECT 'now', count(*) FROM heapwire.cluster_cpu_functions",
     " WHERE snapshot LIKE '%'", 0},
    {"SELECT count(*) FROM heapwire.cluster_cpu_functions WHERE snapshot LIKE "
     "'n%' OR snapshot > 'now'",
     " WHERE snapshot LIKE '%'", 0},
    {"SELECT count(*) FROM heapwire.cluster_threads WHERE state = 'S'",
     "`threads`", 0},
    {"SELECT count(*) FROM heapwire.cluster_threads WHERE stack = 'S'",
     "`threads`", 2},
};

START_TEST(those_that_stop_the_database_take_turns)
{
    const char *asked;

    fake_peers.nodes[0].rows = fake_peers.nodes[1].rows = NULL;
    run(turns[_i].statement);
    ck_assert_uint_eq(fake_peers.asked, 1);
    asked = strstr(fake_peers.text.data, turns[_i].asked);
    ck_assert_msg(asked && strcmp(asked, turns[_i].asked) == 0, "%s",
                  fake_peers.text.data);
    ck_assert_uint_eq(fake_peers.request.parallel, turns[_i].parallel);
}
END_TEST

/* Three nodes, all at once or two after the other. */
START_TEST(what_nodes_sample_is_added_to_the_limit)
{
    fake_peers.nodes[0].rows = fake_peers.nodes[1].rows = NULL;
    run("SET STATEMENT heapwire_timeout = 10 FOR SELECT count(*) FROM "
        "heapwire.cluster_cpu_functions WHERE snapshot = 'cpu:600'");
    ck_assert_uint_eq(fake_peers.request.parallel, 0);
    ck_assert_uint_eq(fake_peers.request.timeout_ms, 609000);
    run("SET STATEMENT heapwire_timeout = 10, heapwire_parallel = 2 FOR SELECT "
        "count(*) FROM heapwire.cluster_cpu_functions WHERE snapshot = "
        "'cpu:600'");
    ck_assert_uint_eq(fake_peers.request.parallel, 2);
    ck_assert_uint_eq(fake_peers.request.timeout_ms, 1209000);
}
END_TEST

static const char *const forwarded[] = {
    "SELECT * FROM heapwire.cluster_malloc_stats", "SELECT dot('cluster')"};

START_TEST(a_forwarded_statement_asks_no_node)
{
    h.session->forwarded = true;
    ck_assert_str_eq(run(forwarded[_i]), "1227/42000 Access denied; the "
                                         "statement was forwarded once "
                                         "already");
    ck_assert_uint_eq(fake_peers.asked, 0);
}
END_TEST

START_TEST(it_takes_the_privilege_to_reach_others)
{
    h.session->who.privileges = PRIVILEGE_ALL & ~PRIVILEGE_CLUSTER;
    run("SELECT * FROM heapwire.cluster_malloc_stats");
    ck_assert_uint_eq(h.error.code, ER_PRIVILEGE);
    run("SELECT dot('cluster')");
    ck_assert_uint_eq(h.error.code, ER_PRIVILEGE);
    ck_assert_uint_eq(fake_peers.asked, 0);
}
END_TEST

/* ---- sums of profiles ---- */

static const struct fixture_name names[] = {{0x1000, "malloc", false, NULL, 0},
                                            {0x2001, "alpha", false, NULL, 0},
                                            {0x3001, "beta", false, NULL, 0},
                                            {0}};

static const char *const dumps[] = {
    "heap_v2/1\n@ 0x1000 0x2001\nt*: 1: 1000000 [0: 0]\n"
    "@ 0x1000 0x3001\nt*: 1: 200000 [0: 0]\nMAPPED_LIBRARIES:\n\n",
    "heap_v2/1\n@ 0x1000 0x3001\nt*: 1: 4000000 [0: 0]\n"
    "MAPPED_LIBRARIES:\n\n"};

/* Writes snapshots as those nodes would send them. */
static void
send_snapshots_of(enum profile_kind second)
{
    static const struct profile_origin origin = {true, 1795228260000,
                                                 1795228250000};

    for (size_t i = 0; i < 2; i++) {
        struct snapshot *snapshot = snapshot_new();
        struct error err = {0};

        ck_assert_ptr_nonnull(snapshot);
        snprintf(snapshot->name, sizeof(snapshot->name), "b");
        snapshot->profile = fixture_profile(dumps[i], names, &origin);
        if (i > 0)
            snapshot->profile->kind = second;
        buffer_init(&files[i], 1 << 20);
        ck_assert_msg(snapshot_encode(snapshot, &files[i], &err) == 0, "%s",
                      err.text);
        snapshot_unref(snapshot);
        fake_peers.nodes[i].value = (struct span){files[i].data, files[i].size};
    }
}

static void
send_snapshots(void)
{
    send_snapshots_of(PROFILE_HEAP);
}

START_TEST(a_view_of_the_cluster_is_the_sum)
{
    send_snapshots();
    ck_assert_str_eq(run("SELECT collapsed('cluster') c"),
                     "c\nbeta 4200000\nalpha 1000000");
    ck_assert_uint_eq(fake_peers.request.parallel, 2);
    ck_assert_str_eq(fake_peers.text.data, "SELECT export('now')");
    ck_assert_str_eq(run("SHOW WARNINGS"), WARNED);
    ck_assert_str_eq(run("SELECT collapsed('CLUSTER_by_node@10002,10001:B') c"),
                     "c\nnode 10002;beta 4000000\nnode 10001;alpha 1000000\n"
                     "node 10001;beta 200000");
    ck_assert_uint_eq(fake_peers.request.id_count, 2);
    ck_assert_uint_eq(fake_peers.request.parallel, 0);
    ck_assert_str_eq(fake_peers.text.data, "SELECT export('b')");
}
END_TEST

START_TEST(the_sum_names_its_nodes_and_missing_ones)
{
    send_snapshots();
    ck_assert_ptr_nonnull(
        strstr(run("SELECT text('cluster') t"),
               "In use by node: 10002 3.8 MB (76.9%), 10001 1.1 MB (23.1%)\n"
               "2 of 3 nodes, without 10003 (timeout after 5s)\n"));
}
END_TEST

START_TEST(tables_read_the_sum)
{
    send_snapshots();
    ck_assert_str_eq(run("SELECT snapshot, function, flat_bytes FROM "
                         "heapwire.heap_functions WHERE snapshot = 'Cluster'"),
                     "snapshot|function|flat_bytes\nCluster|beta|#4200000\n"
                     "Cluster|alpha|#1000000");
    ck_assert_uint_eq(fake_peers.asked, 1);
}
END_TEST

START_TEST(one_question_feeds_all_that_a_statement_reads)
{
    send_snapshots();
    ck_assert_str_eq(run("SELECT collapsed('cluster') = collapsed('cluster', "
                         "NULL, 'nodecount=7') same, count(*) n FROM "
                         "heapwire.heap_functions WHERE snapshot = 'cluster'"),
                     "same|n\n#1|#2");
    ck_assert_uint_eq(fake_peers.asked, 1);
}
END_TEST

static const struct {
    const char *statement, *answer;
} faults[] = {
    {"SELECT dot('cluster:')", "1210/HY000 'cluster:' names no snapshots"},
    {"SELECT dot('cluster@')", "1210/HY000 'cluster@' names no snapshots"},
    {"SELECT dot('cluster@1,x')", "1210/HY000 'cluster@1,x' names no"},
    {"SELECT dot('cluster@99999999999999999999')",
     "1210/HY000 'cluster@99999999999999999999' names no"},
    {"SELECT dot('cluster:b', 'a')",
     "1210/HY000 a sum of nodes is compared with one of the same nodes: write "
     "'cluster:a', not 'a'"},
    {"SELECT dot('b', 'cluster:a')",
     "1210/HY000 'b' is a snapshot of this node"},
    {"SELECT dot('cluster:b', 'cluster@10001:a')",
     "1210/HY000 'cluster:b' and its base 'cluster@10001:a' must be of the "
     "same nodes"},
    {"SELECT dot('cluster:b', 'cluster')", "1210/HY000 a base is a kept"},
    {"SELECT export('cluster')", "1210/HY000 export gives one node's"},
    {"SELECT * FROM heapwire.heap_functions WHERE snapshot = 'cluster@x'",
     "1210/HY000 'cluster@x' names no"},
    {"SELECT dot('cluster@10003')", "3024/HY000 node 10003: timeout after 5s"},
};

START_TEST(what_cannot_be_summed_says_why)
{
    const char *answer = run(faults[_i].statement);

    ck_assert_msg(
        strncmp(answer, faults[_i].answer, strlen(faults[_i].answer)) == 0,
        "%s", answer);
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
} lies[] = {{"", 0}, {"HWSNAP\r\n", 8}, {"GET / HTTP/1.1", 14}, {NULL, 0}};

START_TEST(a_node_that_sends_no_snapshot_is_left_out)
{
    send_snapshots();
    if (lies[_i].bytes)
        fake_peers.nodes[1].value =
            (struct span){lies[_i].bytes, lies[_i].size};
    else /* cut in the middle */
        fake_peers.nodes[1].value.size /= 2;
    ck_assert_str_eq(run("SELECT collapsed('cluster@10001,10002') c"),
                     "c\nalpha 1000000\nbeta 200000");
    ck_assert_uint_eq(sql_session_warnings(h.session), 1);
}
END_TEST

START_TEST(a_node_whose_snapshot_is_of_another_kind_is_left_out)
{
    send_snapshots_of(PROFILE_CPU);
    ck_assert_str_eq(run("SELECT collapsed('cluster@10001,10002:b') c"),
                     "c\nalpha 1000000\nbeta 200000");
    ck_assert_str_eq(run("SHOW WARNINGS"),
                     "Level|Code|Message\nWarning|#1210|node 10002: its "
                     "profile is of the processor, and those of the other "
                     "nodes are of the heap: they cannot be added up");
}
END_TEST

START_TEST(a_snapshot_is_not_called_like_a_sum)
{
    run("ADMIN EXECUTE ON 10001 "
        "'HeapProf.getInstance().snapshot(\"cluster\")'");
    ck_assert(!cluster_name_is("clusters"));
    ck_assert(!cluster_name_is("cluster_a"));
    ck_assert(cluster_name_is("Cluster_By_Node:a"));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("cluster_tables");
    TCase *tc = tcase_create("cluster_tables");

#define LOOP(test, list)                                                       \
    tcase_add_loop_test(tc, test, 0, sizeof(list) / sizeof((list)[0]))
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, each_nodes_rows_and_a_warning_for_silent_nodes);
    LOOP(only_nodes_that_are_named_are_asked, restricted);
    tcase_add_loop_test(tc, nodes_are_asked_from_that_time_on, 0,
                        sizeof(bounded) / sizeof(bounded[0]));
    tcase_add_test(tc, a_join_by_time_asks_at_most_twice);
    tcase_add_test(tc, an_impossible_condition_asks_no_node);
    tcase_add_test(tc, a_join_asks_all_at_once);
    LOOP(no_answer_at_all_is_an_error, unanswered);
    tcase_add_loop_test(tc, it_waits_and_a_kill_ends_it, 0, 2);
    LOOP(what_is_no_value_of_its_column_is_null, hostile);
    tcase_add_test(tc, sentences_have_lines_and_names_have_none);
    tcase_add_test(tc, a_cut_answer_is_a_warning);
    tcase_add_test(tc, the_nodes_take_a_profile_for_what_is_named_alone);
    tcase_add_test(tc, a_profile_of_each_rolls_and_a_kept_one_does_not);
    LOOP(those_that_stop_the_database_take_turns, turns);
    tcase_add_test(tc, what_nodes_sample_is_added_to_the_limit);
    LOOP(a_forwarded_statement_asks_no_node, forwarded);
    tcase_add_test(tc, it_takes_the_privilege_to_reach_others);
    tcase_add_test(tc, a_view_of_the_cluster_is_the_sum);
    tcase_add_test(tc, the_sum_names_its_nodes_and_missing_ones);
    tcase_add_test(tc, tables_read_the_sum);
    tcase_add_test(tc, one_question_feeds_all_that_a_statement_reads);
    LOOP(what_cannot_be_summed_says_why, faults);
    LOOP(a_node_that_sends_no_snapshot_is_left_out, lies);
    tcase_add_test(tc, a_node_whose_snapshot_is_of_another_kind_is_left_out);
    tcase_add_test(tc, a_snapshot_is_not_called_like_a_sum);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
