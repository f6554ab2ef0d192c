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
    bool exiting; /* its main thread closes its files, or has */
    pid_t parent;
    uint64_t user_ticks, system_ticks; /* of the CPU */
    uint64_t waited_ticks; /* of children that ended, and that it waited for */
    uint64_t start_ticks;  /* since boot: pid and this are one */
};

/* pid 0: this process.  False: no such process can be seen. */
bool process_stat_read(pid_t pid, struct process_stat *out);

/* It is a zombie, or dead. */
static inline bool
process_stat_is_over(const struct process_stat *stat)
{
    return stat->state == 'Z' || stat->state == 'X';
}

/* Whether this very process can be seen, and is no zombie. */
bool process_is_alive(pid_t pid, uint64_t start_ticks);

/* The text of one, which ends with NUL. */
bool process_stat_parse(const char *text, struct process_stat *out);

#endif
