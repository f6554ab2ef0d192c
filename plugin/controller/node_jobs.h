/*
 * node_jobs.h - the jobs that are one question to the agent.
 *
 * The channel thread's; no lock is held.  -1 with *err.
 */
#ifndef HW_NODE_JOBS_H
#define HW_NODE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct job_request;
struct node;
struct store;

/* Profiling on (for so many seconds; 0: for good) or off. */
int node_jobs_switch(struct node *node, bool on, uint32_t seconds,
                     struct error *err);
/* Refused, unless forced, while the store has snapshots that nothing could be
 * compared with any more. */
int node_jobs_reset(struct node *node, struct store *store,
                    const struct job_request *wanted, struct error *err);
int node_jobs_get_active(struct node *node, bool *active, struct error *err);

#endif
