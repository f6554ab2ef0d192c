/*
 * process_stat.h - /proc/<pid>/stat, read in one place.
 *
 * The agent uses it, too: libc only, no heap.
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

#endif
