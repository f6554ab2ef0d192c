/* workers.c - see workers.h. */
#include "workers.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "errors.h"
#include "share.h"
#include "thread.h"

enum { WAITING_MAX = 64 /* owners that a walk along the queue remembers */ };

static void *worker_main(void *arg);

/* ---- turns: with the lock ---- */

static bool
may_compute(const struct workers *w, const struct worker_job *job)
{
    struct share turns = {.user = job->owner}, threads = turns;

    for (int i = 0; i < WORKERS_MOST; i++) {
        const struct worker_job *other = w->all[i].job;

        if (other && other->computes)
            share_count(&turns, other->owner);
        if (other && other->forwarded == job->forwarded)
            share_count(&threads, other->owner);
    }
    return share_has_room(&turns, WORKERS) &&
           (job->worker || share_has_room(&threads, WORKERS_THREADS));
}

static struct worker *
start_worker(struct workers *w)
{
    struct worker *worker = w->all;
    struct thread_start start = {"hw-worker", WORKERS_STACK_BYTES, worker_main,
                                 NULL};
    struct error err;

    while (worker < w->all + WORKERS_MOST && worker->state == WORKER_ALIVE)
        worker++;
    if (worker == w->all + WORKERS_MOST)
        return NULL;
    if (worker->state == WORKER_ENDED)
        pthread_join(worker->thread, NULL); /* it has given up the lock */
    worker->state = WORKER_NONE;
    start.arg = worker;
    if (thread_start(&worker->thread, &start, &err) != 0)
        return NULL;
    worker->state = WORKER_ALIVE;
    w->alive++;
    return worker;
}

/* An idle one, or a new one.  False: not until one becomes free. */
static bool
give_worker(struct workers *w, struct worker_job *job)
{
    struct worker *worker = w->idle;

    if (w->stop)
        return false;
    if (worker)
        w->idle = worker->next_idle;
    else
        worker = start_worker(w);
    if (!worker)
        return false;
    job->worker = worker;
    worker->job = job;
    return true;
}

static void
compute(struct workers *w, struct worker_job *job)
{
    job->queued = false;
    job->computes = true;
    w->computing++;
    pthread_cond_signal(&job->worker->turn);
}

/* Whether one computes, or rests, and will take what waits. */
static bool
is_one_free_soon(const struct workers *w)
{
    for (const struct worker *one = w->all; one < w->all + WORKERS_MOST; one++)
        if (one->state == WORKER_ALIVE && (!one->job || one->job->computes))
            return true;
    return false;
}

/* False: it has not begun, and waits.  A refused one may be gone once this
 * returns. */
static bool
begin_turn(struct workers *w, struct worker_job *job)
{
    bool refused;

    if (!may_compute(w, job))
        return false;
    if (job->worker || give_worker(w, job)) {
        compute(w, job);
        return true;
    }
    refused = !w->stop && !is_one_free_soon(w);
    if (refused) {
        job->refused = errno;
        job->queued = false;
        workers_yield(job);
    }
    return refused;
}

static bool
is_like(const struct worker_job *a, const struct worker_job *b)
{
    return !a->worker == !b->worker && a->forwarded == b->forwarded &&
           strcmp(a->owner, b->owner) == 0;
}

/* Turns are given and none is taken back: a job like one that had to wait has
 * to wait, too, and an owner's long queue is passed over quickly. */
static void
give_turns(struct workers *w)
{
    const struct worker_job *waiting[WAITING_MAX];
    struct worker_job **at = &w->queue, *job, *next;
    unsigned count = 0, i;

    while (*at && w->computing < WORKERS) {
        job = *at;
        next = job->next;
        for (i = 0; i < count && !is_like(waiting[i], job); i++)
            ;
        if (i == count && begin_turn(w, job)) {
            *at = next;
            continue;
        }
        if (i == count && count < WAITING_MAX)
            waiting[count++] = job;
        at = &job->next;
    }
}

/* Those in the queue need not be looked at: nothing became free. */
static void
enqueue(struct workers *w, struct worker_job *job)
{
    struct worker_job **end = &w->queue;

    if (begin_turn(w, job))
        return;
    while (*end)
        end = &(*end)->next;
    job->next = NULL;
    job->queued = true;
    *end = job;
}

static void
dequeue(struct workers *w, struct worker_job *job)
{
    struct worker_job **at = &w->queue;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    job->queued = false;
}

/* ---- a thread ---- */

static void
run(struct worker *worker)
{
    struct workers *w = worker->home;
    struct worker_job *job = worker->job;

    pthread_mutex_unlock(&w->lock);
    job->run(job);
    pthread_mutex_lock(&w->lock);
    worker->job = NULL;
    job->worker = NULL;
    job->computes = false;
    w->computing--;
    workers_yield(job); /* the loop may free it */
}

static struct timespec
idle_until(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WORKERS_IDLE_MS / 1000;
    return until;
}

static void
leave_idle(struct workers *w, const struct worker *worker)
{
    struct worker **at = &w->idle;

    while (*at != worker)
        at = &(*at)->next_idle;
    *at = worker->next_idle;
}

/* False: the thread may end. */
static bool
rest(struct worker *worker)
{
    struct workers *w = worker->home;
    struct timespec until = idle_until();
    int rc = 0;

    worker->next_idle = w->idle;
    w->idle = worker;
    give_turns(w); /* perhaps to this one */
    while (!worker->job && rc == 0 && !w->stop)
        rc = pthread_cond_timedwait(&worker->turn, &w->lock, &until);
    if (worker->job)
        return true;
    leave_idle(w, worker);
    return !w->stop && w->alive == 1;
}

static void *
worker_main(void *arg)
{
    struct worker *worker = arg;
    struct workers *w = worker->home;

    pthread_mutex_lock(&w->lock);
    do {
        while (worker->job)
            run(worker);
    } while (rest(worker));
    worker->state = WORKER_ENDED;
    w->alive--;
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- start and stop ---- */

void
workers_init(struct workers *w, struct wakes *wakes)
{
    pthread_condattr_t monotonic;

    memset(w, 0, sizeof(*w));
    w->wakes = wakes;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    for (int i = 0; i < WORKERS_MOST; i++) {
        w->all[i].home = w;
        pthread_cond_init(&w->all[i].turn, &monotonic);
    }
    pthread_condattr_destroy(&monotonic);
}

int
workers_start(struct workers *w, struct error *err)
{
    bool started;

    pthread_mutex_lock(&w->lock);
    started = start_worker(w) != NULL;
    pthread_mutex_unlock(&w->lock);
    if (!started)
        error_set(err, ER_UNKNOWN, "cannot start a worker thread");
    return started ? 0 : -1;
}

void
workers_stop(struct workers *w)
{
    bool begun[WORKERS_MOST];

    pthread_mutex_lock(&w->lock);
    w->stop = true;
    for (int i = 0; i < WORKERS_MOST; i++) {
        begun[i] = w->all[i].state != WORKER_NONE;
        pthread_cond_signal(&w->all[i].turn);
    }
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < WORKERS_MOST; i++)
        if (begun[i])
            pthread_join(w->all[i].thread, NULL);
}

void
workers_fini(struct workers *w)
{
    for (int i = 0; i < WORKERS_MOST; i++)
        pthread_cond_destroy(&w->all[i].turn);
    pthread_mutex_destroy(&w->lock);
}

/* ---- jobs ---- */

static void
on_wake(struct wake *wake)
{
    struct worker_job *job = (struct worker_job *)wake; /* its first member */

    job->done(job); /* which may free it */
}

void
worker_job_init(struct worker_job *job, struct workers *w)
{
    wake_init(&job->wake, w->wakes, on_wake);
    job->workers = w;
}

void
workers_run(struct worker_job *job)
{
    struct workers *w = job->workers;

    pthread_mutex_lock(&w->lock);
    job->hurried = false;
    job->refused = 0;
    enqueue(w, job);
    pthread_mutex_unlock(&w->lock);
}

void
workers_yield(struct worker_job *job)
{
    struct waker waker = wake_waker(&job->wake);

    waker.wake(waker.arg);
}

bool
workers_withdraw(struct worker_job *job)
{
    struct workers *w = job->workers;
    bool queued;

    pthread_mutex_lock(&w->lock);
    queued = job->queued;
    job->hurried = true;
    if (queued)
        dequeue(w, job);
    if (queued && job->worker) {
        queued = false;
        compute(w, job);
    }
    pthread_mutex_unlock(&w->lock);
    return queued;
}

bool
workers_waits(struct worker_job *job)
{
    struct workers *w = job->workers;
    bool queued;

    pthread_mutex_lock(&w->lock);
    queued = job->queued;
    pthread_mutex_unlock(&w->lock);
    return queued;
}

void
workers_park(struct worker_job *job)
{
    struct workers *w = job->workers;

    pthread_mutex_lock(&w->lock);
    job->computes = false;
    w->computing--;
    give_turns(w);
    pthread_mutex_unlock(&w->lock);
}

void
workers_go_on(struct worker_job *job, bool at_once)
{
    struct workers *w = job->workers;

    pthread_mutex_lock(&w->lock);
    if (at_once || job->hurried) {
        compute(w, job);
    } else {
        enqueue(w, job);
        while (!job->computes)
            pthread_cond_wait(&job->worker->turn, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}
