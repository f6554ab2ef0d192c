/*
 * tables_snapshots.c - the snapshots that are kept.
 *
 * The memory is that of the moment when it was taken; NULL: not known then.
 */
#include <math.h>

#include "catalog_tables.h"
#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "memory.h"
#include "sql_cursor.h"
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
    ROWSET_TEXTS(out, entry->note, causes[entry->cause], entry->reason);
    rowset_int(out, entry->pinned);
    rowset_int(out, entry->on_disk);
    add_count(out, entry->size);
    add_memory(out, &entry->memory);
}

static void
produce(const struct catalog_scope *scope, struct rowset *out)
{
    struct store *store = controller_store(scope->session->node->controller);
    struct store_entry *list = mem_alloc_unset(STORE_COUNT_MAX * sizeof(*list));
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
    {"age_seconds", &type_ubigint_nn}
#define BEHIND_NODE_ID \
    {"pid", &type_ubigint_nn, "Of the database then"}, \
    {"program", &type_text_nn}, \
    {"jemalloc_version", &type_name_nn}, \
    {"sample_rate", &type_ubigint_nn, "Mean bytes between two samples"}, \
    {"active_since", &type_time, "UTC; NULL: profiling was off"}, \
    {"samples", &type_ubigint_nn, "Objects that were sampled"}, \
    {"stacks", &type_ubigint_nn}, \
    {"bytes", &type_ubigint_nn, "In use, estimated from the samples"}, \
    {"objects", &type_ubigint_nn, "In use, estimated from the samples"}, \
    {"truncated", &type_boolean_nn, "Whether the dump was cut off"}, \
    {"note", &type_text_nn, "What could not be named, and why"}, \
    {"cause", &type_name_nn, "asked, mark, schedule or imported"}, \
    {"reason", &type_text_nn, "Which mark, ..."}, \
    {"pinned", &type_boolean_nn, "Whether it stays when room is needed"}, \
    {"on_disk", &type_boolean_nn, "Whether it survives this heapwired"}, \
    {"size", &type_ubigint_nn, "Bytes on disk, or in memory"}, \
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
    BEFORE_NODE_ID, {"node_id", &type_ubigint_nn}, BEHIND_NODE_ID};

static const struct catalog_column cluster_columns[] = {
    CATALOG_NODE_ID, BEFORE_NODE_ID, BEHIND_NODE_ID};

const struct catalog_table tables_snapshots[] = {
    {"heapwire", "snapshots", CATALOG_COLUMNS(snapshots), produce,
     "The heap snapshots that are kept, oldest first", PRIVILEGE_STATUS},
    CATALOG_OF_ALL("snapshots", cluster_columns, PRIVILEGE_STATUS,
                   &tables_snapshots[0]),
    {NULL},
};
