/*
 * tables_snapshots.c - the snapshots that are kept.
 *
 * CREATE TABLE heapwire.snapshots (
 *     name varchar(64), taken datetime, age_seconds bigint unsigned,
 *     node_id bigint unsigned, pid bigint unsigned, program varchar(1024),
 *     jemalloc_version varchar(64), sample_rate bigint unsigned,
 *     active_since datetime, samples bigint unsigned, stacks bigint unsigned,
 *     bytes bigint unsigned, objects bigint unsigned, truncated tinyint(1),
 *     note varchar(1024))
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
add_snapshot(struct rowset *out, const struct store_entry *entry)
{
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

static const struct catalog_column snapshots[] = {
    {"name", &type_name, "What snapshot() answered"},
    {"taken", &type_time, "UTC"},
    {"age_seconds", &type_ubigint, NULL},
    {"node_id", &type_ubigint, NULL},
    {"pid", &type_ubigint, "Of the database then"},
    {"program", &type_text, NULL},
    {"jemalloc_version", &type_name, NULL},
    {"sample_rate", &type_ubigint, "Mean bytes between two samples"},
    {"active_since", &type_time, "UTC; NULL: profiling was off"},
    {"samples", &type_ubigint, "Objects that were sampled"},
    {"stacks", &type_ubigint, NULL},
    {"bytes", &type_ubigint, "In use, estimated from the samples"},
    {"objects", &type_ubigint, "In use, estimated from the samples"},
    {"truncated", &type_boolean, "Whether the dump was cut off"},
    {"note", &type_text, "What could not be named, and why"},
};

const struct catalog_table table_snapshots = {
    "heapwire",
    "snapshots",
    "The heap snapshots that are kept, oldest first",
    CATALOG_COLUMNS(snapshots),
    PRIVILEGE_STATUS,
    produce};
