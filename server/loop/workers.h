/*
 * workers.h - shares the worker threads fairly among users.
 *
 * An owner gets another worker only while more are free than it holds: alone it
 * gets half of them, so one user's endless statements never keep another's from
 * running.  The rest wait their turn.  All on the loop but run.
 */
#ifndef HW_WORKERS_H
#define HW_WORKERS_H

#include <stdbool.h>
#include <uv.h>

enum { WORKERS = 8 };

struct workers;

struct worker_job {
    uv_work_t work;
    struct workers *workers;
    struct worker_job *next;              /* of those that wait */
    bool waits;                           /* for its turn */
    const char *owner;                    /* lasts as long as the job */
    void (*run)(struct worker_job *job);  /* on a worker */
    void (*done)(struct worker_job *job); /* on the loop, afterwards */
};

struct workers {
    uv_loop_t *loop;
    struct worker_job *running[WORKERS];
    unsigned busy;
    struct worker_job *waiting; /* the one that came first */
};

/* Before anything uses libuv's threads, and before there are others. */
void workers_prepare(void);
void workers_init(struct workers *workers, uv_loop_t *loop);
/* Makes libuv start its threads now, with all signals blocked. */
int workers_start(struct workers *workers);

/* Now or later; done is called some later turn of the loop. */
void workers_run(struct workers *workers, struct worker_job *job);
/* True: it had not begun, and will not. */
bool workers_withdraw(struct workers *workers, struct worker_job *job);

#endif
