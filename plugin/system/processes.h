/*
 * processes.h - a process and the children that it forked: PostgreSQL works in
 * such children, Redis saves in one.
 *
 * A child counts as forked while it executes the same file as the process.
 */
#ifndef HW_PROCESSES_H
#define HW_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PROCESSES_MAX = 1024,   /* in a list */
    PROCESSES_SEEN = 65536, /* entries of /proc that are examined where the
                             * kernel does not list children */
    PROCESS_CHILDREN_MAX = PROCESSES_MAX - 1
};

/* The number alone may belong to another process later. */
struct process_id {
    pid_t pid;
    uint64_t start_ticks;
};

struct processes {
    struct process_id list[PROCESSES_MAX]; /* the process, then its children */
    size_t count;
    size_t left_out; /* children beyond those */
    size_t closed;   /* children whose executed file this user may not see */
    dev_t device;    /* device and inode of the executed file; 0: unknown */
    ino_t inode;
    /* Anonymous memory of the children; pages that a child still shares with
     * the process are counted, too. */
    uint64_t bytes;
    uint64_t ticks; /* CPU time of all children, also those of other programs */
};

/* false, and count is 0: there is no such process. */
bool processes_read(pid_t pid, struct processes *out);

/* Whether the process at that index is still there, and executes that file. */
bool processes_has(const struct processes *processes, size_t index);

#endif
