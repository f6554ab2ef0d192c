/* process_look.c - see process_look.h. */
#include "process_look.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "files.h"

/* What the file of that process has, cut off at size; false: nothing. */
static bool
read_of(pid_t pid, const char *file_name, char *out, size_t size)
{
    char path[64];
    size_t n;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, file_name);
    file = fopen(path, "re");
    if (!file)
        return false;
    n = fread(out, 1, size - 1, file);
    fclose(file);
    out[n] = '\0';
    return n > 0;
}

pid_t
process_parent(pid_t pid)
{
    char text[1024], *at;

    if (!read_of(pid, "stat", text, sizeof(text)))
        return -1;
    at = strrchr(text, ')'); /* the name may hold anything */
    if (!at || strlen(at) < 4)
        return -1;
    return (pid_t)strtol(at + 4, NULL, 10); /* ") S <parent>" */
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
    static const char key[] = "\nTracerPid:";
    char text[2048], *at;

    if (!read_of(pid, "status", text, sizeof(text)))
        return false;
    at = strstr(text, key);
    return at && strtol(at + strlen(key), NULL, 10) > 0;
}

bool
process_is_stopped(pid_t pid)
{
    char text[1024], *at;

    if (!read_of(pid, "stat", text, sizeof(text)))
        return false;
    at = strrchr(text, ')');
    return at && strlen(at) > 2 && (at[2] == 'T' || at[2] == 't');
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
