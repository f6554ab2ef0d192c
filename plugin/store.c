/*
 * store.c - see store.h.
 *
 * Two locks.  disk is held across I/O and by whoever changes anything, so that
 * what one has looked at stays so until it has done its work; lock guards the
 * list for those who only look, and is never held across I/O.  disk first.
 */
#include "store.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "buffer.h"
#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "profile.h"
#include "snapshot_file.h"
#include "snapshot_head.h"
#include "store_dir.h"

const struct store_options store_defaults = {.count = 64,
                                             .bytes = (uint64_t)1 << 30};

struct held {
    struct store_entry entry;
    struct snapshot *snapshot; /* a reference, or NULL: in its file alone */
    uint64_t used;             /* when it was asked for; a count */
};

struct store {
    pthread_mutex_t disk, lock;
    struct store_options options; /* its dir is not used */
    struct store_dir dir;         /* fd -1: memory alone */
    void (*log)(const char *line);
    struct held *list[STORE_COUNT_MAX]; /* oldest first */
    size_t count;
    uint64_t uses;
    unsigned serial; /* of made-up names */
};

static void say(const struct store *store, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
say(const struct store *store, const char *format, ...)
{
    char line[ERROR_TEXT_MAX + 256];
    va_list args;

    if (!store->log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    store->log(line);
}

static void
held_free(struct held *held)
{
    if (!held)
        return;
    snapshot_unref(held->snapshot);
    mem_free(held);
}

static struct held *
find(const struct store *store, const char *name)
{
    for (size_t i = 0; i < store->count; i++)
        if (strcmp(store->list[i]->entry.name, name) == 0)
            return store->list[i];
    return NULL;
}

static size_t
place_of(const struct store *store, const struct held *held)
{
    size_t i = 0;

    while (store->list[i] != held)
        i++;
    return i;
}

/* Call with both locks. */
static void
forget(struct store *store, size_t place)
{
    held_free(store->list[place]);
    store->count--;
    memmove(store->list + place, store->list + place + 1,
            (store->count - place) * sizeof(store->list[0]));
}

static uint64_t
memory_of(const struct snapshot *snapshot)
{
    return arena_used(snapshot->profile->arena);
}

/* Call with the lock. */
static void
use(struct store *store, struct held *held)
{
    held->used = ++store->uses;
}

/* Lets decoded ones go that can be read again, but for the latest. */
static void
shrink(struct store *store)
{
    struct held *idle;
    uint64_t sum;

    do {
        idle = NULL;
        sum = 0;
        for (size_t i = 0; i < store->count; i++) {
            struct held *held = store->list[i];

            if (!held->snapshot || !held->entry.on_disk)
                continue;
            sum += memory_of(held->snapshot);
            if (held->used != store->uses && (!idle || held->used < idle->used))
                idle = held;
        }
        if (sum <= STORE_MEMORY_MAX || !idle)
            return;
        snapshot_unref(idle->snapshot);
        idle->snapshot = NULL;
    } while (true);
}

/* ---- start ---- */

static void
on_odd(void *arg, const char *file, const char *why)
{
    const struct store *store = arg;

    say(store, "%s/%s is passed over: %s", store->dir.path, file, why);
}

/* The place of one more: where there is no room the oldest goes out of the
 * list, not out of the directory. */
static bool
make_room(struct store *store, const struct held *held)
{
    size_t oldest = 0;

    if (store->count < STORE_COUNT_MAX)
        return true;
    for (size_t i = 1; i < store->count; i++)
        if (store->list[i]->entry.kept_ms < store->list[oldest]->entry.kept_ms)
            oldest = i;
    if (held->entry.kept_ms <= store->list[oldest]->entry.kept_ms) {
        on_odd(store, held->entry.name, "there are too many");
        return false;
    }
    on_odd(store, store->list[oldest]->entry.name, "there are too many");
    forget(store, oldest);
    return true;
}

static void
on_found(void *arg, const struct store_file *file)
{
    struct store *store = arg;
    struct held *held = mem_zalloc(1, sizeof(*held));
    struct error err;

    if (!held) {
        on_odd(store, file->name, "memory ran out");
        return;
    }
    if (snapshot_decode_head(file->head, file->head_size, &held->entry, &err) !=
        0) {
        on_odd(store, file->name, err.text);
    } else if (held->entry.size != file->size) {
        on_odd(store, file->name, "it is cut off");
    } else if (find(store, file->name)) {
        on_odd(store, file->name, "it is there twice, pinned and not");
    } else {
        memcpy(held->entry.name, file->name, sizeof(held->entry.name));
        held->entry.serial = snapshot_serial();
        held->entry.kept_ms = file->written_ms;
        held->entry.pinned = file->pinned;
        held->entry.on_disk = true;
        if (make_room(store, held)) {
            store->list[store->count++] = held;
            held = NULL;
        }
    }
    held_free(held);
}

static int
by_age(const void *left, const void *right)
{
    const struct store_entry *a = &(*(struct held *const *)left)->entry;
    const struct store_entry *b = &(*(struct held *const *)right)->entry;

    if (a->kept_ms != b->kept_ms)
        return a->kept_ms < b->kept_ms ? -1 : 1;
    if (a->taken_ms != b->taken_ms)
        return a->taken_ms < b->taken_ms ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int
load(struct store *store, const char *path, struct error *err)
{
    struct store_dir_scan scan = {on_found, on_odd, store};

    if (store_dir_open(&store->dir, path, err) != 0 ||
        store_dir_scan(&store->dir, &scan, err) != 0)
        return -1;
    qsort(store->list, store->count, sizeof(store->list[0]), by_age);
    return 0;
}

struct store *
store_open(const struct store_options *options, void (*log)(const char *line),
           struct error *err)
{
    struct store *store = mem_zalloc(1, sizeof(*store));

    if (!store) {
        error_memory(err, "the store of snapshots");
        return NULL;
    }
    pthread_mutex_init(&store->disk, NULL);
    pthread_mutex_init(&store->lock, NULL);
    store->dir.fd = -1;
    store->log = log;
    store->options = *options;
    store->options.dir = NULL;
    if (store->options.count > STORE_COUNT_MAX)
        store->options.count = STORE_COUNT_MAX;
    if (!options->dir && store->options.bytes > STORE_MEMORY_MAX)
        store->options.bytes = STORE_MEMORY_MAX;
    if (!options->dir || load(store, options->dir, err) == 0)
        return store;
    store_close(store);
    return NULL;
}

void
store_close(struct store *store)
{
    if (!store)
        return;
    while (store->count > 0)
        forget(store, store->count - 1);
    store_dir_close(&store->dir);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->disk);
    mem_free(store);
}

/* ---- letting go: call with disk ---- */

static int
let_go(struct store *store, struct held *held, struct error *err)
{
    const struct store_entry *entry = &held->entry;

    if (entry->on_disk &&
        store_dir_remove(&store->dir, entry->name, entry->pinned, err) != 0)
        return -1;
    pthread_mutex_lock(&store->lock);
    forget(store, place_of(store, held));
    pthread_mutex_unlock(&store->lock);
    return 0;
}

/* Who must go for another one; bytes: what they free. */
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
is_expired(const struct store *store, const struct store_entry *entry)
{
    return store->options.age_ms > 0 &&
           clock_wall_ms() - entry->kept_ms > store->options.age_ms;
}

/* What is too old goes anyway, then the oldest until there is room. */
static int
make_plan(const struct store *store, uint64_t size, struct plan *plan,
          struct error *err)
{
    const struct store_options *most = &store->options;
    uint64_t bytes = size;

    memset(plan, 0, sizeof(*plan));
    for (size_t i = 0; i < store->count; i++)
        bytes += store->list[i]->entry.size;
    for (int only_expired = 1; only_expired >= 0; only_expired--)
        for (size_t i = 0; i < store->count; i++) {
            struct held *held = store->list[i];
            bool expired = is_expired(store, &held->entry);
            bool over = store->count + 1 - plan->count > most->count ||
                        bytes - plan->bytes > most->bytes;

            if (!held->entry.pinned &&
                (only_expired ? expired : over && !expired))
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

/* One whose file stays for an error stays, too. */
static void
carry_out(struct store *store, struct plan *plan)
{
    struct error err;

    for (size_t i = 0; i < plan->count; i++)
        if (let_go(store, plan->going[i], &err) != 0)
            say(store, "a snapshot too many stays: %s", err.text);
    plan->count = 0;
}

void
store_expire(struct store *store)
{
    struct plan plan = {.count = 0};

    if (store->options.age_ms == 0)
        return;
    pthread_mutex_lock(&store->disk);
    for (size_t i = 0; i < store->count; i++)
        if (!store->list[i]->entry.pinned &&
            is_expired(store, &store->list[i]->entry))
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
    while (find(store, snapshot->name));
    pthread_mutex_unlock(&store->lock);
}

/* The new one is safely there before old ones go.  Only where the disk has no
 * room for both do they go first, when that makes room enough. */
static int
write_file(struct store *store, struct held *held, const struct buffer *bytes,
           struct plan *plan, struct error *err)
{
    enum { SLACK = 1 << 16 /* blocks of metadata */ };
    int64_t *when = &held->entry.kept_ms;
    const char *name = held->entry.name;
    bool full;

    if (store_dir_write(&store->dir, name, bytes, when, &full, err) == 0)
        return 0;
    if (!full ||
        plan->bytes + store_dir_room(&store->dir) < bytes->size + SLACK)
        return -1;
    carry_out(store, plan);
    return store_dir_write(&store->dir, name, bytes, when, &full, err);
}

static bool
is_taken(struct store *store, const char *name)
{
    bool taken;

    pthread_mutex_lock(&store->lock);
    taken = find(store, name) != NULL;
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
        forget(store, 0);
    store->list[store->count++] = held;
    use(store, held);
    shrink(store);
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
    held->entry.size = to_disk ? bytes.size : memory_of(snapshot);
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

/* ---- the rest ---- */

/* The held one, or NULL with *err.  Call with a lock. */
static struct held *
find_or_tell(struct store *store, const char *name, struct error *err)
{
    struct held *held = find(store, name);

    if (!held)
        error_set(err, ER_UNKNOWN,
                  "no snapshot named '%.64s' is kept; SELECT name FROM "
                  "heapwire.snapshots lists those that are",
                  name);
    return held;
}

static struct snapshot *
decoded(struct store *store, const char *name)
{
    struct snapshot *snapshot = NULL;
    struct held *held;

    pthread_mutex_lock(&store->lock);
    held = find(store, name);
    if (held && held->snapshot) {
        snapshot = snapshot_ref(held->snapshot);
        use(store, held);
    }
    pthread_mutex_unlock(&store->lock);
    return snapshot;
}

/* From its file.  Call with disk. */
static struct snapshot *
read_file(struct store *store, struct held *held, struct error *err)
{
    const struct store_entry *entry = &held->entry;
    struct snapshot *snapshot = NULL;
    struct buffer bytes;
    struct error why;

    buffer_init(&bytes, SNAPSHOT_FILE_MAX);
    if (store_dir_read(&store->dir, entry->name, entry->pinned, &bytes, err) !=
        0)
        goto out;
    snapshot = snapshot_decode(bytes.data, bytes.size, &why);
    if (!snapshot) {
        error_set(err, why.code,
                  "the file of the snapshot '%s' is of no use: %s", entry->name,
                  why.text);
        goto out;
    }
    memcpy(snapshot->name, entry->name, sizeof(snapshot->name));
    snapshot->serial = entry->serial;
    pthread_mutex_lock(&store->lock);
    held->snapshot = snapshot_ref(snapshot);
    use(store, held);
    shrink(store);
    pthread_mutex_unlock(&store->lock);
out:
    buffer_fini(&bytes);
    return snapshot;
}

struct snapshot *
store_get(struct store *store, const char *name, struct error *err)
{
    struct snapshot *snapshot = decoded(store, name);
    struct held *held;

    if (snapshot)
        return snapshot;
    pthread_mutex_lock(&store->disk);
    held = find_or_tell(store, name, err);
    if (held && held->snapshot)
        snapshot = snapshot_ref(held->snapshot); /* another read it */
    else if (held)
        snapshot = read_file(store, held, err);
    pthread_mutex_unlock(&store->disk);
    return snapshot;
}

int
store_delete(struct store *store, const char *name, struct error *err)
{
    struct held *held;
    int rc = -1;

    pthread_mutex_lock(&store->disk);
    held = find_or_tell(store, name, err);
    if (held)
        rc = let_go(store, held, err);
    pthread_mutex_unlock(&store->disk);
    return rc;
}

int
store_pin(struct store *store, const char *name, bool pinned, struct error *err)
{
    struct held *held;
    int rc = -1;

    pthread_mutex_lock(&store->disk);
    held = find_or_tell(store, name, err);
    if (held && (held->entry.pinned == pinned || !held->entry.on_disk ||
                 store_dir_pin(&store->dir, name, pinned, err) == 0)) {
        pthread_mutex_lock(&store->lock);
        held->entry.pinned = pinned;
        pthread_mutex_unlock(&store->lock);
        rc = 0;
    }
    pthread_mutex_unlock(&store->disk);
    return rc;
}

int
store_find(struct store *store, const char *name, struct store_entry *out,
           struct error *err)
{
    struct held *held;

    pthread_mutex_lock(&store->lock);
    held = find_or_tell(store, name, err);
    if (held)
        *out = held->entry;
    pthread_mutex_unlock(&store->lock);
    return held ? 0 : -1;
}

size_t
store_list(struct store *store, struct store_entry *out, size_t max)
{
    size_t count;

    pthread_mutex_lock(&store->lock);
    count = store->count < max ? store->count : max;
    for (size_t i = 0; i < count; i++)
        out[i] = store->list[i]->entry;
    pthread_mutex_unlock(&store->lock);
    return count;
}

int
store_give(struct store *store, uid_t uid, gid_t gid, struct error *err)
{
    int rc = 0;

    pthread_mutex_lock(&store->disk);
    if (store->dir.fd >= 0)
        rc = store_dir_give(&store->dir, uid, gid, err);
    for (size_t i = 0; i < store->count && rc == 0; i++) {
        const struct store_entry *entry = &store->list[i]->entry;

        if (entry->on_disk)
            rc = store_dir_give_file(&store->dir, entry->name, entry->pinned,
                                     uid, gid, err);
    }
    pthread_mutex_unlock(&store->disk);
    return rc;
}
