/*
 * jobs.h - requests to the node as flights: which of them share one, and what
 * each has to wait for.
 *
 * There are two locks, and a job begins once it may have those it needs: the
 * agent's, for one exchange after the other, and the names', which a dump keeps
 * until its snapshot is made, long after it gave the agent to others.
 *
 * flights.lock guards all of this, and what else its owner puts under it.  Call
 * functions with it unless they say otherwise.
 */
#ifndef HW_JOBS_H
#define HW_JOBS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller.h"
#include "dump.h"
#include "errors.h"
#include "flight.h"

struct job {
    struct flight flight;       /* first */
    struct job_request request; /* its texts are these: */
    char name[SNAPSHOT_NAME_MAX + 1], reason[SNAPSHOT_REASON_MAX + 1];
    struct recording recording; /* of JOB_RECORDED */
    bool keep;                  /* some follower asked for a kept snapshot */
    bool not_kept;              /* only keeping failed; flight.error says why */
    bool asks;                  /* needs the agent, or has it */
    struct job_result result;   /* the job's own references */
    uint64_t at_ms;      /* monotonic: when it began; then when it finished */
    uint64_t generation; /* of jobs, when it began */
    struct dump_progress progress; /* written without the lock */
};

struct jobs {
    struct flights flights;       /* first */
    void (*run)(struct job *job); /* without the lock; ends in jobs_finish */
    bool greets;               /* the greeter has the agent, or waits for it */
    pthread_cond_t agent_free; /* the greeter waits for it */
    /* The last successful jobs, or NULL; a reference each. */
    struct job *recent_dump, *recent_stats, *recent_mappings;
    uint64_t generation;       /* raised when earlier answers become wrong */
    uint64_t failed_snapshots; /* that could not be kept */
};

void jobs_init(struct jobs *jobs, void (*run)(struct job *job));
void jobs_stop(struct jobs *jobs); /* flights_stop; without the lock */

/* A seat in a job that answers the request: a recent one, one that waits, or a
 * new one. */
struct seat *jobs_join(struct jobs *jobs, const struct job_request *request,
                       struct waker waker, struct error *err);

/* Ends a job; failure NULL: it succeeded.  Wakes its followers. */
void jobs_finish(struct job *job, const struct error *failure);

/* The job does not need the agent any more: the next one may begin. */
void jobs_give_agent(struct job *job);
/* Called by the greeter, without the lock: waits for the job that has the
 * agent, but for none that waits. */
void jobs_greeter_take(struct jobs *jobs);
void jobs_greeter_give(struct jobs *jobs);

/* The process changed: discards earlier results. */
void jobs_expire_all(struct jobs *jobs);
/* Releases results that are too old to share. */
void jobs_expire(struct jobs *jobs);

/* Whether it takes a heap dump. */
bool job_is_dump(const struct job *job);

#endif
