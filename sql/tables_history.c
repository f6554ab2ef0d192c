/*
 * tables_history.c - the database's memory over the last hours.
 *
 *     CREATE TABLE heapwire.memory_history (
 *         at datetime, pid bigint unsigned, started datetime,
 *         profiling tinyint(1), responsive tinyint(1),
 *         rss bigint, cgroup_current bigint, cgroup_cache bigint,
 *         cgroup_limit bigint,
 *         allocated bigint, active bigint, metadata bigint, resident bigint,
 *         mapped bigint, retained bigint)
 *
 * The kernel's figures are of each second, jemalloc's of each ten.
 */
#include "catalog_tables.h"
#include "history.h"
#include "rowset.h"
#include "sql_session.h"

enum { SAMPLES_AT_ONCE = 64 };

static void
add_figure(struct rowset *out, struct stats_figure figure)
{
    if (figure.known && figure.value <= INT64_MAX)
        rowset_int(out, (int64_t)figure.value);
    else
        rowset_null(out);
}

static void
add_sample(struct rowset *out, const struct history_sample *sample)
{
    rowset_time(out, sample->at_ms);
    rowset_int(out, sample->pid);
    rowset_time(out, sample->started_ms);
    rowset_int(out, sample->profiling);
    rowset_int(out, !sample->unresponsive);
    add_figure(out, sample->rss);
    add_figure(out, sample->cgroup_current);
    add_figure(out, sample->cgroup_cache);
    add_figure(out, sample->cgroup_limit);
    add_figure(out, sample->allocated);
    add_figure(out, sample->active);
    add_figure(out, sample->metadata);
    add_figure(out, sample->resident);
    add_figure(out, sample->mapped);
    add_figure(out, sample->retained);
}

static void
produce(const struct catalog_scope *scope, struct rowset *out)
{
    struct history *history = scope->session->node->history;
    struct history_sample samples[SAMPLES_AT_ONCE];
    uint64_t next = 0;
    size_t count;

    while ((count = history_read(history, &next, samples, SAMPLES_AT_ONCE)) > 0)
        for (size_t i = 0; i < count; i++)
            add_sample(out, &samples[i]);
}

static const struct catalog_column memory_history[] = {
    {"at", &type_time, "UTC; one row a second while a database is there"},
    {"pid", &type_ubigint, "Of the database then"},
    {"started", &type_time, "When that database came up, UTC"},
    {"profiling", &type_boolean, "Whether it was on"},
    {"responsive", &type_boolean, "Whether the database answered"},
    {"rss", &type_bigint, "Bytes in memory, by the kernel's count"},
    {"cgroup_current", &type_bigint,
     "Bytes that the cgroup uses, page cache included"},
    {"cgroup_cache", &type_bigint,
     "Of them file pages, which the kernel takes back first"},
    {"cgroup_limit", &type_bigint,
     "The smallest limit of the cgroup and those around it; NULL: none"},
    {"allocated", &type_bigint,
     "Bytes the program has in use; jemalloc's figures: each ten seconds"},
    {"active", &type_bigint, "Bytes of pages that hold them"},
    {"metadata", &type_bigint, "Bytes of jemalloc's bookkeeping"},
    {"resident", &type_bigint, "Bytes in memory, by jemalloc's count"},
    {"mapped", &type_bigint, "Bytes of address space in use"},
    {"retained", &type_bigint, "Bytes of address space kept, without memory"},
};

const struct catalog_table table_memory_history = {
    "heapwire",
    "memory_history",
    "The database's memory of the last hours, oldest first",
    CATALOG_COLUMNS(memory_history),
    PRIVILEGE_STATUS,
    produce};
