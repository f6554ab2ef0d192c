/*
 * thread_tracer.c - see thread_tracer.h.
 *
 * A thread for each copy would take three times as long as the copy.  Where
 * that is allowed the tracer comes before all others on its processor: on a
 * busy machine the thread would else stay stopped for milliseconds until its
 * tracer's turn.
 */
#include "thread_tracer.h"

#include <sched.h>

#include "clock.h"
#include "errors.h"
#include "sampler.h"
#include "thread.h"

enum {
    STOP_MS = 250,    /* that a thread may take until it stops: its turn on a
                         busy machine */
    STOP_MS_OF_D = 2, /* ... one in state D, which is likely to take longer */
    TRACER_STACK_BYTES = 64 << 10
};

static void *
trace(void *arg)
{
    const struct sched_param first = {.sched_priority = 1};
    struct thread_tracer *tracer = arg;
    struct ptrace_stop *job;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){0});
    (void)sched_setscheduler(0, SCHED_FIFO, &first);
    pthread_mutex_lock(&tracer->lock);
    while (!tracer->ends) {
        job = tracer->job;
        if (!job) {
            pthread_cond_wait(&tracer->changed, &tracer->lock);
            continue;
        }
        pthread_mutex_unlock(&tracer->lock);
        ptrace_copy_here(job);
        pthread_mutex_lock(&tracer->lock);
        tracer->ends = tracer->ends || job->rc != 0;
        tracer->job = NULL;
        pthread_cond_broadcast(&tracer->changed);
    }
    pthread_mutex_unlock(&tracer->lock);
    return NULL; /* lets go of what is still traced */
}

void
thread_tracer_init(struct thread_tracer *tracer)
{
    *tracer = (struct thread_tracer){.runs = false};
    pthread_mutex_init(&tracer->lock, NULL);
    clock_cond_init(&tracer->changed);
}

static void
end_tracer(struct thread_tracer *tracer, bool cancel)
{
    if (!tracer->runs)
        return;
    pthread_mutex_lock(&tracer->lock);
    tracer->ends = true;
    pthread_cond_broadcast(&tracer->changed);
    pthread_mutex_unlock(&tracer->lock);
    if (cancel)
        pthread_cancel(tracer->thread);
    pthread_join(tracer->thread, NULL);
    tracer->runs = false;
}

void
thread_tracer_fini(struct thread_tracer *tracer)
{
    end_tracer(tracer, false);
    pthread_cond_destroy(&tracer->changed);
    pthread_mutex_destroy(&tracer->lock);
}

/* False: it takes longer, or the tracer was not there any more. */
static bool
await_copy(struct thread_tracer *tracer, struct ptrace_stop *job,
           uint64_t milliseconds)
{
    uint64_t until_ms = clock_ms() + milliseconds;
    bool done, ended;
    int rc = 0;

    pthread_mutex_lock(&tracer->lock);
    tracer->job = job;
    pthread_cond_broadcast(&tracer->changed);
    while (tracer->job && rc == 0)
        rc = clock_cond_wait(&tracer->changed, &tracer->lock, until_ms);
    done = !tracer->job;
    ended = tracer->ends;
    pthread_mutex_unlock(&tracer->lock);
    if (done && ended)
        end_tracer(tracer, false);
    return done;
}

static void
say_late(const struct ptrace_stop *job, char state)
{
    if (state == 'D')
        error_set(job->err, ER_UNKNOWN,
                  "thread %d waits in the kernel for what cannot be "
                  "interrupted (state D)",
                  job->tid);
    else
        error_set(job->err, ER_UNKNOWN,
                  "thread %d did not stop in %d ms: it had no processor, or "
                  "does not come back from the kernel",
                  job->tid, STOP_MS);
}

int
thread_tracer_copy(struct thread_tracer *tracer, int32_t pid, int32_t tid,
                   char state, struct thread_copy *copy, bool *gone,
                   struct error *err)
{
    const struct thread_start start = {"heapwire-trace", TRACER_STACK_BYTES,
                                       trace, tracer};
    struct ptrace_stop job = {.pid = pid, .tid = tid, .copy = copy, .err = err};

    *gone = false;
    if (!tracer->runs) {
        tracer->ends = false;
        tracer->job = NULL;
        if (thread_start(&tracer->thread, &start, err) != 0)
            return -1;
        tracer->runs = true;
    }
    if (!await_copy(tracer, &job, state == 'D' ? STOP_MS_OF_D : STOP_MS)) {
        end_tracer(tracer, true);
        if (tracer->job) { /* in the middle of it, or before it began */
            say_late(&job, state);
            return -1;
        }
    }
    *gone = job.gone;
    return job.rc;
}
