/*
 * thread_tracer.c - see thread_tracer.h.
 *
 * A thread for each copy would take three times as long as the copy.  Where
 * that is allowed the tracer comes before all others on its processor: on a
 * busy machine the thread would else stay stopped for milliseconds until its
 * tracer's turn.
 */
#include "thread_tracer.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "sampler.h"
#include "thread.h"

enum {
    STOP_MS = 250,    /* that a thread may take until it stops: its turn on a
                         busy machine */
    STOP_MS_OF_D = 2, /* ... one in state D, which is likely to take longer */
    END_MS = 1000,    /* that a tracer may take to end, on a busy machine */
    LEFT_MAX = 8,     /* tracers that did not */
    TRACER_STACK_BYTES = 64 << 10
};

struct thread_tracer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    /* With the lock: */
    bool ends, ended, left;
    bool busy; /* with what follows, which is its own meanwhile */
    struct ptrace_stop stop;
    struct thread_copy copy;
    struct error err;
};

static atomic_uint left_alone;

static void
destroy_tracer(struct thread_tracer *tracer)
{
    pthread_cond_destroy(&tracer->changed);
    pthread_mutex_destroy(&tracer->lock);
    mem_free(tracer);
}

/* Also where it is cancelled. */
static void
on_tracer_end(void *arg)
{
    struct thread_tracer *tracer = arg;
    bool left;

    pthread_mutex_lock(&tracer->lock);
    tracer->ended = true;
    left = tracer->left;
    pthread_cond_broadcast(&tracer->changed);
    pthread_mutex_unlock(&tracer->lock);
    if (left) { /* else it is joined */
        destroy_tracer(tracer);
        atomic_fetch_sub(&left_alone, 1);
    }
}

static void
make_copies(struct thread_tracer *tracer)
{
    pthread_mutex_lock(&tracer->lock);
    while (!tracer->ends) {
        if (!tracer->busy) {
            pthread_cond_wait(&tracer->changed, &tracer->lock);
            continue;
        }
        pthread_mutex_unlock(&tracer->lock);
        ptrace_copy_here(&tracer->stop);
        pthread_mutex_lock(&tracer->lock);
        tracer->ends = tracer->ends || tracer->stop.rc != 0;
        tracer->busy = false;
        pthread_cond_broadcast(&tracer->changed);
    }
    pthread_mutex_unlock(&tracer->lock);
}

static void *
trace(void *arg)
{
    const struct sched_param first = {.sched_priority = 1};

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){0});
    (void)sched_setscheduler(0, SCHED_FIFO, &first);
    pthread_cleanup_push(on_tracer_end, arg);
    make_copies(arg);
    pthread_cleanup_pop(1);
    return NULL; /* lets go of what is still traced */
}

static struct thread_tracer *
new_tracer(struct error *err)
{
    struct thread_tracer *tracer = NULL;
    struct thread_start start = {"heapwire-trace", TRACER_STACK_BYTES, trace,
                                 NULL};

    if (atomic_load(&left_alone) >= LEFT_MAX) {
        error_set(err, ER_UNKNOWN,
                  "%d threads do not come back from reading stacks", LEFT_MAX);
        return NULL;
    }
    tracer = mem_zalloc(1, sizeof(*tracer));
    if (!tracer) {
        error_memory(err, "a thread's stack");
        return NULL;
    }
    pthread_mutex_init(&tracer->lock, NULL);
    clock_cond_init(&tracer->changed);
    start.arg = tracer;
    if (thread_start(&tracer->thread, &start, err) != 0) {
        destroy_tracer(tracer);
        return NULL;
    }
    return tracer;
}

static void
end_tracer(struct thread_tracer *tracer, bool cancel)
{
    uint64_t until_ms = clock_ms() + END_MS;
    bool ended;
    int rc = 0;

    pthread_mutex_lock(&tracer->lock);
    tracer->ends = true;
    pthread_cond_broadcast(&tracer->changed);
    if (cancel)
        pthread_cancel(tracer->thread);
    while (!tracer->ended && rc == 0)
        rc = clock_cond_wait(&tracer->changed, &tracer->lock, until_ms);
    ended = tracer->ended;
    if (!ended) {
        tracer->left = true;
        atomic_fetch_add(&left_alone, 1);
        pthread_detach(tracer->thread);
    }
    pthread_mutex_unlock(&tracer->lock);
    if (ended) {
        pthread_join(tracer->thread, NULL);
        destroy_tracer(tracer);
    }
}

void
thread_tracer_free(struct thread_tracer *tracer)
{
    if (tracer)
        end_tracer(tracer, false);
}

/* False: it takes longer. */
static bool
await_copy(struct thread_tracer *tracer, int32_t pid, int32_t tid,
           uint64_t milliseconds)
{
    uint64_t until_ms = clock_ms() + milliseconds;
    bool done;
    int rc = 0;

    pthread_mutex_lock(&tracer->lock);
    tracer->stop = (struct ptrace_stop){
        .pid = pid, .tid = tid, .copy = &tracer->copy, .err = &tracer->err};
    tracer->busy = true;
    pthread_cond_broadcast(&tracer->changed);
    while (tracer->busy && rc == 0)
        rc = clock_cond_wait(&tracer->changed, &tracer->lock, until_ms);
    done = !tracer->busy;
    pthread_mutex_unlock(&tracer->lock);
    return done;
}

static void
say_late(int32_t tid, char state, struct error *err)
{
    if (state == 'D')
        error_set(err, ER_UNKNOWN,
                  "thread %d waits in the kernel for what cannot be "
                  "interrupted (state D)",
                  tid);
    else
        error_set(err, ER_UNKNOWN,
                  "thread %d did not stop in %d ms: it had no processor, or "
                  "does not come back from the kernel",
                  tid, STOP_MS);
}

static int
take_copy(const struct thread_tracer *tracer, struct thread_copy *copy,
          bool *gone, struct error *err)
{
    const struct thread_copy *from = &tracer->copy;

    *gone = tracer->stop.gone;
    if (tracer->stop.rc != 0) {
        *err = tracer->err;
        return -1;
    }
    copy->registers = from->registers;
    copy->stack = from->stack;
    copy->stack.bytes = copy->bytes;
    copy->pause_us = from->pause_us;
    memcpy(copy->bytes, from->bytes, from->stack.size);
    return 0;
}

int
thread_tracer_copy(struct thread_tracer **tracer, int32_t pid, int32_t tid,
                   char state, struct thread_copy *copy, bool *gone,
                   struct error *err)
{
    int rc;

    *gone = false;
    if (!*tracer && !(*tracer = new_tracer(err)))
        return -1;
    if (!await_copy(*tracer, pid, tid, state == 'D' ? STOP_MS_OF_D : STOP_MS)) {
        end_tracer(*tracer, true);
        *tracer = NULL;
        say_late(tid, state, err);
        return -1;
    }
    rc = take_copy(*tracer, copy, gone, err);
    if (rc != 0) { /* its end follows */
        end_tracer(*tracer, false);
        *tracer = NULL;
    }
    return rc;
}
