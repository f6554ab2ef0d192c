/*
 * stats_take.h - a job's questions to the agent, except for dumps: statistics,
 * and the switch of profiling.
 *
 * Call it with the agent: jobs.h.
 */
#ifndef HW_STATS_TAKE_H
#define HW_STATS_TAKE_H

#include <stddef.h>
#include <stdint.h>

struct agent_client;
struct error;
struct job_request;
struct job_result;
struct node_status;
struct snapshot_memory;
struct stats;
struct store;

/* Statistics of now; the kernel's figures alone where the process uses no
 * jemalloc.  The agent's are kept in client->memory, too.  NULL with *err. */
struct stats *stats_take(struct agent_client *client, struct error *err);

/* Fills the kernel's figures of the served process into memory, and leaves the
 * others. */
void stats_take_kernel(const struct agent_client *client,
                       struct snapshot_memory *memory);

/* Updates only the client's text on jemallocs that are not profiled, as
 * stats_take does too. */
void stats_take_elsewhere(struct agent_client *client);

/* Describes the forked children of the served process, which no agent serves,
 * in client->status.children; every few seconds at most, and less often where
 * /proc is long: at most a hundredth of the time. */
void process_children_scan(struct agent_client *client);

/* JOB_GET_ACTIVE, JOB_ENABLE, JOB_DISABLE or JOB_RESET, which is refused,
 * unless forced, while kept snapshots would lose their comparability. */
int profiler_control_run(struct agent_client *client, struct store *store,
                         const struct job_request *wanted,
                         struct job_result *result, struct error *err);

/* Reads the recorder's count of samples from its segment; nobody is asked.
 * segment: -1: there is none. */
void stats_take_samples(int segment, struct node_status *status);

#endif
