/*
 * node.h - the connection to one node's agent, and what it says of the node.
 *
 * Used by the controller's channel thread alone.  Calls wait for the answer
 * until a deadline, no longer; an agent that missed it is UNRESPONSIVE and is
 * sent nothing more until the late answer arrives, so a stopped database meets
 * no storm when it goes on.
 */
#ifndef HW_NODE_H
#define HW_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent_protocol.h"
#include "controller.h"

struct buffer;
struct error;

struct node {
    const char *state_dir; /* borrowed */
    int wake_fd;           /* readable: look at stop; borrowed */
    int fd;                /* the connection, or -1 */
    pid_t peer;            /* who serves it, as this process sees it; 0: it is
                              in a pid namespace that we do not see */
    uint64_t last_id;
    uint64_t late_id; /* unanswered past its deadline; 0 */
    uint32_t guard_s; /* of AGENT_HELLO */
    /* node_children.h: whose were looked for, and when they are again. */
    pid_t children_of;
    uint64_t children_due_ms;
    struct node_status status;
    const bool *stop; /* atomic: the controller is ending */
};

/* A descriptor in a reply is the caller's; absent ones are -1. */
struct node_answer {
    struct agent_reply reply;
    int fds[AGENT_FDS_MAX];
};

void node_init(struct node *node, const char *state_dir, int wake_fd,
               const bool *stop);
void node_fini(struct node *node);
/* Whether two greetings are of one process. */
bool node_same_incarnation(const struct agent_hello *a,
                           const struct agent_hello *b);
void node_answer_close(struct node_answer *answer);

/* Connects where it must, takes late answers and notices the end; never waits
 * longer than one greeting.  True when the agent changed (new incarnation). */
bool node_refresh(struct node *node);

/* Asks and waits.  -1 with *err: not connected, late, ended, or the agent's
 * own words; the answer then holds no descriptors. */
int node_call(struct node *node, const struct agent_request *request,
              struct node_answer *answer, struct error *err);

/* Appends what a descriptor of an answer holds; what names it in the error. */
int node_read_memory(const struct node *node, int fd, struct buffer *out,
                     const char *what, struct error *err);

/*
 * Maps it instead, when nobody can change it any more, and nothing of it is
 * missing; munmap is the caller's.  false: read it.
 */
bool node_map_memory(int fd, size_t max, void **out, size_t *size);

/* Whether the agent said something unasked: it ended, or answers late. */
bool node_input_pending(const struct node *node);

#endif
