/*
 * stats_take.h - what a job asks of the agent, but for a dump: statistics,
 * taken now, and profiling's switch.
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

/* Where no jemalloc serves the process, the kernel's figures alone.  Those of
 * the agent are kept in client->memory, too.  NULL with *err. */
struct stats *stats_take(struct agent_client *client, struct error *err);

/* The kernel's figures of the process that is served, in memory, whose others
 * stay. */
void stats_take_kernel(const struct agent_client *client,
                       struct snapshot_memory *memory);

/* Only what lies in jemallocs that are not profiled: for the client's status,
 * as stats_take does too. */
void stats_take_elsewhere(struct agent_client *client);

/* Describes the forked children of the served process, which no agent serves,
 * in client->status.children, at most every few seconds, and rarer where /proc
 * is long: a hundredth of the time. */
void process_children_scan(struct agent_client *client);

/* JOB_GET_ACTIVE, JOB_ENABLE, JOB_DISABLE or JOB_RESET, which is refused,
 * unless forced, while kept snapshots would lose their comparability. */
int profiler_control_run(struct agent_client *client, struct store *store,
                         const struct job_request *wanted,
                         struct job_result *result, struct error *err);

/* The recorder counts its samples, and nobody needs to be asked.  segment: -1:
 * there is none. */
void stats_take_samples(int segment, struct node_status *status);

#endif
