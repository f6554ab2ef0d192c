/*
 * recorded_maps.c - see recorded_maps.h.
 *
 * A dump needs the mappings of its process, but a process that hangs or has
 * ended has none to read: the recorder notes each module (path, addresses,
 * build-id) when it first meets it.  Its file is opened here, by its path, and
 * counts only if the build-id is the same; so an upgraded file is not taken for
 * the old one.  Each module is looked for once, as it never changes, and the
 * descriptor is kept: a file that is replaced later has been opened by then.
 */
#include "recorded_maps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "buffer.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "mappings.h"
#include "memory.h"
#include "objects.h"
#include "segment_read.h"

enum { PAGE = 4096 };

/* ---- files ---- */

static bool
module_build_id_equals(const struct segment_module *module,
                       const struct elf_file *elf)
{
    return module->build_id_size == elf->build_id_size &&
           memcmp(module->build_id, elf->build_id, elf->build_id_size) == 0;
}

/* Addresses and offsets are rounded to pages, as the kernel maps them; segments
 * outside of the module's range are a lie of the file or of the segment. */
static void
keep_code(struct recorded_module *to, const struct segment_module *module,
          const struct elf_file *elf)
{
    enum { EXECUTABLE = 1, LOAD = 1 }; /* PF_X, PT_LOAD */

    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];
        uint64_t in_page = s->address % PAGE;
        uint64_t start = module->base + s->address - in_page;
        uint64_t end = module->base + s->address + s->memory_size;

        if (end > module->end)
            end = module->end;
        end = (end + PAGE - 1) / PAGE * PAGE;
        if (s->type == LOAD && (s->flags & EXECUTABLE) && start < end &&
            start >= module->start && start < module->end &&
            end <= SEGMENT_PC_MASK && to->code_count < RECORDED_CODE_MAX)
            to->code[to->code_count++] =
                (struct recorded_code){start, end, s->offset - in_page};
    }
}

/* Whether the file is the module's; if so, notes where its code lies. */
static bool
inspect_module_file(struct recorded_module *to,
                    const struct segment_module *module, int fd,
                    const char *path)
{
    struct error ignored;
    struct elf_file elf;

    if (fd < 0 || elf_init(&elf, fd, path, &ignored) != 0)
        return false;
    to->found = module_build_id_equals(module, &elf);
    if (to->found)
        keep_code(to, module, &elf);
    elf_fini(&elf);
    return to->found;
}

static void
write_path(const struct segment_module *module, char path[SEGMENT_PATH_MAX + 1])
{
    memcpy(path, module->path, module->path_size);
    path[module->path_size] = '\0';
    for (char *c = path; *c; c++)
        if (*c == '\n') /* from a file's name, or a hostile process */
            *c = '?';
}

/* Looks at the module's path; the file counts if its build-id is the same. */
static void
find_here(struct recorded_module *to, const struct segment_module *module,
          struct objects *objects)
{
    char path[SEGMENT_PATH_MAX + 1];
    struct stat st;
    int fd;

    if (module->build_id_size == 0)
        return;
    write_path(module, path);
    /* the path is the database's word: it may be a fifo or a terminal by now */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        inspect_module_file(to, module, fd, path)) {
        to->device = st.st_dev;
        to->inode = st.st_ino;
        if (!objects_known(objects, st.st_dev, st.st_ino)) {
            objects_put(objects, st.st_dev, st.st_ino, fd);
            return;
        }
    }
    fd_close(fd);
}

/* Looks at what the process has mapped there now, if it is the same. */
static void
find_mapped(struct recorded_module *to, const struct segment_module *module,
            const struct mappings *mapped, struct objects *objects)
{
    for (size_t i = 0; i < mapped->count && !to->found; i++) {
        const struct mapping *m = &mapped->list[i];
        int fd;

        if (!m->executable || m->inode == 0 || m->start < module->start ||
            m->start >= module->end)
            continue;
        fd = objects_open(objects, m->device, m->inode);
        if (inspect_module_file(to, module, fd, m->path)) {
            to->device = m->device;
            to->inode = m->inode;
        }
        fd_close(fd);
    }
}

/* False for the vdso, and for a module whose path was cut: they have no file to
 * look for. */
static bool
has_file(const struct segment_module *module)
{
    return module->path_size <= SEGMENT_PATH_MAX &&
           memchr(module->path, '/', module->path_size) != NULL;
}

/* Forgets the modules of another process, or of the same before an exec. */
static void
clear_maps_of_other_owner(struct recorded_maps *maps,
                          const struct segment_header *header)
{
    if (maps->owner == header->owner &&
        maps->owner_started == header->owner_started &&
        maps->executions == header->executions)
        return;
    recorded_maps_clear(maps);
    maps->owner = header->owner;
    maps->owner_started = header->owner_started;
    maps->executions = header->executions;
}

static int
grow_recorded_modules(struct recorded_maps *maps, uint32_t count)
{
    struct recorded_module *more;

    if (count <= maps->count)
        return 0;
    more = mem_realloc(maps->list, count * sizeof(*more));
    if (!more)
        return -1;
    memset(more + maps->count, 0, (count - maps->count) * sizeof(*more));
    maps->list = more;
    maps->count = count;
    return 0;
}

static bool
modules_overlap(const struct segment_module *a, const struct segment_module *b)
{
    return a->start < b->end && b->start < a->end;
}

/* Whether a later module has lain at its addresses: without a build-id, what is
 * mapped there now may be that one's file. */
static bool
is_module_replaced(const struct segment_copy *copy, uint32_t index,
                   const struct segment_module *module)
{
    struct segment_module after;

    for (uint32_t i = index + 1; i < segment_copy_count(copy, SEGMENT_MODULES);
         i++)
        if (segment_copy_module(copy, i, &after) &&
            modules_overlap(module, &after))
            return true;
    return false;
}

int
recorded_maps_find(struct recorded_maps *maps, const struct segment_copy *copy,
                   const struct mappings *mapped, struct objects *objects,
                   bool *complete, struct error *err)
{
    uint32_t count = segment_copy_count(copy, SEGMENT_MODULES);
    struct segment_module module;

    clear_maps_of_other_owner(maps, segment_copy_header(copy));
    if (grow_recorded_modules(maps, count) != 0) {
        error_memory(err, "the recorder's modules");
        return -1;
    }
    *complete = true;
    for (uint32_t i = 0; i < count; i++) {
        struct recorded_module *to = &maps->list[i];

        if (!segment_copy_module(copy, i, &module) || !has_file(&module))
            continue;
        if (!to->searched)
            find_here(to, &module, objects);
        if (!to->found && mapped &&
            (module.build_id_size > 0 || !is_module_replaced(copy, i, &module)))
            find_mapped(to, &module, mapped, objects);
        to->searched = true;
        *complete &= to->found || to->asked;
        to->asked |= mapped != NULL;
    }
    return 0;
}

void
recorded_maps_clear(struct recorded_maps *maps)
{
    mem_free(maps->list);
    *maps = (struct recorded_maps){.segment = maps->segment};
}

/* ---- moves ---- */

/* Whether a module before it, that was not moved, lies at these addresses. */
static bool
is_module_range_taken(const struct segment_copy *copy, const uint64_t *moves,
                      uint32_t index, const struct segment_module *module)
{
    struct segment_module before;

    for (uint32_t i = 0; i < index; i++)
        if (moves[i] == 0 && segment_copy_module(copy, i, &before) &&
            modules_overlap(&before, module))
            return true;
    return false;
}

uint64_t *
recorded_moves(const struct segment_copy *copy)
{
    uint32_t count = segment_copy_count(copy, SEGMENT_MODULES);
    uint64_t *moves = mem_zalloc(count, sizeof(*moves));
    struct segment_module module;

    for (uint32_t i = 0; moves && i < count; i++)
        if (segment_copy_module(copy, i, &module) &&
            is_module_range_taken(copy, moves, i, &module))
            moves[i] = (uint64_t)(i + 1) << SEGMENT_PC_BITS;
    return moves;
}

/* ---- as text ---- */

static void
write_code(const struct segment_module *module,
           const struct recorded_module *file, uint64_t move,
           struct buffer *out)
{
    char path[SEGMENT_PATH_MAX + 1];

    write_path(module, path);
    /* without a file, addresses in it are named by the module alone */
    if (!file->found)
        buffer_format(out, "%" PRIx64 "-%" PRIx64 " r-xp 0 00:00 0 %s\n",
                      module->start + move, module->end + move, path);
    for (uint32_t i = 0; file->found && i < file->code_count; i++)
        buffer_format(out,
                      "%" PRIx64 "-%" PRIx64 " r-xp %" PRIx64 " %x:%x %" PRIu64
                      " %s\n",
                      file->code[i].start + move, file->code[i].end + move,
                      file->code[i].offset, major(file->device),
                      minor(file->device), file->inode, path);
}

struct module_start {
    uint64_t start;
    uint32_t index;
};

static int
compare_module_starts(const void *a, const void *b)
{
    const struct module_start *x = a, *y = b;

    return (x->start > y->start) - (x->start < y->start);
}

/* Sorted by the moved addresses, as the kernel's text is by its own. */
int
recorded_maps_write(const struct recorded_maps *maps,
                    const struct segment_copy *copy, struct buffer *out,
                    struct error *err)
{
    uint32_t count = maps->count, kept = 0;
    struct module_start *starts = mem_zalloc(count, sizeof(*starts));
    uint64_t *moves = recorded_moves(copy);
    struct segment_module module;
    int rc = -1;

    if (!starts || !moves)
        goto out;
    for (uint32_t i = 0; i < count; i++)
        if (segment_copy_module(copy, i, &module) &&
            module.path_size <= SEGMENT_PATH_MAX)
            starts[kept++] = (struct module_start){module.start + moves[i], i};
    qsort(starts, kept, sizeof(*starts), compare_module_starts);
    for (uint32_t i = 0; i < kept; i++)
        if (segment_copy_module(copy, starts[i].index, &module))
            write_code(&module, &maps->list[starts[i].index],
                       moves[starts[i].index], out);
    rc = out->failed ? -1 : 0;
out:
    if (rc != 0)
        error_memory(err, "the recorder's modules");
    mem_free(starts);
    mem_free(moves);
    return rc;
}
