/*
 * overhead_limit.h - ends profiling when its overhead is above the budget.
 *
 * Takes the readings for overhead_estimate.h and puts its report into the
 * node's status.  Call it with the agent: jobs.h.
 */
#ifndef HW_OVERHEAD_LIMIT_H
#define HW_OVERHEAD_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "overhead_estimate.h"

struct agent_client;

struct overhead_limit {
    struct overhead_settings settings;
    void (*log)(const char *line); /* or NULL */
    struct overhead_estimate estimate;
    uint64_t next_ms; /* monotonic: the next reading of statistics */
};

/* percent: see struct overhead_settings. */
void overhead_limit_init(struct overhead_limit *limit, double percent,
                         void (*log)(const char *line));

/* The process changed: discards earlier readings. */
void overhead_limit_forget(struct overhead_limit *limit,
                           struct agent_client *client);

/* Call it after each greeting.  While profiling is on it reads statistics every
 * few seconds.  frames: of the mean stack; 0: unknown.  True when it has
 * switched profiling off. */
bool overhead_limit_look(struct overhead_limit *limit,
                         struct agent_client *client, double frames);

#endif
