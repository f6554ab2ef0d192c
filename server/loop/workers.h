/*
 * workers.h - threads for what the loop must not do: to compute, and to wait.
 *
 * A job runs once, on one thread, which keeps it while it waits for others
 * (workers_park).  Few jobs compute at one time; many more may wait.  Owners
 * share threads, and turns to compute, as share.h says; the rest wait their
 * turn.  Where no thread can be started, and all that there are wait, a job is
 * refused.  Threads start when there is work and end when there is none; stacks
 * have a size of their own.
 */
#ifndef HW_WORKERS_H
#define HW_WORKERS_H

#include <pthread.h>
#include <stdbool.h>

#include "wakes.h"

struct error;

enum {
    WORKERS = 8,           /* jobs that compute at one time, */
    WORKERS_THREADS = 192, /* and with those that wait: so many of this node's
                              and so many of others' */
    WORKERS_MOST = 2 * WORKERS_THREADS,
    WORKERS_IDLE_MS = 5000,
#ifdef HW_WATCHFUL
    WORKERS_STACK_BYTES = 8 << 20 /* frames are larger under a sanitizer */
#else
    WORKERS_STACK_BYTES = 2 << 20
#endif
};

struct worker;
struct workers;

struct worker_job {
    struct wake wake; /* first */
    struct workers *workers;
    struct worker *worker;   /* its thread; NULL: none yet, or no more */
    struct worker_job *next; /* of those that wait for their turn */
    bool queued, computes, hurried;
    int refused; /* errno: it has not run, as no thread could be started */
    /* Another node waits for it, and it for no other: it has threads of its
     * own, or nodes full of jobs that wait for nodes would wait in a circle. */
    bool forwarded;
    const char *owner;                    /* lasts as long as the job */
    void (*run)(struct worker_job *job);  /* on a worker */
    void (*done)(struct worker_job *job); /* on the loop, afterwards */
};

struct worker {
    struct workers *home;
    pthread_t thread;
    pthread_cond_t turn; /* job has come, or may compute again */
    enum { WORKER_NONE, WORKER_ALIVE, WORKER_ENDED } state;
    struct worker_job *job;
    struct worker *next_idle; /* the last one to become idle comes first */
};

struct workers {
    struct wakes *wakes;
    pthread_mutex_t lock; /* of all that follows, and of the jobs */
    struct worker all[WORKERS_MOST];
    struct worker *idle;
    struct worker_job *queue; /* the one that came first */
    unsigned alive, computing;
    bool stop;
};

void workers_init(struct workers *workers, struct wakes *wakes);
/* Starts the first thread, which stays.  -1 with *err. */
int workers_start(struct workers *workers, struct error *err);
/* Joins all threads, after their jobs; done is not called for these. */
void workers_stop(struct workers *workers);
void workers_fini(struct workers *workers); /* after that */

/* ---- on the loop ---- */

/* Before anything else: run, done and owner are set. */
void worker_job_init(struct worker_job *job, struct workers *workers);
/* Now or later; done is called some later turn of the loop, also if the job is
 * refused. */
void workers_run(struct worker_job *job);
/* Calls done from the loop's next turn, with nothing run. */
void workers_yield(struct worker_job *job);
/* True: it had not begun, and will not.  Otherwise it waits for no turn any
 * more: it is about to end. */
bool workers_withdraw(struct worker_job *job);
/* Whether it waits for its turn. */
bool workers_waits(struct worker_job *job);

/* ---- on the job's own thread ---- */

/* The job waits from now on, and others compute instead. */
void workers_park(struct worker_job *job);
/* It goes on, once it is its turn. */
void workers_go_on(struct worker_job *job, bool at_once);

#endif
