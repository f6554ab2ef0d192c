/*
 * resolver.h - the thread that turns a taken dump into a snapshot.
 *
 * It takes the job that jobs.resolving is, makes the snapshot, keeps it where
 * that was asked for, and finishes the job.  Between jobs it removes snapshots
 * that are too old.
 */
#ifndef HW_RESOLVER_H
#define HW_RESOLVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "dump.h"
#include "elsewhere.h"

struct error;
struct job;
struct jobs;
struct node_status;
struct objects;
struct store;
struct symbolizer;

struct resolver {
    struct jobs *jobs;                  /* its lock guards all of this, and: */
    const struct node_status *status;   /* the node's, as it is published */
    struct dump dump;                   /* of jobs->resolving */
    struct snapshot_memory memory;      /* beside it, once memory_taken */
    char elsewhere[ELSEWHERE_TEXT_MAX]; /* likewise */
    bool memory_taken;
    bool stop;

    /* Of the last profile; while profiled. */
    bool profiled;
    uint64_t samples;
    int64_t profiled_ms;
    double frames; /* of the mean stack */

    /* Set before the start. */
    struct objects *objects;
    struct symbolizer *symbolizer;
    struct store *store;
    uint32_t node_id;
    int wake_fd; /* eventfd, written when a job has ended */

    pthread_cond_t work; /* on the monotonic clock */
    uint64_t expire_ms;  /* the thread's: its next look for old snapshots */
    pthread_t thread;
    bool runs;
};

/* Of a zeroed struct; all but the thread may then be used. */
void resolver_init(struct resolver *resolver, struct jobs *jobs,
                   const struct node_status *status);
int resolver_start(struct resolver *resolver, struct error *err);
/* Makes the thread end after the job that it has; join waits for that. */
void resolver_stop(struct resolver *resolver);
void resolver_join(struct resolver *resolver);
void resolver_fini(struct resolver *resolver);

/* Takes the dump of the running job, and the statistics that belong to it,
 * which follow and without which the job does not end. */
void resolver_give_dump(struct resolver *resolver, struct job *job,
                        const struct dump *dump);
void resolver_give_memory(struct resolver *resolver,
                          const struct snapshot_memory *memory,
                          const char *elsewhere);

#endif
