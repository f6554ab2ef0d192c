/* workers.c - see workers.h. */
#include "workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

void
workers_prepare(void)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", WORKERS);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread so far */
    setenv("UV_THREADPOOL_SIZE", text, 1);
}

void
workers_init(struct workers *w, uv_loop_t *loop)
{
    memset(w, 0, sizeof(*w));
    w->loop = loop;
}

static unsigned
held_by(const struct workers *w, const char *owner)
{
    unsigned held = 0;

    for (int i = 0; i < WORKERS; i++)
        held += w->running[i] && strcmp(w->running[i]->owner, owner) == 0;
    return held;
}

static bool
may_run(const struct workers *w, const char *owner)
{
    return held_by(w, owner) < WORKERS - w->busy;
}

static void
on_worker(uv_work_t *work)
{
    struct worker_job *job = work->data;

    job->run(job);
}

static void on_worked(uv_work_t *work, int status);

static void
begin(struct workers *w, struct worker_job *job)
{
    int i = 0;

    while (w->running[i])
        i++;
    w->running[i] = job;
    w->busy++;
    job->waits = false;
    job->work.data = job;
    /* fails only without a function */
    (void)uv_queue_work(w->loop, &job->work, on_worker, on_worked);
}

static void
begin_waiting(struct workers *w)
{
    struct worker_job **at = &w->waiting, *job;

    while (*at && w->busy < WORKERS) {
        job = *at;
        if (!may_run(w, job->owner)) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        begin(w, job);
    }
}

static void
on_worked(uv_work_t *work, int status)
{
    struct worker_job *job = work->data;
    struct workers *w = job->workers;

    (void)status; /* never cancelled by us */
    for (int i = 0; i < WORKERS; i++)
        if (w->running[i] == job)
            w->running[i] = NULL;
    w->busy--;
    begin_waiting(w);
    job->done(job); /* which may free it */
}

void
workers_run(struct workers *w, struct worker_job *job)
{
    struct worker_job **end = &w->waiting;

    job->workers = w;
    job->next = NULL;
    if (may_run(w, job->owner)) {
        begin(w, job);
        return;
    }
    while (*end)
        end = &(*end)->next;
    *end = job;
    job->waits = true;
}

bool
workers_withdraw(struct workers *w, struct worker_job *job)
{
    for (struct worker_job **at = &w->waiting; *at; at = &(*at)->next)
        if (*at == job) {
            *at = job->next;
            job->waits = false;
            return true;
        }
    return false;
}

static void
nothing(uv_work_t *work)
{
    (void)work;
}

static void
free_work(uv_work_t *work, int status)
{
    (void)status;
    mem_free(work);
}

int
workers_start(struct workers *w)
{
    uv_work_t *work = mem_zalloc(1, sizeof(*work));
    sigset_t all, before;
    int rc;

    if (!work)
        return -1;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    rc = uv_queue_work(w->loop, work, nothing, free_work);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        mem_free(work);
    return rc == 0 ? 0 : -1;
}
