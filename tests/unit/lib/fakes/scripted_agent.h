/*
 * scripted_agent.h - an agent that does exactly what a test says.
 *
 * One thread of its own; answers when it is not mute.
 */
#ifndef HW_SCRIPTED_AGENT_H
#define HW_SCRIPTED_AGENT_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "controller.h"
#include "errors.h"

struct agent {
    char dir[64];
    pthread_t thread;
    int listener;
    pthread_mutex_t lock;
    bool stop, mute; /* mute: reads, answers later */
    struct agent_hello hello;
    uint64_t allocated_ever; /* sent after the statistics, if it */
    uint64_t growing;        /* grows by so much at each */
    const char *statistics;  /* of AGENT_STATS; NULL: not found */
    const char *allocators;  /* likewise; NULL: it is older than that */
    const char *note;        /* of its greeting; or NULL */
    uint64_t seconds;        /* of the last AGENT_SET_ACTIVE */
    bool forced;             /* the last AGENT_RESET */
    int requests[AGENT_ALLOCATORS + 1]; /* counted by op */
    char order[64];                     /* ops as letters, hellos left out */
};

void agent_start(struct agent *agent);
void agent_set(struct agent *agent, bool *flag, bool value);
int agent_count(struct agent *agent, enum agent_op op);
void agent_await(struct agent *agent, enum agent_op op); /* the first one */
void agent_stop(struct agent *agent);

struct controller *start_controller(const char *dir);
void wait_for_state(struct controller *controller, enum node_state state);

/* A waker that posts a semaphore, and the wait for it. */
void post(void *arg);
enum flight_state wait_for(struct seat *seat, sem_t *woken,
                           struct job_result *result, struct error *err);

#endif
