/* process_stat.c - see process_stat.h. */
#include "process_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PF_EXITING = 4, /* the kernel's include/linux/sched.h */
    TEXT_MAX = 1024
};

/* proc(5): "<pid> (<name>) <state> <parent> ...".  Reads the fields 3, 4, 9, 14
 * to 17 and 22.  The name may hold anything, also ") R 1", so parsing starts
 * behind the last parenthesis. */
bool
process_stat_parse(const char *text, struct process_stat *out)
{
    unsigned long long user, system, waited[2], start;
    const char *name_end = strrchr(text, ')');
    unsigned flags;
    char state;
    int parent;

    if (!name_end ||
        /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
        sscanf(name_end + 1,
               " %c %d %*s %*s %*s %*s %u %*s %*s %*s %*s %llu %llu %llu "
               "%llu %*s %*s %*s %*s %llu",
               &state, &parent, &flags, &user, &system, &waited[0], &waited[1],
               &start) != 8)
        return false;
    *out =
        (struct process_stat){state,  (flags & PF_EXITING) != 0, parent, user,
                              system, waited[0] + waited[1],     start};
    return true;
}

bool
process_stat_read(pid_t pid, struct process_stat *out)
{
    char path[32] = "/proc/self/stat", text[TEXT_MAX];
    size_t used = 0;
    ssize_t n;
    int fd;

    if (pid != 0)
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    do {
        n = read(fd, text + used, sizeof(text) - 1 - used);
        used += n > 0 ? (size_t)n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    close(fd);
    text[used] = '\0';
    return process_stat_parse(text, out);
}

bool
process_is_alive(pid_t pid, uint64_t start_ticks)
{
    struct process_stat stat;

    return pid > 0 && process_stat_read(pid, &stat) &&
           !process_stat_is_over(&stat) && stat.start_ticks == start_ticks;
}
