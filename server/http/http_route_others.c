/* http_route_others.c - see http_route.h.  The texts are those of the other
 * systems, word for word, spelling included: scripts compare them. */
#include "http_route.h"

#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "http_answer.h"
#include "http_request.h"

#define HEAPPROF "HeapProf.getInstance()."
#define FILE_OF(name)                                                          \
    "Content-Disposition: attachment; filename=\"" name "\"\r\n"

/* ---- Doris ---- */

#define DORIS_OFF                                                              \
    "Jemalloc heap profiler is not enabled, refer to the following method to " \
    "enable it."

/* Writes the statement for /jeheap/reset/N; reset() itself knows the limits of
 * N. */
static int
make_reset(const struct http_request *request, uint32_t node_id,
           struct buffer *out, struct error *err)
{
    const char *end = request->path.data + request->path.size;
    const char *digit = memrchr(request->path.data, '/', request->path.size);
    char script[192];
    uint32_t lg_sample = 0;

    while (++digit < end)
        lg_sample = 10 * lg_sample + (uint32_t)(*digit - '0');
    if (lg_sample == 0) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "Jemalloc have not reset.\nN of /jeheap/reset/N must be at "
                  "least 1: one sample stands for 2^N bytes");
        return -1;
    }
    snprintf(script, sizeof(script),
             HEAPPROF "reset(%u)\nSystem.print(\"Jemalloc reset all memory "
                      "profile statistics and update the sample rate:%u\")",
             lg_sample, lg_sample);
    return http_parameter_script(request, node_id, script, out, err);
}

/* ---- GreptimeDB ---- */

#define CPU          "seconds hz frequency kind kernel node output"
#define GREPTIME_OFF .off = "{\"error\":\"Memory profiling is not enabled\""

/* Writes the statement without ?output=, or with output=text: other values have
 * rows of their own. */
static int
make_text(const struct http_request *request, uint32_t node_id,
          struct buffer *out, struct error *err)
{
    char output[HTTP_VALUE_BYTES];

    (void)node_id;
    if (http_parameter_text(request, "output", output, err) != 0)
        return -1;
    if (*output && strcmp(output, "text") != 0) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "output= takes text, proto or flamegraph");
        return -1;
    }
    buffer_text(out, "SELECT raw('now')");
    return 0;
}

/* ---- Databend ---- */

/* Writes the statement: the heap now, whatever ?seconds= is, which jeprof
 * always sends. */
static int
make_profile_statement(const struct http_request *request, uint32_t node_id,
                       struct buffer *out, struct error *err)
{
    uint32_t seconds;

    (void)node_id;
    if (http_parameter_number(request, "seconds", UINT32_MAX, &seconds, err) !=
        0)
        return -1;
    buffer_text(out, "SELECT raw('now')");
    return 0;
}

/* ---- the paths ---- */

const struct http_route http_route_others[] = {
    {"/jeheap/active/true", .show = HTTP_SHOW_LINES, .type = HTTP_TEXT,
     .post = true, .gets = true, .off = DORIS_OFF,
     .script = HEAPPROF "enable_prof()\nSystem.print(\"Jemalloc heap profiler "
                        "started\")"},
    {"/jeheap/active/false", .show = HTTP_SHOW_LINES, .type = HTTP_TEXT,
     .post = true, .gets = true, .off = DORIS_OFF,
     .script =
         HEAPPROF "disable_prof()\nSystem.print(\"heap profiler stoped\")"},
    {"/jeheap/dump", .show = HTTP_SHOW_VALUE, .off = DORIS_OFF,
     .type = "text/vnd.graphviz; charset=utf-8", .packed = true,
     /* With a reason, or while active is NULL, dot() explains more. */
     .text = "SELECT dot('now') FROM heapwire.profiler "
             "WHERE COALESCE(active OR reason <> '', 1)",
     .hint = "POST /jeheap/active/true starts it. It samples what is "
             "allocated from then on: run the query again, then dump."},
    {"/jeheap/reset/", .show = HTTP_SHOW_LINES, .type = HTTP_TEXT, .post = true,
     .gets = true, .off = "Jemalloc have not reset.", .make = make_reset},

    {"/debug/prof/mem", "output", HTTP_TEXT, HTTP_SHOW_VALUE, .output = "text",
     .packed = true, .asks = true, .make = make_text, GREPTIME_OFF},
    {"/debug/prof/mem", "output", HTTP_BINARY, HTTP_SHOW_VALUE,
     .output = "proto", .asks = true, .text = "SELECT pprof('now')",
     GREPTIME_OFF},
    {"/debug/prof/mem", "output", "image/svg+xml", HTTP_SHOW_VALUE,
     .output = "flamegraph", .packed = true, .asks = true,
     .text = "SELECT flamegraph('now')", .more = FILE_OF("mem-prof.svg"),
     GREPTIME_OFF},
    {"/debug/prof/mem/status", .show = HTTP_SHOW_VALUE, .type = HTTP_JSON,
     .text = "SELECT CASE active WHEN 1 THEN '{\"active\": true}' "
             "WHEN 0 THEN '{\"active\": false}' END, "
             "CONCAT('the database is ', state, ': ', reason) "
             "FROM heapwire.profiler"},
    {"/debug/prof/mem/activate", .show = HTTP_SHOW_LINES, .type = HTTP_TEXT,
     .post = true, .gets = true, GREPTIME_OFF,
     .script =
         HEAPPROF "enable_prof()\nSystem.print(\"Heap profiling activated\")"},
    {"/debug/prof/mem/deactivate", .show = HTTP_SHOW_LINES, .type = HTTP_TEXT,
     .post = true, .gets = true, GREPTIME_OFF,
     .script = HEAPPROF
     "disable_prof()\nSystem.print(\"Heap profiling deactivated\")"},
    {"/debug/prof/cpu", CPU, HTTP_BINARY, HTTP_SHOW_VALUE, .output = "proto",
     .asks = true, .form = "pprof", .seconds = 5},
    {"/debug/prof/cpu", CPU, "image/svg+xml", HTTP_SHOW_VALUE,
     .output = "flamegraph", .packed = true, .asks = true, .form = "flamegraph",
     .seconds = 5, .more = FILE_OF("cpu-prof.svg")},
    {"/debug/prof/cpu", CPU, HTTP_TEXT, HTTP_SHOW_VALUE, .output = "text",
     .packed = true, .asks = true, .form = "text", .seconds = 5},
    {"/v1/prof/mem", .show = HTTP_SHOW_VALUE, .type = HTTP_TEXT, .packed = true,
     .text = "SELECT raw('now')", GREPTIME_OFF},

    {"/debug/mem/pprof/profile", "seconds", HTTP_BINARY, HTTP_SHOW_VALUE,
     .make = make_profile_statement, .more = FILE_OF("mem.prof"),
     .off = "opt.prof is not ON, please start the application with proper "
            "MALLOC env. e.g. MALLOC_CONF=prof:true"},
};

const size_t http_route_others_count =
    sizeof(http_route_others) / sizeof(http_route_others[0]);
