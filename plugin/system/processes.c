/*
 * processes.c - see processes.h.
 *
 * A child that executes another file (an archiver of PostgreSQL's, a shell)
 * must not be sampled or counted as the database. /proc/PID/exe is compared by
 * device and inode, not by name: the file may have been replaced while the
 * database runs.  Children are taken from /proc/PID/task/TID/children, which
 * costs a read for each thread, and only where the kernel has no such file from
 * a look at each process of the machine.  Any thread.  The list is a moment's,
 * so whoever acts on one asks processes_has() first.
 */
#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process_stat.h"

/* The file that a process executes.  Returns an errno: EACCES means that this
 * user may not know it. */
static int
find_executed(pid_t pid, struct stat *out)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat(path, out) == 0 ? 0 : errno;
}

static bool
is_executed(const struct processes *p, const struct stat *file)
{
    return file->st_dev == p->device && file->st_ino == p->inode;
}

/* RssAnon of a process, in bytes; 0: unknown. */
static uint64_t
read_anonymous(pid_t pid)
{
    char status[PROCESS_STATUS_MAX];
    long kilobytes;

    process_status_read(pid, 0, status);
    kilobytes = process_status_number(status, "RssAnon");
    return kilobytes > 0 ? (uint64_t)kilobytes * 1024 : 0;
}

/* The parent is checked, as the process may have ended and its pid been reused
 * since the list was read.  CPU time counts for every child, memory only for
 * forks. */
static void
add_child(struct processes *p, pid_t pid)
{
    struct process_stat stat;
    struct stat file;
    int error;

    if (!process_stat_read(pid, &stat) || stat.parent != p->list[0].pid)
        return;
    p->ticks += stat.user_ticks + stat.system_ticks;
    error = find_executed(pid, &file);
    /* inode 0: the process's own file is not known, so none can be compared */
    if (error == EACCES || (error == 0 && p->inode == 0))
        p->closed++;
    if (error != 0 || p->inode == 0 || !is_executed(p, &file))
        return;
    p->bytes += read_anonymous(pid);
    if (p->count < PROCESSES_MAX)
        p->list[p->count++] = (struct process_id){pid, stat.start_ticks};
    else
        p->left_out++;
}

/* Adds the children that one thread has forked (the kernel lists them by
 * thread).  Mostly there are none, so a byte is tried before a stream is
 * allocated.  false: the kernel has no such list. */
static bool
add_children_of(struct processes *p, int tasks, const char *tid)
{
    char path[300], first;
    FILE *file;
    int pid, fd;

    snprintf(path, sizeof(path), "%s/children", tid);
    fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    file = pread(fd, &first, 1, 0) > 0 ? fdopen(fd, "r") : NULL;
    if (!file) {
        close(fd);
        return true;
    }
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
    while (fscanf(file, "%d", &pid) == 1)
        add_child(p, pid);
    fclose(file);
    return true;
}

static bool
add_listed(struct processes *p)
{
    char path[64];
    struct dirent *entry;
    bool any = false;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)p->list[0].pid);
    dir = opendir(path);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            any = add_children_of(p, dirfd(dir), entry->d_name) || any;
    if (dir)
        closedir(dir);
    return any;
}

/* Looks through all processes, for a kernel without CONFIG_PROC_CHILDREN. */
static void
add_found(struct processes *p)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;

    for (int i = 0; dir && i < PROCESSES_SEEN; i++) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
        entry = readdir(dir);
        if (!entry)
            break;
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            add_child(p, (pid_t)strtol(entry->d_name, NULL, 10));
    }
    if (dir)
        closedir(dir);
}

bool
processes_read(pid_t pid, struct processes *out)
{
    struct process_stat stat;
    struct stat file;

    memset(out, 0, sizeof(*out));
    if (pid <= 0 || !process_stat_read(pid, &stat))
        return false;
    out->list[out->count++] = (struct process_id){pid, stat.start_ticks};
    if (find_executed(pid, &file) == 0) {
        out->device = file.st_dev;
        out->inode = file.st_ino;
    }
    if (!add_listed(out))
        add_found(out);
    return true;
}

bool
processes_has(const struct processes *processes, size_t index)
{
    const struct process_id *id = &processes->list[index];
    struct process_stat stat;
    struct stat file;

    if (!process_stat_read(id->pid, &stat) ||
        stat.start_ticks != id->start_ticks)
        return false;
    /* The first is the process itself: it may execute what it likes.  A file
     * that cannot be seen is not held against a child. */
    return index == 0 || find_executed(id->pid, &file) != 0 ||
           is_executed(processes, &file);
}
