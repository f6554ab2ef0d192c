/* unwind_tables.c - see unwind_tables.h. */
#include "unwind_tables.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "buffer.h"
#include "clock.h"
#include "elf_file.h"
#include "files.h"
#include "helper.h"
#include "index_dir.h"
#include "mappings.h"
#include "memory.h"
#include "unwind_dir.h"

enum {
    OBJECTS_KEPT_MAX = 2048,
    CODE_MAX = 1 << 14,
    DEADLINE_MS = 20 * 1000,
    CPU_MS = 60 * 1000,
    RETRY_MS = 10 * 60 * 1000, /* after a failure */
    VDSO_MAX = 1 << 16,
    KEY_MAX = 64
};

static const uint64_t bytes_default = (uint64_t)512 << 20;
static const uint64_t helper_memory_bytes = (uint64_t)4 << 30;

/* Which object: its build-id, else the file and its state. */
struct object_key {
    uint8_t bytes[KEY_MAX];
    size_t size;
    bool is_file;
};

struct kept_object {
    struct object_key key;
    struct buffer bytes; /* empty: it has no table */
    struct unwind_table table;
    uint64_t load;     /* the last one that needed it */
    uint64_t retry_ms; /* without a table: when it is tried again; clock_ms */
    char why[ERROR_TEXT_MAX];
};

struct unwind_tables {
    char *program;
    struct file_store dir; /* fd -1: none */
    uint64_t bytes_max, bytes;
    uint32_t deadline_ms;
    struct helper_lost lost;
    struct kept_object *objects[OBJECTS_KEPT_MAX];
    size_t object_count;
    uint64_t loads;
    struct unwind_code code[CODE_MAX];
    size_t code_count;
    struct unwind_cache cache;
};

/* One load under way. */
struct loading {
    struct unwind_tables *tables;
    const struct unwind_request *request;
    struct unwind_loaded *loaded;
    struct helper *helper; /* NULL: not needed yet */
    uint64_t until;
    bool cancelled;
};

static void
free_object(struct kept_object *object)
{
    buffer_fini(&object->bytes);
    mem_free(object);
}

struct unwind_tables *
unwind_tables_new(const struct unwind_tables_options *options,
                  struct error *why)
{
    struct unwind_tables *tables = mem_zalloc(1, sizeof(*tables));

    if (!tables) {
        error_memory(why, "the unwind tables");
        return NULL;
    }
    tables->dir.fd = -1;
    tables->bytes_max = options->bytes ? options->bytes : bytes_default;
    tables->deadline_ms =
        options->deadline_ms ? options->deadline_ms : DEADLINE_MS;
    tables->program = mem_strdup(options->program);
    if (!tables->program) {
        error_memory(why, "the unwind tables");
        unwind_tables_free(tables);
        return NULL;
    }
    if (options->dir)
        (void)unwind_dir_open(&tables->dir, options->dir, why);
    return tables;
}

void
unwind_tables_free(struct unwind_tables *tables)
{
    if (!tables)
        return;
    (void)helper_lost_reap(&tables->lost, HELPER_KILL_MS);
    for (size_t i = 0; i < tables->object_count; i++)
        free_object(tables->objects[i]);
    if (tables->dir.fd >= 0)
        file_store_close(&tables->dir);
    mem_free(tables->program);
    mem_free(tables);
}

/* ---- one object ---- */

static struct object_key
key_of(const struct elf_file *elf)
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

static struct kept_object *
find_object(struct unwind_tables *tables, const struct object_key *key)
{
    for (size_t i = 0; i < tables->object_count; i++) {
        struct kept_object *object = tables->objects[i];

        if (object->key.size == key->size &&
            object->key.is_file == key->is_file &&
            memcmp(object->key.bytes, key->bytes, key->size) == 0)
            return object;
    }
    return NULL;
}

/* The one not needed for longest goes, but none that this load needs; false:
 * there is none. */
static bool
evict_object(struct unwind_tables *tables)
{
    size_t oldest = 0;

    for (size_t i = 1; i < tables->object_count; i++)
        if (tables->objects[i]->load < tables->objects[oldest]->load)
            oldest = i;
    if (tables->object_count == 0 ||
        tables->objects[oldest]->load == tables->loads)
        return false;
    tables->bytes -= tables->objects[oldest]->bytes.size;
    free_object(tables->objects[oldest]);
    tables->objects[oldest] = tables->objects[--tables->object_count];
    return true;
}

static struct kept_object *
add_object(struct unwind_tables *tables, const struct object_key *key)
{
    struct kept_object *object;

    if (tables->object_count == OBJECTS_KEPT_MAX && !evict_object(tables))
        return NULL;
    object = mem_zalloc(1, sizeof(*object));
    if (!object)
        return NULL;
    object->key = *key;
    object->load = tables->loads;
    tables->objects[tables->object_count++] = object;
    return object;
}

/* helper_index.write */
static int
take_bytes(void *arg, const void *data, size_t size, struct error *err)
{
    struct buffer *out = arg;

    buffer_add(out, data, size);
    if (!out->failed)
        return 0;
    error_set(err, ER_UNKNOWN, "its unwind table has more than %llu MB",
              (unsigned long long)(out->max >> 20));
    return -1;
}

static int
make_table(struct loading *l, const struct elf_file *elf, const char *path,
           struct buffer *out, struct error *err)
{
    struct unwind_tables *tables = l->tables;
    uint64_t now = clock_ms();
    struct helper_index wish = {.object_fd = elf->fd,
                                .path = path,
                                .unwind = true,
                                .write = take_bytes,
                                .arg = out};
    struct helper_options options = {.program = tables->program,
                                     .memory_bytes = helper_memory_bytes,
                                     .cpu_ms = CPU_MS,
                                     .cancel_fd = l->request->cancel_fd,
                                     .lost = &tables->lost};
    enum helper_result result;

    if (now >= l->until) {
        error_set(err, ER_UNKNOWN, "there was no time left to make it");
        return -1;
    }
    if (!l->helper)
        l->helper = helper_new(&options, err);
    if (!l->helper)
        return -1;
    wish.deadline_ms = (uint32_t)(l->until - now);
    result = helper_make_index(l->helper, &wish, err);
    l->cancelled |= result == HELPER_CANCELLED;
    return result == HELPER_DONE && !err->text[0] ? 0 : -1;
}

static bool
open_table(struct kept_object *object, const struct elf_file *elf)
{
    return unwind_table_open(&object->table, object->bytes.data,
                             object->bytes.size, elf->build_id,
                             elf->build_id_size);
}

/* From the directory, else made. */
static int
fill_object(struct loading *l, struct kept_object *object,
            const struct elf_file *elf, const char *path, struct error *err)
{
    struct unwind_tables *tables = l->tables;
    struct build_id id = build_id_of(elf);
    bool on_disk = tables->dir.fd >= 0 && id.size > 0;
    struct error unsaid;

    if (on_disk && unwind_dir_read(&tables->dir, &id, &object->bytes) == 0 &&
        open_table(object, elf))
        return 0;
    buffer_clear(&object->bytes);
    if (make_table(l, elf, path, &object->bytes, err) != 0)
        return -1;
    if (!open_table(object, elf)) {
        error_set(err, ER_UNKNOWN, "the symboliser's unwind table is damaged");
        return -1;
    }
    l->loaded->made++;
    /* Without the file it is made again the next time. */
    if (on_disk)
        (void)unwind_dir_write(&tables->dir, &id, &object->bytes,
                               tables->bytes_max, &unsaid);
    return 0;
}

static void
renew_object(struct loading *l, struct kept_object *object,
             const struct elf_file *elf, const char *path)
{
    struct unwind_tables *tables = l->tables;
    struct error err = {0};

    while (tables->bytes > tables->bytes_max / 2 && evict_object(tables))
        continue;
    buffer_init(&object->bytes, tables->bytes < tables->bytes_max
                                    ? tables->bytes_max - tables->bytes
                                    : 0);
    if (fill_object(l, object, elf, path, &err) != 0) {
        buffer_fini(&object->bytes);
        object->bytes = (struct buffer){.size = 0};
        object->retry_ms = clock_ms();
        if (!l->cancelled && object->retry_ms < l->until)
            object->retry_ms += RETRY_MS;
        memcpy(object->why, err.text, sizeof(object->why));
    }
    tables->bytes += object->bytes.size;
}

/* NULL: no table; *why is set. */
static const struct unwind_table *
table_of(struct loading *l, int fd, const char *path, char why[ERROR_TEXT_MAX])
{
    struct unwind_tables *tables = l->tables;
    struct kept_object *object = NULL;
    struct elf_file elf = {0};
    struct object_key key;
    struct error err = {0};

    if (elf_init(&elf, fd, path, &err) == 0) {
        key = key_of(&elf);
        object = find_object(tables, &key);
        if (!object)
            object = add_object(tables, &key);
        if (!object)
            error_memory(&err, "an unwind table");
    }
    if (object) {
        object->load = tables->loads; /* so that it stays */
        if (object->bytes.size == 0 && clock_ms() >= object->retry_ms)
            renew_object(l, object, &elf, path);
    }
    elf_fini(&elf);
    if (object && object->bytes.size > 0)
        return &object->table;
    memcpy(why, object ? object->why : err.text, ERROR_TEXT_MAX);
    return NULL;
}

/* ---- a process's mappings ---- */

int
unwind_open_vdso(const struct mapping *mapping)
{
    const char *image = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    uint64_t size = mapping->end - mapping->start;
    int fd;

    if (!image || size > VDSO_MAX)
        return -1;
    fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd >= 0 && fd_write_all(fd, image, size) != 0) {
        fd_close(fd);
        return -1;
    }
    return fd;
}

static bool
is_vdso(const struct mapping *mapping)
{
    return strcmp(mapping->path, "[vdso]") == 0;
}

/* The same file's code may be mapped in several pieces. */
static const struct unwind_code *
find_same(const struct loading *l, const struct mapping *first,
          const struct mapping *mapping)
{
    const struct unwind_code *code = l->tables->code;

    for (const struct mapping *m = first; m < mapping; m++) {
        if (!m->executable)
            continue;
        if (m->inode && m->inode == mapping->inode &&
            m->device == mapping->device)
            return code;
        code++;
    }
    return NULL;
}

static void
note_missing(struct loading *l, const char *path, const char *why)
{
    if (l->loaded->missing++ == 0)
        snprintf(l->loaded->why, sizeof(l->loaded->why), "%.200s: %.200s",
                 mapping_basename(path), why);
}

static const struct unwind_table *
load_mapping(struct loading *l, const struct mapping *mapping)
{
    const struct unwind_request *request = l->request;
    const struct unwind_code *same = find_same(l, request->maps->list, mapping);
    const struct unwind_table *table = NULL;
    char why[ERROR_TEXT_MAX] = "its file cannot be opened";
    int fd;

    if (same)
        return same->table;
    if (mapping->inode == 0 && !is_vdso(mapping))
        return NULL;
    l->loaded->objects++;
    fd = is_vdso(mapping) ? unwind_open_vdso(mapping)
                          : request->open_object(request->arg, mapping);
    if (fd >= 0)
        table = table_of(l, fd, mapping->path, why);
    fd_close(fd);
    if (!table)
        note_missing(l, mapping->path, why);
    return table;
}

int
unwind_tables_load(struct unwind_tables *tables,
                   const struct unwind_request *request,
                   struct unwind_loaded *loaded, struct error *err)
{
    struct loading l = {.tables = tables,
                        .request = request,
                        .loaded = loaded,
                        .until = clock_ms() + tables->deadline_ms};

    *loaded = (struct unwind_loaded){.objects = 0};
    tables->loads++;
    tables->code_count = 0;
    memset(&tables->cache, 0, sizeof(tables->cache));
    (void)helper_lost_reap(&tables->lost, 0);
    for (size_t i = 0; i < request->maps->count && !l.cancelled; i++) {
        const struct mapping *mapping = &request->maps->list[i];

        if (!mapping->executable || tables->code_count == CODE_MAX)
            continue;
        tables->code[tables->code_count] =
            (struct unwind_code){mapping->start, mapping->end, mapping->offset,
                                 load_mapping(&l, mapping)};
        tables->code_count++;
    }
    loaded->bytes = tables->bytes;
    helper_free(l.helper);
    if (!l.cancelled)
        return 0;
    error_set(err, ER_QUERY_INTERRUPTED, "cancelled");
    return -1;
}

struct unwind_source
unwind_tables_source(struct unwind_tables *tables)
{
    return (struct unwind_source){tables->code, tables->code_count,
                                  &tables->cache};
}

int
unwind_tables_give(struct unwind_tables *tables, uint32_t uid, uint32_t gid,
                   struct error *err)
{
    return tables->dir.fd < 0 ? 0
                              : file_store_give(&tables->dir, uid, gid, err);
}
