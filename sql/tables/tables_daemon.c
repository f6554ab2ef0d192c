/*
 * tables_daemon.c - heapwired itself: what it uses, and what it served.
 *
 * Nothing is asked of the database or of other nodes for it.
 */
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include "catalog_tables.h"
#include "clock.h"
#include "controller.h"
#include "memory.h"
#include "peers.h"
#include "process_memory.h"
#include "rowset.h"
#include "sql_session.h"

/* -1: unknown.  The list itself takes one. */
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
    /* The kernel notes the peak late. */
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
add_counts(const struct sql_host *host, struct rowset *out)
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

/* By its last answer, if that is recent: it may be well again, and no statement
 * asks. */
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
produce(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_node *node = scope->session->node;
    struct node_status status;

    controller_status(node->controller, &status);
    rowset_text(out, HW_VERSION);
    rowset_int(out, getpid());
    rowset_time(out, node->started_ms);
    add_use(out);
    add_counts(&node->host, out);
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
    {"connections", &type_bigint_nn, "Since the start, of both"},
    {"failed_logins", &type_bigint_nn,
     "Wrong ones since the start, and connections without a login or an "
     "HTTP request"},
    {"statements", &type_bigint_nn, "Since the start, all commands"},
    {"failed_statements", &type_bigint_nn, "That ended with an error"},
    {"received", &type_bigint_nn, "Bytes, since the start"},
    {"sent", &type_bigint_nn, "Bytes, since the start"},
    {"failed_snapshots", &type_bigint_nn,
     "Since the start: that were to be kept, and are not"},
    {"peers", &type_bigint_nn, "Other nodes of the cluster"},
    {"peers_alive", &type_bigint_nn, "Those whose last answer came"},
    {"peers_silent", &type_bigint_nn,
     "Those whose last answer did not come, in the last 3 minutes"},
};

const struct catalog_table tables_daemon[] = {
    {"heapwire", "daemon", CATALOG_OWN_COLUMNS(daemon_columns), produce,
     "heapwired itself: what it uses, and what it served", PRIVILEGE_STATUS,
     NEED_TIME},
    CATALOG_OF_ALL("daemon", daemon_columns, PRIVILEGE_STATUS,
                   &tables_daemon[0]),
    {NULL},
};
