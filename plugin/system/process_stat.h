/*
 * process_stat.h - /proc/<pid>/stat and status, read in one place each.
 *
 * The agent and the recorder use it, too: libc only, no heap; no stdio for the
 * stat of pid 0.
 */
#ifndef HW_PROCESS_STAT_H
#define HW_PROCESS_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_stat {
    char state;
    bool exiting; /* its main thread is in exit: it closes its files, or has */
    pid_t parent;
    uint64_t user_ticks, system_ticks; /* of CPU time */
    uint64_t waited_ticks; /* CPU time of children that it has reaped */
    uint64_t start_ticks;  /* its start, since boot; pid and this identify a
                            * process */
};

/* pid 0: this process.  False: no such process can be seen. */
bool process_stat_read(pid_t pid, struct process_stat *out);

/* Whether it is a zombie, or dead. */
static inline bool
process_stat_is_over(const struct process_stat *stat)
{
    return stat->state == 'Z' || stat->state == 'X';
}

/* Whether the process that started then is alive (and no zombie). */
bool process_is_alive(pid_t pid, uint64_t start_ticks);

/* Parses the text of such a file, which ends with NUL. */
bool process_stat_parse(const char *text, struct process_stat *out);

/* ---- status ---- */

enum {
    /* On the caller's stack, which may be the host's: a forked child asks for
     * its filters (plugin/agent/access.c). */
    PROCESS_STATUS_MAX = 4096,
    PROCESS_STATUS_GROUPS = 1024 /* of a longer list of groups */
};

/* Reads the status of a process (tid 0) or of a thread of it.  pid 0: this
 * process, and with tid 0 the calling thread.  False, and "": no such process
 * can be seen. */
bool process_status_read(pid_t pid, pid_t tid, char out[PROCESS_STATUS_MAX]);

/* What follows "name:" and blanks: to the end of status, not of the line.  "":
 * this kernel has no such line. */
const char *process_status_text(const char *status, const char *name);
/* The effective user of "Uid"; (uid_t)-1: there is none. */
uid_t process_status_user(const char *status);
/* The number there, 0 if it is none; -1: there is no such line. */
long process_status_number(const char *status, const char *name);

#endif
