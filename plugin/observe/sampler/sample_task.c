/* sample_task.c - see sample_task.h. */
#include "sample_task.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "errors.h"
#include "memory.h"
#include "process_stat.h"
#include "processes.h"

enum {
    PAGE = 4096, /* the smallest page size */
    SYSCALL_MAX = 256
};

bool
sample_read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    if (fd >= 0) {
        do {
            n = read(fd, out, size - 1);
        } while (n < 0 && errno == EINTR);
        close(fd);
    }
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

bool
sample_task_read(int32_t pid, int32_t tid, const char *name, char *out,
                 size_t size)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
    return sample_read_text(path, out, size);
}

char
sample_task_state(int32_t pid, int32_t tid)
{
    char text[1024];
    struct process_stat stat;

    if (!sample_task_read(pid, tid, "stat", text, sizeof(text)) ||
        !process_stat_parse(text, &stat))
        return '\0';
    return stat.state;
}

bool
sample_task_ended(int32_t pid, int32_t tid)
{
    char state = sample_task_state(pid, tid);

    return state == '\0' || state == 'Z' || state == 'X';
}

/* /proc/PID/task/TID/syscall is "number 6 arguments sp pc", "running" or "-1 sp
 * pc": only the first has nine words. */
bool
sample_task_waits(int32_t pid, int32_t tid, uint64_t *sp, uint64_t *pc)
{
    char text[SYSCALL_MAX];

    /* NOLINTBEGIN(cert-err34-c): the kernel's own numbers */
    return sample_task_read(pid, tid, "syscall", text, sizeof(text)) &&
           sscanf(text, "%*u %*s %*s %*s %*s %*s %*s %" SCNx64 " %" SCNx64, sp,
                  pc) == 2;
    /* NOLINTEND(cert-err34-c) */
}

/* Parses schedstat, "run waited slices": nanoseconds, and a count. */
static bool
parse_schedstat(const char *text, unsigned long long out[3])
{
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
    return sscanf(text, "%llu %llu %llu", &out[0], &out[1], &out[2]) == 3;
}

bool
sample_task_times(int32_t pid, int32_t tid, struct sample_times *out)
{
    unsigned long long numbers[3];
    char text[128];

    if (!sample_task_read(pid, tid, "schedstat", text, sizeof(text)) ||
        !parse_schedstat(text, numbers))
        return false;
    *out = (struct sample_times){numbers[0], numbers[1], numbers[2]};
    return true;
}

uint64_t
sample_wait_us(int schedstat)
{
    unsigned long long numbers[3];
    char text[128];
    ssize_t n = pread(schedstat, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return parse_schedstat(text, numbers) ? numbers[1] / 1000 : 0;
}

size_t
sample_task_memory(int32_t tid, uint64_t at, uint8_t *out, size_t size)
{
    /* One piece for each page: process_vm_readv() copies whole pieces until one
     * fails, so a single piece that reaches beyond the stack would give
     * nothing. */
    struct iovec local = {out, size}, remote[SAMPLE_MEMORY_MAX / PAGE + 1];
    size_t done = 0, count = 0;
    ssize_t n;

    while (done < size && at + done >= at) {
        size_t piece = PAGE - (size_t)((at + done) % PAGE);

        if (piece > size - done)
            piece = size - done;
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): that process's */
        remote[count++] = (struct iovec){(void *)(uintptr_t)(at + done), piece};
        done += piece;
    }
    n = process_vm_readv(tid, &local, 1, remote, count, 0);
    return n > 0 ? (size_t)n : 0;
}

/* ---- all of a process ---- */

static int
compare_tids(const void *a, const void *b)
{
    const struct sample_tid *x = a, *y = b;

    return (x->tid > y->tid) - (x->tid < y->tid);
}

static int
add_tid(struct sample_tids *tids, int32_t pid, int32_t tid, struct error *err)
{
    if (tids->count == SAMPLE_THREADS_MAX) {
        tids->left_out++;
        return 0;
    }
    if (tids->count == tids->capacity) {
        size_t room = tids->capacity ? tids->capacity * 2 : 256;
        struct sample_tid *list = mem_realloc(tids->list, room * sizeof(*list));

        if (!list) {
            error_memory(err, "the list of threads");
            return -1;
        }
        tids->list = list;
        tids->capacity = room;
    }
    tids->list[tids->count++] = (struct sample_tid){tid, pid};
    return 0;
}

/* NULL with *rc 0 if the process has ended, -1 with *err if it may not be
 * listed. */
static DIR *
open_tasks(int32_t pid, int *rc, struct error *err)
{
    char path[32];
    DIR *directory;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    directory = opendir(path);
    *rc = directory || errno == ENOENT ? 0 : -1;
    if (*rc != 0)
        error_sys(err, ER_UNKNOWN, "cannot list the threads of process %d",
                  pid);
    return directory;
}

static int
read_tasks(DIR *directory, int32_t pid, struct sample_tids *tids,
           struct error *err)
{
    struct dirent *entry;
    int rc = 0;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the directory is this thread's */
    while (rc == 0 && (entry = readdir(directory))) {
        if (entry->d_name[0] != '.')
            rc = add_tid(tids, pid, (int32_t)strtol(entry->d_name, NULL, 10),
                         err);
    }
    closedir(directory);
    return rc;
}

static int
sort_tids(struct sample_tids *tids, int rc)
{
    if (tids->count > 0)
        qsort(tids->list, tids->count, sizeof(*tids->list), compare_tids);
    return rc;
}

/* The directory is opened before the process is checked: if that is still the
 * listed one afterwards, so is what was opened. */
int
sample_tids_list_all(const struct processes *processes,
                     struct sample_tids *tids, struct error *err)
{
    int rc = 0;

    tids->count = tids->left_out = 0;
    for (size_t i = 0; i < processes->count && rc == 0; i++) {
        int32_t pid = processes->list[i].pid;
        DIR *directory = open_tasks(pid, &rc, err);

        if (directory && processes_has(processes, i))
            rc = read_tasks(directory, pid, tids, err);
        else if (directory)
            closedir(directory);
    }
    return sort_tids(tids, rc);
}

int
sample_tids_list(int32_t pid, struct sample_tids *tids, struct error *err)
{
    DIR *directory;
    int rc;

    tids->count = tids->left_out = 0;
    directory = open_tasks(pid, &rc, err);
    if (directory)
        rc = read_tasks(directory, pid, tids, err);
    return sort_tids(tids, rc);
}

void
sample_tids_fini(struct sample_tids *tids)
{
    mem_free(tids->list);
    memset(tids, 0, sizeof(*tids));
}
