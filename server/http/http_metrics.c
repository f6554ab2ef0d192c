/*
 * http_metrics.c - see http_metrics.h.
 *
 * A figure is one row of a table: its name, its kind, the SQL expression that
 * computes it.  One SELECT has them all as columns, so a scrape sees one moment
 * of the node and costs one statement; with node=all each node is a row of it.
 * A figure that is not known is NULL and has no sample, since Prometheus takes
 * 0 for a value.  Families must stand together in the text, so samples are
 * gathered per row of the table, and written at the end.
 */
#include "http_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "cursor.h"
#include "http_answer.h"
#include "memory.h"

enum {
    /* bytes of one family's samples, for thousands of nodes */
    FAMILY_MAX = 4 << 20,
    LIST_MAX = 64, /* samples of a list */
    OTHERS_S = 8   /* Prometheus waits for 10, if not set otherwise */
};

/* LIST, COUNTER_LIST: the column is a text with a line "value label" for each
 * sample.  Only of one node, as the labels of all would be too many. */
enum metric_kind { GAUGE, COUNTER, INFO, LIST, COUNTER_LIST };

/* In cluster_snapshots and cluster_deaths a node without any has no row: that
 * is 0, if the node answers. */
#define COUNTED(column) "coalesce(" column ", 0 * h.pid)"

/* That a database hangs may show only when it is asked for its figures. */
#define STATE "p.state"

/* Tables of the statement: p profiler, m memory, j memory while the database
 * answers, s snapshots, b budgets, d deaths, h daemon.  Rows of one name follow
 * each other, and the first has the help. */
static const struct metric {
    const char *name;
    enum metric_kind kind;
    const char *expression;
    const char *help;
    const char *label; /* or NULL; of INFO: the name of its value */
    const char *value; /* of the label, except for INFO */
} metrics[] = {
    {"heapwire_database_up", GAUGE, STATE " = 'connected'",
     "1: the database is connected and answers"},
    {"heapwire_database_state_info", INFO, STATE,
     "connected, unresponsive, gone or absent", "state"},
    {"heapwire_database_start_time_seconds", GAUGE, "unix_timestamp(p.started)",
     "When the database started"},
    {"heapwire_allocator_allocated_bytes", GAUGE, "j.allocated",
     "Bytes that the program has in use"},
    {"heapwire_allocator_active_bytes", GAUGE, "j.active",
     "Bytes of the pages that hold them"},
    {"heapwire_allocator_metadata_bytes", GAUGE, "j.metadata",
     "Bytes of jemalloc's bookkeeping"},
    {"heapwire_allocator_resident_bytes", GAUGE, "j.resident",
     "Bytes in memory by jemalloc's count"},
    {"heapwire_allocator_mapped_bytes", GAUGE, "j.mapped",
     "Bytes of address space in use"},
    {"heapwire_allocator_retained_bytes", GAUGE, "j.retained",
     "Bytes of address space that jemalloc keeps without memory"},
    {"heapwire_allocator_info", INFO, "nullif(p.jemalloc_version, '')",
     "The database's jemalloc", "version"},
    {"heapwire_process_resident_bytes", GAUGE, "m.rss",
     "Bytes of the database in memory by the kernel's count"},
    {"heapwire_process_resident_file_bytes", GAUGE, "m.rss_file",
     "The part of them that is mapped files and shared memory"},
    {"heapwire_process_resident_shared_bytes", GAUGE, "m.rss_shared",
     "The part of these that is shared memory without a file"},
    {"heapwire_memory_unexplained_bytes", GAUGE, "j.unexplained",
     "RSS beyond the resident bytes of all jemallocs"},
    {"heapwire_cgroup_memory_bytes", GAUGE, "m.cgroup_current",
     "Bytes that the database's cgroup uses with page cache"},
    {"heapwire_cgroup_memory_cache_bytes", GAUGE, "m.cgroup_cache",
     "The part of them that is file pages, which the kernel takes back first"},
    {"heapwire_cgroup_memory_limit_bytes", GAUGE, "m.cgroup_limit",
     "The smallest limit of the cgroup and those around it"},
    {"heapwire_memory_left_seconds", GAUGE, "m.hours_left * 3600",
     "Until memory meets its limit as it grows now"},
    {"heapwire_profiler_available", GAUGE, "p.reason = ''",
     "1: profiling can be switched on"},
    {"heapwire_profiler_active", GAUGE, "p.active",
     "1: allocations are sampled"},
    {"heapwire_profiler_sample_rate_bytes", GAUGE, "p.sample_rate",
     "Mean bytes between two samples"},
    {"heapwire_profiler_samples", GAUGE, "p.samples",
     "Sampled objects in the last profile that was taken"},
    {"heapwire_profiler_cpu_ratio", GAUGE, "p.overhead / 100",
     "Estimated cost of profiling as a share of one CPU"},
    {"heapwire_profiler_cpu_budget_ratio", GAUGE, "p.budget / 100",
     "Cost above which profiling switches itself off"},
    {"heapwire_profiler_changes", COUNTER, "p.changes",
     "How often profiling was switched"},
    {"heapwire_profiler_resets", COUNTER, "p.resets",
     "How often all samples were forgotten"},
    {"heapwire_profiler_guarded_timestamp_seconds", GAUGE,
     "unix_timestamp(p.guarded)", "When profiling last switched itself off"},
    {"heapwire_profiler_guarded_info", INFO, "nullif(p.guard_reason, '')",
     "Why it did", "reason"},
    {"heapwire_snapshots", GAUGE, COUNTED("s.kept"),
     "Snapshots that the node keeps"},
    {"heapwire_snapshots_pinned", GAUGE, COUNTED("s.pinned"),
     "Pinned snapshots, which eviction spares"},
    {"heapwire_snapshots_size_bytes", GAUGE, COUNTED("s.bytes"), "Their bytes"},
    {"heapwire_snapshots_last_timestamp_seconds", GAUGE,
     "unix_timestamp(s.last)", "When the newest of the heap was taken"},
    {"heapwire_snapshots_failed", COUNTER, "h.failed_snapshots",
     "Snapshots that could not be kept"},
    {"heapwire_budgets", GAUGE, COUNTED("b.kept"),
     "Functions and pools of threads that have a budget"},
    {"heapwire_budgets_over", GAUGE, COUNTED("b.above"),
     "Functions and pools that are over their budgets"},
    {"heapwire_budget_crossings", COUNTER_LIST, "b.crossings",
     "How often the budget was crossed since it was set; not of node=all",
     "name"},
    {"heapwire_budget_used_bytes", LIST, "b.used",
     "Bytes that the function or pool had in use at the last look; not of "
     "node=all",
     "name"},
    {"heapwire_budget_limit_bytes", LIST, "b.limits",
     "Bytes that it may have in use; not of node=all", "name"},
    {"heapwire_deaths", GAUGE, COUNTED("d.clean"),
     "Recorded ends of the database", "reason", "clean"},
    {"heapwire_deaths", GAUGE, COUNTED("d.failed"), "", "reason", "exit"},
    {"heapwire_deaths", GAUGE, COUNTED("d.killed"), "", "reason", "signal"},
    {"heapwire_deaths", GAUGE, COUNTED("d.oom"), "", "reason", "oom"},
    {"heapwire_deaths", GAUGE, COUNTED("d.unseen"), "", "reason", "unseen"},
    {"heapwire_deaths_last_timestamp_seconds", GAUGE,
     "unix_timestamp(d.clean_at)", "When the newest such end was", "reason",
     "clean"},
    {"heapwire_deaths_last_timestamp_seconds", GAUGE,
     "unix_timestamp(d.failed_at)", "", "reason", "exit"},
    {"heapwire_deaths_last_timestamp_seconds", GAUGE,
     "unix_timestamp(d.killed_at)", "", "reason", "signal"},
    {"heapwire_deaths_last_timestamp_seconds", GAUGE,
     "unix_timestamp(d.oom_at)", "", "reason", "oom"},
    {"heapwire_deaths_last_timestamp_seconds", GAUGE,
     "unix_timestamp(d.unseen_at)", "", "reason", "unseen"},
    {"heapwire_cluster_peers", GAUGE, "h.peers", "Other nodes of the cluster"},
    {"heapwire_cluster_peers_alive", GAUGE, "h.peers_alive",
     "Other nodes that answered when they were last asked"},
    {"heapwire_cluster_peers_silent", GAUGE, "h.peers_silent",
     "Other nodes that did not answer when they were last asked, within the "
     "last 3 minutes"},
    {"heapwire_build_info", INFO, "h.version", "The version of heapwired",
     "version"},
    {"heapwire_daemon_start_time_seconds", GAUGE, "unix_timestamp(h.started)",
     "When heapwired started"},
    {"heapwire_daemon_resident_bytes", GAUGE, "h.rss",
     "Bytes of heapwired in memory"},
    {"heapwire_daemon_resident_peak_bytes", GAUGE, "h.rss_peak",
     "The most bytes of heapwired in memory so far"},
    {"heapwire_daemon_cpu_seconds", COUNTER, "h.cpu_seconds",
     "Processor time of all its threads"},
    {"heapwire_daemon_open_fds", GAUGE, "h.descriptors",
     "Its open files and sockets"},
    {"heapwire_daemon_max_fds", GAUGE, "h.descriptors_max", "Their limit"},
    {"heapwire_daemon_connections", GAUGE, "h.mysql_connections",
     "Open connections", "door", "mysql"},
    {"heapwire_daemon_connections", GAUGE, "h.http_connections", "", "door",
     "http"},
    {"heapwire_daemon_accepted_connections", COUNTER, "h.connections",
     "Connections of both listeners so far"},
    {"heapwire_daemon_failed_logins", COUNTER, "h.failed_logins",
     "Wrong logins, and connections without a login or an HTTP request"},
    {"heapwire_daemon_statements", COUNTER, "h.statements",
     "Statements and other commands so far"},
    {"heapwire_daemon_failed_statements", COUNTER, "h.failed_statements",
     "Statements that ended with an error"},
    {"heapwire_daemon_received_bytes", COUNTER, "h.received",
     "Bytes from clients so far"},
    {"heapwire_daemon_sent_bytes", COUNTER, "h.sent",
     "Bytes to clients so far"},
};

enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

/* ---- the statement ---- */

#define SNAPSHOTS                                                              \
    "count(*) AS kept, sum(pinned) AS pinned, sum(size) AS bytes, "            \
    "max(CASE WHEN kind = 'heap' THEN taken END) AS last FROM heapwire."
#define BUDGETS                                                                \
    "count(*) AS kept, sum(state = 'over budget') AS above, "                  \
    "group_concat(concat(crossings, ' ', name) SEPARATOR '\n') "               \
    "AS crossings, "                                                           \
    "group_concat(concat(now_bytes, ' ', name) SEPARATOR '\n') AS used, "      \
    "group_concat(concat(limit_bytes, ' ', name) SEPARATOR '\n') "             \
    "AS limits FROM heapwire."
#define DEATHS_OF(reason, name)                                                \
    ", sum(reason = '" reason "') AS " name                                    \
    ", max(CASE WHEN reason = '" reason "' THEN at END) AS " name "_at"
#define DEATHS                                                                 \
    DEATHS_OF("clean", "clean")                                                \
    DEATHS_OF("exit", "failed")                                                \
    DEATHS_OF("signal", "killed")                                              \
    DEATHS_OF("oom", "oom")                                                    \
    DEATHS_OF("unseen", "unseen")                                              \
    " FROM (SELECT *, CASE WHEN killed_by = 9 AND oom_kills > 0 THEN 'oom' "   \
    "WHEN told_by IS NOT NULL OR exit_status = 0 THEN 'clean' "                \
    "WHEN killed_by IS NOT NULL THEN 'signal' "                                \
    "WHEN exit_status IS NOT NULL THEN 'exit' ELSE 'unseen' END AS reason "    \
    "FROM heapwire."

static void
add_memory_subquery(const char *column, const char *id, struct buffer *out)
{
    /* Without a database the table is an error, which would hide all other
     * figures; and of a database that has ended it shows what is no more. */
    buffer_format(out,
                  "CASE WHEN p.state IN ('connected', 'unresponsive') THEN "
                  "(SELECT %s FROM heapwire.%smemory %c WHERE %s",
                  column, *id ? "cluster_" : "", *column,
                  *column == 'j' ? "j.answered" : "1");
    if (*id)
        buffer_format(out, " AND %c.node_id = %s", *column, id);
    buffer_text(out, ") END");
}

static void
add_expression(const char *expression, const char *id, struct buffer *out)
{
    if (expression[1] == '.' && strchr("mj", *expression)) {
        add_memory_subquery(expression, id, out);
        return;
    }
    if (strncmp(expression, STATE, sizeof(STATE) - 1) == 0) {
        buffer_text(out, "CASE WHEN p.state = 'connected' AND ");
        add_memory_subquery("m.answered", id, out);
        buffer_text(out, " = 0 THEN 'unresponsive' ELSE p.state END");
        expression += sizeof(STATE) - 1;
    }
    buffer_text(out, expression);
}

static void
add_metric_tables(const char *id, const char *where, struct buffer *out)
{
    if (*id)
        buffer_format(
            out,
            " FROM heapwire.cluster_profiler p"
            " LEFT JOIN heapwire.cluster_daemon h ON h.node_id = %s"
            " LEFT JOIN (SELECT node_id, " SNAPSHOTS
            "cluster_snapshots%s GROUP BY node_id) s ON s.node_id = p.node_id"
            " LEFT JOIN (SELECT node_id, " BUDGETS
            "cluster_budgets%s GROUP BY node_id) b ON b.node_id = p.node_id"
            " LEFT JOIN (SELECT node_id" DEATHS
            "cluster_deaths%s) t GROUP BY node_id) d ON d.node_id = p.node_id"
            " WHERE p.node_id = %s",
            id, where, where, where, id);
    else
        buffer_text(out, " FROM heapwire.profiler p JOIN heapwire.daemon h"
                         " JOIN (SELECT " SNAPSHOTS "snapshots) s"
                         " JOIN (SELECT " BUDGETS "budgets) b"
                         " JOIN (SELECT NULL" DEATHS "deaths) t) d");
}

void
http_metrics_statement(const char *node, struct buffer *out)
{
    bool all = strcmp(node, "all") == 0;
    const char *id = all ? "p.node_id" : node;
    char where[48] = "";

    if (*node && !all)
        snprintf(where, sizeof(where), " WHERE node_id = %s", node);
    /* Below the scraper's own limit, so that nodes that do not answer do not
     * cost the figures of those that do. */
    if (*node)
        buffer_format(out, "SET STATEMENT heapwire_timeout = %d FOR ",
                      OTHERS_S);
    buffer_text(out, all ? "SELECT p.node_id" : "SELECT NULL");
    for (size_t i = 0; i < METRICS; i++) {
        buffer_text(out, ", ");
        add_expression(metrics[i].expression, id, out);
    }
    add_metric_tables(id, where, out);
}

/* ---- the samples ---- */

struct http_metrics {
    bool all;
    struct buffer families[METRICS]; /* the samples of a row of metrics */
};

struct http_metrics *
http_metrics_new(bool all)
{
    struct http_metrics *m = mem_zalloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->all = all;
    for (size_t i = 0; i < METRICS; i++)
        buffer_init(&m->families[i], FAMILY_MAX);
    return m;
}

void
http_metrics_free(struct http_metrics *m)
{
    for (size_t i = 0; m && i < METRICS; i++)
        buffer_fini(&m->families[i]);
    mem_free(m);
}

static void
add_escaped_label(const char *data, size_t size, struct buffer *out)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '\n')
            buffer_text(out, "\\n");
        else if (data[i] == '"' || data[i] == '\\')
            buffer_format(out, "\\%c", data[i]);
        else
            buffer_char(out, data[i]);
    }
}

static const char *
metric_name_suffix(const struct metric *metric)
{
    return metric->kind == COUNTER || metric->kind == COUNTER_LIST ? "_total"
                                                                   : "";
}

/* Adds a sample for each line; a name has no line's end in it. */
static void
add_list(const struct metric *metric, const struct value *v, struct buffer *out)
{
    struct reader r = reader_of(v->data, v->size);
    struct span line;

    for (int i = 0; i < LIST_MAX && reader_line(&r, &line); i++) {
        const char *name = memchr(line.data, ' ', line.size);

        if (!name ||
            strspn(line.data, "0123456789") != (size_t)(name - line.data))
            continue; /* another node may send anything */
        buffer_format(out, "%s%s{%s=\"", metric->name,
                      metric_name_suffix(metric), metric->label);
        add_escaped_label(name + 1, line.size - (size_t)(name + 1 - line.data),
                          out);
        buffer_format(out, "\"} %.*s\n", (int)(name - line.data), line.data);
    }
}

static void
add_metric_sample(const struct metric *metric, const struct value *node,
                  const struct value *v, struct buffer *out)
{
    bool is_info = metric->kind == INFO;

    if (v->type == VALUE_NULL || (is_info && v->type != VALUE_TEXT))
        return;
    if (metric->kind == LIST || metric->kind == COUNTER_LIST) {
        if (!node && v->type == VALUE_TEXT)
            add_list(metric, v, out);
        return;
    }
    buffer_format(out, "%s%s", metric->name, metric_name_suffix(metric));
    if (node)
        buffer_format(out, "{node=\"%" PRId64 "\"", node->integer);
    if (metric->label) {
        buffer_format(out, "%c%s=\"", node ? ',' : '{', metric->label);
        if (is_info)
            add_escaped_label(v->data, v->size, out);
        else
            buffer_text(out, metric->value);
        buffer_char(out, '"');
    }
    buffer_text(out, node || metric->label ? "} " : " ");
    if (is_info)
        buffer_char(out, '1');
    else
        http_answer_value(out, v);
    buffer_char(out, '\n');
}

void
http_metrics_row(struct http_metrics *m, const struct value *row, size_t count)
{
    for (size_t i = 0; i < METRICS && i + 1 < count; i++)
        add_metric_sample(&metrics[i], m->all ? &row[0] : NULL, &row[i + 1],
                          &m->families[i]);
}

static const char *
metric_name_unit(const char *name)
{
    static const char *const units[] = {"bytes", "seconds", "ratio"};
    size_t size = strlen(name);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t length = strlen(units[i]);

        if (size > length && name[size - length - 1] == '_' &&
            strcmp(name + size - length, units[i]) == 0)
            return units[i];
    }
    return NULL;
}

/* OpenMetrics describes the family by its name, the older text each series. */
static void
add_metric_head(const struct metric *metric, bool open, struct buffer *out)
{
    static const char *const kinds[] = {"gauge", "counter", "gauge", "gauge",
                                        "counter"};
    const char *name = metric->name, *unit = metric_name_unit(name);
    const char *total = open ? "" : metric_name_suffix(metric);

    buffer_format(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, total,
                  metric->help, name, total, kinds[metric->kind]);
    if (open && unit)
        buffer_format(out, "# UNIT %s %s\n", name, unit);
}

void
http_metrics_write(const struct http_metrics *m, bool open, struct buffer *out)
{
    const char *headed = "";

    for (size_t i = 0, first = 0; i < METRICS; i++) {
        const struct buffer *samples = &m->families[i];

        if (strcmp(metrics[i].name, metrics[first].name) != 0)
            first = i;
        out->failed |= samples->failed;
        if (samples->size == 0)
            continue;
        if (strcmp(headed, metrics[i].name) != 0)
            add_metric_head(&metrics[first], open, out);
        headed = metrics[i].name;
        buffer_add(out, samples->data, samples->size);
    }
    if (open)
        buffer_text(out, "# EOF\n");
}
