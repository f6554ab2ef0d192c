/*
 * agent_client.h - the connection to one node's agent, and the status that it
 * gives.
 *
 * Used by whoever has the agent (jobs.h).  A call waits for its answer until a
 * deadline, no longer; an agent that missed it is UNRESPONSIVE and is sent
 * nothing more until the late answer arrives, so that a stopped database is not
 * flooded with requests when it goes on.
 */
#ifndef HW_AGENT_CLIENT_H
#define HW_AGENT_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent_protocol.h"
#include "controller.h"
#include "snapshot.h"
#include "waste.h"

struct buffer;
struct error;

struct agent_client {
    const char *state_dir; /* borrowed */
    int wake_fd;           /* readable: look at stop; borrowed */
    int fd;                /* the connection, or -1 */
    pid_t peer;            /* the agent's process, as we see it; 0: it is in a
                            * pid namespace that we do not see */
    uint64_t last_id;
    uint64_t late_id; /* not answered by its deadline; 0: none */
    uint32_t guard_s; /* of AGENT_HELLO */
    /* stats_take.h: the parent last looked at, and when to look again. */
    pid_t children_of;
    uint64_t children_due_ms;
    bool note_is_leave_reason; /* status.note is the agent's */
    bool levers_seen;          /* status.levers is this connection's */
    pid_t hung_up_peer;        /* the peer that hung up at the last greeting */
    struct node_status status;
    struct snapshot_memory memory; /* as of the last stats_take */
    struct waste_heap waste;       /* likewise */
    const atomic_bool *stop;       /* the controller is ending */
};

/* A greeting's text becomes the note. */
_Static_assert(sizeof(((struct node_status *)0)->note) ==
                   sizeof(((struct agent_reply *)0)->text),
               "one size");

/* A descriptor in a reply is the caller's; absent ones are -1. */
struct agent_client_answer {
    struct agent_reply reply;
    int fds[AGENT_FDS_MAX];
};

void agent_client_init(struct agent_client *client, const char *state_dir,
                       int wake_fd, const atomic_bool *stop);
void agent_client_fini(struct agent_client *client);
/* Whether two greetings are of one process. */
bool agent_client_same_incarnation(const struct agent_hello *a,
                                   const struct agent_hello *b);
void agent_client_answer_close(struct agent_client_answer *answer);

/* Connects if needed, takes late answers, detects the agent's end; waits for
 * one greeting at most.  True for a new incarnation. */
bool agent_client_refresh(struct agent_client *client);

/* Asks and waits.  -1 with *err: not connected, late, ended, or the agent's
 * own words; the answer then holds no descriptors. */
int agent_client_call(struct agent_client *client,
                      const struct agent_request *request,
                      struct agent_client_answer *answer, struct error *err);

/* The same, with a descriptor that is passed with the request and stays the
 * caller's; -1: without. */
int agent_client_call_with_fd(struct agent_client *client,
                              const struct agent_request *request, int fd,
                              struct agent_client_answer *answer,
                              struct error *err);

/* Appends the content of an answer's descriptor; what names it in the error. */
int agent_client_read_memory(const struct agent_client *client, int fd,
                             struct buffer *out, const char *what,
                             struct error *err);

/* Whether a signal has stopped the process, as far as that can be seen. */
bool agent_client_is_stopped(const struct agent_client *client);

/* True if the agent ended or sent a late answer. */
bool agent_client_input_pending(const struct agent_client *client);

#endif
