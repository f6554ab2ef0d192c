/*
 * stats_take.h - statistics of the node, taken now.
 *
 * Call it with the agent: jobs.h.
 */
#ifndef HW_STATS_TAKE_H
#define HW_STATS_TAKE_H

struct error;
struct agent_client;
struct stats;

/* Where no jemalloc serves the process, the kernel's figures alone.  NULL with
 * *err. */
struct stats *stats_take(struct agent_client *client, struct error *err);

/* Only what lies in jemallocs that are not profiled: for the client's status,
 * as stats_take does too. */
void stats_take_elsewhere(struct agent_client *client);

#endif
