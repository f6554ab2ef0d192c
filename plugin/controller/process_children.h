/*
 * process_children.h - the children of the database that nothing looks into.
 *
 * Those that it forked, of its own executable: one that executes another
 * program is no business of ours.
 */
#ifndef HW_PROCESS_CHILDREN_H
#define HW_PROCESS_CHILDREN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PROCESS_CHILDREN_SEEN = 65536 /* entries of /proc that are looked at */
};

struct process_children {
    size_t count;
    /* Of their memory without a file; pages that a child still shares with its
     * parent are among them. */
    uint64_t bytes;
};

/* Reads /proc once; for who was asked, not for every second.  Zeroed where it
 * cannot be read. */
void process_children_read(pid_t parent, struct process_children *out);

#endif
