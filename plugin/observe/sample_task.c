/* sample_task.c - see sample_task.h. */
#include "sample_task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "process_stat.h"

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

    return sample_task_read(pid, tid, "stat", text, sizeof(text)) &&
                   process_stat_parse(text, &stat)
               ? stat.state
               : '\0';
}

bool
sample_task_ended(int32_t pid, int32_t tid)
{
    char state = sample_task_state(pid, tid);

    return state == '\0' || state == 'Z' || state == 'X';
}
