/* prof_replaced.c - see prof_replaced.h. */
#include "prof_replaced.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "clean_text.h"
#include "elf_file.h"
#include "errors.h"
#include "files.h"
#include "mappings.h"
#include "program_mapping.h"

enum {
    REPLACED_MAX = 5, /* files named at most */
    PATH_BYTES = 4096
};

/* Comes from the profile, and goes to a terminal. */
static void
say_path(const char *path)
{
    char clean[PATH_BYTES];
    struct span text = {path, strnlen(path, sizeof(clean) - 1)};

    clean_text(text, clean);
    fputs(clean, stderr);
}

static void
close_elf(struct elf_file *elf)
{
    int fd = elf->fd;

    elf_fini(elf);
    fd_close(fd);
    elf->fd = -1;
}

/* Opens an executable file; false: it cannot be read. */
static bool
open_elf(const char *path, struct elf_file *elf)
{
    struct error unsaid;
    int fd = file_open_regular(path);

    if (fd < 0)
        return false;
    if (elf_init(elf, fd, path, &unsaid) == 0)
        return true;
    close_elf(elf);
    return false;
}

/* Devices are not compared: for some file systems, mappings show another one
 * than stat.  A mapping without a device comes from a rewritten profile, whose
 * inode means nothing.  profile NULL: its time is unknown. */
static bool
is_replaced(const struct mapping *m, const struct stat *profile)
{
    struct stat st;

    if (!m->executable || m->inode == 0 || m->path[0] != '/' ||
        stat(m->path, &st) != 0)
        return false;
    return m->deleted || (m->device && m->inode != st.st_ino) ||
           (profile && st.st_mtim.tv_sec > profile->st_mtim.tv_sec);
}

static bool
is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* Both have a build-id, and they differ. */
static bool
is_other_build(const struct elf_file *a, const char *path)
{
    struct elf_file b;
    bool other;

    if (!open_elf(path, &b))
        return false;
    other = a->build_id_size > 0 && b.build_id_size > 0 &&
            (a->build_id_size != b.build_id_size ||
             memcmp(a->build_id, b.build_id, a->build_id_size) != 0);
    close_elf(&b);
    return other;
}

static void
tell_files(const struct mappings *maps, const struct mapping *program,
           const char *path, const struct stat *profile)
{
    const char *last = "";
    size_t count = 0;

    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *m = &maps->list[i];

        if (strcmp(m->path, last) == 0 || !is_replaced(m, profile) ||
            (program && strcmp(m->path, program->path) == 0))
            continue;
        last = m->path;
        if (count == 0)
            fprintf(stderr, "heapwire-prof: files of %s were replaced: ", path);
        if (count < REPLACED_MAX) {
            fputs(count == 0 ? "" : ", ", stderr);
            say_path(m->path);
        }
        count++;
    }
    if (count > REPLACED_MAX)
        fprintf(stderr, " and %zu more", count - REPLACED_MAX);
    if (count > 0)
        fprintf(stderr, ": names are wrong if the build changed\n");
}

void
prof_replaced_tell(const struct mappings *maps, const char *binary,
                   const char *path)
{
    const struct mapping *stands_for = NULL;
    struct elf_file elf = {.fd = -1};
    struct stat status;
    const struct stat *profile =
        stat(path, &status) == 0 && S_ISREG(status.st_mode) ? &status : NULL;

    if (open_elf(binary, &elf))
        stands_for = program_mapping(maps, &elf, binary);
    if (stands_for && is_same_file(stands_for->path, binary))
        stands_for = NULL;
    tell_files(maps, stands_for, path, profile);
    if (stands_for && !is_replaced(stands_for, profile) &&
        is_other_build(&elf, stands_for->path)) {
        fprintf(stderr, "heapwire-prof: %s is another build than ", binary);
        say_path(stands_for->path);
        fprintf(stderr, ", the file in %s: names are wrong\n", path);
    }
    close_elf(&elf);
}
