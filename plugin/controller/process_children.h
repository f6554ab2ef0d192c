/*
 * process_children.h - the database's children, which no agent serves.
 *
 * Only forked children that still run its own executable count.
 */
#ifndef HW_PROCESS_CHILDREN_H
#define HW_PROCESS_CHILDREN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent_client;

enum {
    PROCESS_CHILDREN_SEEN = 65536 /* entries of /proc that are looked at */
};

struct process_children {
    size_t count;
    /* Of their memory without a file; pages that a child still shares with its
     * parent are among them. */
    uint64_t bytes;
};

/* Reads all of /proc: too slow for every second.  Zeroed where it cannot be
 * read. */
void process_children_read(pid_t parent, struct process_children *out);

/* Describes the children of the served process in client->status.children, at
 * most every few seconds, and rarer where /proc is long: a hundredth of the
 * time.  Call it with the agent: jobs.h. */
void process_children_look(struct agent_client *client);

#endif
