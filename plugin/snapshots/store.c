/*
 * store.c - see store.h.
 *
 * Snapshots are large and seldom read, and there may be 320: at the start only
 * the heads of their files are read, and a body is decoded when it is asked
 * for.  Decoded ones stay in memory up to STORE_MEMORY_MAX, the least recently
 * used leave first; a snapshot that a reader holds lives on by its reference
 * count.
 *
 * Lists must be quick on the event loop while another thread waits for the
 * disk: hence two locks, see store_state.h.  store_keep.c has what adds and
 * evicts.
 */
#include "store_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "log.h"
#include "memory.h"
#include "profile.h"
#include "snapshot_file.h"

void
stored_snapshot_free(struct stored_snapshot *stored)
{
    if (!stored)
        return;
    snapshot_unref(stored->snapshot);
    mem_free(stored);
}

struct stored_snapshot *
store_lookup(const struct store *store, const char *name)
{
    for (size_t i = 0; i < store->count; i++)
        if (strcmp(store->list[i]->entry.name, name) == 0)
            return store->list[i];
    return NULL;
}

bool
store_in_ring(const struct store *store, const struct store_entry *entry)
{
    return store->options.ring_ms > 0 && entry->cause == SNAPSHOT_RING &&
           !entry->pinned;
}

static bool
has_other_heaps(const struct store *store)
{
    for (size_t i = 0; i < store->count; i++)
        if (store->list[i]->entry.kind == PROFILE_HEAP &&
            !store_in_ring(store, &store->list[i]->entry))
            return true;
    return false;
}

/* The heap snapshot that was taken last, apart from but (may be NULL).
 * Those of the ring count only if there are no others: "last" means what a
 * user took. */
static struct stored_snapshot *
taken_last(const struct store *store, const struct stored_snapshot *but)
{
    bool others = has_other_heaps(store);
    struct stored_snapshot *last = NULL;

    for (size_t i = 0; i < store->count; i++) {
        struct stored_snapshot *stored = store->list[i];

        if (stored == but || stored->entry.kind != PROFILE_HEAP ||
            (others && store_in_ring(store, &stored->entry)))
            continue;
        if (!last || stored->entry.taken_ms >= last->entry.taken_ms)
            last = stored;
    }
    return last;
}

/* As store_lookup(); name may also be SNAPSHOT_LAST or SNAPSHOT_PREVIOUS. */
static struct stored_snapshot *
store_find_alias(const struct store *store, const char *name)
{
    struct stored_snapshot *stored = store_lookup(store, name);

    if (!stored && strcmp(name, SNAPSHOT_LAST) == 0)
        return taken_last(store, NULL);
    if (!stored && strcmp(name, SNAPSHOT_PREVIOUS) == 0)
        return taken_last(store, taken_last(store, NULL));
    return stored;
}

bool
store_means_sampling(const char *name)
{
    return strcmp(name, SNAPSHOT_CPU) == 0 || strcmp(name, SNAPSHOT_WALL) == 0;
}

void
store_remove_entry(struct store *store, const struct stored_snapshot *stored)
{
    size_t i = 0;

    while (store->list[i] != stored)
        i++;
    stored_snapshot_free(store->list[i]);
    store->count--;
    memmove(store->list + i, store->list + i + 1,
            (store->count - i) * sizeof(store->list[0]));
}

uint64_t
store_memory_of(const struct snapshot *snapshot)
{
    return profile_bytes(snapshot->profile);
}

/* Drops decoded snapshots that can be read again from disk until the rest fits,
 * the least recently used first; never the one used last, which its caller is
 * about to return. */
static void
drop_idle_snapshots(struct store *store)
{
    struct stored_snapshot *idle;
    uint64_t sum;

    do {
        idle = NULL;
        sum = 0;
        for (size_t i = 0; i < store->count; i++) {
            struct stored_snapshot *stored = store->list[i];

            if (!stored->snapshot || !stored->entry.on_disk)
                continue;
            sum += store_memory_of(stored->snapshot);
            if (stored->used != store->uses &&
                (!idle || stored->used < idle->used))
                idle = stored;
        }
        if (sum <= STORE_MEMORY_MAX || !idle)
            return;
        snapshot_unref(idle->snapshot);
        idle->snapshot = NULL;
    } while (true);
}

void
store_use(struct store *store, struct stored_snapshot *stored)
{
    stored->used = ++store->uses;
    drop_idle_snapshots(store);
}

void
store_file(const char *name, bool pinned, char file[FILE_STORE_NAME])
{
    snprintf(file, FILE_STORE_NAME, "%s%s", name,
             pinned ? STORE_PINNED : STORE_ENDING);
}

int
store_let_go(struct store *store, struct stored_snapshot *stored,
             struct error *err)
{
    char file[FILE_STORE_NAME];

    store_file(stored->entry.name, stored->entry.pinned, file);
    /* The file goes first: if that fails, the snapshot stays in the list. */
    if (stored->entry.on_disk && file_store_remove(&store->dir, file, err) != 0)
        return -1;
    pthread_mutex_lock(&store->lock);
    store_remove_entry(store, stored);
    pthread_mutex_unlock(&store->lock);
    return 0;
}

const struct store_options store_defaults = {
    .count = 64, .bytes = (uint64_t)1 << 30, .ring_ms = 3600000};

/* ---- start ---- */

static void
log_skipped_snapshot(void *arg, const char *file, const char *why)
{
    const struct store *store = arg;

    log_to(store->log, "%s/%s is skipped: %s", store->dir.path, file, why);
}

/* Makes room for one more entry: if the list is full, the oldest leaves the
 * list, but its file stays in the directory. */
static bool
reserve_store_entry(struct store *store, const struct stored_snapshot *stored)
{
    size_t oldest = 0;

    if (store->count < STORE_COUNT_MAX)
        return true;
    for (size_t i = 1; i < store->count; i++)
        if (store->list[i]->entry.kept_ms < store->list[oldest]->entry.kept_ms)
            oldest = i;
    if (stored->entry.kept_ms <= store->list[oldest]->entry.kept_ms) {
        log_skipped_snapshot(store, stored->entry.name, "there are too many");
        return false;
    }
    log_skipped_snapshot(store, store->list[oldest]->entry.name,
                         "there are too many");
    store_remove_entry(store, store->list[oldest]);
    return true;
}

/* Takes a file of the directory into the list, when the store is opened.  Only
 * its head is read: all bodies would take minutes, and are decoded when
 * somebody asks.  A bad file is logged and left alone, since it may be a newer
 * release's. */
static void
on_snapshot_file_found(void *arg, const struct file_found *file)
{
    struct store *store = arg;
    struct stored_snapshot *stored = mem_zalloc(1, sizeof(*stored));
    char *head = mem_alloc(SNAPSHOT_FILE_HEAD_MAX);
    char name[SNAPSHOT_NAME_MAX + 1];
    struct error err;
    ssize_t size;

    snprintf(name, sizeof(name), "%.*s", (int)file->stem, file->name);
    if (store_means_sampling(name)) { /* older releases allowed this name */
        log_skipped_snapshot(store, name,
                             "the name is reserved: in statements it means a "
                             "new profile; rename it");
        goto out;
    }
    if (!stored || !head) {
        log_skipped_snapshot(store, name, "memory ran out");
        goto out;
    }
    size = pread(file->fd, head, SNAPSHOT_FILE_HEAD_MAX, 0);
    if (size < 0) {
        log_skipped_snapshot(store, name, "it cannot be read");
    } else if (snapshot_decode_head(head, (size_t)size, &stored->entry, &err) !=
               0) {
        log_skipped_snapshot(store, name, err.text);
    } else if (stored->entry.size != file->bytes) {
        log_skipped_snapshot(store, name, "it is cut off");
    } else if (store_lookup(store, name)) {
        log_skipped_snapshot(store, name, "it is there twice, pinned and not");
    } else {
        memcpy(stored->entry.name, name, sizeof(name));
        stored->entry.serial = snapshot_serial();
        stored->entry.kept_ms = file->made_ms;
        stored->entry.pinned = strcmp(file->ending, STORE_PINNED) == 0;
        stored->entry.on_disk = true;
        if (reserve_store_entry(store, stored)) {
            store->list[store->count++] = stored;
            stored = NULL;
        }
    }
out:
    mem_free(head);
    stored_snapshot_free(stored);
}

/* The order of the list: by when a snapshot was kept, which is its file's time;
 * then by when it was taken. */
static int
by_age(const void *left, const void *right)
{
    const struct store_entry *a =
        &(*(struct stored_snapshot *const *)left)->entry;
    const struct store_entry *b =
        &(*(struct stored_snapshot *const *)right)->entry;

    if (a->kept_ms != b->kept_ms)
        return a->kept_ms < b->kept_ms ? -1 : 1;
    if (a->taken_ms != b->taken_ms)
        return a->taken_ms < b->taken_ms ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int
load_store_directory(struct store *store, const char *path, struct error *err)
{
    static const char *const endings[] = {STORE_ENDING, STORE_PINNED, NULL};
    static const struct file_kind kind = {"a snapshot's file", endings,
                                          snapshot_is_name};
    struct file_scan scan = {on_snapshot_file_found, log_skipped_snapshot,
                             store};

    if (file_store_open(&store->dir, path, &kind, err) != 0 ||
        file_store_scan(&store->dir, &scan, err) != 0)
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
    store->ring_ms = options->ring_ms;
    store->options.dir = NULL;
    if (store->options.count > STORE_KEEP_MAX)
        store->options.count = STORE_KEEP_MAX;
    /* Without a directory, all snapshots stay in memory. */
    if (!options->dir && store->options.bytes > STORE_MEMORY_MAX)
        store->options.bytes = STORE_MEMORY_MAX;
    if (!options->dir || load_store_directory(store, options->dir, err) == 0)
        return store;
    store_close(store);
    return NULL;
}

struct store *
store_open_or_in_memory(const struct store_options *options,
                        void (*log)(const char *line), struct error *err)
{
    struct store_options in_memory = *options;
    struct store *store = store_open(options, log, err);

    if (store || !options->dir)
        return store;
    log_to(log, "snapshots are kept only in memory, until heapwired ends: %s",
           err->text);
    in_memory.dir = NULL;
    return store_open(&in_memory, log, err);
}

void
store_close(struct store *store)
{
    if (!store)
        return;
    while (store->count > 0)
        store_remove_entry(store, store->list[store->count - 1]);
    file_store_close(&store->dir);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->disk);
    mem_free(store);
}

/* ---- reading, deleting, pinning, listing ---- */

/* As store_find_alias(), with *err if there is none.  Call with a lock. */
static struct stored_snapshot *
require_stored_snapshot(struct store *store, const char *name,
                        struct error *err)
{
    struct stored_snapshot *stored = store_find_alias(store, name);

    if (!stored)
        error_set(err, ER_KEY_NOT_FOUND,
                  "no snapshot named '%.64s' is kept; SELECT name FROM "
                  "heapwire.snapshots lists those that are",
                  name);
    return stored;
}

static struct snapshot *
find_decoded_snapshot(struct store *store, const char *name)
{
    struct snapshot *snapshot = NULL;
    struct stored_snapshot *stored;

    pthread_mutex_lock(&store->lock);
    stored = store_find_alias(store, name);
    if (stored && stored->snapshot) {
        snapshot = snapshot_ref(stored->snapshot);
        stored->used = ++store->uses;
    }
    pthread_mutex_unlock(&store->lock);
    return snapshot;
}

/* Reads and decodes its file, and keeps the result in memory.  Call with
 * disk. */
static struct snapshot *
read_snapshot_file(struct store *store, struct stored_snapshot *stored,
                   struct error *err)
{
    const struct store_entry *entry = &stored->entry;
    struct snapshot *snapshot = NULL;
    char file[FILE_STORE_NAME];
    struct buffer bytes;
    struct error why;
    struct stat st;
    int fd;

    buffer_init(&bytes, SNAPSHOT_FILE_MAX);
    store_file(entry->name, entry->pinned, file);
    fd = file_store_read(&store->dir, file, &st, err);
    if (fd < 0 || fd_read_all(fd, &bytes, "the snapshot's file", err) != 0)
        goto out;
    snapshot = snapshot_decode(bytes.data, bytes.size, &why);
    if (!snapshot) {
        error_set(err, why.code, "cannot use the file of the snapshot '%s': %s",
                  entry->name, why.text);
        goto out;
    }
    /* The file's name counts, as somebody may have renamed it. */
    memcpy(snapshot->name, entry->name, sizeof(snapshot->name));
    snapshot->serial = entry->serial;
    if (store_in_ring(store, entry))
        /* not cached: trends read all of the ring one after the other, and
         * would drive out all others */
        goto out;
    pthread_mutex_lock(&store->lock);
    stored->snapshot = snapshot_ref(snapshot);
    store_use(store, stored);
    pthread_mutex_unlock(&store->lock);
out:
    fd_close(fd);
    buffer_fini(&bytes);
    return snapshot;
}

struct snapshot *
store_get(struct store *store, const char *name, struct error *err)
{
    struct snapshot *snapshot = find_decoded_snapshot(store, name);
    struct stored_snapshot *stored;

    if (snapshot)
        return snapshot;
    pthread_mutex_lock(&store->disk);
    stored = require_stored_snapshot(store, name, err);
    if (stored && stored->snapshot)
        /* another thread has read it meanwhile */
        snapshot = snapshot_ref(stored->snapshot);
    else if (stored)
        snapshot = read_snapshot_file(store, stored, err);
    pthread_mutex_unlock(&store->disk);
    return snapshot;
}

int
store_delete(struct store *store, const char *name, struct error *err)
{
    struct stored_snapshot *stored;
    int rc = -1;

    pthread_mutex_lock(&store->disk);
    stored = require_stored_snapshot(store, name, err);
    if (stored)
        rc = store_let_go(store, stored, err);
    pthread_mutex_unlock(&store->disk);
    return rc;
}

static int
rename_pinned(struct store *store, const struct store_entry *entry, bool pinned,
              struct error *err)
{
    char from[FILE_STORE_NAME], to[FILE_STORE_NAME];

    if (entry->pinned == pinned || !entry->on_disk)
        return 0;
    store_file(entry->name, !pinned, from);
    store_file(entry->name, pinned, to);
    return file_store_rename(&store->dir, from, to, err);
}

int
store_pin(struct store *store, const char *name, bool pinned, struct error *err)
{
    struct stored_snapshot *stored;
    int rc = -1;

    pthread_mutex_lock(&store->disk);
    stored = require_stored_snapshot(store, name, err);
    if (stored && rename_pinned(store, &stored->entry, pinned, err) == 0) {
        pthread_mutex_lock(&store->lock);
        stored->entry.pinned = pinned;
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
    struct stored_snapshot *stored;

    pthread_mutex_lock(&store->lock);
    stored = require_stored_snapshot(store, name, err);
    if (stored)
        *out = stored->entry;
    pthread_mutex_unlock(&store->lock);
    return stored ? 0 : -1;
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

void
store_take_ring(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    store->options.ring_ms = store->ring_ms;
    pthread_mutex_unlock(&store->lock);
}

void
store_set_ring(struct store *store, uint64_t every_ms)
{
    pthread_mutex_lock(&store->lock);
    store->ring_ms = every_ms;
    pthread_mutex_unlock(&store->lock);
    if (pthread_mutex_trylock(&store->disk) != 0)
        return; /* store_keep.c takes it over when it adds or expires one */
    store_take_ring(store);
    pthread_mutex_unlock(&store->disk);
}

uint64_t
store_get_ring(struct store *store)
{
    uint64_t every_ms;

    pthread_mutex_lock(&store->lock);
    every_ms = store->ring_ms;
    pthread_mutex_unlock(&store->lock);
    return every_ms;
}

int
store_give(struct store *store, uid_t uid, gid_t gid, struct error *err)
{
    int rc = 0;

    pthread_mutex_lock(&store->disk);
    if (store->dir.fd >= 0)
        rc = file_store_give(&store->dir, uid, gid, err);
    pthread_mutex_unlock(&store->disk);
    return rc;
}
