/*
 * profiler_control.h - the jobs that are one question to the agent.
 */
#ifndef HW_PROFILER_CONTROL_H
#define HW_PROFILER_CONTROL_H

struct agent_client;
struct error;
struct job_request;
struct job_result;
struct store;

/* JOB_GET_ACTIVE, JOB_ENABLE, JOB_DISABLE or JOB_RESET, which is refused,
 * unless forced, while kept snapshots would lose their comparability.  Call it
 * with the agent: jobs.h. */
int profiler_control_run(struct agent_client *client, struct store *store,
                         const struct job_request *wanted,
                         struct job_result *result, struct error *err);

#endif
