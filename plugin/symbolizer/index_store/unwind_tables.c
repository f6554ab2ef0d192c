/*
 * unwind_tables.c - see unwind_tables.h.
 *
 * Before a profile, each executable mapping of the process needs its table: the
 * store has it in memory or on disk, or the helper makes it from the object's
 * .eh_frame.  One helper makes all that are missing, within one deadline; what
 * it does not reach is tried at the next load, and a failure only after ten
 * minutes.  A mapping without a table stays in the list, since a walk must
 * still know that an address is code.  Callers: the threads of observers, and
 * table_loader.c.
 */
#include "unwind_tables.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "elf_file.h"
#include "files.h"
#include "helper.h"
#include "mappings.h"
#include "memory.h"
#include "memory_budget.h"
#include "unwind_store.h"

enum {
    OBJECTS_MAX = 2048,
    CODE_MAX = 1 << 14,
    DEADLINE_MS = 20 * 1000,  /* of one table, unless the options have it */
    CPU_MS = 60 * 1000,       /* processor time of one helper */
    RETRY_MS = 10 * 60 * 1000 /* after a failure */
};

static const uint64_t helper_least = (uint64_t)64 << 20;
static const uint64_t helper_most = (uint64_t)4 << 30;

struct unwind_tables {
    char *program;
    struct unwind_store *store;
    uint32_t deadline_ms;
    struct helper_lost lost;
    struct unwind_object *objects[OBJECTS_MAX]; /* of the last load, referenced
                                                 * in the store */
    size_t object_count;
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
release_unwind_objects(struct unwind_tables *tables)
{
    for (size_t i = 0; i < tables->object_count; i++)
        unwind_store_unref(tables->store, tables->objects[i]);
    tables->object_count = tables->code_count = 0;
}

struct unwind_tables *
unwind_tables_new(const struct unwind_tables_options *options,
                  struct error *err)
{
    struct unwind_tables *tables = mem_zalloc(1, sizeof(*tables));

    if (tables) {
        tables->store = options->store;
        tables->deadline_ms =
            options->deadline_ms ? options->deadline_ms : DEADLINE_MS;
        tables->program = mem_strdup(options->program);
        if (tables->program)
            return tables;
    }
    error_memory(err, "the unwind tables");
    unwind_tables_free(tables);
    return NULL;
}

void
unwind_tables_free(struct unwind_tables *tables)
{
    if (!tables)
        return;
    /* the helpers are this thread's children, and would stay zombies */
    (void)helper_lost_reap(&tables->lost, HELPER_KILL_MS);
    release_unwind_objects(tables);
    mem_free(tables->program);
    mem_free(tables);
}

/* ---- one object ---- */

/* helper_index.write */
static int
append_unwind_bytes(void *arg, const void *data, size_t size, struct error *err)
{
    struct buffer *out = arg;

    buffer_add(out, data, size);
    if (!out->failed)
        return 0;
    error_set(err, ER_UNKNOWN, "its unwind table has more than %llu MB",
              (unsigned long long)(out->max >> 20));
    return -1;
}

/* Half of the free memory stays free: a helper that the kernel kills for lack
 * of memory may take the whole cgroup with it. */
static struct helper *
start_helper(struct loading *l, struct error *err)
{
    uint64_t half = memory_left() / 2;
    struct helper_options options = {
        .program = l->tables->program,
        .memory_bytes = half < helper_most ? half : helper_most,
        .cpu_ms = CPU_MS,
        .cancel_fd = l->request->cancel_fd,
        .lost = &l->tables->lost};

    if (half >= helper_least) {
        struct helper *helper = helper_new(&options, err);

        if (helper)
            helper_cancel_by(helper, l->request->cancelled);
        return helper;
    }
    error_set(err, ER_UNKNOWN,
              "making it needs a helper, and only %llu MB of memory are left",
              (unsigned long long)(half >> 19));
    return NULL;
}

/* The helper is started for the first table that is missing, and ends with the
 * load. */
static int
make_unwind_table(struct loading *l, const struct elf_file *elf,
                  const char *path, struct buffer *out, struct error *err)
{
    uint64_t now = clock_ms();
    struct helper_index asked = {.object_fd = elf->fd,
                                 .path = path,
                                 .unwind = true,
                                 .write = append_unwind_bytes,
                                 .arg = out};
    enum helper_result result;

    if (now >= l->until) {
        error_set(err, ER_UNKNOWN, "there was no time left to make it");
        return -1;
    }
    if (!l->helper)
        l->helper = start_helper(l, err);
    if (!l->helper)
        return -1;
    asked.deadline_ms = (uint32_t)(l->until - now);
    result = helper_make_index(l->helper, &asked, err);
    l->cancelled |= result == HELPER_CANCELLED;
    return result == HELPER_DONE && !err->text[0] ? 0 : -1;
}

static void
renew_object(struct loading *l, struct unwind_object *object,
             const struct elf_file *elf, const char *path)
{
    struct unwind_store *store = l->tables->store;
    uint64_t began = clock_ms(), now;
    struct error err = {0};
    struct buffer bytes;

    if (unwind_store_read(store, object, elf))
        return;
    buffer_init(&bytes, unwind_store_bytes_max(store));
    if (make_unwind_table(l, elf, path, &bytes, &err) == 0 &&
        unwind_store_put(store, object, elf, &bytes, &err) == 0) {
        l->loaded->made++;
    } else {
        now = clock_ms();
        /* If the deadline has passed, other objects may have used up the time:
         * then this one is tried again at the next load. */
        if (!l->cancelled &&
            (now < l->until || now - began >= l->tables->deadline_ms / 2))
            now += RETRY_MS;
        unwind_store_fail(store, object, &err, now);
    }
    buffer_fini(&bytes);
}

static struct unwind_object *
ref_unwind_object(struct unwind_tables *tables, const struct elf_file *elf)
{
    struct unwind_object *object = NULL;

    if (tables->object_count < OBJECTS_MAX)
        object = unwind_store_ref(tables->store, elf);
    if (object)
        tables->objects[tables->object_count++] = object;
    return object;
}

/* The table of a file, made if need be; NULL: there is none, and why is set. */
static const struct unwind_table *
load_file_unwind_table(struct loading *l, int fd, const char *path,
                       char why[ERROR_TEXT_MAX])
{
    const struct unwind_table *table = NULL;
    struct unwind_object *object = NULL;
    struct elf_file elf = {0};
    struct error err = {0};
    bool is_due;

    if (elf_init(&elf, fd, path, &err) == 0) {
        object = ref_unwind_object(l->tables, &elf);
        if (!object)
            error_memory(&err, "an unwind table");
    }
    memcpy(why, err.text, ERROR_TEXT_MAX);
    if (object) {
        table = unwind_store_table(l->tables->store, object, &is_due, why);
        if (is_due) {
            renew_object(l, object, &elf, path);
            table = unwind_store_table(l->tables->store, object, &is_due, why);
        }
    }
    elf_fini(&elf);
    return table;
}

/* ---- a process's mappings ---- */

/* An earlier piece of code of the same file, which has its table already; NULL:
 * this is the first.  Goes through mappings and code list in step. */
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
    struct unwind_missing *m;

    if (l->loaded->missing++ >= UNWIND_MISSING_MAX)
        return;
    m = &l->loaded->without[l->loaded->missing - 1];
    m->path = path;
    snprintf(m->why, sizeof(m->why), "%s", why);
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
    if (mapping->inode == 0)
        return NULL;
    l->loaded->objects++;
    fd = request->open_object(request->arg, mapping);
    if (fd >= 0)
        table = load_file_unwind_table(l, fd, mapping->path, why);
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
    release_unwind_objects(tables);
    /* its rules are those of the old list */
    memset(&tables->cache, 0, sizeof(tables->cache));
    (void)helper_lost_reap(&tables->lost, 0);
    for (size_t i = 0; i < request->maps->count && !l.cancelled; i++) {
        const struct mapping *mapping = &request->maps->list[i];

        /* a walk ends at code beyond the list */
        if (!mapping->executable || tables->code_count == CODE_MAX)
            continue;
        tables->code[tables->code_count] =
            (struct unwind_code){mapping->start, mapping->end, mapping->offset,
                                 load_mapping(&l, mapping)};
        tables->code_count++;
    }
    loaded->bytes = unwind_store_bytes(tables->store);
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
