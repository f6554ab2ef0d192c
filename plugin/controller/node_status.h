/*
 * node_status.h - why a node cannot do what is asked, in words for people.
 *
 * Pure: reads the status alone, callable with any lock held.
 */
#ifndef HW_NODE_STATUS_H
#define HW_NODE_STATUS_H

#include "controller.h"

struct error;

/* Of an agent that lacks what this heapwired knows. */
#define NODE_OLDER                                                             \
    "is of an older heapwire and is served with what it knows; restart the "   \
    "database to load the new one"

/* Why nothing can be asked of this node now; 0 when something can. */
int node_status_check(const struct node_status *status, struct error *err);

/* Why its jemalloc can never do such a job; 0 when it can. */
int node_status_check_job(const struct node_status *status, enum job_kind kind,
                          struct error *err);

/* Whether a request's numbers are such that an agent may be asked. */
int node_status_check_request(const struct job_request *request,
                              struct error *err);

#endif
