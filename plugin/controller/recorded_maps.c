/*
 * recorded_maps.c - see recorded_maps.h.
 *
 * A module that was loaded later hides what lay at its addresses before: only
 * one can have the names, and the newer one's samples are more likely to live.
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
#include "memory.h"
#include "objects.h"
#include "segment_read.h"

enum { PAGE = 4096 };

static bool
is_of(const struct segment_module *module, const struct elf_file *elf)
{
    return module->build_id_size > 0 &&
           module->build_id_size == elf->build_id_size &&
           memcmp(module->build_id, elf->build_id, elf->build_id_size) == 0;
}

/* Its file, if it is the same still; -1. */
static int
open_module(const struct segment_module *module, const char *path,
            struct elf_file *elf, struct stat *st)
{
    struct error unsaid;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
        elf_init(elf, fd, path, &unsaid) == 0) {
        if (is_of(module, elf))
            return fd;
        elf_fini(elf);
    }
    fd_close(fd);
    return -1;
}

static void
write_code(const struct segment_module *module, const char *path,
           const struct elf_file *elf, const struct stat *st,
           struct buffer *out)
{
    enum { EXECUTABLE = 1, LOAD = 1 }; /* PF_X, PT_LOAD */

    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];
        uint64_t in_page = s->address % PAGE;
        uint64_t start = module->base + s->address - in_page;
        uint64_t end = module->base + s->address + s->memory_size;

        if (s->type != LOAD || !(s->flags & EXECUTABLE) || start >= end ||
            start < module->start || start >= module->end)
            continue;
        buffer_format(
            out,
            "%" PRIx64 "-%" PRIx64 " r-xp %" PRIx64 " %x:%x %" PRIu64 " %s\n",
            start, (end + PAGE - 1) / PAGE * PAGE, s->offset - in_page,
            major(st->st_dev), minor(st->st_dev), (uint64_t)st->st_ino, path);
    }
}

/* Without its file: what lies in it is named by the module alone. */
static void
write_whole(const struct segment_module *module, const char *path,
            struct buffer *out)
{
    buffer_format(out, "%" PRIx64 "-%" PRIx64 " r-xp 0 00:00 0 %s\n",
                  module->start, module->end, path);
}

/* False: its file is not found. */
static bool
add_module(const struct segment_module *module, struct objects *objects,
           struct buffer *out)
{
    char path[SEGMENT_PATH_MAX + 1];
    struct elf_file elf;
    struct stat st;
    int fd;

    if (module->path_size > SEGMENT_PATH_MAX)
        return false;
    memcpy(path, module->path, module->path_size);
    path[module->path_size] = '\0';
    for (char *c = path; *c; c++)
        if (*c == '\n') /* of a file, or of a process that wrote to it */
            *c = '?';
    fd = open_module(module, path, &elf, &st);
    if (fd < 0) {
        write_whole(module, path, out);
        return path[0] != '/'; /* the kernel's */
    }
    write_code(module, path, &elf, &st, out);
    elf_fini(&elf);
    if (objects_known(objects, st.st_dev, st.st_ino))
        fd_close(fd);
    else
        objects_put(objects, st.st_dev, st.st_ino, fd);
    return true;
}

static int
compare_starts(const void *a, const void *b)
{
    const struct segment_module *const *x = a, *const *y = b;

    return ((*x)->start > (*y)->start) - ((*x)->start < (*y)->start);
}

static bool
is_hidden(const struct segment_module *module,
          const struct segment_module *const *kept, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (module->start < kept[i]->end && kept[i]->start < module->end)
            return true;
    return false;
}

int
recorded_maps(const struct segment_copy *copy, struct objects *objects,
              struct buffer *out, bool *complete, struct error *err)
{
    uint32_t count = segment_copy_room(copy, SEGMENT_MODULES);
    struct segment_module *modules = mem_zalloc(count, sizeof(*modules));
    const struct segment_module **kept = mem_zalloc(count, sizeof(*kept));
    size_t kept_count = 0;
    int rc = -1;

    *complete = true;
    if (!modules || !kept)
        goto out;
    for (uint32_t i = count; i-- > 0;)
        if (segment_copy_module(copy, i, &modules[i]) &&
            !is_hidden(&modules[i], kept, kept_count))
            kept[kept_count++] = &modules[i];
    qsort(kept, kept_count, sizeof(*kept), compare_starts);
    for (size_t i = 0; i < kept_count; i++)
        *complete &= add_module(kept[i], objects, out);
    rc = out->failed ? -1 : 0;
out:
    if (rc != 0)
        error_memory(err, "the recorder's modules");
    mem_free(kept);
    mem_free(modules);
    return rc;
}
