/*
 * processes.h - a process, and those that it forked: PostgreSQL works in such
 * ones, Redis saves in one.
 *
 * A child counts as forked while it executes the file that the process does.
 */
#ifndef HW_PROCESSES_H
#define HW_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PROCESSES_MAX = 1024,   /* in a list */
    PROCESSES_SEEN = 65536, /* entries of /proc that are looked at, where the
                               kernel does not list children */
    PROCESS_CHILDREN_MAX = PROCESSES_MAX - 1
};

/* The number alone may be another's later. */
struct process_id {
    pid_t pid;
    uint64_t start_ticks;
};

struct processes {
    struct process_id list[PROCESSES_MAX]; /* the process, then its children */
    size_t count;
    size_t left_out; /* children beyond those */
    size_t closed;   /* of whom this user may not know what they execute */
    dev_t device;    /* these two: the file that they execute; 0: not known */
    ino_t inode;
    /* Of the children's memory without a file; pages that one still shares with
     * the process are among them. */
    uint64_t bytes;
    uint64_t ticks; /* of the processor: all children's, of other programs, too
                     */
};

/* False, and count is 0: there is no such process. */
bool processes_read(pid_t pid, struct processes *out);

/* Whether the one at that index is there, and still executes that file. */
bool processes_has(const struct processes *processes, size_t place);

#endif
