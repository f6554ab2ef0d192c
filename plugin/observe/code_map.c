/*
 * code_map.c - see code_map.h.
 *
 * A sample is a list of addresses; files are needed to unwind and to name them.
 * Their paths are the other process's, which may live in another mount
 * namespace, may have deleted a library since, or have a different file under
 * the path: so each file is opened by the kernel's link, and by its path only
 * with its inode compared.  Opened once, a file stays the same, whatever is
 * installed meanwhile.
 *
 * Children have their parent's code at the same addresses, so one map serves
 * all; what a child loaded itself is added to it.
 */
#include "code_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "reader.h"
#include "buffer.h"
#include "errors.h"
#include "files.h"

enum {
    MAPS_BYTES_MAX = 16 << 20,
    ARENA_BYTES_MAX = 64 << 20,
    VDSO_MAX = 1 << 16,
    VDSO_INODE = 1 /* on device 0, where no file is */
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

/* A database that was started as root and became another user is not dumpable:
 * the kernel keeps that user out, as its memory may have what root read. */
static void
set_mappings_refused_error(int32_t pid, struct error *err)
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
        set_mappings_refused_error(map->pid, err);
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

/* Opens the mapped file by a path; -1 if another file is there.  The device is
 * not compared: on btrfs and overlayfs stat() and maps disagree about it.  A
 * file of another device may have the same inode number, but hardly the same
 * path, and be large enough for the mapping. */
static int
open_mapped_path(const char *path, const struct mapping *m)
{
    struct stat st;
    int fd = file_open_regular(path);

    if (fd < 0 || (fstat(fd, &st) == 0 && st.st_ino == m->inode &&
                   (uint64_t)st.st_size > m->offset))
        return fd;
    close(fd);
    return -1;
}

/* /proc/PID/map_files leads to the very file, even if it was deleted, but needs
 * CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.  Without, the path is tried, as that
 * process sees it (/proc/PID/root).  /proc/PID/exe needs no more than the right
 * to trace. */
static int
open_process_mapping(int32_t pid, const struct mapping *m)
{
    char path[4200];
    int fd;

    snprintf(path, sizeof(path),
             "/proc/%" PRId32 "/map_files/%" PRIx64 "-%" PRIx64, pid, m->start,
             m->end);
    fd = file_open_regular(path);
    if (fd < 0 && m->path[0] == '/' &&
        (size_t)snprintf(path, sizeof(path), "/proc/%" PRId32 "/root%s", pid,
                         m->path) < sizeof(path))
        fd = open_mapped_path(path, m);
    if (fd < 0) {
        snprintf(path, sizeof(path), "/proc/%" PRId32 "/exe", pid);
        fd = open_mapped_path(path, m);
    }
    return fd;
}

/* An unnamed file in memory or, where that is forbidden, in /tmp; -1. */
static int
open_nameless(const struct code_map *map)
{
    int fd = map->memfd ? memfd_create("vdso", MFD_CLOEXEC) : -1;

    return fd >= 0 ? fd : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* The vdso is the kernel's code, the same in all processes, and has no file: a
 * copy of this process's one stands for it.  With an inode number it is an
 * object like others. */
static void
open_vdso(struct code_map *map, struct mapping *m)
{
    const char *image = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    const uint64_t size = m->end - m->start;
    int fd = image && size <= VDSO_MAX ? open_nameless(map) : -1;

    if (fd >= 0 && fd_write_all(fd, image, size) != 0) {
        fd_close(fd);
        fd = -1;
    }
    m->inode = VDSO_INODE;
    objects_put(&map->objects, m->device, m->inode, fd);
}

static void
open_files(struct code_map *map)
{
    for (size_t i = 0; i < map->maps.count; i++) {
        const struct mapping *m = &map->maps.list[i];

        if (m->executable && strcmp(m->path, "[vdso]") == 0)
            /* it lies in our arena */
            open_vdso(map, (struct mapping *)(uintptr_t)m);
        else if (m->executable && m->inode != 0 &&
                 !objects_known(&map->objects, m->device, m->inode))
            objects_put(&map->objects, m->device, m->inode,
                        open_process_mapping(map->pid, m));
    }
}

static void
find_code_map_executable(struct code_map *map)
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
        find_code_map_executable(map);
        return 0;
    }
    code_map_close(map);
    return -1;
}

/* A copy of the executable mappings, with room for more.  The others are
 * dropped: a child may have code where its parent has data. */
static struct mapping *
code_alone(const struct code_map *map, size_t more, size_t *count)
{
    struct mapping *list =
        arena_alloc(map->arena, (map->maps.count + more) * sizeof(*list));

    *count = 0;
    for (size_t i = 0; list && i < map->maps.count; i++)
        if (map->maps.list[i].executable)
            list[(*count)++] = map->maps.list[i];
    return list;
}

/* Where m is or belongs in the list: the first that ends behind its start. */
static size_t
find_mapping_index(const struct mapping *list, size_t count,
                   const struct mapping *m)
{
    size_t i = 0;

    while (i < count && list[i].end <= m->start)
        i++;
    return i;
}

static bool
is_same_file_mapping(const struct mapping *a, const struct mapping *b)
{
    return a->device == b->device && a->inode == b->inode &&
           a->start - a->offset == b->start - b->offset;
}

static void
insert_code_mapping(struct code_map *map, struct mapping *list, size_t count,
                    size_t at, const struct mapping *m, int32_t child)
{
    const char *path = arena_strndup(map->arena, m->path, strlen(m->path));

    memmove(list + at + 1, list + at, (count - at) * sizeof(*list));
    list[at] = *m;
    list[at].path = path ? path : "";
    if (!objects_known(&map->objects, m->device, m->inode))
        objects_put(&map->objects, m->device, m->inode,
                    open_process_mapping(child, m));
}

size_t
code_map_join(struct code_map *map, int32_t child)
{
    struct code_map other = {.pid = child, .arena = arena_new(ARENA_BYTES_MAX)};
    struct mapping *list = NULL;
    size_t count = 0, clashes = 0, at;
    struct error ignored;

    if (other.arena && read_maps(&other, &ignored) == 0)
        list = code_alone(map, other.maps.count, &count);
    for (size_t i = 0; list && i < other.maps.count; i++) {
        const struct mapping *m = &other.maps.list[i];

        if (!m->executable || m->inode == 0)
            continue;
        at = find_mapping_index(list, count, m);
        if (at == count || list[at].start >= m->end)
            insert_code_mapping(map, list, count++, at, m, child);
        else if (!is_same_file_mapping(&list[at], m) && clashes++ == 0 &&
                 !*map->clash)
            snprintf(map->clash, sizeof(map->clash), "%s", base_name(m->path));
    }
    if (list)
        map->maps = (struct mappings){list, count};
    arena_free(other.arena);
    return clashes;
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
