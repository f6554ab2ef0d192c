/* test_http_route.c - the statement behind each target. */
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "http_request.h"
#include "http_route.h"
#include "suite.h"

static const struct {
    const char *path, *query; /* a path that has two: POST's, or "GET /…" */
    const char *statement;    /* NULL: refused */
} rows[] = {
    {"/debug/pprof/heap", "", "SELECT pprof('now')"},
    {"/debug/pprof/heap", "gc=1&node=10001", "SELECT pprof('now')"},
    {"/debug/pprof/heap", "node=7", "SELECT pprof('cluster@7')"},
    {"/debug/pprof/heap", "node=all&base=b",
     "SELECT pprof('cluster', 'cluster:b')"},
    {"/debug/pprof/heap", "snapshot=a_1&base=b", "SELECT pprof('a_1', 'b')"},
    {"/debug/pprof/heap", "seconds=30",
     "SET STATEMENT heapwire_timeout = 90 FOR "
     "SELECT pprof('now', NULL, 'seconds=30')"},
    {"/debug/pprof/heap", "node=7&snapshot=a&base=b",
     "SELECT pprof('cluster@7:a', 'cluster@7:b')"},
    {"/debug/pprof/heap", "snapshot=a&node=all", "SELECT pprof('cluster:a')"},
    {"/debug/pprof/heap", "seconds=5&node=10001",
     "SET STATEMENT heapwire_timeout = 65 FOR "
     "SELECT pprof('now', NULL, 'seconds=5')"},
    {"/debug/pprof/heap", "seconds=5&node=7", NULL},
    {"/debug/pprof/heap", "seconds=5&node=all", NULL},
    {"/debug/pprof/heap", "seconds=5&base=a", NULL},
    {"/debug/pprof/heap", "seconds=5&snapshot=a", NULL},
    {"/debug/pprof/heap", "seconds=3601", NULL},
    {"/debug/pprof/heap", "snapshot=a'b", NULL},
    {"/debug/pprof/heap", "snapshot=a%27b", NULL},
    {"/debug/pprof/heap", "snapshot=a%5c", NULL},
    {"/debug/pprof/heap", "base=A", NULL},
    {"/debug/pprof/heap", "base=x&base=y", NULL},
    {"/debug/pprof/heap", "node=4294967296", NULL},
    {"/debug/pprof/heap", "node=1%20", NULL},
    {"/debug/pprof/heap", "node=ALL", NULL},
    {"/pprof/heap", "", "SELECT raw('now')"},
    {"/pprof/heap", "node=10001", "SELECT raw('now')"},
    {"/pprof/heap", "node=7", NULL},
    {"/pprof/heap", "node=all", NULL},
    {"/pprof/symbol", "node=all", NULL},
    {"/pprof/cmdline", "node=7",
     "SELECT NULLIF(program, '') FROM heapwire.cluster_profiler "
     "WHERE node_id = 7"},
    {"/pprof/cmdline", "node=all", NULL},
    {"/readyz", "node=10001", "SELECT state FROM heapwire.profiler"},
    {"/readyz", "node=x", NULL},
    {"/profiling/enable", "",
     "ADMIN EXECUTE ON 10001 "
     "'System.print(HeapProf.getInstance().enable_prof())'"},
    {"/profiling/enable", "seconds=60&node=all",
     "ADMIN EXECUTE ON ALL "
     "'System.print(HeapProf.getInstance().enable_prof(60))'"},
    {"/profiling/enable", "seconds=86401", NULL},
    {"/profiling/enable", "seconds=-1", NULL},
    {"/profiling/disable", "node=5",
     "ADMIN EXECUTE ON 5 "
     "'System.print(HeapProf.getInstance().disable_prof())'"},
    {"GET /snapshots", "", "SELECT * FROM heapwire.snapshots"},
    {"GET /snapshots", "node=7",
     "SELECT * FROM heapwire.cluster_snapshots WHERE node_id = 7"},
    {"GET /snapshots", "node=all", "SELECT * FROM heapwire.cluster_snapshots"},
    {"/snapshots", "name=x1",
     "ADMIN EXECUTE ON 10001 "
     "'System.print(HeapProf.getInstance().snapshot(\"x1\"))'"},
    {"/snapshots", "name=x%22", NULL},
    {"/jeheap/active/true", "",
     "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()\n"
     "System.print(\"Jemalloc heap profiler started\")'"},
    {"/jeheap/dump", "",
     "SELECT dot('now') FROM heapwire.profiler "
     "WHERE COALESCE(active OR reason <> '', 1)"},
    {"/jeheap/reset/19", "",
     "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().reset(19)\n"
     "System.print(\"Jemalloc reset all memory profile statistics and update "
     "the sample rate:19\")'"},
    {"/jeheap/reset/0", "", NULL},
    {"/jeheap/reset/000000000", "", NULL},
    {"/debug/prof/mem", "", "SELECT raw('now')"},
    {"/debug/prof/mem", "output=", "SELECT raw('now')"},
    {"/debug/prof/mem", "output=text", "SELECT raw('now')"},
    {"/debug/prof/mem", "output=proto", "SELECT pprof('now')"},
    {"/debug/prof/mem", "output=flame%67raph", "SELECT flamegraph('now')"},
    {"/debug/prof/mem", "output=svg", NULL},
    {"/debug/prof/mem", "output=proto&output=proto", NULL},
    {"/debug/pprof/profile", "", "SELECT pprof('cpu:30')"},
    {"/debug/pprof/profile", "seconds=0", "SELECT pprof('cpu:30')"},
    {"/debug/pprof/profile", "seconds=5&hz=49", "SELECT pprof('cpu:5:49')"},
    {"/debug/pprof/profile", "seconds=5&frequency=99",
     "SELECT pprof('cpu:5:99')"},
    {"/debug/pprof/profile", "kind=wall", "SELECT pprof('wall:30')"},
    {"/debug/pprof/profile", "kind=cpu&hz=7", "SELECT pprof('cpu:30:7')"},
    {"/debug/pprof/profile", "kernel=1", "SELECT pprof('cpu:30:kernel')"},
    {"/debug/pprof/profile", "kernel=0&hz=7", "SELECT pprof('cpu:30:7')"},
    {"/debug/pprof/profile", "kernel=1&seconds=600&hz=1000&node=all",
     "SELECT pprof('cluster:cpu:600:1000:kernel')"},
    {"/debug/pprof/profile", "kernel=2", NULL},
    {"/debug/pprof/profile", "kernel=yes", NULL},
    {"/debug/prof/cpu", "kernel=1&output=text", "SELECT text('cpu:5:kernel')"},
    {"/debug/pprof/profile", "node=10001", "SELECT pprof('cpu:30')"},
    {"/debug/pprof/profile", "node=7&seconds=600&hz=1000",
     "SELECT pprof('cluster@7:cpu:600:1000')"},
    {"/debug/pprof/profile", "node=all", "SELECT pprof('cluster:cpu:30')"},
    {"/debug/pprof/profile", "seconds=601", NULL},
    {"/debug/pprof/profile", "seconds=-1", NULL},
    {"/debug/pprof/profile", "seconds=1.5", NULL},
    {"/debug/pprof/profile", "seconds=1&seconds=2", NULL},
    {"/debug/pprof/profile", "hz=1001", NULL},
    {"/debug/pprof/profile", "hz=x", NULL},
    {"/debug/pprof/profile", "frequency=1001", NULL},
    {"/pprof/profile", "seconds=3", "SELECT pprof('cpu:3')"},
    {"GET /pprof/profile", "type=proto", "SELECT pprof('cpu:30')"},
    {"GET /pprof/profile", "type=flamegraph&seconds=3",
     "SELECT flamegraph('cpu:3')"},
    {"GET /pprof/profile", "type=text", "SELECT text('cpu:30')"},
    {"GET /pprof/profile", "type=svg", NULL},
    {"/debug/prof/cpu", "", "SELECT pprof('cpu:5')"},
    {"/debug/prof/cpu", "seconds=10&frequency=29&output=text",
     "SELECT text('cpu:10:29')"},
    {"/debug/prof/cpu", "output=flamegraph", "SELECT flamegraph('cpu:5')"},
    {"/debug/prof/cpu", "output=proto&node=7",
     "SELECT pprof('cluster@7:cpu:5')"},
    {"/debug/prof/cpu", "output=svg", NULL},
    {"GET /snapshot/before_2/pprof/heap", "", "SELECT raw('before_2')"},
    {"/snapshot/before/pprof/symbol", "", "SELECT address_names('before')"},
    {"GET /snapshot/a/pprof/symbol", "",
     "SELECT 'num_symbols: 1\\n' FROM DUAL WHERE 'a' = 'now' OR 'a' IN (SELECT "
     "name FROM heapwire.snapshots)"},
    {"GET /snapshot/a/pprof/cmdline", "",
     "SELECT COALESCE((SELECT program FROM heapwire.snapshots WHERE "
     "name = 'a'), NULLIF(program, '')) FROM heapwire.profiler WHERE 'a' = "
     "'now' OR 'a' IN (SELECT name FROM heapwire.snapshots)"},
    {"/debug/mem/pprof/profile", "seconds=30", "SELECT raw('now')"},
    {"/debug/mem/pprof/profile", "seconds=abc", NULL},
    {"/debug/mem/pprof/profile", "seconds=-1", NULL},
    {"/debug/mem/pprof/profile", "seconds=4294967296", NULL},
};

static const struct http_route *
find(const char *path)
{
    struct http_request request = {.path = span_of(path), .query = {"", 0}};

    return http_route_find(&request, false);
}

START_TEST(a_target_is_a_statement_or_is_refused)
{
    bool get = strncmp(rows[_i].path, "GET ", 4) == 0;
    struct http_request request = {
        .path = span_of(rows[_i].path + (get ? 4 : 0)),
        .query = {rows[_i].query, strlen(rows[_i].query)}};
    const struct http_route *route = http_route_find(&request, !get);
    struct error err = {0};
    struct buffer out;

    ck_assert_ptr_nonnull(route);
    buffer_init(&out, HTTP_STATEMENT_MAX);
    if (rows[_i].statement) {
        ck_assert_int_eq(
            http_route_statement(route, &request, 10001, &out, &err), 0);
        ck_assert_str_eq(out.data, rows[_i].statement);
    } else {
        ck_assert_int_eq(
            http_route_statement(route, &request, 10001, &out, &err), -1);
        ck_assert_uint_eq(err.code, ER_WRONG_ARGUMENTS);
    }
    buffer_fini(&out);
}
END_TEST

START_TEST(paths_are_exact)
{
    static const char *const wrong[] = {
        "",
        "/metrics/",
        "/metrics1",
        "/Metrics",
        "/jeheap/reset",
        "/jeheap/reset/",
        "/jeheap/reset/-1",
        "/jeheap/reset/1x",
        "/jeheap/reset/0x1",
        "/jeheap/reset/1/2",
        "/jeheap/reset/1234567890",
        "/jeheap/active/maybe",
        "/snapshot//pprof/heap",
        "/snapshot/a/pprof/heap/",
        "/snapshot/a/pprof/growth",
        "/snapshot/a/b/pprof/heap",
        "/snapshot/a'b/pprof/heap",
        "/snapshot/a%27b/pprof/heap",
        "/snapshot/A/pprof/heap",
        "/snapshot/../pprof/heap",
        "/snapshot/*/pprof/heap",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_msg(!find(wrong[i]), "%s", wrong[i]);
    ck_assert_ptr_nonnull(find("/"));
    ck_assert_ptr_nonnull(find("/jeheap/reset/123456789"));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("http_route");
    TCase *tc = tcase_create("http_route");

    tcase_add_loop_test(tc, a_target_is_a_statement_or_is_refused, 0,
                        sizeof(rows) / sizeof(rows[0]));
    tcase_add_test(tc, paths_are_exact);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
