/*
 * operations.h - carries out heapwired's requests.
 *
 * Used by the agent's thread alone.
 */
#ifndef HW_OPERATIONS_H
#define HW_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent_protocol.h"

struct agent;

/* Descriptors sent with a reply; owned ones are closed once sent. */
struct operation_files {
    int fds[AGENT_FDS_MAX];
    size_t count;
    bool owned;
};

/* Fills a zeroed reply; all descriptors must be -1.  After AGENT_BAD_REQUEST
 * close the connection. */
void operation_answer(struct agent *agent, const struct agent_request *request,
                      struct agent_reply *reply,
                      struct operation_files *passed);

#endif
