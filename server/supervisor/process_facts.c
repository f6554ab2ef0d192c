/*
 * process_facts.c - see process_facts.h.  All facts come from /proc, and may be
 * old by the time they are used; what cannot be read counts as unknown.
 */
#include "process_facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process_stat.h"
#include "segment_file.h"

pid_t
process_parent(pid_t pid)
{
    struct process_stat stat;

    return process_stat_read(pid, &stat) ? stat.parent : -1;
}

pid_t
process_recorded(int segment, pid_t child)
{
    struct segment_owner owner;

    return segment_owner_read(segment, &owner) && owner.pid != 0 &&
                   owner.pid != (uint64_t)child &&
                   !process_is_alive((pid_t)owner.pid, owner.started)
               ? (pid_t)owner.pid
               : 0;
}

uid_t
process_user(pid_t pid)
{
    char status[PROCESS_STATUS_MAX];

    process_status_read(pid, 0, status);
    return process_status_user(status);
}

static bool
runs_executable(pid_t pid, const char *exe)
{
    char path[64], target[PATH_MAX];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    n = readlink(path, target, sizeof(target));
    return n > 0 && (size_t)n == strlen(exe) &&
           memcmp(target, exe, (size_t)n) == 0;
}

pid_t
process_adopted(const char *exe, pid_t except)
{
    DIR *dir = exe ? opendir("/proc") : NULL;
    struct dirent *entry;
    pid_t found = 0;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
    while (dir && found == 0 && (entry = readdir(dir)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid > 0 && pid != except && process_parent(pid) == getpid() &&
            runs_executable(pid, exe))
            found = pid;
    }
    if (dir)
        closedir(dir);
    return found;
}

bool
process_has_other_root(pid_t pid, char *root, size_t size)
{
    char path[32];
    struct stat theirs, ours;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/root", pid);
    n = readlink(path, root, size - 1);
    root[n > 0 ? n : 0] = '\0';
    return stat(path, &theirs) == 0 && stat("/", &ours) == 0 &&
           (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino);
}

bool
process_is_traced(pid_t pid)
{
    char status[PROCESS_STATUS_MAX];

    process_status_read(pid, 0, status);
    return process_status_number(status, "TracerPid") > 0;
}

bool
process_is_stopped(pid_t pid)
{
    struct process_stat stat;

    return process_stat_read(pid, &stat) &&
           (stat.state == 'T' || stat.state == 't');
}

/* ---- sockets that a process has ---- */

enum { SOCKETS_MAX = 512 };

struct sockets {
    unsigned long inodes[SOCKETS_MAX];
    size_t count;
};

/* Lists the inodes of a process' sockets, SOCKETS_MAX at most.  -1 with errno.
 */
static int
find_sockets(pid_t pid, struct sockets *out)
{
    char path[64], name[64];
    struct dirent *entry;
    DIR *dir;

    out->count = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    if (!dir)
        return -1;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
    while (out->count < SOCKETS_MAX && (entry = readdir(dir)) != NULL) {
        ssize_t n =
            readlinkat(dirfd(dir), entry->d_name, name, sizeof(name) - 1);

        name[n < 0 ? 0 : n] = '\0';
        /* NOLINTNEXTLINE(cert-err34-c): the kernel's own number */
        if (sscanf(name, "socket:[%lu]", &out->inodes[out->count]) == 1)
            out->count++;
    }
    closedir(dir);
    return 0;
}

/* Reads a line of /proc/<pid>/net: the inode of a socket that listens, or 0. */
static unsigned long
parse_listener(const char *line, bool is_unix)
{
    /* TCP_LISTEN of the kernel's states; and __SO_ACCEPTCON, a flag */
    enum { TCP_LISTENS = 0x0a, UNIX_LISTENS = 0x10000 };
    unsigned long inode;
    unsigned state;
    int n;

    /* NOLINTBEGIN(cert-err34-c): the kernel's own numbers */
    if (is_unix)
        n = sscanf(line, "%*s %*s %*s %x %*s %*s %lu", &state, &inode);
    else
        n = sscanf(line, "%*s %*s %*s %x %*s %*s %*s %*s %*s %lu", &state,
                   &inode);
    /* NOLINTEND(cert-err34-c) */
    return n == 2 && state == (is_unix ? UNIX_LISTENS : TCP_LISTENS) ? inode
                                                                     : 0;
}

static bool
has_listener(pid_t pid, const struct sockets *sockets, const char *family)
{
    bool is_unix = strcmp(family, "unix") == 0, found = false;
    char path[64], line[512];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, family);
    file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof(line), file)) {
        unsigned long inode = parse_listener(line, is_unix);

        for (size_t i = 0; inode != 0 && i < sockets->count; i++)
            found = found || sockets->inodes[i] == inode;
    }
    if (file)
        fclose(file);
    return found;
}

bool
process_may_serve(pid_t pid)
{
    struct process_stat stat;
    struct sockets sockets;
    bool seen = find_sockets(pid, &sockets) == 0;

    if (!process_stat_read(pid, &stat) || stat.state == 'Z')
        return false;
    /* In doubt it may serve: then it is not started again. */
    return !seen || sockets.count == SOCKETS_MAX ||
           has_listener(pid, &sockets, "tcp") ||
           has_listener(pid, &sockets, "tcp6") ||
           has_listener(pid, &sockets, "unix");
}

/* ---- whom the kernel killed ---- */

enum { OWN_MAX = 3 /* heapwired, its keeper and its symboliser */ };

void
own_kills_start(struct own_kills *own, uint64_t now_ms,
                struct stats_figure kills)
{
    own->before = own->next = kills;
    own->step_ms = now_ms;
}

void
own_kills_follow(struct own_kills *own, uint64_t now_ms,
                 struct stats_figure kills)
{
    if (now_ms - own->step_ms < OWN_KILLS_STEP_MS)
        return;
    own->before = own->next;
    own->next = kills;
    own->step_ms = now_ms;
}

uint64_t
own_kills_of(const struct own_kills *own, struct stats_figure kills,
             bool database_killed)
{
    /* The database's own end is no kill of ours. */
    uint64_t others = own->before.value + (database_killed ? 1 : 0);

    if (!kills.known || !own->before.known || kills.value <= others)
        return 0;
    return kills.value - others < OWN_MAX ? kills.value - others : OWN_MAX;
}
