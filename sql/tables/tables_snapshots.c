/*
 * tables_snapshots.c - the snapshots that are kept.
 *
 * CREATE TABLE heapwire.snapshots (
 *     name varchar(64) NOT NULL, taken datetime,
 *     age_seconds bigint unsigned NOT NULL, node_id bigint unsigned NOT NULL,
 *     pid bigint unsigned NOT NULL, program varchar(1024) NOT NULL,
 *     jemalloc_version varchar(64) NOT NULL,
 *     sample_rate bigint unsigned NOT NULL, active_since datetime,
 *     samples bigint unsigned NOT NULL, stacks bigint unsigned NOT NULL,
 *     bytes bigint unsigned NOT NULL, objects bigint unsigned NOT NULL,
 *     truncated tinyint(1) NOT NULL, note varchar(1024) NOT NULL,
 *     cause varchar(64) NOT NULL, reason varchar(1024) NOT NULL,
 *     pinned tinyint(1) NOT NULL, on_disk tinyint(1) NOT NULL,
 *     size bigint unsigned NOT NULL, allocated bigint unsigned,
 *     active bigint unsigned, metadata bigint unsigned,
 *     resident bigint unsigned, mapped bigint unsigned,
 *     retained bigint unsigned, rss bigint unsigned,
 *     rss_file bigint unsigned, cgroup_current bigint unsigned,
 *     cgroup_limit bigint unsigned, allocator_taken datetime,
 *     rss_taken datetime)
 *
 * The memory is that of the moment when it was taken; NULL: not known then.
 */
#include <math.h>

#include "catalog_tables.h"
#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "memory.h"
#include "rowset.h"
#include "sql_session.h"
#include "store.h"

static void
add_count(struct rowset *out, uint64_t count)
{
    rowset_int(out, count < INT64_MAX ? (int64_t)count : INT64_MAX);
}

static void
add_estimate(struct rowset *out, double estimate)
{
    rowset_int(out, estimate < 0x1p63 ? (int64_t)llround(estimate) : INT64_MAX);
}

static void
add_figure(struct rowset *out, struct stats_figure figure)
{
    if (figure.known)
        add_count(out, figure.value);
    else
        rowset_null(out);
}

static void
add_memory(struct rowset *out, const struct snapshot_memory *m)
{
    const struct stats_figure figures[] = {
        m->allocated, m->active, m->metadata, m->resident,      m->mapped,
        m->retained,  m->rss,    m->rss_file, m->cgroup_current};
    bool limited = m->cgroup_limit.known && m->cgroup_limit.value > 0;

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        add_figure(out, figures[i]);
    add_figure(out, (struct stats_figure){limited, m->cgroup_limit.value});
    rowset_time(out, m->allocator_ms);
    rowset_time(out, m->rss_ms);
}

static void
add_snapshot(struct rowset *out, const struct store_entry *entry)
{
    static const char *const causes[] = {[SNAPSHOT_ASKED] = "asked",
                                         [SNAPSHOT_MARK] = "mark",
                                         [SNAPSHOT_SCHEDULE] = "schedule",
                                         [SNAPSHOT_IMPORTED] = "imported"};
    int64_t age_ms = clock_wall_ms() - entry->taken_ms;

    rowset_text(out, entry->name);
    rowset_time(out, entry->taken_ms);
    rowset_int(out, age_ms > 0 ? age_ms / 1000 : 0);
    rowset_int(out, entry->node_id);
    rowset_int(out, entry->hello.pid);
    rowset_text(out, entry->hello.exe);
    rowset_text(out, entry->hello.version);
    add_count(out, entry->rate);
    rowset_time(out, entry->hello.active_since_ms);
    add_count(out, entry->samples);
    add_count(out, entry->stacks);
    add_estimate(out, entry->bytes);
    add_estimate(out, entry->objects);
    rowset_int(out, entry->truncated);
    rowset_text(out, entry->note);
    rowset_text(out, causes[entry->cause]);
    rowset_text(out, entry->reason);
    rowset_int(out, entry->pinned);
    rowset_int(out, entry->on_disk);
    add_count(out, entry->size);
    add_memory(out, &entry->memory);
}

static void
produce(const struct catalog_scope *scope, struct rowset *out)
{
    struct store *store = controller_store(scope->session->node->controller);
    struct store_entry *list = mem_zalloc(STORE_COUNT_MAX, sizeof(*list));
    struct error err;
    size_t count;

    if (!list) {
        error_memory(&err, "the list of snapshots");
        rowset_fail(out, &err);
        return;
    }
    count = store_list(store, list, STORE_COUNT_MAX);
    for (size_t i = 0; i < count; i++)
        add_snapshot(out, &list[i]);
    mem_free(list);
}

/* A list of all nodes' snapshots begins with the node that keeps each; it omits
 * the node that took it. */
/* clang-format off */
#define BEFORE_NODE_ID \
    {"name", &type_name, "What snapshot() answered", CATALOG_KEY}, \
    {"taken", &type_time, "UTC"}, \
    {"age_seconds", &type_ubigint, NULL, CATALOG_SET}
#define BEHIND_NODE_ID \
    {"pid", &type_ubigint, "Of the database then", CATALOG_SET}, \
    {"program", &type_text, NULL, CATALOG_SET}, \
    {"jemalloc_version", &type_name, NULL, CATALOG_SET}, \
    {"sample_rate", &type_ubigint, "Mean bytes between two samples", CATALOG_SET}, \
    {"active_since", &type_time, "UTC; NULL: profiling was off"}, \
    {"samples", &type_ubigint, "Objects that were sampled", CATALOG_SET}, \
    {"stacks", &type_ubigint, NULL, CATALOG_SET}, \
    {"bytes", &type_ubigint, "In use, estimated from the samples", CATALOG_SET}, \
    {"objects", &type_ubigint, "In use, estimated from the samples", CATALOG_SET}, \
    {"truncated", &type_boolean, "Whether the dump was cut off", CATALOG_SET}, \
    {"note", &type_text, "What could not be named, and why", CATALOG_SET}, \
    {"cause", &type_name, "asked, mark, schedule or imported", CATALOG_SET}, \
    {"reason", &type_text, "Which mark, ...", CATALOG_SET}, \
    {"pinned", &type_boolean, "Whether it stays when room is needed", CATALOG_SET}, \
    {"on_disk", &type_boolean, "Whether it survives this heapwired", CATALOG_SET}, \
    {"size", &type_ubigint, "Bytes on disk, or in memory", CATALOG_SET}, \
    {"allocated", &type_ubigint, "Of the allocator, as in memory"}, \
    {"active", &type_ubigint, NULL}, \
    {"metadata", &type_ubigint, NULL}, \
    {"resident", &type_ubigint, NULL}, \
    {"mapped", &type_ubigint, NULL}, \
    {"retained", &type_ubigint, NULL}, \
    {"rss", &type_ubigint, "Of the kernel, as in memory"}, \
    {"rss_file", &type_ubigint, NULL}, \
    {"cgroup_current", &type_ubigint, NULL}, \
    {"cgroup_limit", &type_ubigint, "NULL: none"}, \
    {"allocator_taken", &type_time, "When jemalloc's figures were, UTC"}, \
    {"rss_taken", &type_time, "When rss and rss_file were, UTC"}
/* clang-format on */

static const struct catalog_column snapshots[] = {
    BEFORE_NODE_ID,
    {"node_id", &type_ubigint, NULL, CATALOG_SET},
    BEHIND_NODE_ID};

static const struct catalog_column cluster_columns[] = {
    CATALOG_NODE_ID, BEFORE_NODE_ID, BEHIND_NODE_ID};

const struct catalog_table table_snapshots = {
    "heapwire",
    "snapshots",
    "The heap snapshots that are kept, oldest first",
    CATALOG_COLUMNS(snapshots),
    PRIVILEGE_STATUS,
    produce};

const struct catalog_table table_cluster_snapshots = {
    .database = "heapwire",
    .name = "cluster_snapshots",
    .comment = "heapwire.snapshots of every node",
    .columns = cluster_columns,
    .column_count = sizeof(cluster_columns) / sizeof(cluster_columns[0]),
    .privilege = PRIVILEGE_STATUS | PRIVILEGE_CLUSTER,
    .of = &table_snapshots};
