/* code_map.c - see code_map.h. */
#include "code_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "unwind_tables.h"

enum {
    MAPS_BYTES_MAX = 16 << 20,
    ARENA_BYTES_MAX = 64 << 20,
    VDSO_INODE = 1 /* on device 0, which has no files */
};

bool
code_map_is_refused(int32_t pid)
{
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%" PRId32 "/maps", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd < 0 && (errno == EACCES || errno == EPERM);
}

/* A database that was started as root and became another user is closed to
 * that user: its memory may have what root read. */
static void
say_refused(int32_t pid, struct error *err)
{
    if (errno == EACCES || errno == EPERM)
        error_set(err, ER_UNKNOWN,
                  "process %" PRId32 " may not be looked at by user %u, as "
                  "whom heapwired runs: it has left root, or is another "
                  "user's; run heapwired as root (heapwire-run --user root), "
                  "give it CAP_SYS_PTRACE, or start both as that user",
                  pid, (unsigned)geteuid());
    else if (errno == ENOENT || errno == ESRCH)
        error_set(err, ER_UNKNOWN, "process %" PRId32 " has ended", pid);
    else
        error_sys(err, ER_UNKNOWN,
                  "the mappings of process %" PRId32 " cannot be read", pid);
}

static int
read_maps(struct code_map *map, struct error *err)
{
    struct buffer text;
    char path[64];
    int fd, rc = -1;

    snprintf(path, sizeof(path), "/proc/%" PRId32 "/maps", map->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        say_refused(map->pid, err);
        return -1;
    }
    buffer_init(&text, MAPS_BYTES_MAX);
    if (fd_read_all(fd, &text, path, err) == 0)
        rc = mappings_parse(map->arena, text.data, text.size, &map->maps, NULL,
                            err);
    buffer_fini(&text);
    close(fd);
    return rc;
}

/* By a path, the file that is mapped; -1.  Its device is not compared: on btrfs
 * and overlayfs stat() and maps disagree about it.  A file of another device
 * may have the same number, but hardly the same path and room for the mapping.
 */
static int
open_mapped(const char *path, const struct mapping *m)
{
    struct stat st;
    int fd = file_open_regular(path);

    if (fd < 0 || (fstat(fd, &st) == 0 && st.st_ino == m->inode &&
                   (uint64_t)st.st_size > m->offset))
        return fd;
    close(fd);
    return -1;
}

/* A link of the kernel's leads to the very file, also to one that was deleted,
 * but needs privileges; then the path does, as that process sees it.  Whoever
 * may trace the process may follow its link to the program. */
static int
open_file(const struct code_map *map, const struct mapping *m)
{
    char path[4200];
    int fd;

    snprintf(path, sizeof(path),
             "/proc/%" PRId32 "/map_files/%" PRIx64 "-%" PRIx64, map->pid,
             m->start, m->end);
    fd = file_open_regular(path);
    if (fd < 0 && m->path[0] == '/' &&
        (size_t)snprintf(path, sizeof(path), "/proc/%" PRId32 "/root%s",
                         map->pid, m->path) < sizeof(path))
        fd = open_mapped(path, m);
    if (fd < 0) {
        snprintf(path, sizeof(path), "/proc/%" PRId32 "/exe", map->pid);
        fd = open_mapped(path, m);
    }
    return fd;
}

/* The kernel's own code: with a number it is an object as others. */
static void
open_vdso(struct code_map *map, struct mapping *m)
{
    m->inode = VDSO_INODE;
    objects_put(&map->objects, m->device, m->inode, unwind_open_vdso(m));
}

static void
open_files(struct code_map *map)
{
    for (size_t i = 0; i < map->maps.count; i++) {
        const struct mapping *m = &map->maps.list[i];

        if (m->executable && strcmp(m->path, "[vdso]") == 0)
            open_vdso(map, (struct mapping *)(uintptr_t)m); /* our arena's */
        else if (m->executable && m->inode != 0 &&
                 !objects_known(&map->objects, m->device, m->inode))
            objects_put(&map->objects, m->device, m->inode, open_file(map, m));
    }
}

static void
find_program(struct code_map *map)
{
    char path[64];
    ssize_t size;

    snprintf(path, sizeof(path), "/proc/%" PRId32 "/exe", map->pid);
    size = readlink(path, map->program, sizeof(map->program) - 1);
    map->program[size < 0 ? 0 : size] = '\0';
}

int
code_map_open(struct code_map *map, int32_t pid, struct error *err)
{
    map->pid = pid;
    objects_init(&map->objects);
    map->arena = arena_new(ARENA_BYTES_MAX);
    if (!map->arena) {
        error_memory(err, "the mappings of a process");
    } else if (read_maps(map, err) == 0) {
        open_files(map);
        find_program(map);
        return 0;
    }
    code_map_close(map);
    return -1;
}

void
code_map_close(struct code_map *map)
{
    if (map->pid == 0)
        return;
    objects_fini(&map->objects);
    arena_free(map->arena);
    memset(map, 0, sizeof(*map));
}
