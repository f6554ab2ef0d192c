/*
 * profiler_control.h - the jobs that are one question to the agent.
 *
 * The channel thread's; no lock is held.  -1 with *err.
 */
#ifndef HW_PROFILER_CONTROL_H
#define HW_PROFILER_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct job_request;
struct agent_client;
struct store;

/* Profiling on (for so many seconds; 0: for good) or off. */
int profiler_control_switch(struct agent_client *client, bool on,
                            uint32_t seconds, struct error *err);
/* Forgets all samples.  Refused, unless forced, while kept snapshots would lose
 * their comparability. */
int profiler_control_reset(struct agent_client *client, struct store *store,
                           const struct job_request *wanted, struct error *err);
int profiler_control_get_active(struct agent_client *client, bool *active,
                                struct error *err);

#endif
