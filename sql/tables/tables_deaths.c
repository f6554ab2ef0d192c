/*
 * tables_deaths.c - how databases ended.
 *
 * What is known of one is found by the time of its life: of a wrapper's the
 * database is another process.
 */
#include "catalog_tables.h"
#include "controller.h"
#include "deaths.h"
#include "history.h"
#include "memory.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "store.h"

enum {
    FIGURES = 8,
    /* The allocator's figures may be so much older than their sample. */
    EPOCH_MS = 1000
};

static void
add_figure(struct rowset *out, struct stats_figure figure)
{
    rowset_int_if(out, figure.known && figure.value <= INT64_MAX,
                  (int64_t)figure.value);
}

static void
add_how(struct rowset *out, const struct death *death)
{
    char how[512];

    death_describe(death, how, sizeof(how));
    rowset_text(out, how);
    rowset_int_if(out, !death->unknown && !death->signalled, death->code);
    rowset_int_if(out, !death->unknown && death->signalled, death->code);
    rowset_int_if(out, death->asked != 0, death->asked);
    rowset_int_if(out, death->oom_before.known && death->oom_after.known,
                  (int64_t)death_oom_kills(death));
}

/* An unseen death has the time of the last look at the process. */
static bool
is_of_its_life(const struct store_entry *kept, const struct death *death)
{
    if (kept->cause == SNAPSHOT_IMPORTED || kept->taken_ms < death->started_ms)
        return false;
    return kept->taken_ms <= death->at_ms ||
           (death->unknown && kept->hello.pid == death->pid &&
            kept->hello.started_ms == death->started_ms);
}

/* By the time of its samples: kept is in the order of files, of which one may
 * have been written again.  NULL: none. */
static const struct store_entry *
newest_snapshot(const struct store_entry *kept, size_t count,
                const struct death *death)
{
    const struct store_entry *newest = NULL;

    for (const struct store_entry *one = kept; one < kept + count; one++)
        if (is_of_its_life(one, death) &&
            (!newest || one->taken_ms >= newest->taken_ms))
            newest = one;
    return newest;
}

/* Figures that were taken with the snapshot may be newer than the samples. */
static void
take_newer(struct history_sample *last, const struct snapshot_memory *memory)
{
    if (memory->rss.known && memory->rss_ms > last->at_ms) {
        last->at_ms = memory->rss_ms;
        last->rss = memory->rss;
        last->profiling = true;
        if (memory->cgroup_current.known)
            last->cgroup_current = memory->cgroup_current;
        if (memory->cgroup_limit.known)
            last->cgroup_limit = memory->cgroup_limit;
    }
    if (memory->allocated.known &&
        memory->allocator_ms + EPOCH_MS >= last->allocator_ms) {
        last->allocator_ms = memory->allocator_ms;
        last->allocated = memory->allocated;
        last->resident = memory->resident;
    }
}

static void
add_last(struct rowset *out, struct history *history, const struct death *death,
         const struct store_entry *snapshot)
{
    struct history_sample last = {0};

    if (!history_last(history, death->started_ms, death->at_ms, &last))
        last = (struct history_sample){0};
    if (snapshot)
        take_newer(&last, &snapshot->memory);
    if (last.at_ms == 0) {
        rowset_nulls(out, FIGURES);
        return;
    }
    rowset_time(out, last.at_ms);
    rowset_int(out, last.profiling);
    add_figure(out, last.rss);
    add_figure(out, last.cgroup_current);
    add_figure(out, last.cgroup_limit);
    add_figure(out, last.allocated);
    add_figure(out, last.resident);
    rowset_time(out, last.allocator_ms);
}

static void
produce(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_node *node = scope->session->node;
    struct death *deaths = mem_alloc_unset(DEATHS_MAX * sizeof(*deaths));
    struct store_entry *kept = mem_alloc_unset(STORE_COUNT_MAX * sizeof(*kept));
    const struct store_entry *snapshot;
    size_t count = 0, snapshots = 0;

    if (!deaths || !kept)
        out->failed = true;
    else if (node->state_dir)
        count = deaths_read(node->state_dir, deaths, DEATHS_MAX);
    if (count > 0)
        snapshots = store_list(controller_store(node->controller), kept,
                               STORE_COUNT_MAX);
    for (size_t i = 0; i < count; i++) {
        rowset_time(out, deaths[i].at_ms);
        rowset_int(out, deaths[i].pid);
        rowset_time(out, deaths[i].started_ms);
        rowset_text(out, deaths[i].program);
        add_how(out, &deaths[i]);
        snapshot = newest_snapshot(kept, snapshots, &deaths[i]);
        add_last(out, node->history, &deaths[i], snapshot);
        if (snapshot)
            rowset_text(out, snapshot->name);
        else
            rowset_null(out);
    }
    mem_free(kept);
    mem_free(deaths);
}

static const struct catalog_column deaths[] = {
    CATALOG_NODE_ID,
    {"at", &type_time, "When it ended, UTC"},
    {"pid", &type_ubigint_nn},
    {"started", &type_time, "UTC"},
    {"program", &type_text_nn},
    {"how", &type_text_nn, "In words"},
    {"exit_status", &type_int, "NULL: it was killed, or its end was not seen"},
    {"killed_by", &type_int,
     "The signal; NULL: it exited, or that was not seen"},
    {"told_by", &type_int,
     "The signal that heapwire-run had sent to end it; NULL: none"},
    {"oom_kills", &type_bigint,
     "Processes, but heapwired, of its cgroup, or of the machine where that "
     "does not count them, that the kernel killed for want of memory while it "
     "ran; NULL: not known"},
    {"sampled", &type_time,
     "When its memory was looked at last, UTC: by memory_history, or with "
     "last_snapshot; NULL: never"},
    {"profiling", &type_boolean, "Whether it was on then"},
    {"rss", &type_bigint, "Bytes, of that time"},
    {"cgroup_current", &type_bigint, NULL},
    {"cgroup_limit", &type_bigint, NULL},
    {"allocated", &type_bigint, "The last that is known"},
    {"resident", &type_bigint, "Likewise, by jemalloc's count"},
    {"allocator_sampled", &type_time,
     "When these two were taken, UTC: up to ten seconds before rss was; above "
     "70% of the limit, a second"},
    {"last_snapshot", &type_name,
     "The newest kept snapshot of that process; NULL: none was kept, for "
     "instance because profiling was off"},
};

const struct catalog_table tables_deaths[] = {
    {"heapwire", "deaths", CATALOG_OWN_COLUMNS(deaths), produce,
     "How databases of this node ended, oldest first", PRIVILEGE_STATUS,
     NEED_TIME},
    CATALOG_OF_ALL("deaths", deaths, PRIVILEGE_STATUS, &tables_deaths[0]),
    {NULL},
};
