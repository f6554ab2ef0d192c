/* test_http_route.c - the statement behind each target. */
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "http_request.h"
#include "http_route.h"
#include "suite.h"

static const struct {
    const char *path, *query;
    const char *statement; /* NULL: refused */
} rows[] = {
    {"/debug/pprof/heap", "", "SELECT pprof('now')"},
    {"/debug/pprof/heap", "gc=1&node=10001", "SELECT pprof('now')"},
    {"/debug/pprof/heap", "node=7", "SELECT pprof('cluster@7')"},
    {"/debug/pprof/heap", "node=all&base=b", "SELECT pprof('cluster', 'b')"},
    {"/debug/pprof/heap", "snapshot=a_1&base=b",
     "SELECT pprof('a_1', 'b') FROM heapwire.snapshots WHERE name = 'a_1'"},
    {"/debug/pprof/heap", "seconds=30",
     "SET STATEMENT heapwire_timeout = 90 FOR "
     "SELECT pprof('now', NULL, 'seconds=30')"},
    {"/debug/pprof/heap", "seconds=30&node=10001&base=",
     "SET STATEMENT heapwire_timeout = 90 FOR "
     "SELECT pprof('now', NULL, 'seconds=30')"},
    {"/debug/pprof/heap", "seconds=30&node=7", NULL},
    {"/debug/pprof/heap", "seconds=30&node=all", NULL},
    {"/debug/pprof/heap", "seconds=30&base=b", NULL},
    {"/debug/pprof/heap", "seconds=30&snapshot=a", NULL},
    {"/debug/pprof/heap", "snapshot=a&node=7", NULL},
    {"/debug/pprof/heap", "snapshot=a&node=all", NULL},
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
    {"/snapshots", "name=x1",
     "ADMIN EXECUTE ON 10001 "
     "'System.print(HeapProf.getInstance().snapshot(\"x1\"))'"},
    {"/snapshots", "name=x%22", NULL},
};

START_TEST(a_target_is_a_statement_or_is_refused)
{
    struct span path = {rows[_i].path, strlen(rows[_i].path)};
    struct http_request request = {
        .query = {rows[_i].query, strlen(rows[_i].query)}};
    const struct http_route *route = http_route_find(path);
    struct error err = {0};
    struct buffer out;

    ck_assert_ptr_nonnull(route);
    buffer_init(&out, HTTP_STATEMENT_MAX);
    if (rows[_i].statement) {
        ck_assert_int_eq(route->make(&request, 10001, &out, &err), 0);
        ck_assert_str_eq(out.data, rows[_i].statement);
    } else {
        ck_assert_int_eq(route->make(&request, 10001, &out, &err), -1);
        ck_assert_uint_eq(err.code, ER_WRONG_ARGUMENTS);
    }
    buffer_fini(&out);
}
END_TEST

START_TEST(paths_are_exact)
{
    ck_assert_ptr_null(http_route_find((struct span){"", 0}));
    ck_assert_ptr_null(http_route_find((struct span){"/metrics/", 9}));
    ck_assert_ptr_null(http_route_find((struct span){"/Metrics", 8}));
    ck_assert_ptr_nonnull(http_route_find((struct span){"/", 1}));
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
