/*
 * tables_snapshots.c - the kept snapshots, and how databases of this node
 * ended (heapwire.deaths).
 *
 * A snapshot's row comes from the store's list and is not loaded.  Its memory
 * columns are those of the moment when it was taken; NULL: not known then.  A
 * death is joined with what was seen of the process before: the last sample of
 * the history, and the newest snapshot, whichever is later.
 */
#include <math.h>

#include "catalog_tables.h"
#include "clock.h"
#include "controller.h"
#include "deaths.h"
#include "errors.h"
#include "history.h"
#include "memory.h"
#include "profile.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "store.h"

enum {
    FIGURES = 8,
    /* How much older than their sample the allocator's figures may be. */
    EPOCH_MS = 1000
};

static void
add_figure_deaths(struct rowset *out, struct stats_figure figure)
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

/* A death may be noticed some seconds after a recorder's file was read. */
enum { SEEN_LATE_MS = 5000 };

/* Is the snapshot one of the dead process?  Process ids are used again, so
 * times decide.  A recorder's profile can be taken after the end; and an
 * unseen death has the time of the last look at the process. */
static bool
is_of_dead_process(const struct store_entry *kept, const struct death *death)
{
    if (kept->cause == SNAPSHOT_IMPORTED || kept->taken_ms < death->started_ms)
        return false;
    if (kept->hello.opt_prof == AGENT_PROF_RECORDED &&
        (kept->hello.pid == death->pid ||
         kept->hello.pid ==
             death->recorded)) /* it can be taken after the end */
        return kept->taken_ms <= death->at_ms + SEEN_LATE_MS;
    return kept->taken_ms <= death->at_ms ||
           (death->unknown && kept->hello.pid == death->pid &&
            kept->hello.started_ms == death->started_ms);
}

/* Finds the newest snapshot by the time of its samples: the list is in the
 * order of files, of which one may have been written again.  NULL: none. */
static const struct store_entry *
newest_snapshot(const struct store_entry *kept, size_t count,
                const struct death *death)
{
    const struct store_entry *newest = NULL;

    for (const struct store_entry *one = kept; one < kept + count; one++)
        if (one->kind == PROFILE_HEAP && is_of_dead_process(one, death) &&
            (!newest || one->taken_ms >= newest->taken_ms))
            newest = one;
    return newest;
}

/* Takes figures from the snapshot that are newer than the sample's. */
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
    /* The allocator's figures may be from up to a second before their
     * sample. */
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
    add_figure_deaths(out, last.rss);
    add_figure_deaths(out, last.cgroup_current);
    add_figure_deaths(out, last.cgroup_limit);
    add_figure_deaths(out, last.allocated);
    add_figure_deaths(out, last.resident);
    rowset_time(out, last.allocator_ms);
}

static void
produce_deaths(const struct catalog_scope *scope, struct rowset *out)
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
    {"rss", &type_bigint, "Bytes in memory at that time"},
    {"cgroup_current", &type_bigint, NULL},
    {"cgroup_limit", &type_bigint, NULL},
    {"allocated", &type_bigint,
     "The last known bytes in use, by jemalloc's count"},
    {"resident", &type_bigint,
     "The last known bytes in memory, by jemalloc's count"},
    {"allocator_sampled", &type_time,
     "When these two were taken, UTC: up to ten seconds before rss was; above "
     "70% of the limit, a second"},
    {"last_snapshot", &type_name,
     "The newest kept snapshot of that process; NULL: none was kept, for "
     "instance because profiling was off"},
};

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
add_snapshot_figure(struct rowset *out, struct stats_figure figure)
{
    if (figure.known)
        add_count(out, figure.value);
    else
        rowset_null(out);
}

static void
add_snapshot_memory(struct rowset *out, const struct snapshot_memory *m)
{
    const struct stats_figure figures[] = {
        m->allocated, m->active, m->metadata, m->resident,      m->mapped,
        m->retained,  m->rss,    m->rss_file, m->cgroup_current};
    bool limited = m->cgroup_limit.known && m->cgroup_limit.value > 0;

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        add_snapshot_figure(out, figures[i]);
    add_snapshot_figure(out,
                        (struct stats_figure){limited, m->cgroup_limit.value});
    rowset_time(out, m->allocator_ms);
    rowset_time(out, m->rss_ms);
}

static void
add_snapshot(struct rowset *out, const struct store_entry *entry)
{
    static const char *const causes[] = {[SNAPSHOT_ASKED] = "asked",
                                         [SNAPSHOT_MARK] = "mark",
                                         [SNAPSHOT_SCHEDULE] = "schedule",
                                         [SNAPSHOT_IMPORTED] = "imported",
                                         [SNAPSHOT_RING] = "ring"};
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
    add_snapshot_memory(out, &entry->memory);
    rowset_text(out, profile_kind_keyword(entry->kind));
}

static void
produce_snapshots(const struct catalog_scope *scope, struct rowset *out)
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
    {"pid", &type_ubigint_nn, "The process id of the database then"}, \
    {"program", &type_text_nn}, \
    {"jemalloc_version", &type_name_nn}, \
    {"sample_rate", &type_ubigint_nn, "Mean bytes between two samples; " \
     "nanoseconds for cpu and wall"}, \
    {"active_since", &type_time, "UTC; NULL: profiling was off"}, \
    {"samples", &type_ubigint_nn, "Objects that were sampled"}, \
    {"stacks", &type_ubigint_nn}, \
    {"bytes", &type_ubigint_nn, "In use, estimated from the samples; " \
     "nanoseconds for cpu and wall"}, \
    {"objects", &type_ubigint_nn, "Objects in use, estimated from the samples; for cpu and wall the number of samples"}, \
    {"truncated", &type_boolean_nn, "Whether the dump was cut off"}, \
    {"note", &type_text_nn, "What could not be named, and why"}, \
    {"cause", &type_name_nn, "asked, mark, schedule, imported; ring: kept by default"}, \
    {"reason", &type_text_nn, "Which mark was reached, or what else caused it"}, \
    {"pinned", &type_boolean_nn, "Whether it stays when room is needed"}, \
    {"on_disk", &type_boolean_nn, "Whether it survives this heapwired"}, \
    {"size", &type_ubigint_nn, "Bytes on disk, or in memory"}, \
    {"allocated", &type_ubigint, "Of the allocator, as in memory; NULL for " \
     "cpu and wall, as all up to rss_taken"}, \
    {"active", &type_ubigint, NULL}, \
    {"metadata", &type_ubigint, NULL}, \
    {"resident", &type_ubigint, NULL}, \
    {"mapped", &type_ubigint, NULL}, \
    {"retained", &type_ubigint, NULL}, \
    {"rss", &type_ubigint, "Of the kernel, as in memory"}, \
    {"rss_file", &type_ubigint, NULL}, \
    {"cgroup_current", &type_ubigint, NULL}, \
    {"cgroup_limit", &type_ubigint, "NULL: none"}, \
    {"allocator_taken", &type_time, "When jemalloc's figures were taken, UTC"}, \
    {"rss_taken", &type_time, "When rss and rss_file were taken, UTC"}, \
    {"kind", &type_name_nn, "heap; cpu: a profile of the processor's time; " \
     "wall: of the clock's"}
/* clang-format on */

static const struct catalog_column snapshots[] = {
    BEFORE_NODE_ID, {"node_id", &type_ubigint_nn}, BEHIND_NODE_ID};

static const struct catalog_column cluster_columns[] = {
    CATALOG_NODE_ID, BEFORE_NODE_ID, BEHIND_NODE_ID};

const struct catalog_table tables_snapshots[] = {
    {"heapwire", "snapshots", CATALOG_COLUMNS(snapshots), produce_snapshots,
     "The snapshots that are kept, oldest first", PRIVILEGE_STATUS},
    CATALOG_OF_ALL("snapshots", cluster_columns, PRIVILEGE_STATUS,
                   &tables_snapshots[0]),
    {"heapwire", "deaths", CATALOG_OWN_COLUMNS(deaths), produce_deaths,
     "How databases of this node ended, oldest first", PRIVILEGE_STATUS,
     NEED_TIME},
    CATALOG_OF_ALL("deaths", deaths, PRIVILEGE_STATUS, &tables_snapshots[2]),
    {NULL},
};
