/*
 * own_smaps.c - copies /proc texts of this process for heapwired; see agent.h.
 *
 * heapwired may not read them where the process is not dumpable or in another
 * namespace.  The kernel gives a page of text for each read, and takes the
 * memory map's lock for each: what the host maps meanwhile waits for one
 * mapping at a time.  No heap: 16 KB of the thread's stack.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent_tools.h"

enum {
    PIECE_BYTES = 16384,
    LIST_BYTES = 4096,
    SYSCALL_BYTES = 256,
    COMM_BYTES = 64
};

/* 0, or -1 with errno. */
static int
write_or_set_errno(int fd, const char *bytes, size_t size)
{
    int error = agent_write_all(fd, bytes, size);

    if (error != 0)
        errno = error;
    return error != 0 ? -1 : 0;
}

int
own_text_copy(const char *path, int to, size_t most, bool *cut)
{
    char bytes[PIECE_BYTES];
    int from = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    ssize_t n = -1;

    *cut = false;
    if (from < 0)
        return -1;
    while (rc == 0 && !*cut && (n = read(from, bytes, sizeof(bytes))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        *cut = n > 0 && (size_t)n > most;
        if (n > 0 && !*cut)
            most -= (size_t)n;
        rc =
            n < 0 ? -1 : write_or_set_errno(to, bytes, *cut ? most : (size_t)n);
    }
    close(from);
    return rc;
}

struct task_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
};

/* "<tid> <syscall>\t<name>\n": the name may have any byte, and ends its line.
 */
static int
write_task(int to, const char *tid)
{
    char line[32 + SYSCALL_BYTES + COMM_BYTES], path[80];
    int size = snprintf(line, sizeof(line), "%.20s ", tid), n;

    snprintf(path, sizeof(path), "/proc/self/task/%.20s/syscall", tid);
    n = agent_read_small(path, line + size, SYSCALL_BYTES);
    size += n > 0 ? n - 1 : 0; /* without the end of the line */
    line[size++] = '\t';
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", tid);
    n = agent_read_small(path, line + size, COMM_BYTES);
    for (int i = 0; i < n; i++)
        if (line[size + i] == '\n')
            line[size + i] = '?';
    size += n > 0 ? n - 1 : 0; /* without its end */
    line[size++] = '\n';
    return write_or_set_errno(to, line, (size_t)size);
}

/* getdents64 by hand: libc's opendir allocates from the host's malloc. */
int
own_tasks_write(int to)
{
    _Alignas(struct task_entry) char bytes[LIST_BYTES];
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : 0;
    long size = 0;

    while (rc == 0 &&
           (size = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0)
        for (long at = 0; at < size && rc == 0;) {
            const struct task_entry *entry = (const void *)(bytes + at);

            if (entry->name[0] != '.')
                rc = write_task(to, entry->name);
            at += entry->size;
        }
    if (size < 0)
        rc = -1;
    if (fd >= 0)
        close(fd);
    return rc;
}
