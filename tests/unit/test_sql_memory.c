/*
 * test_sql_memory.c - out of memory answers the client, wherever it strikes.
 *
 * Every allocation of a statement fails in turn: through mem_alloc and its
 * kin, which the linker wraps here, and through SQLite's.
 */
#include <string.h>

#include <sqlite3.h>

#include "fake_peers.h"
#include "profile_fixture.h"
#include "scripted_controller.h"
#include "select_handle.h"
#include "select_plan.h"
#include "snapshot.h"
#include "sql_harness.h"
#include "suite.h"

/* Allocations until one fails; negative: none does. */
static long left = -1;
static sqlite3_mem_methods sqlite;

void *__real_mem_alloc(size_t size);
void *__real_mem_zalloc(size_t count, size_t size);
void *__real_mem_realloc(void *old, size_t size);
void *__wrap_mem_alloc(size_t size);
void *__wrap_mem_zalloc(size_t count, size_t size);
void *__wrap_mem_realloc(void *old, size_t size);

static bool
fails(void)
{
    return left >= 0 && left-- == 0;
}

void *
__wrap_mem_alloc(size_t size)
{
    return fails() ? NULL : __real_mem_alloc(size);
}

void *
__wrap_mem_zalloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_mem_zalloc(count, size);
}

void *
__wrap_mem_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_mem_realloc(old, size);
}

static void *
failing_malloc(int size)
{
    return fails() ? NULL : sqlite.xMalloc(size);
}

static void *
failing_realloc(void *old, int size)
{
    return fails() ? NULL : sqlite.xRealloc(old, size);
}

static void
wrap_sqlite(void)
{
    sqlite3_mem_methods mine;

    if (sqlite.xMalloc)
        return;
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite), 0);
    mine = sqlite;
    mine.xMalloc = failing_malloc;
    mine.xRealloc = failing_realloc;
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_MALLOC, &mine), 0);
}

static const char change[] =
    "ADMIN EXECUTE ON 10001 'var p = HeapProf.getInstance()\n"
    "System.print(p.enable_prof())\nSystem.print(\"a\" + \"b\")'";
static const char joined[] =
    "SELECT s.bytes, f.function, s.folded FROM heapwire.heap_stacks s JOIN "
    "heapwire.heap_frames f USING (snapshot, stack) WHERE snapshot = 'heap_k' "
    "ORDER BY f.function DESC";

static const char chain[] =
    "ADMIN EXECUTE ON 10001 'var h = HeapProf.getInstance()\n"
    "var p = Profile.of(\"heap_k\").focus(\"a|b\").by(\"inuse_objects\")\n"
    "System.print(p.dot())\nSystem.print(h.describe(\"heap_k\"))\n"
    "System.print(p.base(\"heap_k\").text() + h.snapshots())'";

static const char *const statements[] = {
    change,
    chain,
    "ADMIN EXECUTE ON 5, 10001 'System.print(\"a\\\\tb\")'",
    "ADMIN EXECUTE ON ALL 'Foo.bar()'",
    "SHOW BACKENDS",
    "SHOW TABLES FROM `heapwire` LIKE 'n%'",
    "SHOW PROCESSLIST",
    "SHOW FULL TABLES FROM heapwire WHERE Tables_in_heapwire = 'nodes'",
    "SHOW CREATE TABLE heapwire.nodes",
    "SHOW CREATE DATABASE heapwire",
    "SHOW TABLE STATUS FROM heapwire LIKE 'n%'",
    "SHOW GRANTS",
    "CHECK TABLE heapwire.nodes, heapwire.sessions",
    "SHOW COLLATION LIKE 'utf8%'",
    "DESCRIBE heapwire.nodes 'p%'",
    "EXPLAIN SELECT * FROM heapwire.nodes n, heapwire.sessions s",
    "KILL QUERY connection_id()",
    "SELECT count(*) FROM information_schema.schemata",
    "SHOW STATUS LIKE 'Q%'",
    "SHOW VARIABLES WHERE Variable_name = 'sql_mode'",
    "SET NAMES utf8mb4, @a = 'x', autocommit = 0",
    "SET sql_mode = CONCAT(@@sql_mode, ',X')",
    "USE heapwire",
    "KILL QUERY 7",
    "DO 1",
    "SELECT @@version_comment, 'a\\'b', `x` FROM (SELECT 1 `x`) t LIMIT 1",
    "SELECT CONCAT('a', 'b'), VERSION(), USER()",
    "SELECT * FROM heapwire.sessions ORDER BY id DESC",
    "WITH c(n) AS (SELECT 1) SELECT t.*, CASE WHEN 1 THEN `n` END FROM c t",
    "SELECT 1 +",
    /* the node's answer, and a snapshot that is kept */
    "SELECT count(*) FROM heapwire.heap_functions WHERE snapshot = 'heap_k'",
    joined,
    "SELECT function FROM heapwire.heap_functions",
    "SELECT name, bytes FROM heapwire.snapshots",
};

static const char *const among_peers[] = {
    "ADMIN EXECUTE ON 10002 'System.print(1)'",
    "ADMIN EXECUTE ON 10003, 10002, 7 'System.print(1)'",
    "ADMIN EXECUTE /*+ heapwire_timeout(5) */ ON ALL 'System.print(1)'",
    "SELECT id, alive, last_error FROM heapwire.nodes",
    "SHOW BACKENDS",
    "SHOW COMPUTE NODES",
};

static const struct fixture_name functions[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "alpha()", false, NULL, 0},
    {0x3001, "Callback::Run()", false, NULL, 0},
    {0}};

/* Of one that does not count among the allocations that fail. */
static struct profile *
make_profile(void)
{
    long before = left;
    struct profile *profile;

    left = -1;
    profile = fixture_profile("heap_v2/1\n"
                              "@ 0x1000 0x2001 0x3001\nt*: 1: 100 [0: 0]\n"
                              "@ 0x1000 0x3001\nt*: 2: 300 [0: 0]\n",
                              functions, NULL);
    left = before;
    return profile;
}

/* As harness_pull, without allocating. */
static void
step_to_the_end(struct harness *h)
{
    static struct value values[32 * CURSOR_BATCH];
    struct rows rows = {values, 0, CURSOR_BATCH};
    enum step step = STEP_MORE;

    ck_assert_uint_le(h->cursor->column_count, 32);
    while (step == STEP_MORE) {
        rows.count = 0;
        step = h->cursor->ops->step(h->cursor, &rows, &h->error);
    }
    ck_assert(step == STEP_DONE || step == STEP_FAIL);
    ck_assert((step == STEP_FAIL) == (h->error.code != 0));
    harness_close(h);
}

static struct harness h;

/* Two other nodes, one of which fails. */
static void
add_peers(void)
{
    fake_peers_reset();
    fake_peers_add(10001, PEER_BACKEND)->rows = "one";
    fake_peers_add(10002, PEER_BACKEND)->rows =
        "connected|2026-11-20 01:02:03|active|";
    *fake_peers_add(10003, PEER_BACKEND) = (struct fake_node){
        .row.id = 10003, .error = ER_UNKNOWN, .why = "timeout after 2s"};
    h.node.peers = &fake_peers.peers;
}

/* The answer without faults, then with the n-th allocation failing, for every
 * n that there is: an error, or the very same answer. */
static void
strike(const char *statement)
{
    struct buffer expected;
    bool struck = true;
    const char *answer;

    scripted.profile = make_profile;
    scripted_keep("heap_k");
    buffer_init(&expected, 1 << 20);
    buffer_text(&expected, harness_run(&h, statement));
    for (long n = 0; struck; n++) {
        ck_assert_int_lt(n, 100000);
        sql_session_reset(h.session);
        handle_forget();
        select_plan_forget();
        left = n;
        if (harness_open(&h, statement))
            step_to_the_end(&h);
        struck = left < 0;
        left = -1;
        if (h.error.code)
            ck_assert_uint_ge(h.error.code, 1000);
        ck_assert_int_eq(scripted.tickets, 0);
    }
    sql_session_reset(h.session);
    answer = harness_run(&h, statement);
    ck_assert_str_eq(answer, expected.data);
    buffer_fini(&expected);
}

static void
set_up(void)
{
    wrap_sqlite();
    harness_init(&h, PRIVILEGE_ALL);
}

static void
tear_down(void)
{
    harness_fini(&h);
}

START_TEST(any_allocation_may_fail)
{
    strike(statements[_i]);
}
END_TEST

START_TEST(any_allocation_may_fail_among_peers)
{
    add_peers();
    strike(among_peers[_i]);
    ck_assert_uint_gt(fake_peers.asked, 0);
    ck_assert_uint_eq(fake_peers.asked, fake_peers.released);
    fake_peers_fini();
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("sql_memory");
    TCase *tc = tcase_create("sql_memory");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, any_allocation_may_fail, 0,
                        sizeof(statements) / sizeof(statements[0]));
    tcase_add_loop_test(tc, any_allocation_may_fail_among_peers, 0,
                        sizeof(among_peers) / sizeof(among_peers[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
