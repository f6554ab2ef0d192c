/*
 * test_sql_memory.c - out of memory answers the client, wherever it strikes.
 *
 * Every allocation of a statement fails in turn: through mem_alloc and its
 * kin, which the linker wraps here, and through SQLite's; also those of the
 * statements that it has other nodes run.
 */
#include <string.h>

#include <sqlite3.h>

#include "failing_memory.h"
#include "fake_peers.h"
#include "handle_pool.h"
#include "profile_fixture.h"
#include "scripted_controller.h"
#include "select_query.h"
#include "snapshot.h"
#include "sql_harness.h"
#include "stats.h"
#include "suite.h"
#include "view_cache.h"

static sqlite3_mem_methods sqlite;

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
    "SELECT * FROM heapwire.memory",
    "SELECT * FROM heapwire.profiler",
    "SELECT * FROM heapwire.malloc_stats",
    "SELECT * FROM heapwire.settings s JOIN heapwire.users u",
    "SELECT * FROM heapwire.audit_log",
    "SELECT * FROM heapwire.heap_stacks WHERE snapshot = 'heap_k'",
    "SELECT dot('heap_k'), flamegraph('heap_k'), text('heap_k', 'heap_j')",
    "SELECT export('heap_k')",
    "SELECT dot('now'), sleep(0.001)",
    "SELECT get_lock('l', 1), release_all_locks()",
    "SELECT json_contains_path('{\"a\": 1}', 'one', '$.a')",
    "SET @a = sleep(0.001) + get_lock('l', 1)",
};

static const char *const among_peers[] = {
    "ADMIN EXECUTE ON 10002 'System.print(1)'",
    "ADMIN EXECUTE ON 10003, 10002, 7 'System.print(1)'",
    "ADMIN EXECUTE /*+ heapwire_timeout(5) */ ON ALL 'System.print(1)'",
    "SELECT id, alive, last_error FROM heapwire.nodes",
    "SHOW BACKENDS",
    "SHOW COMPUTE NODES",
    "ADMIN EXECUTE ON 10002 'System.print(HeapProf.getInstance()"
    ".dump_dot_snapshot())'",
    "ADMIN EXECUTE ON ALL 'System.print(Profile.of(\"heap_k\").text())'",
    "ADMIN EXECUTE ON 10001, 7 'System.print(Profile.of(\"no\").text())'",
    "SELECT node_id, allocated, note FROM heapwire.cluster_memory",
    "SELECT * FROM heapwire.cluster_profiler WHERE node_id IN (10001, 10003)",
    "SELECT node_id, name, bytes FROM heapwire.cluster_snapshots",
    "SELECT node_id, function, flat_bytes FROM heapwire.cluster_heap_functions "
    "WHERE snapshot = 'heap_k' ORDER BY flat_bytes",
    "SELECT count(*) FROM heapwire.cluster_heap_functions",
    "SELECT m.node_id, m.rss, s.name FROM heapwire.cluster_memory m LEFT "
    "JOIN heapwire.cluster_snapshots s USING (node_id)",
    "SELECT dot('cluster')",
    "SELECT collapsed('cluster_by_node@10001,10002:heap_k')",
    "SELECT text('cluster:heap_k', 'cluster:heap_j')",
    "SELECT function, flat_bytes FROM heapwire.heap_functions WHERE snapshot = "
    "'cluster_by_node:heap_k'",
};

static const struct fixture_name functions[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "alpha()", false, NULL, 0},
    {0x3001, "Callback::Run()", false, NULL, 0},
    {0}};

static struct harness h;

/* Allocations of the test itself are not among those that fail. */
static struct profile *
make_profile(void)
{
    unsigned count = allocations, nth = failing;
    struct profile *profile;

    failing = 0;
    profile = fixture_profile("heap_v2/1\n"
                              "@ 0x1000 0x2001 0x3001\nt*: 1: 100 [0: 0]\n"
                              "@ 0x1000 0x3001\nt*: 2: 300 [0: 0]\n",
                              functions, NULL);
    allocations = count;
    failing = nth;
    return profile;
}

static struct stats *
make_stats(void)
{
    static const char text[] = "stats.allocated 1048576\n";
    unsigned count = allocations, nth = failing;
    struct stats *stats;
    struct error unlikely;

    failing = 0;
    stats = stats_parse(text, sizeof(text) - 1, &unlikely);
    allocations = count;
    failing = nth;
    return stats;
}

static void
add_rows(const struct rows *rows)
{
    unsigned count = allocations, nth = failing;

    failing = 0;
    harness_add_rows(&h, rows);
    allocations = count;
    failing = nth;
}

/* Does what harness_pull does, without allocating. */
static void
step_to_the_end(void)
{
    static struct value values[32 * CURSOR_BATCH];
    struct rows rows = {values, 0, CURSOR_BATCH};
    enum step step = STEP_MORE;

    ck_assert_uint_le(h.cursor->column_count, 32);
    while (step == STEP_MORE) {
        rows.count = 0;
        step = h.cursor->ops->step(h.cursor, &rows, &h.error);
        if (step != STEP_FAIL)
            add_rows(&rows);
    }
    ck_assert(step == STEP_DONE || step == STEP_FAIL);
    ck_assert((step == STEP_FAIL) == (h.error.code != 0));
    harness_close(&h);
}

/* Two that answer as this node does, and some that fail and say much. */
static void
add_peers(void)
{
    static char why[400];

    memset(why, 'x', sizeof(why) - 1);
    fake_peers_reset();
    fake_peers_add(10001, PEER_BACKEND)->row.self = true;
    fake_peers_add(10002, PEER_BACKEND);
    fake_peers.nodes[0].real = fake_peers.nodes[1].real = &h.alone;
    for (uint64_t id = 10003; id < 10006; id++) {
        struct fake_node *node = fake_peers_add(id, PEER_COMPUTE_NODE);

        node->rows = NULL;
        node->error = ER_UNKNOWN;
        node->why = why;
    }
    h.node.peers = &fake_peers.peers;
}

/* Plans and statements that are kept from one run to the next would not be
 * allocated again. */
static void
forget(void)
{
    sql_session_reset(h.session);
    handle_drop_statements();
    select_plan_clear();
    view_cache_stop(h.node.views);
    h.node.views = view_cache_start(scripted.store, 0, &h.error);
    ck_assert_ptr_nonnull(h.node.views);
}

/* A moment is not the same at the next run. */
static void
hide_times(char *text)
{
    static const char form[] = "0000-00-00 00:00:00";
    size_t i = 0;

    for (; *text; text++) {
        bool fits =
            form[i] == '0' ? *text >= '0' && *text <= '9' : *text == form[i];

        i = fits ? i + 1 : 0;
        if (!form[i]) {
            memcpy(text + 1 - i, form, i);
            i = 0;
        }
    }
}

static const char *
rows_of(char *answer)
{
    char *rows = strchr(answer, '\n');

    if (!rows)
        return "";
    hide_times(rows);
    return rows;
}

static void
run_failing(const char *statement, unsigned nth)
{
    buffer_clear(&h.answer);
    allocations = 0;
    failing = nth;
    if (harness_open(&h, statement))
        step_to_the_end();
    failing = 0;
    buffer_char(&h.answer, '\0');
    ck_assert(!h.answer.failed);
}

/* A warning, or the row itself, says what is missing. */
static bool
tells(unsigned warned)
{
    return sql_session_warnings(h.session) > warned ||
           strcasestr(h.answer.data, "out of memory");
}

/* Run without faults, then with the n-th allocation failing, for every n that
 * there is: an error, or all rows, or what says that some are missing. */
static void
strike(const char *statement)
{
    struct buffer expected;
    unsigned warned;

    scripted.profile = make_profile;
    scripted.stats = make_stats;
    scripted_keep("heap_j");
    scripted_keep("heap_k");
    buffer_init(&expected, 1 << 20);
    buffer_text(&expected, harness_run(&h, statement));
    ck_assert_msg(h.error.code == 0 || h.error.code == ER_PARSE, "%s",
                  expected.data);
    warned = sql_session_warnings(h.session);
    for (unsigned n = 1; allocations >= n - 1; n++) {
        ck_assert_uint_lt(n, 100000);
        forget();
        run_failing(statement, n);
        ck_assert_int_eq(scripted.seats, 0);
        if (h.error.code)
            ck_assert_uint_ge(h.error.code, 1000);
        else if (!tells(warned))
            ck_assert_msg(
                strcmp(rows_of(h.answer.data), rows_of(expected.data)) == 0,
                "%u of %u: %s\ninstead of %s", n, allocations, h.answer.data,
                expected.data);
    }
    forget();
    ck_assert_str_eq(rows_of((char *)harness_run(&h, statement)),
                     rows_of(expected.data));
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
