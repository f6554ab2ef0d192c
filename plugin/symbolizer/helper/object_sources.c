/*
 * object_sources.c - see object_sources.h.
 *
 * A request mostly needs one or two sources, and opening each reads megabytes;
 * so all are opened on demand and kept until the request's end.  Reading the
 * symbol table and reading DWARF take about as long, so the symbols are read on
 * a thread of their own meanwhile; await_symbols() is the only place where the
 * two meet.
 */
#include "object_sources.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bfd_names.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "object_names.h"
#include "object_symbols.h"
#include "thread.h"
#include "function_ranges.h"

enum { SYMBOLS_STACK = 256 << 10 };

/* ---- the split debug file; the first call may ask libbfd ---- */

static void
debug_file_init(struct debug_file *file, const struct elf_file *object,
                const char *path)
{
    *file =
        (struct debug_file){.object = object, .object_path = path, .fd = -1};
}

static void
debug_file_fini(struct debug_file *file)
{
    elf_fini(&file->elf);
    fd_close(file->fd);
    free(file->path);
}

/* The path of a fetched debug file, allocated by malloc as libbfd's paths are;
 * NULL: none. */
static char *
find_fetched(const struct elf_file *object)
{
    char path[PATH_MAX];

    return debug_fetched_find(object, path) ? strdup(path) : NULL;
}

static bool
is_same_build(const struct elf_file *a, const struct elf_file *b)
{
    return a->build_id_size == b->build_id_size &&
           memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

/* NULL: none. */
static const struct elf_file *
find_debug_file(struct debug_file *file)
{
    struct error err;
    bool fetched;

    if (!file->sought) {
        /* libbfd checks build-id or CRC; a fetched file is checked here */
        file->sought = true;
        file->path = bfd_debug_file(file->object->fd, file->object_path);
        fetched = file->path == NULL;
        if (fetched)
            file->path = find_fetched(file->object);
        if (file->path)
            file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file->fd >= 0 &&
            (elf_init(&file->elf, file->fd, file->path, &err) != 0 ||
             (fetched && !is_same_build(&file->elf, file->object)) ||
             elf_load_sections(&file->elf, &err) != 0)) {
            fd_close(file->fd);
            file->fd = -1;
        }
    }
    return file->fd >= 0 ? &file->elf : NULL;
}

const struct elf_file *
debug_file_dwarf(struct debug_file *file, const char **path)
{
    const struct elf_file *elf = file->object;

    *path = file->object_path;
    if (elf_has_dwarf(elf))
        return elf;
    elf = find_debug_file(file);
    *path = file->path;
    return elf && elf_has_dwarf(elf) ? elf : NULL;
}

const struct elf_file *
debug_file_symbols(struct debug_file *file)
{
    return object_has_symbols(file->object) ? NULL : find_debug_file(file);
}

/* ---- all sources ---- */

int
object_sources_init(struct object_sources *from,
                    const struct object_request *request, struct error *err)
{
    from->symbols_only = request->symbols_only;
    from->no_lines = request->no_lines;
    from->reader_bytes = request->reader_bytes;
    from->path = mem_strdup(request->path);
    debug_file_init(&from->debug, &from->elf, from->path);
    if (!from->path) {
        error_memory(err, "an object");
        return -1;
    }
    if (elf_init(&from->elf, request->fd, request->path, err) != 0)
        return -1;
    return elf_load_sections(&from->elf, err);
}

static void
await_symbols(struct object_sources *from)
{
    if (from->symbols_coming)
        pthread_join(from->thread, NULL);
    from->symbols_coming = false;
}

void
object_sources_fini(struct object_sources *from)
{
    await_symbols(from);
    object_symbols_free(from->symbols);
    function_ranges_free(from->ranges);
    dwarf_free(from->dwarf);
    bfd_names_free(from->bfd);
    debug_file_fini(&from->debug);
    elf_fini(&from->elf);
    mem_free(from->path);
}

static void *
read_object_symbols(void *arg)
{
    struct object_sources *from = arg;
    struct error err;

    /* start_symbols has looked for the debug file: libbfd must not be called
     * from this thread. */
    from->symbols =
        object_symbols_new(&from->elf, debug_file_symbols(&from->debug), &err);
    return NULL;
}

/* Starts reading the symbols while DWARF is read, if a thread can be started;
 * otherwise they are read when they are needed. */
static void
start_symbols(struct object_sources *from)
{
    struct thread_start start = {.name = "hw-symbols",
                                 .stack_bytes = SYMBOLS_STACK,
                                 .body = read_object_symbols,
                                 .arg = from};

    if (from->symbols || from->symbols_coming)
        return;
    (void)debug_file_symbols(&from->debug);
    from->symbols_coming = thread_start(&from->thread, &start, NULL) == 0;
}

const struct object_symbols *
object_sources_symbols(struct object_sources *from)
{
    await_symbols(from);
    if (!from->symbols)
        read_object_symbols(from);
    return from->symbols;
}

/* Tried once: a file that cannot be read will not get better, and each try may
 * take long. */
void
object_sources_dwarf(struct object_sources *from, bool all, struct error *err)
{
    const struct dwarf_options options = {.memory_bytes = from->reader_bytes,
                                          .lines = !from->no_lines,
                                          .addresses_only = !all};
    const struct elf_file *elf;
    const char *path;

    if (from->dwarf_sought || from->symbols_only)
        return;
    from->dwarf_sought = true;
    elf = debug_file_dwarf(&from->debug, &path);
    if (!elf)
        return;
    start_symbols(from);
    from->dwarf = dwarf_new(elf, &options, err);
    from->over_budget = !from->dwarf && err->code == ER_OUT_OF_MEMORY;
}

struct bfd_names *
object_sources_bfd(struct object_sources *from)
{
    const struct elf_file *elf;
    struct error err = {0};
    const char *path;

    if (!from->bfd_sought) {
        from->bfd_sought = true;
        elf = debug_file_dwarf(&from->debug, &path);
        if (elf)
            from->bfd = bfd_names_new(elf->fd, path, &err);
        if (elf && !from->bfd)
            snprintf(from->trouble, sizeof(from->trouble), "%s", err.text);
    }
    return from->bfd;
}

int
object_sources_start(struct object_sources *from, uint64_t address,
                     uint64_t *start)
{
    struct error err;
    uint64_t end;

    if (!from->ranges)
        from->ranges = function_ranges_new(&from->elf, &err);
    if (!from->ranges)
        return -1;
    if (!function_ranges_find(from->ranges, address, start, &end))
        *start = address;
    return 0;
}
