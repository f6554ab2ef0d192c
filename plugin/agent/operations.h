/*
 * operations.h - what the agent does for a request of heapwired.
 *
 * The agent's thread's.
 */
#ifndef HW_OPERATIONS_H
#define HW_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent_protocol.h"

struct agent;

/* What goes back beside a reply; owned ones are closed once sent. */
struct operation_files {
    int fds[AGENT_FDS_MAX];
    size_t count;
    bool owned;
};

/* Fills in a zeroed reply; AGENT_BAD_REQUEST: the connection is to be closed.
 * All descriptors must be -1 before. */
void operation_answer(struct agent *agent, const struct agent_request *request,
                      struct agent_reply *reply,
                      struct operation_files *passed);

#endif
