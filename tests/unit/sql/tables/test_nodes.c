/* test_nodes.c - the tables of nodes: which answer, which do not, and why. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "fake_peers.h"
#include "memory.h"
#include "scripted_controller.h"
#include "sql_harness.h"
#include "sql_session.h"
#include "suite.h"

static struct harness h;

/* 10001 is this one, 10002 answers, 10003 does not, 10004's database ended. */
static void
set_up_with(uint32_t privileges)
{
    struct fake_node *node;

    harness_init(&h, privileges);
    fake_peers_reset();
    h.node.peers = &fake_peers.peers;
    fake_peers_add(10001, PEER_BACKEND)->row.self = true;
    node = fake_peers_add(10002, PEER_BACKEND);
    node->rows = "connected|2026-11-20 01:02:03|active||2026-11-19 00:00:00|12";
    node->row.round_trip_us = 1500;
    node = fake_peers_add(10003, PEER_COMPUTE_NODE);
    node->rows = NULL;
    node->error = ER_QUERY_TIMEOUT;
    node->why = "timeout after 2s";
    node->row.since_ms = 1795228260000;
    *node->row.version = '\0';
    node = fake_peers_add(10004, PEER_COMPUTE_NODE);
    node->rows = "gone|2026-11-20 04:05:06|unknown|the database ended|\\N|4";
    snprintf(node->row.last_error, sizeof(node->row.last_error), "once");
    node->row.last_error_ms = 1795228261000;
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
}

/* Nothing waits: the fake answers when it is asked. */
static const char *
run(const char *text)
{
    return harness_run(&h, text);
}

START_TEST(every_member_has_its_row)
{
    ck_assert_str_eq(
        run("SELECT id, address, port, role, alive, state, self, profiling, "
            "round_trip_ms, version FROM heapwire.nodes"),
        "id|address|port|role|alive|state|self|profiling|round_trip_ms|version"
        "\n#10001|127.0.0.1|#9036|backend|#1|connected|#1|inactive|"
        "\\N|" HW_VERSION
        "\n#10002|127.0.0.1|#9036|backend|#1|connected|#0|active|~1.5|0.1.0"
        "\n#10003|127.0.0.1|#9036|compute node|#0|unreachable|#0|\\N|\\N|\\N"
        "\n#10004|127.0.0.1|#9036|compute node|#0|gone|#0|unknown|\\N|0.1.0");
    ck_assert_uint_eq(fake_peers.asked, 1);
}
END_TEST

/* The answers of nodes that were asked before; nothing is asked for this. */
START_TEST(heapwired_counts_its_peers)
{
    ck_assert_str_eq(
        run("SELECT rss > 0, cpu_seconds >= 0, descriptors > 0, "
            "mysql_connections, http_connections, statements, "
            "failed_statements, peers, peers_alive + peers_silent <= peers "
            "AS fit FROM heapwire.daemon"),
        "rss > 0|cpu_seconds >= 0|descriptors > 0|mysql_connections|"
        "http_connections|statements|failed_statements|peers|fit\n"
        "#1|#1|#1|#8|#5|#42|#6|#3|#1");
    ck_assert_uint_eq(fake_peers.asked, 0);
}
END_TEST

static const struct silence {
    int64_t failed_ms; /* ago */
    const char *counted;
} silences[] = {{0, "#2|#1"},
                {PEER_SILENT_MS - 60000, "#2|#1"},
                {PEER_SILENT_MS, "#2|#0"},
                {INT64_C(24) * 3600 * 1000, "#2|#0"}};

/* A failure of long ago says nothing of now. */
START_TEST(a_silent_peer_counts_for_a_while)
{
    struct peer_row *row = &fake_peers.nodes[2].row;

    row->alive = false;
    row->last_error_ms = clock_wall_ms() - silences[_i].failed_ms;
    ck_assert_str_eq(
        strchr(run("SELECT peers_alive, peers_silent FROM heapwire.daemon"),
               '\n') +
            1,
        silences[_i].counted);
    ck_assert_uint_eq(fake_peers.asked, 0);
}
END_TEST

static size_t
one_left(void *arg, struct peer_row *out)
{
    (void)arg;
    out[0] = (struct peer_row){.id = 10009,
                               .address = "127.0.0.9",
                               .port = 9,
                               .role = PEER_BACKEND,
                               .since_ms = 1795228260000,
                               .last_error = "timeout",
                               .last_error_ms = 1795228250000};
    return 1;
}

/* A node that has left is shown, but gets no statements. */
START_TEST(a_node_that_left_has_its_row)
{
    fake_peers.peers.left = one_left;
    ck_assert_str_eq(run("SELECT id, alive, state, since, last_error FROM "
                         "heapwire.nodes WHERE state = 'left'"),
                     "id|alive|state|since|last_error\n"
                     "#10009|#0|left|2026-11-21 02:31:00|timeout");
    ck_assert_ptr_null(strstr(run("SHOW BACKENDS"), "10009"));
}
END_TEST

START_TEST(a_node_that_does_not_answer_says_why_and_since_when)
{
    ck_assert_str_eq(run("SELECT id, since, last_error, last_error_at IS NULL "
                         "AS n FROM heapwire.nodes WHERE NOT self"),
                     "id|since|last_error|n\n"
                     "#10002|2026-11-20 01:02:03|\\N|#1\n"
                     "#10003|2026-11-21 02:31:00|timeout after 2s|#0\n"
                     "#10004|2026-11-20 04:05:06|\\N|#1");
}
END_TEST

/* This node answers; of what it did not answer itself once nothing is left but
 * the fault of its list of members. */
START_TEST(an_error_that_is_over_is_gone)
{
    struct peer_row *self = &fake_peers.nodes[0].row;
    struct peer_row *other = &fake_peers.nodes[1].row;

    snprintf(self->last_error, sizeof(self->last_error), "timeout after 2s");
    self->last_error_ms = 1795228261000;
    memcpy(other->last_error, self->last_error, sizeof(self->last_error));
    other->last_error_ms = self->last_error_ms;
    ck_assert_str_eq(run("SELECT last_error, last_error_at FROM heapwire.nodes "
                         "WHERE alive"),
                     "last_error|last_error_at\n\\N|\\N\n\\N|\\N");
    self->troubled = true;
    ck_assert_str_eq(run("SELECT last_error FROM heapwire.nodes WHERE self"),
                     "last_error\ntimeout after 2s");
}
END_TEST

START_TEST(all_others_are_asked_and_not_for_long)
{
    run("SELECT * FROM heapwire.nodes");
    ck_assert_int_eq(fake_peers.request.verb, PEER_SELECT);
    ck_assert_uint_eq(fake_peers.request.id_count, 3);
    ck_assert_uint_eq(fake_peers.request.ids[0], 10002);
    ck_assert_uint_eq(fake_peers.request.timeout_ms, 2000);
    ck_assert_uint_eq(fake_peers.request.parallel, 0);
    ck_assert_str_eq(fake_peers.caller.user, "admin");
}
END_TEST

/* The question must be one that a node can answer. */
START_TEST(the_question_is_one_that_a_node_answers)
{
    char expected[128];

    run("SELECT * FROM heapwire.nodes");
    h.session->forwarded = true;
    snprintf(expected, sizeof(expected),
             "state|since|profiling|reason|started|cpus\n"
             "connected|2026-11-21 02:31:07|inactive||2026-11-21 02:31:07|#%ld",
             sysconf(_SC_NPROCESSORS_ONLN));
    ck_assert_str_eq(run(fake_peers.text.data), expected);
}
END_TEST

START_TEST(a_select_waits_for_them)
{
    fake_peers.nodes[1].held = true;
    ck_assert_ptr_nonnull(
        harness_open(&h, "SELECT count(*) FROM heapwire.nodes WHERE alive"));
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    ck_assert_uint_eq(fake_peers.asked, 1);
    fake_peers_let_go(10002);
    ck_assert_int_eq(harness_pull(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\n#2");
    ck_assert_uint_eq(fake_peers.released, 1);
}
END_TEST

START_TEST(they_are_asked_once_in_a_statement)
{
    ck_assert_str_eq(run("SELECT count(b.state) n FROM heapwire.nodes a, "
                         "heapwire.nodes b WHERE a.id = b.id"),
                     "n\n#4");
    ck_assert_uint_eq(fake_peers.asked, 1);
}
END_TEST

/* Each twice: a statement is prepared once. */
START_TEST(they_are_not_asked_for_what_is_known)
{
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_nonnull(
            strstr(run("SELECT id, address, port, role, self, count(*) FROM "
                       "heapwire.nodes GROUP BY id HAVING self"),
                   "10001|"));
        ck_assert_uint_eq(fake_peers.asked, 0);
    }
    for (unsigned i = 1; i <= 2; i++) {
        ck_assert_str_eq(run("SELECT count(*) FROM heapwire.nodes WHERE alive "
                             "OR alive IS NULL OR NOT alive"),
                         "count(*)\n#4");
        ck_assert_uint_eq(fake_peers.asked, i);
    }
}
END_TEST

START_TEST(a_killed_session_asks_no_more)
{
    static const char *const texts[] = {"SELECT * FROM heapwire.nodes",
                                        "SHOW BACKENDS"};

    fake_peers.nodes[1].held = true;
    harness_open(&h, texts[_i]);
    ck_assert_int_eq(harness_pull(&h), STEP_PARKED);
    harness_cancel(&h);
    ck_assert_int_eq(harness_pull(&h), STEP_FAIL);
    ck_assert_uint_eq(h.error.code, ER_QUERY_INTERRUPTED);
    harness_close(&h);
    ck_assert_uint_eq(fake_peers.released, 1);
}
END_TEST

static const char common[] = "|127.0.0.1|\\N|\\N|\\N|\\N|";

START_TEST(backends_and_compute_nodes_are_shown_apart)
{
    const char *answer = run("SHOW BACKENDS");

    ck_assert_ptr_nonnull(strstr(answer, "\n#10001|127.0.0.1|"));
    ck_assert_ptr_nonnull(strstr(answer, "\n#10002|127.0.0.1|\\N|\\N|\\N|\\N|"
                                         "2026-11-19 00:00:00|"));
    ck_assert_ptr_nonnull(strstr(answer, "|#12|"));
    ck_assert_ptr_nonnull(strstr(answer, common));
    ck_assert_ptr_null(strstr(answer, "#10003"));
    ck_assert_uint_eq(fake_peers.asked, 1);
    answer = run("SHOW COMPUTE NODES");
    ck_assert_ptr_null(strstr(answer, "#10002"));
    ck_assert_ptr_nonnull(strstr(answer,
                                 "\n#10003|127.0.0.1|\\N|\\N|\\N|\\N|\\N|"
                                 "2026-11-21 02:31:00|false|false|false|"
                                 "timeout after 2s||\\N|"));
    ck_assert_ptr_nonnull(strstr(answer,
                                 "\n#10004|127.0.0.1|\\N|\\N|\\N|\\N|\\N|"
                                 "2026-11-20 04:05:06|false|false|false|"
                                 "the database ended|0.1.0|#4|"));
    ck_assert_uint_eq(fake_peers.asked, 2);
}
END_TEST

START_TEST(shown_or_described_the_columns_are_the_same)
{
    static const char *const texts[] = {"SHOW BACKENDS", "SHOW COMPUTE NODES"};
    struct span text = {texts[_i], strlen(texts[_i])};
    struct sql_description told;
    struct error err;

    ck_assert_int_eq(sql_describe(h.session, text, NULL, &told, &err), 0);
    ck_assert_ptr_nonnull(harness_open(&h, texts[_i]));
    ck_assert_uint_eq(told.column_count, h.cursor->column_count);
    for (size_t i = 0; i < told.column_count; i++) {
        ck_assert_str_eq(told.columns[i].name, h.cursor->columns[i].name);
        ck_assert_int_eq(told.columns[i].type, h.cursor->columns[i].type);
        ck_assert_str_eq(h.cursor->columns[i].table, "");
    }
    sql_description_fini(&told);
    ck_assert_uint_eq(fake_peers.asked, 0);
}
END_TEST

static void *
describe_on(void *arg)
{
    static const struct span text = {"SHOW BACKENDS", 13};
    struct sql_description told;
    struct error err;

    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(sql_describe(arg, text, NULL, &told, &err), 0);
        sql_description_fini(&told);
    }
    return NULL;
}

/* For tsan. */
START_TEST(sessions_share_nothing_of_it)
{
    struct sql_session *other = sql_session_new(&h.node, &h.session->who, 8);
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, describe_on, other), 0);
    describe_on(h.session);
    pthread_join(thread, NULL);
    sql_session_free(other);
}
END_TEST

/* Then they are as they were when they were asked for. */
static void
check_as_known(void)
{
    fake_peers.nodes[3].row.known = false;
    ck_assert_str_eq(run("SELECT id, alive, state FROM heapwire.nodes"),
                     "id|alive|state\n#10001|#1|connected\n#10002|#1|\\N\n"
                     "#10003|#1|\\N\n#10004|\\N|\\N");
    ck_assert_ptr_nonnull(strstr(run("SHOW BACKENDS"), "\n#10002"));
    ck_assert_uint_eq(fake_peers.asked, 0);
}

START_TEST(without_the_privilege_known_rows_remain)
{
    tear_down();
    set_up_with(PRIVILEGE_STATUS);
    check_as_known();
}
END_TEST

START_TEST(a_forwarded_statement_asks_no_node)
{
    h.session->forwarded = true;
    check_as_known();
}
END_TEST

START_TEST(what_cannot_wait_sees_what_is_known)
{
    ck_assert_str_eq(run("SET @n = (SELECT count(*) FROM heapwire.nodes)"),
                     "OK");
    ck_assert_str_eq(run("SELECT @n"), "@n\n#4");
    ck_assert_uint_eq(fake_peers.asked, 0);
}
END_TEST

START_TEST(a_single_node_asks_no_other)
{
    fake_peers.count = 1;
    ck_assert_str_eq(run("SELECT id, self FROM heapwire.nodes"),
                     "id|self\n#10001|#1");
    ck_assert_uint_eq(fake_peers.asked, 0);
    h.node.peers = &h.alone;
    ck_assert_str_eq(run("SELECT id, role, self FROM heapwire.nodes"),
                     "id|role|self\n#10001|backend|#1");
}
END_TEST

START_TEST(a_question_that_cannot_be_put_fails)
{
    fake_peers.refuses = true;
    ck_assert_str_eq(run("SELECT state FROM heapwire.nodes"),
                     "1037/HY001 Out of memory for the question");
}
END_TEST

/* Answers that no heapwire gives. */
static const struct {
    const char *rows, *shown;
} hostile[] = {
    {NULL, "#0|unreachable|2026-11-21 02:31:00|rpc failed: the answer has no "
           "row"},
    {"\\N|\\N|\\N|\\N|\\N|\\N",
     "#0|unreachable|2026-11-21 02:31:00|rpc failed: the "
     "answer has no row"},
    {"connected|tomorrow|\x1b[31m|x|soon|-4\nother|x|x|x|x|x",
     "#1|connected|2026-11-21 02:31:00|\\N"},
    {"x\xff|2026-11-20 01:02:03|a|b|c|d", "#0|x?|2026-11-20 01:02:03|\\N"},
};

START_TEST(an_answer_is_not_trusted)
{
    struct fake_node *node = &fake_peers.nodes[1];
    const char *answer;

    node->rows = hostile[_i].rows;
    node->row.since_ms = 1795228260000;
    answer = run("SELECT alive, state, since, last_error FROM heapwire.nodes "
                 "WHERE id = 10002");
    ck_assert_str_eq(strchr(answer, '\n') + 1, hostile[_i].shown);
}
END_TEST

START_TEST(thousands_fit)
{
    for (uint64_t id = 10005; id <= 13000; id++)
        fake_peers_add(id, PEER_BACKEND)->rows =
            "connected|2026-11-20 01:02:03|active||2026-11-19 00:00:00|12";
    ck_assert_str_eq(run("SELECT count(*), sum(alive) FROM heapwire.nodes"),
                     "count(*)|sum(alive)\n#3000|2998");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("nodes");
    TCase *tc = tcase_create("nodes");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, every_member_has_its_row);
    tcase_add_test(tc, heapwired_counts_its_peers);
    tcase_add_loop_test(tc, a_silent_peer_counts_for_a_while, 0,
                        sizeof(silences) / sizeof(silences[0]));
    tcase_add_test(tc, a_node_that_left_has_its_row);
    tcase_add_test(tc, a_node_that_does_not_answer_says_why_and_since_when);
    tcase_add_test(tc, an_error_that_is_over_is_gone);
    tcase_add_test(tc, all_others_are_asked_and_not_for_long);
    tcase_add_test(tc, the_question_is_one_that_a_node_answers);
    tcase_add_test(tc, a_select_waits_for_them);
    tcase_add_test(tc, they_are_asked_once_in_a_statement);
    tcase_add_test(tc, they_are_not_asked_for_what_is_known);
    tcase_add_loop_test(tc, a_killed_session_asks_no_more, 0, 2);
    tcase_add_test(tc, backends_and_compute_nodes_are_shown_apart);
    tcase_add_loop_test(tc, shown_or_described_the_columns_are_the_same, 0, 2);
    tcase_add_test(tc, sessions_share_nothing_of_it);
    tcase_add_test(tc, without_the_privilege_known_rows_remain);
    tcase_add_test(tc, a_forwarded_statement_asks_no_node);
    tcase_add_test(tc, what_cannot_wait_sees_what_is_known);
    tcase_add_test(tc, a_single_node_asks_no_other);
    tcase_add_test(tc, a_question_that_cannot_be_put_fails);
    tcase_add_loop_test(tc, an_answer_is_not_trusted, 0,
                        sizeof(hostile) / sizeof(hostile[0]));
    tcase_add_test(tc, thousands_fit);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
