/*
 * store_keep.c - adds a snapshot and evicts old ones; see store.h.
 *
 * What goes is planned first, on a copy of the sizes and times, while nothing
 * is changed; the new file is written and synced next; only then old files are
 * removed.  So a failure at any point leaves the old snapshots, and a crash at
 * worst one too many.  On a full disk the order is reversed, if that is certain
 * to help.  All of it runs with the disk lock, on the thread of the job or
 * statement that keeps a snapshot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buffer.h"
#include "clock.h"
#include "errors.h"
#include "log.h"
#include "memory.h"
#include "profile.h"
#include "snapshot_file.h"
#include "snapshot_head.h"
#include "store_state.h"

/* ---- which snapshots go: call with disk ---- */

/* What is to go: a candidate for each of the store's list, in its order, and
 * one for the new snapshot behind them. */
struct plan {
    struct eviction_candidate candidates[STORE_COUNT_MAX + 1];
    size_t count; /* without the new one */
};

/* Priorities above FILE_GOES: until there is room the oldest automatic
 * snapshots go, then the oldest that a user asked for. */
enum { EVICT_AUTOMATIC = FILE_GOES + 1, EVICT_REQUESTED };

static int
eviction_priority(const struct store *store, const struct store_entry *entry,
                  int64_t now_ms)
{
    if (entry->pinned)
        return FILE_STAYS;
    if (store->options.age_ms > 0 &&
        now_ms - entry->kept_ms > store->options.age_ms)
        return FILE_GOES;
    if (store_in_ring(store, entry))
        return FILE_STAYS;
    return entry->cause == SNAPSHOT_ASKED || entry->cause == SNAPSHOT_IMPORTED
               ? EVICT_REQUESTED
               : EVICT_AUTOMATIC;
}

/* Plans what is past its age.  The clock is read once: it may be set back
 * between two readings. */
static void
plan_expired(const struct store *store, struct plan *plan)
{
    int64_t now_ms = clock_wall_ms();

    plan->count = store->count;
    for (size_t i = 0; i < store->count; i++) {
        const struct store_entry *entry = &store->list[i]->entry;

        plan->candidates[i] = (struct eviction_candidate){
            eviction_priority(store, entry, now_ms), (int64_t)i, entry->size};
    }
}

/* The oldest first, as ring_thin() needs them. */
static int
compare_ring(const void *a, const void *b)
{
    const struct ring_item *x = a, *y = b;

    return (x->taken_ms > y->taken_ms) - (x->taken_ms < y->taken_ms);
}

/* Plans for one more snapshot of the ring: only others of the ring go. */
static int
plan_ring(const struct store *store, const struct store_entry *added,
          struct plan *plan, struct error *err)
{
    struct ring_item ring[STORE_COUNT_MAX + 1];
    size_t count = 0;

    if (added->size > RING_BYTES_MAX) {
        error_set(err, ER_UNKNOWN,
                  "it takes %" PRIu64 " bytes, and all that are kept by "
                  "default may take %" PRIu64,
                  added->size, (uint64_t)RING_BYTES_MAX);
        return -1;
    }
    plan_expired(store, plan);
    ring[count++] =
        (struct ring_item){added->taken_ms, added->size, RING_ADDED, false};
    for (size_t i = 0; i < store->count; i++) {
        const struct store_entry *entry = &store->list[i]->entry;

        if (store_in_ring(store, entry))
            ring[count++] =
                (struct ring_item){entry->taken_ms, entry->size, i, false};
    }
    qsort(ring, count, sizeof(ring[0]), compare_ring);
    ring_thin(ring, count, added->taken_ms, store->options.ring_ms,
              RING_BYTES_MAX);
    for (size_t i = 0; i < count; i++)
        if (ring[i].goes)
            plan->candidates[ring[i].index].priority = FILE_GOES;
    return 0;
}

/* Plans for one more snapshot outside of the ring, which stays: the least
 * important others go until count and bytes are within the options. */
static int
plan_evictions(const struct store *store, uint64_t size, struct plan *plan,
               struct error *err)
{
    const struct store_options *most = &store->options;
    size_t pinned = 0, ring = 0;

    if (size > most->bytes) {
        error_set(err, ER_UNKNOWN,
                  "the snapshot takes %" PRIu64 " bytes, and at most %" PRIu64
                  " may be kept (keep_bytes in [snapshots])",
                  size, most->bytes);
        return -1;
    }
    plan_expired(store, plan);
    plan->candidates[plan->count] =
        (struct eviction_candidate){FILE_STAYS, 0, size};
    for (size_t i = 0; i < plan->count; i++)
        if (store_in_ring(store, &store->list[i]->entry) &&
            plan->candidates[i].priority == FILE_STAYS) {
            /* it does not count towards the general ceiling */
            plan->candidates[i].bytes = 0;
            ring++;
        }
    if (file_store_evict(plan->candidates, plan->count + 1, most->count + ring,
                         most->bytes))
        return 0;
    for (size_t i = 0; i < plan->count; i++)
        pinned += plan->candidates[i].priority == FILE_STAYS;
    pinned -= ring;
    error_set(err, ER_UNKNOWN,
              "there is no room for another snapshot: %zu are pinned; delete "
              "some, or raise keep or keep_bytes in [snapshots]",
              pinned);
    return -1;
}

/* Removes what is planned, from the back, as removing shifts the list.  One
 * whose file cannot be removed stays in the list, too. */
static void
carry_out(struct store *store, struct plan *plan)
{
    struct error err;

    while (plan->count-- > 0)
        if (plan->candidates[plan->count].priority == FILE_GOES &&
            store_let_go(store, store->list[plan->count], &err) != 0)
            log_to(store->log, "a snapshot too many stays: %s", err.text);
    plan->count = 0;
}

/* ---- adding ---- */

void
store_make_name(struct store *store, struct snapshot *snapshot)
{
    time_t seconds = (time_t)(snapshot->taken_ms / 1000);
    struct tm tm;

    memset(&tm, 0, sizeof(tm));
    gmtime_r(&seconds, &tm);
    pthread_mutex_lock(&store->lock);
    do
        snprintf(snapshot->name, sizeof(snapshot->name),
                 "%s_%04d%02d%02d_%02d%02d%02d_%u",
                 snapshot->cause == SNAPSHOT_RING
                     ? "auto"
                     : profile_kind_keyword(snapshot->profile->kind),
                 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                 tm.tm_min, tm.tm_sec, ++store->serial);
    while (store_lookup(store, snapshot->name));
    pthread_mutex_unlock(&store->lock);
}

/* Whether the disk has no room for so many bytes, and the planned removals make
 * enough. */
static bool
would_help(const struct store *store, const struct plan *plan, uint64_t bytes)
{
    enum { SLACK = 1 << 16 /* for the file system's own needs */ };
    uint64_t room, all, wanted = bytes + SLACK, freed = 0;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->candidates[i].priority == FILE_GOES)
            freed += plan->candidates[i].bytes;
    return file_store_free_space(&store->dir, &room, &all) && room < wanted &&
           freed >= wanted - room;
}

/* Plans to remove the whole ring: what a user asks for is worth more than what
 * is kept by default. */
static void
plan_without_ring(const struct store *store, struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct store_entry *entry = &store->list[i]->entry;

        if (store_in_ring(store, entry))
            plan->candidates[i] =
                (struct eviction_candidate){FILE_GOES, 0, entry->size};
    }
}

static int
write_once(struct store *store, struct store_entry *entry,
           const struct buffer *bytes, struct error *err)
{
    char file[FILE_STORE_NAME];
    struct file_writer writer;
    int rc = -1;

    store_file(entry->name, entry->pinned, file);
    if (file_writer_open(&writer, &store->dir, file, err) == 0 &&
        file_writer_write(&writer, bytes->data, bytes->size, err) == 0)
        rc = file_writer_commit(&writer, false, &entry->kept_ms, err);
    file_writer_close(&writer);
    return rc;
}

/* Writes the new file while all old ones are still there.  Only if the disk is
 * full, old ones go first, provided that this makes room enough. */
static int
write_snapshot_file(struct store *store, struct stored_snapshot *stored,
                    const struct buffer *bytes, struct plan *plan,
                    struct error *err)
{
    if (write_once(store, &stored->entry, bytes, err) == 0)
        return 0;
    if (err->code != ER_DISK_FULL)
        return -1;
    if (!store_in_ring(store, &stored->entry) &&
        !would_help(store, plan, bytes->size))
        plan_without_ring(store, plan);
    if (!would_help(store, plan, bytes->size))
        return -1;
    carry_out(store, plan);
    return write_once(store, &stored->entry, bytes, err);
}

/* Makes the directory again if somebody deleted it. */
static void
renew_directory(struct store *store)
{
    struct error err;
    int rc = file_store_renew(&store->dir, &err);

    if (rc != 0)
        log_to(store->log, "%s was deleted: %s", store->dir.path,
               rc > 0 ? "makes it again" : err.text);
}

/* Writes the snapshot again from memory, with its old age.  Works on a copy of
 * the entry: with disk alone it may be read, but not changed. */
static int
rewrite_deleted_snapshot(struct store *store,
                         const struct stored_snapshot *stored,
                         struct error *err)
{
    struct store_entry copy = stored->entry;
    struct buffer bytes;
    int rc = -1;

    buffer_init(&bytes, SNAPSHOT_FILE_MAX);
    if (!stored->snapshot)
        error_set(err, ER_UNKNOWN, "it was only in its file");
    else if (snapshot_encode(stored->snapshot, &bytes, err) == 0)
        rc = write_once(store, &copy, &bytes, err);
    buffer_fini(&bytes);
    return rc;
}

/* Checks that the file is still there.  False: it is not, nor is the snapshot
 * in memory, so it left the list. */
static bool
check_stored_file(struct store *store, struct stored_snapshot *stored)
{
    bool said = !stored->entry.on_disk, stays = stored->snapshot != NULL, saved;
    char file[FILE_STORE_NAME];
    struct error err;

    store_file(stored->entry.name, stored->entry.pinned, file);
    if (!said && file_store_has(&store->dir, file))
        return true;
    saved = rewrite_deleted_snapshot(store, stored, &err) == 0;
    if (saved)
        log_to(store->log, "%s/%s was deleted: the snapshot is written again",
               store->dir.path, file);
    else if (!said)
        log_to(store->log, "%s/%s was deleted: the snapshot %s: %s",
               store->dir.path, file,
               stays ? "stays only in memory until it can be written"
                     : "is gone",
               err.text);
    pthread_mutex_lock(&store->lock);
    stored->entry.on_disk = saved;
    if (!stays)
        store_remove_entry(store, stored);
    pthread_mutex_unlock(&store->lock);
    return stays;
}

/* Other programs delete files, such as cleaners of /var.  Files are written
 * again in the order of the list, which is by age, so a restart lists them in
 * the same order. */
static void
check_stored_files(struct store *store)
{
    renew_directory(store);
    for (size_t i = 0; i < store->count;)
        i += check_stored_file(store, store->list[i]);
}

void
store_expire(struct store *store)
{
    struct plan plan;

    if (pthread_mutex_trylock(&store->disk) != 0)
        return;
    store_take_ring(store);
    if (store->dir.fd >= 0)
        check_stored_files(store);
    if (store->options.age_ms > 0) {
        plan_expired(store, &plan);
        carry_out(store, &plan);
    }
    pthread_mutex_unlock(&store->disk);
}

static bool
is_snapshot_name_taken(struct store *store, const char *name)
{
    bool taken;

    pthread_mutex_lock(&store->lock);
    taken = store_lookup(store, name) != NULL;
    pthread_mutex_unlock(&store->lock);
    return taken;
}

int
store_check_name(struct store *store, const char *name, struct error *err)
{
    if (!snapshot_is_name(name, strlen(name))) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "'%.100s' cannot be a snapshot's name: 1 to %d of a-z, 0-9 "
                  "and _ can",
                  name, SNAPSHOT_NAME_MAX);
        return -1;
    }
    if (strcmp(name, SNAPSHOT_NOW) == 0) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "'" SNAPSHOT_NOW "' is what views and tables call the fresh "
                  "snapshot; take another name");
        return -1;
    }
    if (strcmp(name, SNAPSHOT_LAST) == 0 ||
        strcmp(name, SNAPSHOT_PREVIOUS) == 0) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "'%s' is short for the snapshot that was taken %s; take "
                  "another name",
                  name,
                  strcmp(name, SNAPSHOT_LAST) == 0 ? "last"
                                                   : "before the last one");
        return -1;
    }
    if (strcmp(name, SNAPSHOT_CLUSTER) == 0 ||
        strcmp(name, SNAPSHOT_CLUSTER_BY_NODE) == 0) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "'%s' is what views and tables call the sum of all nodes' "
                  "snapshots; take another name",
                  name);
        return -1;
    }
    if (store_means_sampling(name)) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "'%s' is what views and tables call a profile that they "
                  "take; take another name",
                  name);
        return -1;
    }
    if (is_snapshot_name_taken(store, name)) {
        error_set(err, ER_DUP_ENTRY,
                  "a snapshot named '%s' is kept already; delete it, or take "
                  "another name",
                  name);
        return -1;
    }
    return 0;
}

/* Owns stored from here on, also on failure.  Call with disk. */
static int
keep_new_snapshot(struct store *store, struct stored_snapshot *stored,
                  const struct buffer *bytes, struct error *err)
{
    struct plan plan;
    bool in_ring;

    store_take_ring(store);
    in_ring = store_in_ring(store, &stored->entry);
    if (store->dir.fd >= 0)
        renew_directory(store);
    if (store_check_name(store, stored->entry.name, err) != 0 ||
        (in_ring
             ? plan_ring(store, &stored->entry, &plan, err)
             : plan_evictions(store, stored->entry.size, &plan, err)) != 0 ||
        (store->dir.fd >= 0 &&
         write_snapshot_file(store, stored, bytes, &plan, err) != 0)) {
        stored_snapshot_free(stored);
        return -1;
    }
    carry_out(store, &plan);
    pthread_mutex_lock(&store->lock);
    if (store->count == STORE_COUNT_MAX) /* a file could not be removed */
        store_remove_entry(store, store->list[0]);
    store->list[store->count++] = stored;
    if (in_ring && stored->entry.on_disk) { /* seldom read, so not cached */
        snapshot_unref(stored->snapshot);
        stored->snapshot = NULL;
    }
    store_use(store, stored);
    pthread_mutex_unlock(&store->lock);
    return 0;
}

int
store_add(struct store *store, struct snapshot *snapshot, struct error *err)
{
    bool to_disk = store->dir.fd >= 0;
    struct stored_snapshot *stored = mem_zalloc(1, sizeof(*stored));
    struct buffer bytes;
    int rc = -1;

    buffer_init(&bytes, SNAPSHOT_FILE_MAX);
    if (!stored) {
        error_memory(err, "a snapshot");
        goto out;
    }
    /* Encoded before the lock is taken: deflate takes its time.  to_disk never
     * changes after store_open(). */
    if (to_disk && snapshot_encode(snapshot, &bytes, err) != 0)
        goto out;
    snapshot_describe(snapshot, &stored->entry);
    stored->entry.serial = snapshot->serial;
    stored->entry.kept_ms = clock_wall_ms();
    stored->entry.on_disk = to_disk;
    stored->entry.size = to_disk ? bytes.size : store_memory_of(snapshot);
    stored->snapshot = snapshot_ref(snapshot);
    pthread_mutex_lock(&store->disk);
    rc = keep_new_snapshot(store, stored, &bytes, err);
    pthread_mutex_unlock(&store->disk);
    stored = NULL;
out:
    stored_snapshot_free(stored);
    buffer_fini(&bytes);
    return rc;
}
