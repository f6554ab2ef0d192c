/*
 * store_keep.c - adds a snapshot and evicts old ones.
 *
 * See store.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "buffer.h"
#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "snapshot_file.h"
#include "snapshot_head.h"
#include "store_state.h"

/* ---- which snapshots go: call with disk ---- */

/* Chooses snapshots to evict for a new one; bytes: what that frees. */
struct plan {
    struct held *going[STORE_COUNT_MAX];
    size_t count;
    uint64_t bytes;
};

static void
plan_add(struct plan *plan, struct held *held)
{
    plan->going[plan->count++] = held;
    plan->bytes += held->entry.size;
}

static bool
is_expired(const struct store *store, const struct store_entry *entry,
           int64_t now_ms)
{
    return store->options.age_ms > 0 &&
           now_ms - entry->kept_ms > store->options.age_ms;
}

/* Whether a user asked for it: it outlives automatic snapshots. */
static bool
is_wanted(const struct store_entry *entry)
{
    return entry->cause == SNAPSHOT_ASKED || entry->cause == SNAPSHOT_IMPORTED;
}

/* Evicts snapshots past their age; then, until there is room, the oldest
 * automatic ones, then the oldest manual ones. */
enum turn { TURN_EXPIRED, TURN_OWN, TURN_WANTED, TURNS };

/* Reads the clock once: it may be set back meanwhile. */
static int
make_plan(const struct store *store, uint64_t size, struct plan *plan,
          struct error *err)
{
    const struct store_options *most = &store->options;
    int64_t now_ms = clock_wall_ms();
    uint64_t bytes = size;

    memset(plan, 0, sizeof(*plan));
    for (size_t i = 0; i < store->count; i++)
        bytes += store->list[i]->entry.size;
    for (int turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < store->count; i++) {
            struct held *held = store->list[i];
            int due = is_expired(store, &held->entry, now_ms) ? TURN_EXPIRED
                      : is_wanted(&held->entry)               ? TURN_WANTED
                                                              : TURN_OWN;
            bool over = store->count + 1 - plan->count > most->count ||
                        bytes - plan->bytes > most->bytes;

            if (!held->entry.pinned && due == turn &&
                (due == TURN_EXPIRED || over))
                plan_add(plan, held);
        }
    if (size > most->bytes) {
        error_set(err, ER_UNKNOWN,
                  "the snapshot takes %" PRIu64 " bytes, and at most %" PRIu64
                  " may be kept (keep_bytes in [snapshots])",
                  size, most->bytes);
        return -1;
    }
    if (store->count + 1 - plan->count > most->count ||
        bytes - plan->bytes > most->bytes) {
        error_set(err, ER_UNKNOWN,
                  "there is no room for another snapshot: %zu are pinned; "
                  "delete some, or raise keep or keep_bytes in [snapshots]",
                  store->count - plan->count);
        return -1;
    }
    return 0;
}

/* One whose file cannot be removed stays, too. */
static void
carry_out(struct store *store, struct plan *plan)
{
    struct error err;

    for (size_t i = 0; i < plan->count; i++)
        if (store_let_go(store, plan->going[i], &err) != 0)
            store_say(store, "a snapshot too many stays: %s", err.text);
    plan->count = 0;
}

void
store_expire(struct store *store)
{
    int64_t now_ms = clock_wall_ms();
    struct plan plan = {.count = 0};

    if (store->options.age_ms == 0)
        return;
    pthread_mutex_lock(&store->disk);
    for (size_t i = 0; i < store->count; i++)
        if (!store->list[i]->entry.pinned &&
            is_expired(store, &store->list[i]->entry, now_ms))
            plan_add(&plan, store->list[i]);
    carry_out(store, &plan);
    pthread_mutex_unlock(&store->disk);
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
                 "heap_%04d%02d%02d_%02d%02d%02d_%u", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                 ++store->serial);
    while (store_held(store, snapshot->name));
    pthread_mutex_unlock(&store->lock);
}

/* Whether there is no room for so many bytes, and letting go makes it. */
static bool
would_help(const struct store *store, const struct plan *plan, uint64_t bytes)
{
    enum { SLACK = 1 << 16 /* what the file system needs besides */ };
    uint64_t room = store_dir_room(&store->dir), wanted = bytes + SLACK;

    return room < wanted && plan->bytes >= wanted - room;
}

/* The new one is safely there before old ones go.  Only where the disk has no
 * room for both do they go first, when that makes room enough. */
static int
write_file(struct store *store, struct held *held, const struct buffer *bytes,
           struct plan *plan, struct error *err)
{
    int64_t *when = &held->entry.kept_ms;
    const char *name = held->entry.name;
    bool full;

    if (store_dir_write(&store->dir, name, bytes, when, &full, err) == 0)
        return 0;
    if (!full || !would_help(store, plan, bytes->size))
        return -1;
    carry_out(store, plan);
    return store_dir_write(&store->dir, name, bytes, when, &full, err);
}

static bool
is_taken(struct store *store, const char *name)
{
    bool taken;

    pthread_mutex_lock(&store->lock);
    taken = store_held(store, name) != NULL;
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
    if (is_taken(store, name)) {
        error_set(err, ER_UNKNOWN,
                  "a snapshot named '%s' is kept already; delete it, or take "
                  "another name",
                  name);
        return -1;
    }
    return 0;
}

/* Takes held, also on failure. */
static int
keep(struct store *store, struct held *held, const struct buffer *bytes,
     struct error *err)
{
    struct plan plan;

    if (store_check_name(store, held->entry.name, err) != 0 ||
        make_plan(store, held->entry.size, &plan, err) != 0 ||
        (store->dir.fd >= 0 &&
         write_file(store, held, bytes, &plan, err) != 0)) {
        held_free(held);
        return -1;
    }
    carry_out(store, &plan);
    pthread_mutex_lock(&store->lock);
    if (store->count == STORE_COUNT_MAX) /* a file that does not go */
        store_forget(store, store->list[0]);
    store->list[store->count++] = held;
    store_use(store, held);
    pthread_mutex_unlock(&store->lock);
    return 0;
}

int
store_add(struct store *store, struct snapshot *snapshot, struct error *err)
{
    bool to_disk = store->dir.fd >= 0;
    struct held *held = mem_zalloc(1, sizeof(*held));
    struct buffer bytes;
    int rc = -1;

    buffer_init(&bytes, SNAPSHOT_FILE_MAX);
    if (!held) {
        error_memory(err, "a snapshot");
        goto out;
    }
    if (to_disk && snapshot_encode(snapshot, &bytes, err) != 0)
        goto out;
    snapshot_describe(snapshot, &held->entry);
    held->entry.serial = snapshot->serial;
    held->entry.kept_ms = clock_wall_ms();
    held->entry.on_disk = to_disk;
    held->entry.size = to_disk ? bytes.size : store_memory_of(snapshot);
    held->snapshot = snapshot_ref(snapshot);
    pthread_mutex_lock(&store->disk);
    rc = keep(store, held, &bytes, err);
    pthread_mutex_unlock(&store->disk);
    held = NULL;
out:
    held_free(held);
    buffer_fini(&bytes);
    return rc;
}
