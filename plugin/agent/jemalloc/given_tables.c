/*
 * given_tables.c - see given_tables.h.
 *
 * A table may only be used for the object that it was made from, and objects
 * come and go.  The object's build-id tells whether the table is its own, and
 * its program headers where its code lies: both are read from memory, inside
 * dl_iterate_phdr, while the loader cannot unload it.  Threads that take
 * samples read the lists without a lock: so a list is built whole, published
 * once, and never changed or freed; a new one replaces it.
 */
#include "given_tables.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "loaded_objects.h"
#include "own_calls.h"

/* glibc 2.35; without it there are no tables (own_calls.c) */
#pragma weak _dl_find_object

enum {
    OBJECTS_MAX = 512, /* objects with a table */
    CODES_MAX = 2 * OBJECTS_MAX,
    OBJECT_CODES_MAX = 4, /* executable segments of one */
    LISTS_MAX = 64,       /* lists are never freed: threads may read them */
    PATH_MAX_KEPT = 128,  /* bytes, for a note */
    WANTED_SEALS = F_SEAL_SHRINK | F_SEAL_WRITE
};

static const uint64_t table_bytes_max = 256 << 20; /* one table */
static const uint64_t tables_bytes_max = 1 << 30;  /* all of them */

struct object_table {
    struct own_object object;
    struct unwind_code codes[OBJECT_CODES_MAX];
    size_t code_count;
    char path[PATH_MAX_KEPT]; /* the end of it */
    bool listed;              /* in the last list */
    bool unloaded;            /* another may since lie at the same place */
};

static struct object_table object_tables[OBJECTS_MAX];
static atomic_size_t object_table_count;
static uint64_t object_table_bytes;
static unsigned lists;

/* ---- what is loaded at an address ---- */

struct search {
    uint64_t address;
    struct object_table *out;
    uint8_t build_id[BUILD_ID_MAX];
    size_t build_id_size;
};

static void
copy_end(char out[PATH_MAX_KEPT], const char *path)
{
    size_t size = strlen(path);

    if (size >= PATH_MAX_KEPT)
        path += size - (PATH_MAX_KEPT - 1);
    strncpy(out, path, PATH_MAX_KEPT - 1);
}

static int
read_object_at_address(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;
    struct object_table *out = search->out;
    const struct loaded_object object = {info->dlpi_addr, info->dlpi_phdr,
                                         info->dlpi_phnum, info->dlpi_name};
    struct dl_find_object found;

    (void)size;
    if (!object_holds(&object, search->address, 1, PF_X))
        return 0;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (_dl_find_object((void *)search->address, &found) != 0)
        return 1;
    out->object.start = found.dlfo_map_start;
    out->object.map = found.dlfo_link_map;
    out->object.frames = found.dlfo_eh_frame;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const uint64_t start = info->dlpi_addr + h->p_vaddr;

        if (h->p_type == PT_LOAD && (h->p_flags & PF_X) &&
            out->code_count < OBJECT_CODES_MAX)
            out->codes[out->code_count++] = (struct unwind_code){
                start, start + h->p_memsz, h->p_offset, NULL};
    }
    search->build_id_size = object_build_id(&object, search->build_id);
    copy_end(out->path, info->dlpi_name);
    return 1;
}

static bool
has_table(const struct own_object *object)
{
    for (size_t i = 0; i < object_table_count; i++)
        if (!object_tables[i].unloaded &&
            object_tables[i].object.start == object->start &&
            object_tables[i].object.map == object->map &&
            object_tables[i].object.frames == object->frames)
            return true;
    return false;
}

/* ---- one table ---- */

/* Opens the table, and adds it to the list. */
static int
add_object_table(struct search *search, const void *bytes, uint64_t size)
{
    struct object_table *out = search->out;

    if (search->build_id_size == 0 ||
        !unwind_table_open(&out->object.table, bytes, size, search->build_id,
                           search->build_id_size))
        return EINVAL;
    if (!own_object_is_there(&out->object))
        return ENOENT;
    for (size_t i = 0; i < out->code_count; i++)
        out->codes[i].table = &out->object.table;
    object_table_bytes += size;
    atomic_store_explicit(&object_table_count, object_table_count + 1,
                          memory_order_release);
    return 0;
}

static int
map_table(struct search *search, int fd)
{
    const int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;
    uint64_t size;
    void *bytes;
    int error;

    if (seals < 0 || (seals & WANTED_SEALS) != WANTED_SEALS ||
        fstat(fd, &st) != 0)
        return EPERM;
    size = (uint64_t)st.st_size;
    if (size < UNWIND_HEADER || size > table_bytes_max)
        return EINVAL;
    if (size > tables_bytes_max - object_table_bytes)
        return ENOSPC;
    bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return errno;
    error = add_object_table(search, bytes, size);
    if (error != 0)
        munmap(bytes, size);
    else
        madvise(bytes, size, MADV_DONTDUMP);
    return error;
}

int
given_tables_add(int fd, uint64_t address)
{
    struct search search = {.address = address,
                            .out = &object_tables[object_table_count]};

    if (!_dl_find_object || object_table_count == OBJECTS_MAX)
        return ENOSPC;
    memset(search.out, 0, sizeof(*search.out));
    if (dl_iterate_phdr(read_object_at_address, &search) == 0 ||
        !search.out->object.start)
        return ENOENT;
    return has_table(&search.out->object) ? 0 : map_table(&search, fd);
}

/* ---- the list ---- */

/* Marks the table of an unloaded object as unused.  False: it is unused. */
static bool
mark_or_find_usable(struct object_table *g)
{
    if (!own_object_is_there(&g->object)) {
        g->unloaded = true;
        atomic_store_explicit(&g->object.unused, 1, memory_order_relaxed);
    }
    return !atomic_load_explicit(&g->object.unused, memory_order_relaxed);
}

bool
given_tables_changed(void)
{
    for (size_t i = 0; i < object_table_count; i++)
        if (mark_or_find_usable(&object_tables[i]) != object_tables[i].listed)
            return true;
    return false;
}

struct list {
    struct given_tables tables;
    struct own_object *objects[CODES_MAX];
    struct unwind_code codes[CODES_MAX];
    _Atomic uint64_t memo[UNWIND_MEMO_WORDS];
};

static void
insert_given_code_range(struct list *list, struct object_table *g,
                        const struct unwind_code *code)
{
    size_t at = list->tables.source.count++;

    for (; at > 0 && list->codes[at - 1].start > code->start; at--) {
        list->codes[at] = list->codes[at - 1];
        list->objects[at] = list->objects[at - 1];
    }
    list->codes[at] = *code;
    list->objects[at] = &g->object;
}

const struct given_tables *
given_tables_list(void)
{
    struct list *list = MAP_FAILED;

    if (lists < LISTS_MAX)
        list = mmap(NULL, sizeof(*list), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED)
        return NULL;
    for (size_t i = 0; i < object_table_count; i++) {
        struct object_table *g = &object_tables[i];

        g->listed = mark_or_find_usable(g);
        for (size_t j = 0; g->listed && j < g->code_count; j++)
            if (list->tables.source.count < CODES_MAX)
                insert_given_code_range(list, g, &g->codes[j]);
    }
    if (list->tables.source.count == 0) {
        munmap(list, sizeof(*list));
        return NULL;
    }
    lists++;
    list->tables.source.list = list->codes;
    list->tables.objects = list->objects;
    list->tables.memo = list->memo;
    return &list->tables;
}

uint32_t
given_tables_differed(const char **path)
{
    uint32_t count = 0;

    for (size_t i = 0; i < object_table_count; i++)
        if (!object_tables[i].unloaded &&
            atomic_load_explicit(&object_tables[i].object.unused,
                                 memory_order_relaxed) &&
            own_object_is_there(&object_tables[i].object)) {
            *path = object_tables[i].path;
            count++;
        }
    return count;
}
