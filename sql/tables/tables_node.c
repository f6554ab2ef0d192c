/*
 * tables_node.c - heapwire.profiler, how profiling stands on this node, and
 * heapwire.daemon, what heapwired itself uses.
 *
 * Both read what the controller and the process know already, so nobody waits;
 * only the daemon's descriptors are counted in /proc (NEED_TIME).
 */

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "buffer.h"
#include "catalog_tables.h"
#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "memory.h"
#include "node_status.h"
#include "peers.h"
#include "process_memory.h"
#include "sql_cursor.h"
#include "sql_session.h"

/* Counts the open descriptors; -1: unknown.  The one that reads the list is
 * among them and is not counted. */
static int64_t
count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int64_t count = -1;

    if (!dir)
        return -1;
    while (readdir(dir)) /* NOLINT: our own stream */
        count++;
    closedir(dir);
    return count - 2; /* ., .. */
}

static void
add_use(struct rowset *out)
{
    struct stats stats = {0};
    struct stats_figure cpu = process_cpu_ms(getpid());
    struct rusage usage = {0};
    struct rlimit limit = {0};
    int64_t descriptors = count_descriptors(), peak;

    process_memory_read_at(getpid(), NULL, &stats);
    getrusage(RUSAGE_SELF, &usage);
    getrlimit(RLIMIT_NOFILE, &limit);
    rowset_int_if(out, stats.rss.known, (int64_t)stats.rss.value);
    /* The kernel updates ru_maxrss late, so it may be below the present rss. */
    peak = (int64_t)usage.ru_maxrss * 1024;
    if (stats.rss.known && peak < (int64_t)stats.rss.value)
        peak = (int64_t)stats.rss.value;
    rowset_int(out, peak);
    if (cpu.known)
        rowset_double(out, (double)cpu.value / 1000);
    else
        rowset_null(out);
    rowset_int_if(out, descriptors >= 0, descriptors);
    rowset_int_if(out, limit.rlim_cur <= INT64_MAX, (int64_t)limit.rlim_cur);
}

static void
add_server_counts(const struct sql_host *host, struct rowset *out)
{
    struct sql_counts counts;

    host->count(host->arg, &counts);
    rowset_int(out, (int64_t)counts.mysql_open);
    rowset_int(out, (int64_t)counts.http_open);
    rowset_int(out, (int64_t)counts.connections);
    rowset_int(out, (int64_t)counts.failed_logins);
    rowset_int(out, (int64_t)counts.questions);
    rowset_int(out, (int64_t)counts.failed_statements);
    rowset_int(out, (int64_t)counts.received);
    rowset_int(out, (int64_t)counts.sent);
}

/* Is the node silent, by its last answer?  Only a recent failure counts: no
 * statement asks now, and the node may be well again. */
static bool
is_silent(const struct peer_row *row, int64_t now_ms)
{
    return row->known && !row->alive &&
           now_ms - row->last_error_ms < PEER_SILENT_MS;
}

static void
add_peers(const struct sql_session *session, struct rowset *out)
{
    struct peer_row *rows;
    size_t count = peers_list(session, &rows);
    int64_t others = 0, answer = 0, silent = 0, now_ms = clock_wall_ms();

    out->failed |= !rows;
    for (size_t i = 0; rows && i < count; i++) {
        others += !rows[i].self;
        answer += !rows[i].self && rows[i].known && rows[i].alive;
        silent += !rows[i].self && is_silent(&rows[i], now_ms);
    }
    mem_free(rows);
    rowset_int(out, others);
    rowset_int(out, answer);
    rowset_int(out, silent);
}

static void
produce_daemon_row(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_node *node = scope->session->node;
    struct node_status status;

    controller_status(node->controller, &status);
    rowset_text(out, HW_VERSION);
    rowset_int(out, getpid());
    rowset_time(out, node->started_ms);
    add_use(out);
    add_server_counts(&node->host, out);
    rowset_int(out, (int64_t)status.failed_snapshots);
    add_peers(scope->session, out);
}

static const struct catalog_column daemon_columns[] = {
    CATALOG_NODE_ID,
    {"version", &type_name_nn, "Of heapwired"},
    {"pid", &type_ubigint_nn},
    {"started", &type_time_nn, "UTC"},
    {"rss", &type_bigint, "Bytes in memory"},
    {"rss_peak", &type_bigint_nn, "The most bytes in memory so far"},
    {"cpu_seconds", &type_double, "Processor time of all its threads"},
    {"descriptors", &type_bigint, "Open files and sockets"},
    {"descriptors_max", &type_bigint, "Its limit; NULL: none"},
    {"mysql_connections", &type_bigint_nn, "Open, of MySQL's protocol"},
    {"http_connections", &type_bigint_nn, "Open, of HTTP"},
    {"connections", &type_bigint_nn,
     "Connections of both protocols since the start"},
    {"failed_logins", &type_bigint_nn,
     "Wrong logins since the start, and connections without a login or an HTTP "
     "request"},
    {"statements", &type_bigint_nn,
     "Statements and other commands since the start"},
    {"failed_statements", &type_bigint_nn,
     "Statements that ended with an error, since the start"},
    {"received", &type_bigint_nn, "Bytes from clients since the start"},
    {"sent", &type_bigint_nn, "Bytes to clients since the start"},
    {"failed_snapshots", &type_bigint_nn,
     "Snapshots that could not be kept, since the start"},
    {"peers", &type_bigint_nn, "Other nodes of the cluster"},
    {"peers_alive", &type_bigint_nn,
     "Other nodes that answered the last question"},
    {"peers_silent", &type_bigint_nn,
     "Other nodes that did not answer when last asked, within 3 minutes"},
};

enum { RISKS_TEXT_MAX = 8192 };

const char *
node_state_name(enum node_state state)
{
    static const char *const names[] = {[NODE_ABSENT] = "absent",
                                        [NODE_CONNECTED] = "connected",
                                        [NODE_UNRESPONSIVE] = "unresponsive",
                                        [NODE_GONE] = "gone"};

    return names[state];
}

const char *
node_explain(const struct node_status *status, struct error *why)
{
    if (node_status_check(status, why) == 0 &&
        node_status_check_job(status, JOB_ENABLE, why) == 0)
        return "";
    return why->text;
}

/* Adds a share of one CPU as a percentage, or NULL. */
static void
add_percent(struct rowset *out, bool known, double cpus)
{
    if (known)
        /* Three decimals of a percent. */
        rowset_double(out, round(cpus * 1e5) / 1e3);
    else
        rowset_null(out);
}

static void
add_cost(const struct node_status *status, struct rowset *out)
{
    const struct overhead_report *overhead = &status->overhead;
    const char *reason;
    struct buffer risks;

    add_percent(out, overhead->estimated, overhead->cpus);
    add_percent(out, overhead->measured_before, overhead->cpus_before);
    add_percent(out, overhead->measured_since, overhead->cpus_since);
    add_percent(out, overhead->budget_cpus > 0, overhead->budget_cpus);
    rowset_time(out, profiler_state_switched_off(status, &reason));
    rowset_text(out, reason);
    buffer_init(&risks, RISKS_TEXT_MAX);
    profiler_state_risks(status, &risks);
    out->failed |= risks.failed;
    rowset_text(out, risks.data ? risks.data : "");
    buffer_fini(&risks);
}

static void
produce_profiler(const struct catalog_scope *scope, struct rowset *out)
{
    struct node_status status;
    const struct agent_hello *hello = &status.hello;
    uint64_t distance;
    struct error why;

    controller_status(scope->session->node->controller, &status);
    rowset_text(out, node_state_name(status.state));
    rowset_time(out, status.since_ms);
    if (status.state == NODE_CONNECTED) {
        rowset_int(out, hello->active != 0);
        rowset_time(out, hello->active_since_ms);
    } else {
        rowset_nulls(out, 2);
    }
    distance =
        hello->allocator == AGENT_OK ? profiler_state_distance(hello) : 0;
    rowset_int_if(out, distance > 0, (int64_t)distance);
    /* of the last profile: counting those of now would take one */
    rowset_int_if(out, status.profiled, (int64_t)status.samples);
    ROWSET_TEXTS(out, hello->version, hello->mallctl,
                 node_explain(&status, &why),
                 profiler_state_name(profiler_state_of(&status)));
    if (status.state == NODE_CONNECTED) {
        rowset_time(out, hello->active_until_ms);
        rowset_int(out, hello->changes);
        rowset_int(out, hello->resets);
    } else {
        rowset_nulls(out, 3);
    }
    rowset_time(out, status.profiled ? status.profiled_ms : 0);
    add_cost(&status, out);
    rowset_time(out, status.state == NODE_CONNECTED ? hello->started_ms : 0);
    rowset_int(out, sysconf(_SC_NPROCESSORS_ONLN));
    rowset_text(out, hello->exe);
    rowset_text(out, profiler_state_source(&status));
}

static const struct catalog_column profiler[] = {
    CATALOG_NODE_ID,
    {"state", &type_name_nn, "connected, unresponsive, gone or absent"},
    {"since", &type_time, "Since when it is in that state, UTC"},
    {"active", &type_boolean, "Whether allocations are sampled"},
    {"active_since", &type_time,
     "Since when, pauses included, UTC; a reset begins again"},
    {"sample_rate", &type_ubigint, "Mean bytes between two samples"},
    {"samples", &type_ubigint,
     "Sampled objects in the last profile taken; NULL: none yet"},
    {"jemalloc_version", &type_name_nn},
    {"allocator_symbol", &type_name_nn, "The name of jemalloc's mallctl there"},
    {"reason", &type_text_nn, "Why it cannot be switched on; empty: it can"},
    {"profiling", &type_name_nn,
     "unknown; no jemalloc; jemalloc without profiling; opt.prof is off; "
     "inactive; active, nothing sampled yet; active"},
    {"active_until", &type_time,
     "When it switches itself off, UTC; NULL: it does not"},
    {"changes", &type_bigint, "How often it was switched"},
    {"resets", &type_bigint, "How often all samples were forgotten"},
    {"samples_at", &type_time,
     "When the profile was taken that samples is of, UTC"},
    {"overhead", &type_double,
     "The estimated cost of profiling now: percent of one CPU"},
    {"cpu_before", &type_double,
     "The measured use of the whole process before profiling: percent of one "
     "CPU"},
    {"cpu_since", &type_double,
     "The measured use of the whole process since profiling is active: percent "
     "of one CPU"},
    {"budget", &type_double,
     "Above this overhead profiling is switched off: percent of one CPU; NULL: "
     "never"},
    {"guarded", &type_time,
     "When profiling was last switched off for its overhead, or because "
     "heapwired was away for too long; UTC"},
    {"guard_reason", &type_text_nn, "Why it was switched off"},
    {"risks", &type_plain_text_nn,
     "What is known to go wrong with this jemalloc and its options"},
    {"started", &type_time,
     "When the database started, UTC; NULL: it is not connected"},
    {"cpus", &type_bigint_nn, "Of the machine"},
    {"program", &type_text_nn,
     "The database's executable; empty: not known yet"},
    {"source", &type_name_nn,
     "Who samples: interposed, patched or jemalloc; empty: nobody can"},
};

const struct catalog_table tables_node[] = {
    {"heapwire", "profiler", CATALOG_OWN_COLUMNS(profiler), produce_profiler,
     "The heap profiler of this node's database", PRIVILEGE_STATUS},
    CATALOG_OF_ALL("profiler", profiler, PRIVILEGE_STATUS, &tables_node[0]),
    {"heapwire", "daemon", CATALOG_OWN_COLUMNS(daemon_columns),
     produce_daemon_row, "heapwired itself: what it uses, and what it served",
     PRIVILEGE_STATUS, NEED_TIME},
    CATALOG_OF_ALL("daemon", daemon_columns, PRIVILEGE_STATUS, &tables_node[2]),
    {NULL},
};
