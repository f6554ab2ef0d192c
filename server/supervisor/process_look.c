/* process_look.c - see process_look.h. */
#include "process_look.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "files.h"
#include "process_stat.h"

pid_t
process_parent(pid_t pid)
{
    struct process_stat stat;

    return process_stat_read(pid, &stat) ? stat.parent : -1;
}

bool
process_runs(pid_t pid, const char *exe)
{
    char path[64], target[PATH_MAX];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    n = readlink(path, target, sizeof(target));
    return n > 0 && (size_t)n == strlen(exe) &&
           memcmp(target, exe, (size_t)n) == 0;
}

bool
process_is_traced(pid_t pid)
{
    char path[32], line[256];
    int tracer = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file) &&
           /* NOLINTNEXTLINE(cert-err34-c): the kernel's own number */
           sscanf(line, "TracerPid: %d", &tracer) != 1)
        ;
    if (file)
        fclose(file);
    return tracer > 0;
}

bool
process_is_stopped(pid_t pid)
{
    struct process_stat stat;

    return process_stat_read(pid, &stat) &&
           (stat.state == 'T' || stat.state == 't');
}

bool
process_serves(const char *state_dir, pid_t *pid)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[PATH_MAX];
    bool serves = false;
    int fd;

    snprintf(path, sizeof(path), "%s/" AGENT_LOCK, state_dir);
    fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        serves = fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    fd_close(fd);
    *pid = serves && whole.l_pid > 0 ? whole.l_pid : 0;
    return serves;
}
