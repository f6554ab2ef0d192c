/*
 * process_stat.c - see process_stat.h.
 *
 * A status has about 1.5 KB, but the line of groups, in the middle of it, may
 * have 700 KB.  Its end is dropped when the text has no room left, so that the
 * lines behind it, as those of capabilities, are read all the same.
 */
#include "process_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PF_EXITING = 4, /* the kernel's include/linux/sched.h */
    TEXT_MAX = 1024
};

/* The fields' numbers in proc_pid_stat(5). */
enum {
    STATE = 3,
    PARENT,
    FLAGS = 9,
    USER = 14,
    SYSTEM,
    WAITED_USER,
    WAITED_SYSTEM,
    START = 22
};

/* "<pid> (<name>) <state> <parent> ...".  The name may hold anything, also ") R
 * 1", so parsing starts behind the last parenthesis.  Not by sscanf(), which
 * may allocate: the recorder calls this where it must not call malloc(). */
bool
process_stat_parse(const char *text, struct process_stat *out)
{
    const char *at = strrchr(text, ')');
    uint64_t fields[START + 1];
    char state, *end;

    if (!at || at[1] != ' ' || at[2] == '\0')
        return false;
    state = at[2];
    at += 3;
    for (int i = PARENT; i <= START; i++, at = end) {
        fields[i] = strtoull(at, &end, 10);
        if (end == at)
            return false;
    }
    *out = (struct process_stat){state,
                                 (fields[FLAGS] & PF_EXITING) != 0,
                                 (pid_t)fields[PARENT],
                                 fields[USER],
                                 fields[SYSTEM],
                                 fields[WAITED_USER] + fields[WAITED_SYSTEM],
                                 fields[START]};
    return true;
}

/* Returns the size of the text that is left: all of it if its list of groups is
 * short, or was cut before. */
static size_t
cut_group_list(char *text, size_t size)
{
    const char *groups = process_status_text(text, "Groups");
    size_t from, list;

    if (strcspn(groups, "\n") < PROCESS_STATUS_GROUPS)
        return size;
    from = (size_t)(groups - text) + PROCESS_STATUS_GROUPS;
    list = strcspn(text + from, "\n");
    memmove(text + from, text + from + list, size - from - list);
    return size - list;
}

/* Reads what there is into text, ended by NUL.  False: nothing. */
static bool
read_process_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n;

    text[0] = '\0';
    if (fd < 0)
        return false;
    do {
        n = read(fd, text + used, size - 1 - used);
        used += n > 0 ? (size_t)n : 0;
        text[used] = '\0';
        if (used == size - 1)
            used = cut_group_list(text, used);
        text[used] = '\0';
    } while (n > 0 || (n < 0 && errno == EINTR));
    close(fd);
    return used > 0;
}

bool
process_stat_read(pid_t pid, struct process_stat *out)
{
    char path[32] = "/proc/self/stat", text[TEXT_MAX];

    if (pid != 0)
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return read_process_text(path, text, sizeof(text)) &&
           process_stat_parse(text, out);
}

bool
process_is_alive(pid_t pid, uint64_t start_ticks)
{
    struct process_stat stat;

    return pid > 0 && process_stat_read(pid, &stat) &&
           !process_stat_is_over(&stat) && stat.start_ticks == start_ticks;
}

/* ---- status ---- */

bool
process_status_read(pid_t pid, pid_t tid, char out[PROCESS_STATUS_MAX])
{
    char path[64] = "/proc/thread-self/status";

    if (tid != 0 && pid == 0)
        snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)tid);
    else if (tid != 0)
        snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid,
                 (int)tid);
    else if (pid != 0)
        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return read_process_text(path, out, PROCESS_STATUS_MAX);
}

const char *
process_status_text(const char *status, const char *name)
{
    size_t size = strlen(name);

    /* a thread may have any name, but the kernel escapes the newlines in it */
    for (; status; status = strchr(status, '\n')) {
        status += *status == '\n';
        if (strncmp(status, name, size) == 0 && status[size] == ':')
            return status + size + 1 + strspn(status + size + 1, "\t ");
    }
    return "";
}

long
process_status_number(const char *status, const char *name)
{
    const char *text = process_status_text(status, name);

    return *text ? strtol(text, NULL, 10) : -1;
}

uid_t
process_status_user(const char *status)
{
    const char *text = process_status_text(status, "Uid");
    char *effective;

    (void)strtoul(text, &effective, 10);
    return *text ? (uid_t)strtoul(effective, NULL, 10) : (uid_t)-1;
}
