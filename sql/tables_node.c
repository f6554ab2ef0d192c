/*
 * tables_node.c - this node: as itself, as a profiler, as StarRocks' backend
 *
 * CREATE TABLE heapwire.nodes (
 *     id bigint, address varchar(64), port bigint, role varchar(64),
 *     alive tinyint(1), since datetime, version varchar(64),
 *     state varchar(64))
 * CREATE TABLE heapwire.profiler (
 *     state varchar(64), since datetime, active tinyint(1),
 *     active_since datetime, sample_rate bigint unsigned,
 *     samples bigint unsigned, jemalloc_version varchar(64),
 *     allocator_symbol varchar(64), reason varchar(1024),
 *     profiling varchar(64), active_until datetime, changes bigint,
 *     resets bigint, samples_at datetime, overhead double,
 *     cpu_before double, cpu_since double, budget double,
 *     guarded datetime, guard_reason varchar(1024), risks text)
 */
#include <stdio.h>
#include <unistd.h>

#include "buffer.h"
#include "catalog_tables.h"
#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "node_status.h"
#include "profiler_state.h"
#include "rowset.h"
#include "schema_types.h"
#include "sql_session.h"

enum { LG_SAMPLE_MAX = 62, RISKS_TEXT_MAX = 8192 };

static const char *
state_name(enum node_state state)
{
    static const char *const names[] = {[NODE_ABSENT] = "absent",
                                        [NODE_CONNECTED] = "connected",
                                        [NODE_UNRESPONSIVE] = "unresponsive",
                                        [NODE_GONE] = "gone"};

    return names[state];
}

/* As StarRocks has it. */
static void
add_word(struct rowset *out, bool truth)
{
    rowset_text(out, truth ? "true" : "false");
}

/* Why profiling cannot be switched on here, or "". */
static const char *
explain(const struct node_status *status, struct error *why)
{
    if (node_status_check(status, why) == 0 &&
        node_status_check_job(status, JOB_ENABLE, why) == 0)
        return "";
    return why->text;
}

/* ---- heapwire.nodes ---- */

static void
produce_nodes(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_node *node = scope->session->node;
    struct node_status status;

    controller_status(node->controller, &status);
    rowset_int(out, node->id);
    rowset_text(out, node->address);
    rowset_int(out, node->port);
    rowset_text(out, "self");
    rowset_int(out, status.state == NODE_CONNECTED);
    rowset_time(out, status.since_ms);
    rowset_text(out, HW_VERSION);
    rowset_text(out, state_name(status.state));
}

static const struct catalog_column nodes[] = {
    {"id", &type_bigint},    {"address", &type_name},  {"port", &type_bigint},
    {"role", &type_name},    {"alive", &type_boolean}, {"since", &type_time},
    {"version", &type_name}, {"state", &type_name},
};

const struct catalog_table table_nodes = {"heapwire",
                                          "nodes",
                                          "The nodes that this one knows",
                                          CATALOG_COLUMNS(nodes),
                                          PRIVILEGE_STATUS,
                                          produce_nodes};

/* ---- heapwire.profiler ---- */

/* A share of one CPU as percent. */
static void
add_percent(struct rowset *out, bool known, double cpus)
{
    if (known)
        rowset_double(out, cpus * 100);
    else
        rowset_null(out);
}

static void
add_cost(const struct node_status *status, struct rowset *out)
{
    const struct guard_report *guard = &status->guard;
    struct buffer risks;

    add_percent(out, guard->estimated, guard->cpus);
    add_percent(out, guard->measured_before, guard->cpus_before);
    add_percent(out, guard->measured_since, guard->cpus_since);
    add_percent(out, guard->budget_cpus > 0, guard->budget_cpus);
    rowset_time(out, guard->switched_off_ms);
    rowset_text(out, guard->reason);
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
    struct error why;

    controller_status(scope->session->node->controller, &status);
    rowset_text(out, state_name(status.state));
    rowset_time(out, status.since_ms);
    if (status.state == NODE_CONNECTED) {
        rowset_int(out, hello->active != 0);
        rowset_time(out, hello->active_since_ms);
    } else {
        rowset_nulls(out, 2);
    }
    if (hello->opt_prof && hello->lg_sample <= LG_SAMPLE_MAX)
        rowset_int(out, (int64_t)1 << hello->lg_sample);
    else
        rowset_null(out);
    if (status.profiled) /* to count those of now would take a profile */
        rowset_int(out, (int64_t)status.samples);
    else
        rowset_null(out);
    rowset_text(out, hello->version);
    rowset_text(out, hello->mallctl);
    rowset_text(out, explain(&status, &why));
    rowset_text(out, profiler_state_word(profiler_state_of(&status)));
    if (status.state == NODE_CONNECTED) {
        rowset_time(out, hello->active_until_ms);
        rowset_int(out, hello->changes);
        rowset_int(out, hello->resets);
    } else {
        rowset_nulls(out, 3);
    }
    rowset_time(out, status.profiled ? status.profiled_ms : 0);
    add_cost(&status, out);
}

static const struct catalog_column profiler[] = {
    {"state", &type_name, "connected, unresponsive, gone or absent"},
    {"since", &type_time, "In that state; UTC"},
    {"active", &type_boolean, "Whether allocations are sampled"},
    {"active_since", &type_time, "UTC"},
    {"sample_rate", &type_ubigint, "Mean bytes between two samples"},
    {"samples", &type_ubigint,
     "Sampled objects in the last profile taken; NULL: none yet"},
    {"jemalloc_version", &type_name, NULL},
    {"allocator_symbol", &type_name, "What jemalloc is called in there"},
    {"reason", &type_text, "Why it cannot be switched on; empty: it can"},
    {"profiling", &type_name,
     "unknown; no jemalloc; jemalloc without profiling; opt.prof is off; "
     "inactive; active, nothing sampled yet; active"},
    {"active_until", &type_time,
     "When it switches itself off, UTC; NULL: it does not"},
    {"changes", &type_bigint, "How often it was switched"},
    {"resets", &type_bigint, "How often all samples were forgotten"},
    {"samples_at", &type_time, "The profile that samples is of; UTC"},
    {"overhead", &type_double,
     "Of profiling, now, estimated: percent of one CPU"},
    {"cpu_before", &type_double,
     "Of the whole process before profiling, measured: percent of one CPU"},
    {"cpu_since", &type_double, "Likewise, since profiling is active"},
    {"budget", &type_double,
     "Above this overhead it is switched off: percent of one CPU; NULL: never"},
    {"guarded", &type_time, "When that happened last; UTC"},
    {"guard_reason", &type_text, "And why"},
    {"risks", &type_plain_text,
     "What is known to go wrong with this jemalloc and its options"},
};

const struct catalog_table table_profiler = {
    "heapwire",
    "profiler",
    "The heap profiler of this node's database",
    CATALOG_COLUMNS(profiler),
    PRIVILEGE_STATUS,
    produce_profiler};

/* ---- SHOW BACKENDS, SHOW COMPUTE NODES: StarRocks' columns ---- */

static void
produce_backends(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_node *node = scope->session->node;
    struct node_status status;
    struct error why;

    controller_status(node->controller, &status);
    rowset_int(out, node->id);
    rowset_text(out, node->address);
    rowset_nulls(out, 4); /* ports */
    rowset_time(out, status.state == NODE_CONNECTED ? status.hello.started_ms
                                                    : node->started_ms);
    rowset_time(out, status.state == NODE_CONNECTED ? clock_wall_ms()
                                                    : status.since_ms);
    add_word(out, status.state == NODE_CONNECTED);
    add_word(out, false); /* SystemDecommissioned */
    add_word(out, false); /* ClusterDecommissioned */
    rowset_nulls(out, 6); /* tablets, capacities */
    rowset_text(out,
                status.state == NODE_CONNECTED ? "" : explain(&status, &why));
    rowset_text(out, HW_VERSION);
    rowset_text(out, "");
    rowset_nulls(out, 2); /* DataTotalCapacity, DataUsedPct */
    rowset_int(out, sysconf(_SC_NPROCESSORS_ONLN));
    rowset_nulls(out, 3); /* NumRunningQueries, MemUsedPct, CpuUsedPct */
    rowset_text(out, "");
    rowset_text(out, "");
}

static const struct catalog_column backends[] = {
    {"BackendId", &type_bigint},
    {"IP", &type_name},
    {"HeartbeatPort", &type_bigint},
    {"BePort", &type_bigint},
    {"HttpPort", &type_bigint},
    {"BrpcPort", &type_bigint},
    {"LastStartTime", &type_time},
    {"LastHeartbeat", &type_time},
    {"Alive", &type_name},
    {"SystemDecommissioned", &type_name},
    {"ClusterDecommissioned", &type_name},
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

const struct catalog_table table_show_backends = {
    CATALOG_HIDDEN,   "backends",      "", CATALOG_COLUMNS(backends),
    PRIVILEGE_STATUS, produce_backends};

static void
produce_no_compute_nodes(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    (void)out;
}

static const struct catalog_column compute_nodes[] = {
    {"ComputeNodeId", &type_bigint},
    {"IP", &type_name},
    {"HeartbeatPort", &type_bigint},
    {"BePort", &type_bigint},
    {"HttpPort", &type_bigint},
    {"BrpcPort", &type_bigint},
    {"LastStartTime", &type_time},
    {"LastHeartbeat", &type_time},
    {"Alive", &type_name},
    {"SystemDecommissioned", &type_name},
    {"ClusterDecommissioned", &type_name},
    {"ErrMsg", &type_text},
    {"Version", &type_name},
    {"CpuCores", &type_bigint},
    {"NumRunningQueries", &type_bigint},
    {"MemUsedPct", &type_name},
    {"CpuUsedPct", &type_name},
    {"HasStoragePath", &type_name},
    {"StarletPort", &type_bigint},
    {"WorkerId", &type_bigint},
    {"WarehouseName", &type_name},
    {"TabletNum", &type_bigint},
};

const struct catalog_table table_show_compute_nodes = {
    CATALOG_HIDDEN,
    "compute_nodes",
    "",
    CATALOG_COLUMNS(compute_nodes),
    PRIVILEGE_STATUS,
    produce_no_compute_nodes};
