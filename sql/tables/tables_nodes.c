/*
 * tables_nodes.c - the nodes of the cluster: heapwire.nodes, and SHOW BACKENDS
 * and COMPUTE NODES with StarRocks' columns.
 *
 * The list of members is known here; their present state is asked of all of
 * them at once (peer_survey.c), within two seconds, if the session may.  A
 * node that does not answer keeps its row, with the reason; one that left
 * keeps it for a day.  Columns of StarRocks that mean nothing here are NULL.
 */
#include <string.h>
#include <unistd.h>

#include "catalog_tables.h"
#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "fetch.h"
#include "memory.h"
#include "node_status.h"
#include "peers.h"
#include "sql_cursor.h"
#include "sql_session.h"

/* What is shown of a node; NULL: unknown. */
struct shown {
    const struct peer_row *row;
    bool alive, alive_known;
    int64_t since_ms;  /* used unless since is set */
    const char *since; /* as the node wrote it, or NULL */
    const char *state, *profiling;
    const char *reason; /* why profiling cannot be switched on */
    const char *error;  /* the last error, and its time */
    int64_t error_ms;
    int64_t
        started_ms; /* when the database started; used unless started is set */
    const char *started;
    int64_t cpus; /* 0: unknown */
    struct error why;
};

/* Drops an error that was noted before the node answered again. */
static void
show_recovered(struct shown *s)
{
    if ((s->alive || s->row->self) && !s->row->troubled)
        s->error = NULL;
}

static void
show_self(const struct sql_node *node, struct shown *s)
{
    struct node_status status;

    controller_status(node->controller, &status);
    s->alive = status.state == NODE_CONNECTED;
    s->alive_known = true;
    s->since_ms = status.since_ms;
    s->started_ms = s->alive ? status.hello.started_ms : node->started_ms;
    s->cpus = sysconf(_SC_NPROCESSORS_ONLN);
    s->state = node_state_name(status.state);
    s->profiling = profiler_state_name(profiler_state_of(&status));
    s->reason = node_explain(&status, &s->why);
    show_recovered(s);
}

/* Fills in another node.  One that was asked just now is alive if its database
 * is; otherwise its last known state holds. */
static void
show_other(const struct peer_survey_answer *answer, struct shown *s)
{
    s->alive = s->row->alive;
    s->alive_known = s->row->known;
    s->since_ms = s->row->since_ms;
    if (!answer) {
        show_recovered(s);
        return;
    }
    s->alive_known = true;
    s->alive = !answer->error && answer->state &&
               strcmp(answer->state, node_state_name(NODE_CONNECTED)) == 0;
    s->state = answer->state;
    s->profiling = answer->profiling;
    s->reason = answer->reason;
    s->since = answer->since;
    s->started = answer->started;
    s->cpus = answer->cpus;
    if (!answer->error) {
        s->error = NULL;
        return;
    }
    s->state = "unreachable";
    s->since = NULL;
    s->error = answer->error;
    if (s->error_ms <= 0)
        s->error_ms = clock_wall_ms();
}

static void
each_node(const struct catalog_scope *scope, struct rowset *out,
          void (*add)(const struct shown *shown, struct rowset *out))
{
    const struct sql_node *node = scope->session->node;
    struct peer_row *rows;
    size_t count = peers_list(scope->session, &rows);

    out->failed |= !rows;
    for (size_t i = 0; rows && i < count; i++) {
        struct shown s = {.row = &rows[i], .error_ms = rows[i].last_error_ms};

        s.error = *rows[i].last_error ? rows[i].last_error : NULL;
        if (rows[i].self && rows[i].port == 0) /* the kernel chose it: known
                                                * once it is bound */
            rows[i].port = node->port;
        if (rows[i].self)
            show_self(node, &s);
        else
            show_other(peer_survey_find(scope->survey, rows[i].id), &s);
        add(&s, out);
    }
    mem_free(rows);
}

/* Adds the time as the other node wrote it, or else the own one. */
static void
add_written_or_own_time(const char *written, int64_t ms, struct rowset *out)
{
    if (written)
        rowset_text(out, written);
    else
        rowset_time(out, ms);
}

/* ---- heapwire.nodes ---- */

static void
add_cluster_node_row(const struct shown *s, struct rowset *out)
{
    static const char *const roles[] = {
        [PEER_BACKEND] = "backend", [PEER_COMPUTE_NODE] = "compute node"};
    const struct peer_row *row = s->row;

    rowset_int(out, (int64_t)row->id);
    rowset_text(out, row->address);
    rowset_int(out, row->port);
    rowset_text(out, roles[row->role]);
    rowset_int_if(out, s->alive_known, s->alive);
    add_written_or_own_time(s->since, s->since_ms, out);
    rowset_text(out, row->self       ? HW_VERSION
                     : *row->version ? row->version
                                     : NULL);
    rowset_text(out, s->state);
    rowset_int(out, row->self);
    rowset_text(out, s->error);
    rowset_time(out, s->error ? s->error_ms : 0);
    if (row->round_trip_us > 0)
        rowset_double(out, (double)row->round_trip_us / 1000);
    else
        rowset_null(out);
    rowset_text(out, s->profiling);
}

/* Nodes that have left are not asked, and get no statements. */
static void
add_left(const struct sql_peers *peers, struct rowset *out)
{
    struct peer_row *rows = mem_zalloc(PEERS_LEFT_MAX, sizeof(*rows));
    size_t count = rows ? peers->left(peers->arg, rows) : 0;

    out->failed |= !rows;
    for (size_t i = 0; i < count; i++) {
        struct shown s = {.row = &rows[i],
                          .alive_known = true,
                          .since_ms = rows[i].since_ms,
                          .state = "left",
                          .error_ms = rows[i].last_error_ms};

        s.error = *rows[i].last_error ? rows[i].last_error : NULL;
        add_cluster_node_row(&s, out);
    }
    mem_free(rows);
}

static void
produce_nodes(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_peers *peers = scope->session->node->peers;

    each_node(scope, out, add_cluster_node_row);
    if (peers->left)
        add_left(peers, out);
}

static const struct catalog_column nodes[] = {
    {"id", &type_bigint, NULL, CATALOG_KEY},
    {"address", &type_name_nn},
    {"port", &type_bigint_nn},
    {"role", &type_name_nn, "backend or compute node"},
    {"alive", &type_boolean,
     "Whether it answers, and its database does; NULL: it was not asked yet", 0,
     NEED_PEERS},
    {"since", &type_time, "Since when it is in that state, UTC", 0, NEED_PEERS},
    {"version", &type_name, "Of heapwire there", 0, NEED_PEERS},
    {"state", &type_name,
     "Of its database, as in heapwire.profiler; unreachable: it does not "
     "answer; left: it was a member in the last day, until since; NULL: it was "
     "not asked, which takes the privilege cluster",
     0, NEED_PEERS},
    {"self", &type_boolean_nn, "Whether it is the one that answers"},
    {"last_error", &type_text,
     "Why it did not answer; NULL: it did, the last time", 0, NEED_PEERS},
    {"last_error_at", &type_time, "UTC", 0, NEED_PEERS},
    {"round_trip_ms", &type_double,
     "Milliseconds until the first byte of its last answer", 0, NEED_PEERS},
    {"profiling", &type_name, "As in heapwire.profiler; NULL: not known", 0,
     NEED_PEERS},
};

/* ---- SHOW BACKENDS, SHOW COMPUTE NODES: StarRocks' columns ---- */

static void
add_yes_no_cell(struct rowset *out, bool truth)
{
    rowset_text(out, truth ? "true" : "false");
}

static void
add_heartbeat(const struct shown *s, struct rowset *out)
{
    if (s->alive)
        rowset_time(out, clock_wall_ms());
    else
        add_written_or_own_time(s->since, s->since_ms, out);
}

static void
add_message(const struct shown *s, struct rowset *out)
{
    const char *text = s->reason && *s->reason ? s->reason : s->error;

    /* An error of membership concerns the node even while its database
     * answers. */
    if (s->row->troubled)
        text = s->error;
    else if (s->alive || !text)
        text = "";
    rowset_text(out, text);
}

static void
add_version(const struct shown *s, struct rowset *out)
{
    rowset_text(out, s->row->self ? HW_VERSION : s->row->version);
}

/* The number of cores, then columns that do not apply. */
static void
add_cores(const struct shown *s, struct rowset *out)
{
    rowset_int_if(out, s->cpus > 0, s->cpus);
    rowset_nulls(out, 3); /* NumRunningQueries, MemUsedPct, CpuUsedPct */
}

/* The columns from Id to ClusterDecommissioned, which both lists have. */
static void
add_common_node_columns(const struct shown *s, struct rowset *out)
{
    rowset_int(out, (int64_t)s->row->id);
    rowset_text(out, s->row->address);
    rowset_nulls(out, 4); /* ports */
    add_written_or_own_time(s->started, s->started_ms, out);
    add_heartbeat(s, out);
    add_yes_no_cell(out, s->alive);
    add_yes_no_cell(out, false); /* SystemDecommissioned */
    add_yes_no_cell(out, false); /* ClusterDecommissioned */
}

static void
add_backend(const struct shown *s, struct rowset *out)
{
    if (s->row->role != PEER_BACKEND)
        return;
    add_common_node_columns(s, out);
    rowset_nulls(out, 6); /* tablets, capacities */
    add_message(s, out);
    add_version(s, out);
    rowset_text(out, "");
    rowset_nulls(out, 2); /* DataTotalCapacity, DataUsedPct */
    add_cores(s, out);
    rowset_text(out, "");
    rowset_text(out, "");
}

static void
produce_backends(const struct catalog_scope *scope, struct rowset *out)
{
    each_node(scope, out, add_backend);
}

/* StarRocks' columns that both kinds of nodes have. */
#define NODE_COLUMNS                                                           \
    {"IP", &type_name}, {"HeartbeatPort", &type_bigint},                       \
        {"BePort", &type_bigint}, {"HttpPort", &type_bigint},                  \
        {"BrpcPort", &type_bigint}, {"LastStartTime", &type_time},             \
        {"LastHeartbeat", &type_time}, {"Alive", &type_name},                  \
        {"SystemDecommissioned", &type_name},                                  \
    {                                                                          \
        "ClusterDecommissioned", &type_name                                    \
    }

static const struct catalog_column backends[] = {
    {"BackendId", &type_bigint},
    NODE_COLUMNS,
    {"TabletNum", &type_bigint},
    {"DataUsedCapacity", &type_name},
    {"AvailCapacity", &type_name},
    {"TotalCapacity", &type_name},
    {"UsedPct", &type_name},
    {"MaxDiskUsedPct", &type_name},
    {"ErrMsg", &type_text},
    {"Version", &type_name},
    {"Status", &type_text},
    {"DataTotalCapacity", &type_name},
    {"DataUsedPct", &type_name},
    {"CpuCores", &type_bigint},
    {"NumRunningQueries", &type_bigint},
    {"MemUsedPct", &type_name},
    {"CpuUsedPct", &type_name},
    {"DataCacheMetrics", &type_text},
    {"Location", &type_text},
};

static void
add_compute_node(const struct shown *s, struct rowset *out)
{
    if (s->row->role != PEER_COMPUTE_NODE)
        return;
    add_common_node_columns(s, out);
    add_message(s, out);
    add_version(s, out);
    add_cores(s, out);
    rowset_nulls(out, 5); /* storage, Starlet, worker, warehouse, tablets */
}

static void
produce_compute_nodes(const struct catalog_scope *scope, struct rowset *out)
{
    each_node(scope, out, add_compute_node);
}

static const struct catalog_column compute_nodes[] = {
    {"ComputeNodeId", &type_bigint}, NODE_COLUMNS,
    {"ErrMsg", &type_text},          {"Version", &type_name},
    {"CpuCores", &type_bigint},      {"NumRunningQueries", &type_bigint},
    {"MemUsedPct", &type_name},      {"CpuUsedPct", &type_name},
    {"HasStoragePath", &type_name},  {"StarletPort", &type_bigint},
    {"WorkerId", &type_bigint},      {"WarehouseName", &type_name},
    {"TabletNum", &type_bigint},
};

const struct catalog_table tables_nodes[] = {
    {"heapwire", "nodes", CATALOG_COLUMNS(nodes), produce_nodes,
     "The nodes that this one knows", PRIVILEGE_STATUS},
    {CATALOG_HIDDEN, "backends", CATALOG_COLUMNS(backends), produce_backends,
     NULL, PRIVILEGE_STATUS, NEED_PEERS},
    {CATALOG_HIDDEN, "compute_nodes", CATALOG_COLUMNS(compute_nodes),
     produce_compute_nodes, NULL, PRIVILEGE_STATUS, NEED_PEERS},
    {NULL},
};
