/*
 * unwind_store.c - see unwind_store.h.
 *
 * Making a table takes a helper and a pass over the object's call frame
 * information, and several users need the same ones: time profiles, looks at
 * threads, and the agent's samples.  So all share this store: in memory by
 * reference count up to a limit, least recently used first out, and on disk for
 * the next heapwired.  Nothing is locked while a table is read or made: two
 * that want the same one at once both make it, and the first one is kept.
 */
#include "unwind_store.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "buffer.h"
#include "clock.h"
#include "elf_file.h"
#include "file_store.h"
#include "index_dir.h"
#include "memory.h"
#include "memory_budget.h"
#include "unwind_dir.h"
#include "unwind_table.h"

enum { OBJECTS_MAX = 2048, KEY_MAX = 64 };

static const uint64_t memory_bytes_max = (uint64_t)256 << 20;

/* Identifies an object: its build-id, or else the file's inode, time and
 * size. */
struct object_key {
    uint8_t bytes[KEY_MAX];
    size_t size;
    bool is_file;
};

struct unwind_object {
    struct object_key key;
    unsigned refs;
    struct buffer bytes; /* empty: there is no table; once set it does not
                          * change */
    struct unwind_table table;
    uint64_t used;     /* number of the last ref, for eviction */
    uint64_t retry_ms; /* without a table: when to try again; clock_ms */
    char why[ERROR_TEXT_MAX];
};

struct unwind_store {
    uint64_t disk_max, memory_max;
    pthread_mutex_t disk;  /* held to write to dir, or to change its owner */
    struct file_store dir; /* fd -1: none */

    pthread_mutex_t lock; /* guards all below, and the objects */
    struct unwind_object *objects[OBJECTS_MAX];
    size_t count;
    uint64_t bytes, uses;
    struct memory_reservation reserved; /* for these bytes */
};

static void
free_object(struct unwind_object *object)
{
    buffer_fini(&object->bytes);
    mem_free(object);
}

struct unwind_store *
unwind_store_new(const struct unwind_store_options *options, struct error *why)
{
    struct unwind_store *store = mem_zalloc(1, sizeof(*store));

    if (!store) {
        error_memory(why, "the unwind tables");
        return NULL;
    }
    store->disk_max = options->bytes ? options->bytes : memory_bytes_max;
    store->memory_max =
        store->disk_max < memory_bytes_max ? store->disk_max : memory_bytes_max;
    pthread_mutex_init(&store->disk, NULL);
    pthread_mutex_init(&store->lock, NULL);
    store->dir.fd = -1;
    if (options->dir)
        (void)file_store_open(&store->dir, options->dir, &index_dir_unwind_kind,
                              why);
    return store;
}

void
unwind_store_free(struct unwind_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->count; i++)
        free_object(store->objects[i]);
    (void)memory_reserve(&store->reserved, NULL, 0);
    if (store->dir.fd >= 0)
        file_store_close(&store->dir);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->disk);
    mem_free(store);
}

int
unwind_store_give(struct unwind_store *store, uint32_t uid, uint32_t gid,
                  struct error *err)
{
    int rc = 0;

    pthread_mutex_lock(&store->disk);
    if (store->dir.fd >= 0)
        rc = file_store_give(&store->dir, uid, gid, err);
    pthread_mutex_unlock(&store->disk);
    return rc;
}

uint64_t
unwind_store_bytes(struct unwind_store *store)
{
    uint64_t bytes;

    pthread_mutex_lock(&store->lock);
    bytes = store->bytes;
    pthread_mutex_unlock(&store->lock);
    return bytes;
}

uint64_t
unwind_store_bytes_max(const struct unwind_store *store)
{
    return store->memory_max;
}

/* ---- objects; the caller holds the lock ---- */

/* Without a build-id a changed file must have another key: hence time and
 * size. */
static struct object_key
object_key_of(const struct elf_file *elf)
{
    struct object_key key = {.size = 0};
    struct stat st;
    uint64_t state[5];

    if (elf->build_id_size >= BUILD_ID_MIN &&
        elf->build_id_size <= sizeof(key.bytes)) {
        key.size = elf->build_id_size;
        memcpy(key.bytes, elf->build_id, key.size);
    } else if (fstat(elf->fd, &st) == 0) {
        state[0] = st.st_dev;
        state[1] = st.st_ino;
        state[2] = (uint64_t)st.st_mtim.tv_sec;
        state[3] = (uint64_t)st.st_mtim.tv_nsec;
        state[4] = (uint64_t)st.st_size;
        key.is_file = true;
        key.size = sizeof(state);
        memcpy(key.bytes, state, sizeof(state));
    }
    return key;
}

static struct unwind_object *
find_stored_object(struct unwind_store *store, const struct object_key *key)
{
    for (size_t i = 0; i < store->count; i++) {
        struct unwind_object *object = store->objects[i];

        if (object->key.size == key->size &&
            object->key.is_file == key->is_file &&
            memcmp(object->key.bytes, key->bytes, key->size) == 0)
            return object;
    }
    return NULL;
}

/* Removes the object that was unused for longest, among those that nobody
 * holds; false: there is none. */
static bool
evict_object(struct unwind_store *store)
{
    size_t oldest = store->count;

    for (size_t i = 0; i < store->count; i++)
        if (store->objects[i]->refs == 0 &&
            (oldest == store->count ||
             store->objects[i]->used < store->objects[oldest]->used))
            oldest = i;
    if (oldest == store->count)
        return false;
    store->bytes -= store->objects[oldest]->bytes.size;
    (void)memory_reserve(&store->reserved, NULL, store->bytes);
    free_object(store->objects[oldest]);
    store->objects[oldest] = store->objects[--store->count];
    return true;
}

/* Reserves memory of the amount that clients share, on nobody's account. */
static bool
reserve_unwind_memory(struct unwind_store *store, size_t more)
{
    return store->bytes + more <= store->memory_max &&
           memory_reserve(&store->reserved, NULL, store->bytes + more);
}

static struct unwind_object *
add_object(struct unwind_store *store, const struct object_key *key)
{
    struct unwind_object *object;

    /* an entry stays without a table, too: it remembers the failure */
    if (store->count == OBJECTS_MAX && !evict_object(store))
        return NULL;
    object = mem_zalloc(1, sizeof(*object));
    if (!object)
        return NULL;
    object->key = *key;
    store->objects[store->count++] = object;
    return object;
}

/* ---- tables ---- */

struct unwind_object *
unwind_store_ref(struct unwind_store *store, const struct elf_file *elf)
{
    struct object_key key = object_key_of(elf);
    struct unwind_object *object;

    pthread_mutex_lock(&store->lock);
    object = find_stored_object(store, &key);
    if (!object)
        object = add_object(store, &key);
    if (object) {
        object->refs++;
        object->used = ++store->uses;
    }
    pthread_mutex_unlock(&store->lock);
    return object;
}

/* Nothing is freed here: the next profile wants it again. */
void
unwind_store_unref(struct unwind_store *store, struct unwind_object *object)
{
    pthread_mutex_lock(&store->lock);
    object->refs--;
    pthread_mutex_unlock(&store->lock);
}

/* The table itself needs no lock once it is there: it does not change while
 * object is held. */
const struct unwind_table *
unwind_store_table(struct unwind_store *store, struct unwind_object *object,
                   bool *is_due, char why[ERROR_TEXT_MAX])
{
    bool has;

    pthread_mutex_lock(&store->lock);
    has = object->bytes.size > 0;
    *is_due = !has && clock_ms() >= object->retry_ms;
    memcpy(why, object->why, sizeof(object->why));
    pthread_mutex_unlock(&store->lock);
    return has ? &object->table : NULL;
}

static int
store_table_bytes(struct unwind_store *store, struct unwind_object *object,
                  const struct elf_file *elf, struct buffer *bytes,
                  struct error *err)
{
    struct unwind_table table;
    bool fits = true;
    size_t reserved;

    /* from disk or from the helper: neither is trusted */
    if (!unwind_table_open(&table, bytes->data, bytes->size, elf->build_id,
                           elf->build_id_size)) {
        error_set(err, ER_UNKNOWN, "the symboliser's unwind table is damaged");
        return -1;
    }
    pthread_mutex_lock(&store->lock);
    if (object->bytes.size == 0) { /* else another thread was faster */
        do
            fits = reserve_unwind_memory(store, bytes->size);
        while (!fits && evict_object(store));
        if (fits) {
            store->bytes += bytes->size;
            object->table = table;
            object->bytes = *bytes;
            *bytes = (struct buffer){.size = 0};
        }
    }
    reserved = store->reserved.bytes;
    pthread_mutex_unlock(&store->lock);
    if (fits)
        return 0;
    error_set(err, ER_UNKNOWN,
              "there is no room for it: the unwind tables in use have %zu MB, "
              "and may have at most %llu MB of the memory that clients share",
              reserved >> 20, (unsigned long long)(store->memory_max >> 20));
    return -1;
}

/* Without the disk's lock: a file appears whole or not at all, and the table's
 * checksum is checked. */
bool
unwind_store_read(struct unwind_store *store, struct unwind_object *object,
                  const struct elf_file *elf)
{
    struct build_id id = build_id_of(elf);
    struct buffer bytes;
    struct error ignored;
    bool taken;

    if (store->dir.fd < 0 || id.size == 0)
        return false;
    buffer_init(&bytes, store->memory_max);
    taken = unwind_dir_read(&store->dir, &id, &bytes) == 0 &&
            store_table_bytes(store, object, elf, &bytes, &ignored) == 0;
    buffer_fini(&bytes);
    return taken;
}

int
unwind_store_put(struct unwind_store *store, struct unwind_object *object,
                 const struct elf_file *elf, struct buffer *bytes,
                 struct error *err)
{
    struct build_id id = build_id_of(elf);
    struct error ignored;

    if (store_table_bytes(store, object, elf, bytes, err) != 0)
        return -1;
    /* Optional: without the file the next heapwired makes it again. */
    pthread_mutex_lock(&store->disk);
    if (store->dir.fd >= 0 && id.size > 0)
        (void)unwind_dir_write(&store->dir, &id, &object->bytes,
                               store->disk_max, &ignored);
    pthread_mutex_unlock(&store->disk);
    return 0;
}

void
unwind_store_fail(struct unwind_store *store, struct unwind_object *object,
                  const struct error *err, uint64_t retry_ms)
{
    pthread_mutex_lock(&store->lock);
    object->retry_ms = retry_ms;
    memcpy(object->why, err->text, sizeof(object->why));
    pthread_mutex_unlock(&store->lock);
}
