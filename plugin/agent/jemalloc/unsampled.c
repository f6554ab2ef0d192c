/* unsampled.c - see unsampled.h. */
#include "unsampled.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent_tools.h"
#include "process_stat.h"

enum { LIST_BYTES = 4096, STAT_BYTES = 1024, TICK_NS = 1000000000 };

/* The kernel's directory entry: libc's readdir takes memory from the host's
 * malloc. */
struct entry {
    uint64_t inode;
    int64_t next;
    uint16_t size;
    uint8_t type;
    char name[];
};

uint64_t
unsampled_now(void)
{
    uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * per_second +
           (uint64_t)now.tv_nsec * per_second / TICK_NS;
}

/* The thread's start time; 0: it has ended, or is jemalloc's, or the caller. */
static uint64_t
born(const char *thread)
{
    char path[64], text[STAT_BYTES];
    struct process_stat stat;

    if (strtol(thread, NULL, 10) == syscall(SYS_gettid))
        return 0;
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", thread);
    if (agent_read_small(path, text, sizeof(text)) < 0 ||
        strstr(text, "(jemalloc_bg_thd)"))
        return 0;
    return process_stat_parse(text, &stat) ? stat.start_ticks : 0;
}

unsigned
unsampled_count(uint64_t then, unsigned *all)
{
    _Alignas(struct entry) char bytes[LIST_BYTES];
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned count = 0;
    long size;

    *all = 0;
    while (fd >= 0 && *all < UNSAMPLED_THREADS_MAX &&
           (size = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0) {
        for (long at = 0; at < size;) {
            const struct entry *entry = (const void *)(bytes + at);
            uint64_t ticks = entry->name[0] == '.' ? 0 : born(entry->name);

            *all += ticks != 0;
            count += ticks != 0 && ticks <= then;
            at += entry->size;
        }
    }
    if (fd >= 0)
        close(fd);
    return count;
}
