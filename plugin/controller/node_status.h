/*
 * node_status.h - why a node cannot do what is asked, in words for people.
 *
 * Pure: reads the status alone, callable with any lock held.
 */
#ifndef HW_NODE_STATUS_H
#define HW_NODE_STATUS_H

#include "controller.h"

struct error;

/* Reports an agent older than this heapwired. */
#define NODE_OLDER                                                             \
    "is of an older heapwire and is served with what it knows; restart the "   \
    "database to load the new one"

/* 0 if the node can take requests now; else fills *err with the reason. */
int node_status_check(const struct node_status *status, struct error *err);

/* 0 if the node's jemalloc can do such a job; else fills *err. */
int node_status_check_job(const struct node_status *status, enum job_kind kind,
                          struct error *err);

/* Whether such a request may go to the agent: 0, or -1 with *err. */
int node_status_check_request(const struct node_status *status,
                              const struct job_request *request,
                              struct error *err);

/* Whether its profile is in the recorder's segment: also when it hangs, or has
 * ended. */
bool node_status_is_recorded(const struct node_status *status);

/* From the records in the state directory fills status->ending, of a database
 * that is gone, and status->note, where there may be none for good; each only
 * in the first seconds, and once. */
void node_status_look(const char *state_dir, struct node_status *status);

/* Whether the one that greeted was started without prof, because the one before
 * did not reach its main. */
bool node_status_restarted(const char *state_dir,
                           const struct agent_hello *hello);

#endif
