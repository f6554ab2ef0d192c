/*
 * tables_node.c - heapwire.profiler: how profiling is on this node
 *
 * CREATE TABLE heapwire.profiler (
 *     state varchar(64) NOT NULL, since datetime, active tinyint(1),
 *     active_since datetime, sample_rate bigint unsigned,
 *     samples bigint unsigned, jemalloc_version varchar(64) NOT NULL,
 *     allocator_symbol varchar(64) NOT NULL, reason varchar(1024) NOT NULL,
 *     profiling varchar(64) NOT NULL, active_until datetime, changes bigint,
 *     resets bigint, samples_at datetime, overhead double, cpu_before double,
 *     cpu_since double, budget double, guarded datetime,
 *     guard_reason varchar(1024) NOT NULL, risks text NOT NULL,
 *     started datetime, cpus bigint NOT NULL)
 */
#include <math.h>
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
#include "tables_node.h"

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

/* Explains what keeps profiling from being switched on; "": nothing does. */
const char *
node_explain(const struct node_status *status, struct error *why)
{
    if (node_status_check(status, why) == 0 &&
        node_status_check_job(status, JOB_ENABLE, why) == 0)
        return "";
    return why->text;
}

/* A share of one CPU as percent. */
static void
add_percent(struct rowset *out, bool known, double cpus)
{
    if (known)
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
    if (hello->opt_prof && profiler_state_distance(hello) > 0)
        rowset_int(out, (int64_t)profiler_state_distance(hello));
    else
        rowset_null(out);
    if (status.profiled) /* to count those of now would take a profile */
        rowset_int(out, (int64_t)status.samples);
    else
        rowset_null(out);
    rowset_text(out, hello->version);
    rowset_text(out, hello->mallctl);
    rowset_text(out, node_explain(&status, &why));
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
    rowset_time(out, status.state == NODE_CONNECTED ? hello->started_ms : 0);
    rowset_int(out, sysconf(_SC_NPROCESSORS_ONLN));
}

static const struct catalog_column profiler[] = {
    CATALOG_NODE_ID,
    {"state", &type_name, "connected, unresponsive, gone or absent",
     CATALOG_SET},
    {"since", &type_time, "In that state; UTC"},
    {"active", &type_boolean, "Whether allocations are sampled"},
    {"active_since", &type_time, "UTC"},
    {"sample_rate", &type_ubigint, "Mean bytes between two samples"},
    {"samples", &type_ubigint,
     "Sampled objects in the last profile taken; NULL: none yet"},
    {"jemalloc_version", &type_name, NULL, CATALOG_SET},
    {"allocator_symbol", &type_name, "What jemalloc is called in there",
     CATALOG_SET},
    {"reason", &type_text, "Why it cannot be switched on; empty: it can",
     CATALOG_SET},
    {"profiling", &type_name,
     "unknown; no jemalloc; jemalloc without profiling; opt.prof is off; "
     "inactive; active, nothing sampled yet; active",
     CATALOG_SET},
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
    {"guarded", &type_time,
     "When that happened last, or heapwired was away for too long; UTC"},
    {"guard_reason", &type_text, "And why", CATALOG_SET},
    {"risks", &type_plain_text,
     "What is known to go wrong with this jemalloc and its options",
     CATALOG_SET},
    {"started", &type_time, "The database; UTC; NULL: it is not connected"},
    {"cpus", &type_bigint, "Of the machine", CATALOG_SET},
};

const struct catalog_table table_profiler = {
    "heapwire",
    "profiler",
    "The heap profiler of this node's database",
    CATALOG_OWN_COLUMNS(profiler),
    PRIVILEGE_STATUS,
    produce_profiler};

const struct catalog_table table_cluster_profiler = {
    .database = "heapwire",
    .name = "cluster_profiler",
    .comment = "heapwire.profiler of every node",
    .columns = profiler,
    .column_count = sizeof(profiler) / sizeof(profiler[0]),
    .privilege = PRIVILEGE_STATUS | PRIVILEGE_CLUSTER,
    .of = &table_profiler};
