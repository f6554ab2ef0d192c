/*
 * http_route.c - see http_route.h.
 *
 * What a path does is a row of a table: a form of answer and either a fixed
 * text, a statement with * for a name, a script, or a function that writes the
 * statement.  Functions get parameters that http_parameter.c has checked.  The
 * statement then runs with the privileges of whoever asks, so a path needs no
 * checks of its own.
 */
#include "http_route.h"

#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "ascii.h"
#include "errors.h"
#include "http_answer.h"
#include "http_metrics.h"
#include "http_request.h"
#include "observe.h"
#include "page_files.h"

enum {
    DIGITS_MAX = 9,
    SECONDS_MAX = 24 * 3600,
    DELTA_MAX = 3600,
    DELTA_MORE_S = 60 /* added for taking and drawing both profiles */
};

/* Adds the source as views name it.  kept: a snapshot's name; "" is now. */
static void
add_source_name(struct buffer *out, int which, uint32_t id, const char *kept)
{
    if (which == HTTP_THIS_NODE) {
        buffer_format(out, "'%s'", *kept ? kept : "now");
        return;
    }
    buffer_text(out, "'cluster");
    if (which == HTTP_ONE_NODE)
        buffer_format(out, "@%u", id);
    buffer_format(out, "%s%s'", *kept ? ":" : "", kept);
}

/* Writes SELECT FORM(source[, base]); with ?seconds= what grows within them. */
static int
make_view(const char *form, const struct http_request *request,
          uint32_t node_id, struct buffer *out, struct error *err)
{
    char kept[HTTP_VALUE_BYTES], base[HTTP_VALUE_BYTES];
    uint32_t seconds, id;
    int which = http_parameter_node(request, node_id, &id, err);

    if (which < 0 || http_parameter_name(request, "snapshot", kept, err) != 0 ||
        http_parameter_name(request, "base", base, err) != 0 ||
        http_parameter_number(request, "seconds", DELTA_MAX, &seconds, err) !=
            0)
        return -1;
    if (seconds > 0 && (which != HTTP_THIS_NODE || *kept || *base)) {
        error_set(
            err, ER_WRONG_ARGUMENTS,
            "seconds= shows what grows on this node from now on, without "
            "snapshot=, base= and node=: ask that node's own HTTP listener");
        return -1;
    }
    if (seconds > 0)
        buffer_format(out, "SET STATEMENT heapwire_timeout = %u FOR ",
                      seconds + DELTA_MORE_S);
    buffer_format(out, "SELECT %s(", form);
    add_source_name(out, which, id, kept);
    if (*base) {
        buffer_text(out, ", ");
        add_source_name(out, which, id, base);
    }
    if (seconds > 0)
        buffer_format(out, ", NULL, 'seconds=%u'", seconds);
    buffer_text(out, ")");
    return 0;
}

static int
make_pprof(const struct http_request *request, uint32_t node_id,
           struct buffer *out, struct error *err)
{
    return make_view("pprof", request, node_id, out, err);
}

/* Reads ?kind=, ?seconds=, ?kernel=1 and ?hz=, which Rust's pprof calls
 * ?frequency=. */
static int
make_cpu(const struct http_route *route, const struct http_request *request,
         uint32_t node_id, struct buffer *out, struct error *err)
{
    char chosen[HTTP_VALUE_BYTES], kind[HTTP_VALUE_BYTES];
    char name[sizeof("wall:4294967295:4294967295:kernel")], rate[16] = "";
    const char *by = route->by ? route->by : "output";
    uint32_t seconds, hz, frequency, kernel, id;
    int which = http_parameter_node(request, node_id, &id, err);
    bool wall;

    if (which < 0 ||
        http_parameter_number(request, "seconds", OBSERVE_SECONDS_MAX, &seconds,
                              err) != 0 ||
        http_parameter_number(request, "hz", OBSERVE_HZ_MAX, &hz, err) != 0 ||
        http_parameter_number(request, "frequency", OBSERVE_HZ_MAX, &frequency,
                              err) != 0 ||
        http_parameter_number(request, "kernel", 1, &kernel, err) != 0 ||
        http_parameter_text(request, "kind", kind, err) != 0 ||
        http_parameter_text(request, by, chosen, err) != 0)
        return -1;
    wall = strcmp(kind, "wall") == 0;
    if (*kind && !wall && strcmp(kind, "cpu") != 0)
        return http_parameter_wrong(err, "kind", "cpu or wall");
    if (*chosen && (!route->output || strcmp(chosen, route->output) != 0))
        return http_parameter_wrong(err, by, "proto, flamegraph or text");
    hz = hz ? hz : frequency;
    if (hz > 0)
        snprintf(rate, sizeof(rate), ":%u", hz);
    /* 0 stands for no number, as in Go: then the path's own holds. */
    snprintf(name, sizeof(name), "%s:%u%s%s", wall ? "wall" : "cpu",
             seconds ? seconds : route->seconds, rate, kernel ? ":kernel" : "");
    buffer_format(out, "SELECT %s(", route->form);
    add_source_name(out, which, id, name);
    buffer_text(out, ")");
    return 0;
}

/* Checks that this node is meant: names for jemalloc's text are asked of the
 * node that is connected to, so the addresses must be its own. */
static int
make_own(const struct http_request *request, uint32_t node_id,
         struct error *err)
{
    uint32_t id;
    int which = http_parameter_node(request, node_id, &id, err);

    if (which == HTTP_ALL_NODES)
        error_set(err, ER_WRONG_ARGUMENTS,
                  "there is no sum of nodes in jemalloc's text, whose "
                  "addresses are those of one process: "
                  "/debug/pprof/heap?node=all has one");
    else if (which == HTTP_ONE_NODE)
        error_set(
            err, ER_WRONG_ARGUMENTS,
            "jemalloc's text and its names come from the node itself: "
            "ask node %u's own HTTP listener, or /debug/pprof/heap?node=%u",
            id, id);
    return which == HTTP_THIS_NODE ? 0 : -1;
}

static int
make_raw(const struct http_request *request, uint32_t node_id,
         struct buffer *out, struct error *err)
{
    if (make_own(request, node_id, err) != 0)
        return -1;
    return make_view("raw", request, node_id, out, err);
}

static int
make_symbol(const struct http_request *request, uint32_t node_id,
            struct buffer *out, struct error *err)
{
    if (make_own(request, node_id, err) != 0)
        return -1;
    buffer_text(out, "SELECT address_names('now')");
    return 0;
}

static int
make_program(const struct http_request *request, uint32_t node_id,
             struct buffer *out, struct error *err)
{
    uint32_t id;
    int which = http_parameter_node(request, node_id, &id, err);

    if (which == HTTP_ALL_NODES)
        return http_parameter_wrong(err, "node",
                                    "one node's id here: each has its own");
    if (which == HTTP_THIS_NODE)
        buffer_text(out, "SELECT NULLIF(program, '') FROM heapwire.profiler");
    else if (which == HTTP_ONE_NODE)
        buffer_format(out,
                      "SELECT NULLIF(program, '') FROM "
                      "heapwire.cluster_profiler "
                      "WHERE node_id = %u",
                      id);
    return which < 0 ? -1 : 0;
}

/* With node=all, shows the first node that is not ready. */
static int
make_ready(const struct http_request *request, uint32_t node_id,
           struct buffer *out, struct error *err)
{
    uint32_t id;
    int which = http_parameter_node(request, node_id, &id, err);

    if (which == HTTP_THIS_NODE)
        buffer_text(out, "SELECT state FROM heapwire.profiler");
    else if (which == HTTP_ONE_NODE)
        buffer_format(out,
                      "SELECT COALESCE((SELECT state FROM "
                      "heapwire.cluster_profiler WHERE node_id = %u), "
                      "'not known: node %u does not answer')",
                      id, id);
    else if (which == HTTP_ALL_NODES)
        buffer_text(out, "SELECT COALESCE(CONCAT(p.state, "
                         "IF(p.state = 'connected', '', CONCAT(' on node ', "
                         "n.id))), CONCAT('not known: node ', n.id, "
                         "' does not answer')) FROM heapwire.nodes n "
                         "LEFT JOIN heapwire.cluster_profiler p "
                         "ON p.node_id = n.id "
                         "ORDER BY p.state = 'connected', n.id LIMIT 1");
    return which < 0 ? -1 : 0;
}

static int
make_snapshots(const struct http_request *request, uint32_t node_id,
               struct buffer *out, struct error *err)
{
    uint32_t id;
    int which = http_parameter_node(request, node_id, &id, err);

    buffer_format(out, "SELECT * FROM heapwire.%ssnapshots",
                  which == HTTP_THIS_NODE ? "" : "cluster_");
    if (which == HTTP_ONE_NODE)
        buffer_format(out, " WHERE node_id = %u", id);
    return which < 0 ? -1 : 0;
}

/* The body is the statement; it may be any that the account may run. */
static int
make_sql(const struct http_request *request, uint32_t node_id,
         struct buffer *out, struct error *err)
{
    (void)node_id;
    if (request->body.size > 0) {
        buffer_add(out, request->body.data, request->body.size);
        return 0;
    }
    error_set(err, ER_WRONG_ARGUMENTS, "the body must be a statement");
    return -1;
}

static int
make_metrics(const struct http_request *request, uint32_t node_id,
             struct buffer *out, struct error *err)
{
    char node[16] = "";
    uint32_t id;
    int which = http_parameter_node(request, node_id, &id, err);

    if (which == HTTP_ONE_NODE)
        snprintf(node, sizeof(node), "%u", id);
    http_metrics_statement(which == HTTP_ALL_NODES ? "all" : node, out);
    return which < 0 ? -1 : 0;
}

/* ---- what changes something ---- */

static int
make_enable(const struct http_request *request, uint32_t node_id,
            struct buffer *out, struct error *err)
{
    char script[96] = "System.print(HeapProf.getInstance().enable_prof())";
    uint32_t seconds;

    if (http_parameter_number(request, "seconds", SECONDS_MAX, &seconds, err) !=
        0)
        return -1;
    if (seconds > 0)
        snprintf(script, sizeof(script),
                 "System.print(HeapProf.getInstance().enable_prof(%u))",
                 seconds);
    return http_parameter_script(request, node_id, script, out, err);
}

static int
make_snapshot_statement(const struct http_request *request, uint32_t node_id,
                        struct buffer *out, struct error *err)
{
    char name[HTTP_VALUE_BYTES], script[HTTP_VALUE_BYTES + 64];

    if (http_parameter_name(request, "name", name, err) != 0)
        return -1;
    snprintf(script, sizeof(script),
             "System.print(HeapProf.getInstance().snapshot(%s%s%s))",
             *name ? "\"" : "", name, *name ? "\"" : "");
    return http_parameter_script(request, node_id, script, out, err);
}

/* ---- the paths ---- */

#define PPROF "snapshot base node seconds gc debug"
#define CPU   "seconds hz frequency kind kernel node type"
#define PROGRAM                                                                \
    "node", .show = HTTP_SHOW_VALUE, .type = HTTP_TEXT, .make = make_program
#define SYMBOL                                                                 \
    .show = HTTP_SHOW_VALUE, .type = HTTP_TEXT, .packed = true, .asks = true,  \
    .answer = "num_symbols: 1\n" /* says that there are names */
/* 'now' is no snapshot, but a name that views take. */
#define IS_KEPT "'*' = 'now' OR '*' IN (SELECT name FROM heapwire.snapshots)"

static const char index_text[] =
    "heapwire, the HTTP interface of this node\n"
    "\n"
    "/                    the page, for browsers\n"
    "/debug/pprof/heap    go tool pprof; ?seconds= ?snapshot= ?base= ?node=\n"
    "/debug/pprof/allocs  the same\n"
    "/debug/pprof/threads the stacks of all threads, as text; ?node=\n"
    "/debug/pprof/profile the processor's time, of 30 s unless ?seconds= says\n"
    "                     otherwise (0: as in Go, 30); ?hz= (99) ?node=\n"
    "                     the clock's, for what waits: ?kind=wall, ?hz= (20)\n"
    "                     with the kernel's functions: ?kernel=1\n"
    "/debug/pprof/cmdline /debug/pprof/symbol\n"
    "/pprof/profile       as that; ?type=proto, flamegraph or text\n"
    "/pprof/heap          jeprof, which asks /pprof/symbol and /pprof/cmdline\n"
    "/snapshot/NAME/pprof/heap\n"
    "                     jeprof, of a kept snapshot\n"
    "/metrics             Prometheus; ?node=\n"
    "/reference           statements, tables, functions\n"
    "/healthz             heapwired is there\n"
    "/readyz              and so is the database; ?node=\n"
    "/snapshots           those that are kept, as JSON; ?node=\n"
    "/jeheap/dump /debug/prof/mem /debug/prof/cpu /v1/prof/mem\n"
    "/debug/mem/pprof/profile\n"
    "                     as Doris, GreptimeDB (cpu: 5 s) and Databend have "
    "them\n"
    "\n"
    "By POST, with the header 'X-Heapwire: 1':\n"
    "/profiling/enable    ?seconds= ?node=\n"
    "/profiling/disable   ?node=\n"
    "/snapshots           ?name= ?node=\n"
    "/sql                 a statement as the body: its rows as JSON\n"
    "/value               the same: the only value of its only row\n";

static const char pprof_text[] =
    "/debug/pprof/heap    what is in use; ?seconds= ?snapshot= ?base= ?node=\n"
    "/debug/pprof/allocs  the same\n"
    "/debug/pprof/threads the stacks of all threads, as text; ?node=\n"
    "/debug/pprof/profile the processor's time, of 30 s unless ?seconds= says\n"
    "                     otherwise (0: as in Go, 30); ?hz= (99) ?node=\n"
    "                     the clock's, for what waits: ?kind=wall, ?hz= (20)\n"
    "                     with the kernel's functions: ?kernel=1\n"
    "/debug/pprof/cmdline\n"
    "/debug/pprof/symbol\n"
    "/help lists the other paths\n";

static const char growth_text[] =
    "jemalloc keeps no profile of growth: jeprof --raw of two of /pprof/heap "
    "or "
    "/snapshot/NAME/pprof/heap gives files for jeprof --base; or ask "
    "/debug/pprof/heap?base=NAME of a kept snapshot\n";

static const struct http_route routes[] = {
    {"/", .type = "text/html; charset=utf-8", .packed = true, .page = true,
     .text = page_html},
    {"/page.css", .type = "text/css; charset=utf-8", .packed = true,
     .page = true, .text = page_css},
    {"/page.js", .type = "text/javascript; charset=utf-8", .packed = true,
     .page = true, .text = page_js},
    {"/sql", .show = HTTP_SHOW_JSON, .type = HTTP_JSON, .packed = true,
     .post = true, .make = make_sql},
    {"/value", .show = HTTP_SHOW_VALUE, .type = HTTP_BINARY, .packed = true,
     .post = true, .make = make_sql},
    {"/reference", .type = HTTP_TEXT, .packed = true, .text = reference_text},
    {"/help", .type = HTTP_TEXT, .text = index_text},
    {"/healthz", .type = HTTP_TEXT, .open = true, .text = "ok\n"},
    {"/readyz", "node", HTTP_TEXT, HTTP_SHOW_READY, .make = make_ready},
    {"/metrics", "node", .show = HTTP_SHOW_METRICS, .type = HTTP_METRICS_TYPE,
     .packed = true, .make = make_metrics},
    {"/debug/pprof", "debug", .type = HTTP_TEXT, .text = pprof_text},
    {"/debug/pprof/", "debug", .type = HTTP_TEXT, .text = pprof_text},
    {"/debug/pprof/heap", PPROF, HTTP_BINARY, HTTP_SHOW_VALUE,
     .make = make_pprof},
    {"/debug/pprof/allocs", PPROF, HTTP_BINARY, HTTP_SHOW_VALUE,
     .make = make_pprof},
    {"/debug/pprof/threads", "node debug", HTTP_TEXT, HTTP_SHOW_LINES,
     .packed = true,
     .script = "System.print(ExecEnv.get_stack_trace_for_all_threads())"},
    {"/debug/pprof/cmdline", PROGRAM},
    {"/debug/pprof/symbol", "node", SYMBOL, .make = make_symbol},
    {"/pprof/heap", "snapshot node", HTTP_TEXT, HTTP_SHOW_VALUE, .packed = true,
     .make = make_raw},
    {"/pprof/growth", .type = HTTP_TEXT, .status = 501, .text = growth_text},
    {"/debug/pprof/profile", "seconds hz frequency kind kernel node",
     HTTP_BINARY, HTTP_SHOW_VALUE, .form = "pprof", .seconds = 30},
    {"/pprof/profile", CPU, HTTP_BINARY, HTTP_SHOW_VALUE, .output = "proto",
     .by = "type", .form = "pprof", .seconds = 30},
    {"/pprof/profile", CPU, "image/svg+xml", HTTP_SHOW_VALUE,
     .output = "flamegraph", .by = "type", .packed = true, .form = "flamegraph",
     .seconds = 30},
    {"/pprof/profile", CPU, HTTP_TEXT, HTTP_SHOW_VALUE, .output = "text",
     .by = "type", .packed = true, .form = "text", .seconds = 30},
    {"/pprof/cmdline", PROGRAM},
    {"/pprof/symbol", "node", SYMBOL, .make = make_symbol},
    {"/snapshot/*/pprof/heap", .show = HTTP_SHOW_VALUE, .type = HTTP_TEXT,
     .packed = true, .text = "SELECT raw('*')"},
    {"/snapshot/*/pprof/symbol", .show = HTTP_SHOW_VALUE, .type = HTTP_TEXT,
     .text = "SELECT 'num_symbols: 1\\n' FROM DUAL WHERE " IS_KEPT},
    {"/snapshot/*/pprof/symbol", SYMBOL, .text = "SELECT address_names('*')"},
    /* The snapshot may be of a program that is gone. */
    {"/snapshot/*/pprof/cmdline", .show = HTTP_SHOW_VALUE, .type = HTTP_TEXT,
     .text = "SELECT COALESCE((SELECT program FROM heapwire.snapshots "
             "WHERE name = '*'), NULLIF(program, '')) FROM heapwire.profiler "
             "WHERE " IS_KEPT},
    {"/debug/mem/pprof/cmdline", PROGRAM},
    {"/debug/mem/pprof/symbol", "node", SYMBOL, .make = make_symbol},
    {"/profiling/enable", "seconds node", HTTP_TEXT, HTTP_SHOW_LINES,
     .post = true, .make = make_enable},
    {"/profiling/disable", "node", HTTP_TEXT, HTTP_SHOW_LINES, .post = true,
     .script = "System.print(HeapProf.getInstance().disable_prof())"},
    {"/snapshots", "node", HTTP_JSON, HTTP_SHOW_JSON, .packed = true,
     .make = make_snapshots},
    {"/snapshots", "name node", HTTP_TEXT, HTTP_SHOW_LINES, .post = true,
     .make = make_snapshot_statement},
};

static bool
is_path(const struct http_route *route, struct span path)
{
    size_t size = strlen(route->path), digits = 0;
    /* /jeheap/reset/N is the only path of that kind. */
    bool numbered = route->make && route->path[size - 1] == '/';

    while (numbered && digits < DIGITS_MAX && path.size > 0 &&
           is_digit(path.data[path.size - 1])) {
        digits++;
        path.size--;
    }
    if (strchr(route->path, '*'))
        return http_path_name(path, route->path).size > 0;
    return numbered == (digits > 0) && span_is(path, route->path);
}

/* Is the row for the value that ?output= (or the parameter of its `by`) has? */
static bool
is_output(const struct http_route *route, struct span query)
{
    char output[HTTP_VALUE_BYTES];

    return !route->output ||
           (http_query_get(query, route->by ? route->by : "output", output,
                           sizeof(output)) == 0 &&
            strcmp(output, route->output) == 0);
}

static const struct http_route *
find_matching_route(const struct http_route *rows, size_t count,
                    const struct http_request *request, bool post)
{
    const struct http_route *other = NULL;

    for (const struct http_route *row = rows; row < rows + count; row++) {
        if (!is_path(row, request->path))
            continue;
        if ((row->post == post || row->asks) && is_output(row, request->query))
            return row;
        /* Of the right path with the wrong method, so that the error can say
         * which is right. */
        if (!other)
            other = row;
    }
    return other;
}

const struct http_route *
http_route_find(const struct http_request *request, bool post)
{
    const struct http_route *found = find_matching_route(
        routes, sizeof(routes) / sizeof(routes[0]), request, post);

    return found ? found
                 : find_matching_route(http_route_others,
                                       http_route_others_count, request, post);
}

int
http_route_statement(const struct http_route *route,
                     const struct http_request *request, uint32_t node_id,
                     struct buffer *out, struct error *err)
{
    struct span name;

    if (route->make)
        return route->make(request, node_id, out, err);
    if (route->form)
        return make_cpu(route, request, node_id, out, err);
    if (route->script)
        return http_parameter_script(request, node_id, route->script, out, err);
    name = http_path_name(request->path, route->path);
    for (const char *at = route->text; *at; at++) {
        if (*at == '*' && name.size > 0)
            buffer_add(out, name.data, name.size);
        else
            buffer_char(out, *at);
    }
    return 0;
}
