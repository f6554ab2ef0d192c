/*
 * jobs.h - the node's jobs: their queue, their tickets, and results that can be
 * shared.
 *
 * A job is shared by the tickets that wait for it, by the queue while it waits
 * or runs, and by the list of recent ones.  What controller.h does with tickets
 * is here, too.
 *
 * jobs.lock guards all of this, and what else its owner puts under it.  Call
 * functions with the lock unless they say otherwise.
 */
#ifndef HW_JOBS_H
#define HW_JOBS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller.h"
#include "dump.h"
#include "errors.h"
#include "share.h"
#include "ticket.h"

struct job {
    struct work work; /* first */
    struct jobs *jobs;
    struct job_request request; /* its texts are these: */
    char name[SNAPSHOT_NAME_MAX + 1], reason[SNAPSHOT_REASON_MAX + 1];
    char owner[SHARE_OWNER_MAX + 1]; /* of the first ticket */
    bool keep;                       /* some ticket asked for a kept snapshot */
    bool not_kept;                   /* all else is well; work.error says why */
    struct job_result result;        /* the job's own references */
    uint64_t at_ms;      /* monotonic: when it began; then when it finished */
    uint64_t generation; /* of jobs, when it began */
    struct dump_progress progress; /* atomics: written without the lock */
    struct job *next;
};

struct jobs {
    pthread_mutex_t lock;
    struct job *queue;     /* waiting, oldest first */
    struct job *running;   /* on the channel thread, or NULL */
    struct job *resolving; /* its dump is with the resolver, or NULL */
    /* The last successful jobs, or NULL; a reference each. */
    struct job *recent_dump, *recent_stats;
    uint64_t generation;       /* raised by what makes earlier answers wrong */
    uint64_t failed_snapshots; /* that were to be kept, and are not */
};

void jobs_init(struct jobs *jobs);
void jobs_fini(struct jobs *jobs); /* without the lock */

/* A ticket for such a job: a recent one, one that waits, or a new one. */
struct ticket *jobs_attach(struct jobs *jobs, const struct job_request *request,
                           struct waker waker, struct error *err);

/* The next job that may run, or NULL; it is then running. */
struct job *jobs_take(struct jobs *jobs);
/* The running job's dump is with the resolver now. */
void jobs_resolve(struct jobs *jobs, struct job *job);
/* failure NULL: it succeeded.  Wakes. */
void jobs_finish(struct jobs *jobs, struct job *job,
                 const struct error *failure);

/* The process changed: discards earlier results. */
void jobs_forget(struct jobs *jobs);
/* Releases results that are too old to share. */
void jobs_expire(struct jobs *jobs);

/* Whether a job takes a heap dump. */
bool job_is_dump(enum job_kind kind);

#endif
