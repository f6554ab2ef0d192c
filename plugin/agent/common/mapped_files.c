/*
 * mapped_files.c - opens the files of executable mappings; see mapped_files.h.
 *
 * Names come from files, and a package upgrade replaces those under a running
 * database.  So each file is opened when it is first seen, and its descriptor
 * kept, up to MAPPED_FILES_MAX.  /proc/self/maps is read line by line into a
 * fixed buffer: the heap is the host's.
 */
#include "mapped_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapping_line.h"
#include "reader.h"

enum {
    FDS_RESERVED = 16 /* for connections and dumps under a low RLIMIT_NOFILE */
};

/* Opens the path if it is the file of that inode.  The device is not compared:
 * on btrfs and overlayfs stat() and maps disagree about it, and heapwired
 * compares build-ids anyway. */
static int
open_if_inode(const char *path, uint64_t inode)
{
    struct stat st;
    int fd;

    /* opening a device may have effects; stat() has none */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_ino != inode)
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == inode)
        return fd;
    close(fd);
    return -1;
}

static bool
is_fd_below_reserve(int fd)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           (rlim_t)fd + FDS_RESERVED < limit.rlim_cur;
}

static void
add_mapped_file(struct mapped_files *files, uint64_t device, uint64_t inode,
                int fd)
{
    if (fd < 0)
        return;
    if (!is_fd_below_reserve(fd)) {
        close(fd);
        return;
    }
    files->list[files->count++] =
        (struct mapped_file){.device = device, .inode = inode, .fd = fd};
}

/* An executable mapping of a file; path ends with NUL. */
static bool
parse_executable_mapping(struct span text, struct mapping_line *out)
{
    return mapping_line_parse(text, out) && out->permissions[2] == 'x' &&
           out->inode != 0 && out->path.size > 0 && *out->path.data == '/';
}

/* The path first; then map_files, which needs privileges; then exe, which works
 * even for a deleted program. */
static int
open_own_mapping(const struct mapping_line *mapped)
{
    char range[64];
    int fd = open_if_inode(mapped->path.data, mapped->inode);

    snprintf(range, sizeof(range), "/proc/self/map_files/%" PRIx64 "-%" PRIx64,
             mapped->start, mapped->end);
    if (fd < 0)
        fd = open_if_inode(range, mapped->inode);
    return fd < 0 ? open_if_inode("/proc/self/exe", mapped->inode) : fd;
}

static void
add_file_of_mapping(const struct mapping_line *mapped, void *arg)
{
    struct mapped_files *files = arg;

    if (files->count < MAPPED_FILES_MAX &&
        mapped_files_find(files, mapped->device, mapped->inode) < 0)
        add_mapped_file(files, mapped->device, mapped->inode,
                        open_own_mapping(mapped));
}

/* arg: the file that is looked for; its fd is set when it is found. */
static void
open_matching_mapping(const struct mapping_line *mapped, void *arg)
{
    struct mapped_file *file = arg;

    if (file->fd < 0 && mapped->device == file->device &&
        mapped->inode == file->inode)
        file->fd = open_own_mapping(mapped);
}

static void
each_mapping(void (*see)(const struct mapping_line *, void *), void *arg)
{
    char text[MAPPING_LINE_MAX];
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    struct mapping_line mapped;
    size_t used = 0;
    ssize_t n;
    char *end;

    if (fd < 0)
        return;
    for (;;) {
        n = read(fd, text + used, sizeof(text) - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
        while ((end = memchr(text, '\n', used)) != NULL) {
            size_t size = (size_t)(end - text) + 1;

            *end = '\0';
            if (parse_executable_mapping((struct span){text, size - 1},
                                         &mapped))
                see(&mapped, arg);
            used -= size;
            memmove(text, end + 1, used);
        }
        if (used == sizeof(text))
            break; /* the kernel prints no line as long as this */
    }
    close(fd);
}

void
mapped_files_scan(struct mapped_files *files)
{
    each_mapping(add_file_of_mapping, files);
}

int
mapped_files_open(uint64_t device, uint64_t inode)
{
    struct mapped_file file = {.device = device, .inode = inode, .fd = -1};

    each_mapping(open_matching_mapping, &file);
    return file.fd;
}

void
mapped_files_close(struct mapped_files *files)
{
    while (files->count > 0)
        close(files->list[--files->count].fd);
}

int
mapped_files_find(const struct mapped_files *files, uint64_t device,
                  uint64_t inode)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->list[i].device == device && files->list[i].inode == inode)
            return files->list[i].fd;
    }
    return -1;
}
