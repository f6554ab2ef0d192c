/* mapped_files.c - see mapped_files.h. */
#include "mapped_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    MAPS_LINE_MAX = 8192,
    FDS_RESERVED = 16 /* for connections and dumps under a low RLIMIT_NOFILE */
};

/* The same file?  Its device is not compared: on btrfs and overlayfs stat()
 * and maps disagree about it, and heapwired compares build-ids anyway. */
static int
open_if_inode(const char *path, uint64_t inode)
{
    struct stat st;
    int fd;

    /* Opening a device may do something; looking does not. */
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
room_for(int fd)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           (rlim_t)fd + FDS_RESERVED < limit.rlim_cur;
}

static void
add(struct mapped_files *files, uint64_t device, uint64_t inode, int fd)
{
    if (fd < 0)
        return;
    if (!room_for(fd)) {
        close(fd);
        return;
    }
    files->list[files->count++] =
        (struct mapped_file){.device = device, .inode = inode, .fd = fd};
}

/* "start-end perms offset major:minor inode   path" */
static void
take_line(struct mapped_files *files, const char *line)
{
    unsigned long start, end;
    unsigned long long inode;
    unsigned major_number, minor_number;
    char perms[5], range[64];
    uint64_t device;
    int path = 0, fd;

    if (sscanf(line, "%lx-%lx %4s %*x %x:%x %llu %n", &start, &end, perms,
               &major_number, &minor_number, &inode, &path) != 6 ||
        perms[2] != 'x' || inode == 0 || line[path] != '/')
        return;
    device = makedev(major_number, minor_number);
    if (files->count == MAPPED_FILES_MAX ||
        mapped_files_find(files, device, inode) >= 0)
        return;
    /* map_files needs privileges; exe works even for a deleted file. */
    snprintf(range, sizeof(range), "/proc/self/map_files/%lx-%lx", start, end);
    fd = open_if_inode(line + path, inode);
    if (fd < 0)
        fd = open_if_inode(range, inode);
    if (fd < 0)
        fd = open_if_inode("/proc/self/exe", inode);
    add(files, device, inode, fd);
}

void
mapped_files_scan(struct mapped_files *files)
{
    char text[MAPS_LINE_MAX];
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
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
            take_line(files, text);
            used -= size;
            memmove(text, end + 1, used);
        }
        if (used == sizeof(text))
            break; /* the kernel prints no line as long as this */
    }
    close(fd);
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
