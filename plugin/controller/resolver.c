/* resolver.c - see resolver.h. */
#include "resolver.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "buffer.h"
#include "clock.h"
#include "elsewhere.h"
#include "errors.h"
#include "jobs.h"
#include "profile.h"
#include "snapshot.h"
#include "store.h"
#include "thread.h"

enum {
    NOTE_MAX = AGENT_TEXT_MAX + ELSEWHERE_TEXT_MAX + 8,
    EXPIRE_MS = 10000, /* between looks for snapshots too old, or deleted */
    STACK_BYTES = 1 << 20
};

/* Keeps it under the name that was asked for; when that fails, the job's other
 * tickets have their snapshot nevertheless. */
static int
keep(struct resolver *r, const struct job *job, struct snapshot *snapshot,
     struct error *err)
{
    snapshot->cause = job->request.cause;
    memcpy(snapshot->reason, job->reason, sizeof(snapshot->reason));
    if (*job->name)
        memcpy(snapshot->name, job->name, sizeof(snapshot->name));
    return store_add(r->store, snapshot, err);
}

static double
mean_depth(const struct profile *profile)
{
    double frames = 0;

    for (size_t i = 0; i < profile->stack_count; i++)
        frames += profile->stacks[i].depth;
    return profile->stack_count ? frames / (double)profile->stack_count : 0;
}

/* The channel thread reads it now, and gives up when the node does not
 * answer. */
static void
await_memory(struct resolver *r, struct snapshot_memory *out,
             struct buffer *note)
{
    pthread_mutex_lock(&r->jobs->lock);
    while (!r->memory_taken)
        pthread_cond_wait(&r->work, &r->jobs->lock);
    *out = r->memory;
    if (*r->elsewhere)
        buffer_format(note, "%s%s", note->size ? "; " : "", r->elsewhere);
    pthread_mutex_unlock(&r->jobs->lock);
}

/* No ticket joins the job once its dump is here, so keep and name stay. */
static void
resolve(struct resolver *r, struct job *job)
{
    struct snapshot_memory memory;
    struct snapshot *snapshot;
    struct buffer note;
    struct error err;

    memset(&err, 0, sizeof(err));
    buffer_init(&note, NOTE_MAX);
    snapshot = dump_make_snapshot(&r->dump, r->objects, r->symbolizer,
                                  &job->progress, &err);
    buffer_text(&note, r->dump.note);
    dump_fini(&r->dump);
    await_memory(r, &memory, &note);
    if (snapshot && dump_add_memory(snapshot, note.data ? note.data : "",
                                    &memory, &err) != 0) {
        snapshot_unref(snapshot);
        snapshot = NULL;
    }
    buffer_fini(&note);
    if (snapshot) {
        snapshot->node_id = r->node_id;
        store_make_name(r->store, snapshot);
        job->not_kept = job->keep && keep(r, job, snapshot, &err) != 0;
    }
    pthread_mutex_lock(&r->jobs->lock);
    if (snapshot) {
        if (job->not_kept)
            job->work.error = err;
        job->result.snapshot = snapshot;
        /* One of before a reset counts samples that are forgotten now. */
        r->profiled = snapshot->hello.resets == r->status->hello.resets;
        r->samples = snapshot->profile->samples;
        r->profiled_ms = snapshot->taken_ms;
        r->frames = mean_depth(snapshot->profile);
    }
    jobs_finish(r->jobs, job, snapshot ? NULL : &err);
    pthread_mutex_unlock(&r->jobs->lock);
    (void)eventfd_write(r->wake_fd, 1);
}

/* Looks for old snapshots when that is due, however much work there is; sleeps
 * until there is work or it is due.  Call with the lock. */
static void
sleep_or_expire(struct resolver *r)
{
    struct timespec until = {.tv_sec = (time_t)(r->expire_ms / 1000),
                             .tv_nsec = (long)(r->expire_ms % 1000) * 1000000};

    if (clock_ms() < r->expire_ms) {
        pthread_cond_timedwait(&r->work, &r->jobs->lock, &until);
        return;
    }
    pthread_mutex_unlock(&r->jobs->lock);
    store_expire(r->store);
    pthread_mutex_lock(&r->jobs->lock);
    r->expire_ms = clock_ms() + EXPIRE_MS;
}

static void *
resolver_main(void *arg)
{
    struct resolver *r = arg;

    pthread_mutex_lock(&r->jobs->lock);
    for (;;) {
        struct job *job = r->jobs->resolving;

        if (job) {
            pthread_mutex_unlock(&r->jobs->lock);
            resolve(r, job);
            pthread_mutex_lock(&r->jobs->lock);
        } else if (r->stop) {
            break;
        } else {
            sleep_or_expire(r);
        }
    }
    pthread_mutex_unlock(&r->jobs->lock);
    return NULL;
}

void
resolver_init(struct resolver *r, struct jobs *jobs,
              const struct node_status *status)
{
    pthread_condattr_t monotonic;

    r->jobs = jobs;
    r->status = status;
    r->expire_ms = clock_ms() + EXPIRE_MS;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

int
resolver_start(struct resolver *r, struct error *err)
{
    struct thread_start thread = {"hw-resolver", STACK_BYTES, resolver_main, r};

    r->runs = thread_start(&r->thread, &thread, err) == 0;
    return r->runs ? 0 : -1;
}

void
resolver_stop(struct resolver *r)
{
    pthread_mutex_lock(&r->jobs->lock);
    r->stop = true;
    pthread_cond_signal(&r->work);
    pthread_mutex_unlock(&r->jobs->lock);
}

void
resolver_join(struct resolver *r)
{
    if (r->runs)
        pthread_join(r->thread, NULL);
}

void
resolver_fini(struct resolver *r)
{
    pthread_cond_destroy(&r->work);
}

void
resolver_give_dump(struct resolver *r, struct job *job, const struct dump *dump)
{
    pthread_mutex_lock(&r->jobs->lock);
    r->dump = *dump;
    r->memory_taken = false;
    jobs_resolve(r->jobs, job);
    pthread_cond_signal(&r->work);
    pthread_mutex_unlock(&r->jobs->lock);
}

void
resolver_give_memory(struct resolver *r, const struct snapshot_memory *memory,
                     const char *elsewhere)
{
    pthread_mutex_lock(&r->jobs->lock);
    r->memory = *memory;
    snprintf(r->elsewhere, sizeof(r->elsewhere), "%s", elsewhere);
    r->memory_taken = true;
    pthread_cond_signal(&r->work);
    pthread_mutex_unlock(&r->jobs->lock);
}
