/*
 * tables_node.c - heapwire.profiler: how profiling is on this node
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
    /* to count those of now would take a profile */
    rowset_int_if(out, status.profiled, (int64_t)status.samples);
    ROWSET_TEXTS(out, hello->version, hello->mallctl,
                 node_explain(&status, &why),
                 profiler_state_word(profiler_state_of(&status)));
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
    {"since", &type_time, "In that state; UTC"},
    {"active", &type_boolean, "Whether allocations are sampled"},
    {"active_since", &type_time,
     "Since when, pauses included, UTC; a reset begins anew"},
    {"sample_rate", &type_ubigint, "Mean bytes between two samples"},
    {"samples", &type_ubigint,
     "Sampled objects in the last profile taken; NULL: none yet"},
    {"jemalloc_version", &type_name_nn},
    {"allocator_symbol", &type_name_nn, "What jemalloc is called in there"},
    {"reason", &type_text_nn, "Why it cannot be switched on; empty: it can"},
    {"profiling", &type_name_nn,
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
    {"guarded", &type_time,
     "When that happened last, or heapwired was away for too long; UTC"},
    {"guard_reason", &type_text_nn, "And why"},
    {"risks", &type_plain_text_nn,
     "What is known to go wrong with this jemalloc and its options"},
    {"started", &type_time, "The database; UTC; NULL: it is not connected"},
    {"cpus", &type_bigint_nn, "Of the machine"},
    {"program", &type_text_nn,
     "The database's executable; empty: not known yet"},
    {"source", &type_name_nn,
     "Who samples: interposed or jemalloc; empty: nobody can"},
};

const struct catalog_table tables_node[] = {
    {"heapwire", "profiler", CATALOG_OWN_COLUMNS(profiler), produce_profiler,
     "The heap profiler of this node's database", PRIVILEGE_STATUS},
    CATALOG_OF_ALL("profiler", profiler, PRIVILEGE_STATUS, &tables_node[0]),
    {NULL},
};
