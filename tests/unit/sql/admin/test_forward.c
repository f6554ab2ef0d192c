/* test_forward.c - ADMIN FORWARD, with a channel that believes everything. */
#include <string.h>

#include "peers.h"
#include "scripted_controller.h"
#include "sql_harness.h"
#include "sql_session.h"
#include "suite.h"

enum { OTHER = 10007 };

static struct harness h;
static struct peer_forwarded forwarded;
static int opened;

/* The envelope's text is the statement's. */
static int
open_envelope(void *arg, struct span envelope, struct arena *arena,
              struct peer_forwarded *out, struct error *err)
{
    (void)arg;
    (void)arena;
    opened++;
    if (span_is(envelope, "bad")) {
        error_set(err, ER_ACCESS_DENIED, "the seal is wrong");
        return -1;
    }
    *out = forwarded;
    out->text = envelope;
    return 0;
}

static const struct peer_channel channel = {NULL, open_envelope};

static void
set_up(void)
{
    static const struct peer_forwarded usual = {
        .caller = {.user = "eve",
                   .host = "10.9.8.7",
                   .privileges = PRIVILEGE_STATUS | PRIVILEGE_CLUSTER},
        .origin = OTHER,
        .connection_id = 99,
        .timeout_ms = 1234};

    opened = 0;
    forwarded = usual;
    harness_init(&h, 0);
    sql_session_set_channel(h.session, &channel);
}

static void
tear_down(void)
{
    harness_fini(&h);
    ck_assert_int_eq(scripted.seats, 0);
}

#define ONCE                                                                   \
    "1227/42000 Access denied; the statement was forwarded once already"

static const struct {
    enum peer_verb verb;
    const char *statement, *answer;
} cases[] = {
    {PEER_SCRIPT, "ADMIN FORWARD 'System.print(6)'", "result\n6"},
    {PEER_SCRIPT, "admin forward 'System.print(\"a\\\\nb\")';", "result\na\nb"},
    {PEER_SCRIPT, "ADMIN FORWARD 'nonsense'",
     "1064/42000 script line 1, column 1: unknown name 'nonsense'; the classes "
     "are HeapProf, CpuProf, System, ExecEnv, Jemalloc, "
     "Profile"},
    {PEER_SELECT, "ADMIN FORWARD 'SELECT connection_id() AS id'", "id\n#99"},
    {PEER_SELECT, "ADMIN FORWARD 'SELECT user() AS u'", "u\neve@10.9.8.7"},
    {PEER_SELECT, "ADMIN FORWARD 'SELECT 1 AS a UNION ALL SELECT 2'",
     "a\n#1\n#2"},
    {PEER_SELECT, "ADMIN FORWARD 'SELECT * FROM nowhere.at_all'",
     "1049/42000 Unknown database 'nowhere'"},
    {PEER_SELECT, "ADMIN FORWARD 'ADMIN EXECUTE ON 1 ''System.print(1)'''",
     ONCE},
    {PEER_SELECT, "ADMIN FORWARD 'CALL admin_execute(1, ''x'')'", ONCE},
    {PEER_SELECT, "ADMIN FORWARD 'ADMIN FORWARD ''00'''", ONCE},
    {PEER_SELECT, "ADMIN FORWARD 'SET autocommit = 0'",
     "1227/42000 Access denied; nodes forward only scripts and SELECT"},
    {PEER_SELECT, "ADMIN FORWARD 'KILL 1'",
     "1227/42000 Access denied; nodes forward only scripts and SELECT"},
    {PEER_SCRIPT, "ADMIN FORWARD 'bad'", "1045/28000 the seal is wrong"},
};

START_TEST(what_is_forwarded_runs_as_its_caller)
{
    forwarded.verb = cases[_i].verb;
    ck_assert_str_eq(harness_run(&h, cases[_i].statement), cases[_i].answer);
    ck_assert_int_eq(opened, 1);
}
END_TEST

static const char *const others[] = {
    "SELECT 1",
    "SELECT @@version_comment LIMIT 1",
    "SHOW PROCESSLIST",
    "SET autocommit = 1",
    "ADMIN EXECUTE ON 10001 'System.print(1)'",
    "CALL admin_execute(10001, 'System.print(1)')",
    "USE heapwire",
    "BEGIN",
    "KILL 1",
    "DO 1"};

START_TEST(another_nodes_session_runs_nothing_else)
{
    /* Nor what another session's plan could answer. */
    sql_session_set_channel(h.session, NULL);
    harness_run(&h, "SELECT 1");
    sql_session_set_channel(h.session, &channel);
    ck_assert_str_eq(harness_run(&h, others[_i]),
                     "1227/42000 Access denied; another node's session runs "
                     "only ADMIN FORWARD");
    ck_assert_int_eq(opened, 0);
}
END_TEST

/* Its caller's connection there has an id that one has here, too. */
START_TEST(locks_of_this_node_stay_locked)
{
    forwarded.verb = PEER_SELECT;
    forwarded.connection_id = h.session->connection_id;
    ck_assert_int_eq(user_lock_take((struct span){"l", 1}, h.session),
                     USER_LOCK_DONE);
    ck_assert_str_eq(
        harness_run(&h, "ADMIN FORWARD 'SELECT release_lock(''l'') AS l'"),
        "l\n#0");
    ck_assert_str_eq(
        harness_run(&h, "ADMIN FORWARD 'SELECT get_lock(''m'', 0) AS m'"),
        "m\n#1");
    ck_assert_uint_ne(user_lock_owner((struct span){"l", 1}), 0);
    ck_assert_uint_eq(user_lock_owner((struct span){"m", 1}), 0);
}
END_TEST

START_TEST(nothing_is_prepared)
{
    static const struct span forward = {"ADMIN FORWARD '1'", 17};
    struct sql_description description;
    struct error err;

    ck_assert_int_eq(sql_describe(h.session, forward, NULL, &description, &err),
                     -1);
    ck_assert_int_eq(err.code, ER_UNSUPPORTED_PS);
    ck_assert_int_eq(opened, 0);
}
END_TEST

START_TEST(only_nodes_forward)
{
    harness_fini(&h);
    harness_init(&h, PRIVILEGE_ALL);
    ck_assert_str_eq(harness_run(&h, "ADMIN FORWARD '00'"),
                     "1227/42000 Access denied; ADMIN FORWARD is for the other "
                     "nodes of the cluster; use ADMIN EXECUTE");
}
END_TEST

#define NEEDS(what)                                                            \
    "1227/42000 Access denied; you need (at least one of) the " what           \
    " privilege(s) for this operation"

START_TEST(the_callers_privileges_hold_here)
{
    static const char enable[] =
        "ADMIN FORWARD 'System.print(HeapProf.getInstance().enable_prof())'";

    ck_assert_str_eq(harness_run(&h, enable), NEEDS("CONTROL"));
    forwarded.caller.privileges = PRIVILEGE_STATUS | PRIVILEGE_CONTROL;
    ck_assert_str_eq(harness_run(&h, enable), NEEDS("CLUSTER"));
    forwarded.origin = HARNESS_SELF;
    ck_assert_str_eq(harness_run(&h, enable), "result\ninstance of HeapProf");
    forwarded.caller.privileges = 0;
    ck_assert_str_eq(harness_run(&h, "ADMIN FORWARD 'System.print(1)'"),
                     "result\n1");
}
END_TEST

START_TEST(what_is_left_of_the_time_holds)
{
    struct cursor *cursor = harness_open(&h, "ADMIN FORWARD 'System.print(1)'");

    ck_assert_ptr_nonnull(cursor);
    ck_assert_uint_eq(cursor->timeout_ms, 1234);
    harness_close(&h);
    forwarded.timeout_ms = 0;
    cursor = harness_open(&h, "ADMIN FORWARD 'System.print(1)'");
    ck_assert_ptr_nonnull(cursor);
    ck_assert_uint_eq(cursor->timeout_ms, 1);
    harness_close(&h);
}
END_TEST

START_TEST(a_cancelled_one_is_interrupted)
{
    struct cursor *cursor = harness_open(&h, "ADMIN FORWARD 'System.print(1)'");

    ck_assert_ptr_nonnull(cursor);
    harness_cancel(&h);
    ck_assert_int_eq(harness_finish(&h), STEP_FAIL);
    ck_assert_int_eq(h.error.code, ER_QUERY_INTERRUPTED);
    harness_close(&h);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("forward");
    TCase *tcase = tcase_create("forward");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, what_is_forwarded_runs_as_its_caller, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_loop_test(tcase, another_nodes_session_runs_nothing_else, 0,
                        sizeof(others) / sizeof(others[0]));
    tcase_add_test(tcase, locks_of_this_node_stay_locked);
    tcase_add_test(tcase, nothing_is_prepared);
    tcase_add_test(tcase, only_nodes_forward);
    tcase_add_test(tcase, the_callers_privileges_hold_here);
    tcase_add_test(tcase, what_is_left_of_the_time_holds);
    tcase_add_test(tcase, a_cancelled_one_is_interrupted);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
