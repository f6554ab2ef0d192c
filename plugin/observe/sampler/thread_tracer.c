/*
 * thread_tracer.c - see thread_tracer.h.
 *
 * A thread for each copy would take three times as long as the copy, and so
 * would a turn of tracer and caller for each: so copies are made by the dozen.
 * Where that is allowed the tracer comes before all others on its processor: on
 * a busy machine the thread would else stay stopped for milliseconds until its
 * tracer's turn.
 */
#include "thread_tracer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "confined.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "sample_refused.h"
#include "sample_task.h"
#include "sampler.h"
#include "thread.h"

enum {
    STOP_MS = 250,    /* that a thread may take until it stops, */
    STOP_MS_OF_D = 2, /* ... one in state D, which is likely to take longer; */
    STOP_CHECKS = 8,  /* so often, where it waits for a processor; */
    STOP_RECHECK_MS = 2, /* where it was not seen to wait for one */
    END_MS = 1000,       /* that a tracer may take to end, on a busy machine */
    LEFT_MAX = 8,        /* tracers that did not */
    TRACER_STACK_BYTES = 64 << 10,
    COPIES_MAX = 32,      /* that are made together */
    COPIED_MAX = 1 << 20, /* bytes of their stacks; most take some KB */
    ALIGNED = 16,
    PRIORITY = 1,  /* the lowest one of SCHED_FIFO: before all of SCHED_OTHER */
    REFERENCES = 2 /* the thread, and its caller */
};

struct thread_tracer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    atomic_uint references;
    bool over; /* the caller's: it has ended, or was left alone */
    atomic_int tid;
    /* With the lock: */
    bool ends, ended, left;
    bool busy;   /* with what follows, which is its own meanwhile */
    size_t done; /* copies, which nobody changes any more */
    /* Its own while it is busy: */
    struct ptrace_stop stop;
    struct error err;
    uint64_t until_ms;  /* it begins no more after that */
    size_t count, used; /* threads; bytes */
    struct thread_wanted wanted[COPIES_MAX];
    struct thread_copy copies[COPIES_MAX];
    uint8_t bytes[COPIED_MAX];
};

static atomic_uint left_alone;

static void
release_tracer(struct thread_tracer *tracer)
{
    if (atomic_fetch_sub(&tracer->references, 1) > 1)
        return;
    pthread_cond_destroy(&tracer->changed);
    pthread_mutex_destroy(&tracer->lock);
    mem_free(tracer);
}

/* Also where it is cancelled. */
static void
on_tracer_end(void *arg)
{
    struct thread_tracer *tracer = arg;

    fd_close(tracer->stop.schedstat);
    pthread_mutex_lock(&tracer->lock);
    tracer->ended = true;
    if (tracer->left)
        atomic_fetch_sub(&left_alone, 1);
    pthread_cond_broadcast(&tracer->changed);
    pthread_mutex_unlock(&tracer->lock);
    release_tracer(tracer);
}

/* The next one of those that are wanted.  With the lock, but while it copies.
 */
static void
make_copy(struct thread_tracer *tracer)
{
    struct ptrace_stop *stop = &tracer->stop;

    stop->pid = tracer->wanted[tracer->done].pid;
    stop->tid = tracer->wanted[tracer->done].tid;
    stop->unstopped = tracer->wanted[tracer->done].unstopped;
    stop->copy = &tracer->copies[tracer->done];
    stop->bytes = tracer->bytes + tracer->used;
    pthread_mutex_unlock(&tracer->lock);
    ptrace_copy_here(stop);
    pthread_mutex_lock(&tracer->lock);
    if (stop->rc != 0) {
        tracer->ends = true;
        return;
    }
    tracer->used += (stop->copy->stack.size + ALIGNED - 1) & ~(ALIGNED - 1);
    tracer->done++;
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
        make_copy(tracer);
        if (!tracer->ends && tracer->done < tracer->count &&
            tracer->used + SAMPLER_STACK_BYTES <= COPIED_MAX &&
            clock_ms() < tracer->until_ms)
            continue;
        tracer->busy = false;
        pthread_cond_broadcast(&tracer->changed);
    }
    pthread_mutex_unlock(&tracer->lock);
}

static void *
run_thread_tracer(void *arg)
{
    struct thread_tracer *tracer = arg;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){0});
    atomic_store(&tracer->tid, gettid());
    tracer->stop.schedstat = open(SAMPLE_OWN_SCHEDSTAT, O_RDONLY | O_CLOEXEC);
    pthread_cleanup_push(on_tracer_end, arg);
    make_copies(tracer);
    pthread_cleanup_pop(1);
    return NULL; /* lets go of what is still traced */
}

static struct thread_tracer *
new_tracer(struct error *err)
{
    const struct sched_param first = {.sched_priority = PRIORITY};
    struct thread_tracer *tracer = NULL;
    struct thread_start start = {"heapwire-trace", TRACER_STACK_BYTES,
                                 run_thread_tracer, NULL};

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
    atomic_init(&tracer->references, REFERENCES);
    start.arg = tracer;
    if (thread_start(&tracer->thread, &start, err) != 0) {
        release_tracer(tracer); /* the thread's */
        release_tracer(tracer);
        return NULL;
    }
    /* Not its own first step, for which it may wait as long as for a stop. */
    if (confined_spares(CONFINED_PRIORITY))
        (void)pthread_setschedparam(tracer->thread, SCHED_FIFO, &first);
    return tracer;
}

static void
end_tracer(struct thread_tracer *tracer, bool cancel)
{
    uint64_t until_ms = clock_ms() + END_MS;
    int rc = 0;

    pthread_mutex_lock(&tracer->lock);
    tracer->over = tracer->ends = true;
    pthread_cond_broadcast(&tracer->changed);
    if (cancel)
        pthread_cancel(tracer->thread);
    while (!tracer->ended && rc == 0)
        rc = clock_cond_wait(&tracer->changed, &tracer->lock, until_ms);
    tracer->left = !tracer->ended;
    if (tracer->left) {
        atomic_fetch_add(&left_alone, 1);
        pthread_detach(tracer->thread);
    }
    pthread_mutex_unlock(&tracer->lock);
    if (!tracer->left) /* else it may change that no more */
        pthread_join(tracer->thread, NULL);
}

void
thread_tracer_free(struct thread_tracer *tracer)
{
    if (!tracer)
        return;
    if (!tracer->over)
        end_tracer(tracer, false);
    release_tracer(tracer);
}

/* As many as are made together.  One in state D is likely to be late, and soon
 * taken to be: it is alone. */
static void
want_copies(struct thread_tracer *tracer, const struct thread_wanted *threads,
            size_t count)
{
    pthread_mutex_lock(&tracer->lock);
    tracer->stop.err = &tracer->err;
    tracer->done = tracer->used = tracer->count = 0;
    while (tracer->count < count && tracer->count < COPIES_MAX &&
           (tracer->count == 0 ||
            (threads[0].state != 'D' && threads[tracer->count].state != 'D'))) {
        tracer->wanted[tracer->count] = threads[tracer->count];
        tracer->count++;
    }
    tracer->until_ms = clock_ms() + STOP_MS;
    tracer->busy = true;
    pthread_cond_broadcast(&tracer->changed);
    pthread_mutex_unlock(&tracer->lock);
}

/* Whether the thread, or its tracer, waits for a processor: on a busy machine
 * that takes as long as it takes.  A tracer without a tid has not begun. */
static bool
lacks_processor(const struct thread_tracer *tracer,
                const struct thread_wanted *thread)
{
    int32_t own = atomic_load(&tracer->tid);

    return own == 0 || sample_task_state(thread->pid, thread->tid) == 'R' ||
           sample_task_state(getpid(), own) == 'R';
}

/* *count: that were made.  False: the next one takes too long.  One look does
 * not tell: between its two files the one may have woken the other. */
static bool
await_copies(struct thread_tracer *tracer, const struct thread_wanted *threads,
             size_t *count)
{
    size_t done = 0;
    bool busy = true, again = false;

    for (int looks = 0; busy; looks++) {
        const struct thread_wanted *next = &threads[done];
        bool lacks = looks == 0 || lacks_processor(tracer, next);
        uint64_t until_ms = clock_ms();
        int rc = 0;

        if (looks == STOP_CHECKS || (!lacks && again))
            break;
        again = !lacks;
        if (again)
            until_ms += STOP_RECHECK_MS;
        else
            until_ms += next->state == 'D' ? STOP_MS_OF_D : STOP_MS;
        pthread_mutex_lock(&tracer->lock);
        while (tracer->busy && rc == 0)
            rc = clock_cond_wait(&tracer->changed, &tracer->lock, until_ms);
        busy = tracer->busy;
        if (tracer->done > done)
            looks = -1;
        done = tracer->done;
        pthread_mutex_unlock(&tracer->lock);
    }
    *count = done;
    return !busy;
}

static void
set_late_thread_error(int32_t tid, char state, struct error *err)
{
    if (state == 'D')
        error_set(err, ER_UNKNOWN,
                  "thread %d waits in the kernel for what cannot be "
                  "interrupted (state D)",
                  tid);
    else
        error_set(err, ER_UNKNOWN,
                  "thread %d did not stop in time: it had no processor, or "
                  "does not come back from the kernel",
                  tid);
}

static void
set_killed_thread_error(int32_t pid, int32_t tid, struct error *err)
{
    char why[SAMPLE_REFUSED_MAX];

    sample_refused_ptrace(pid, tid, SAMPLE_REFUSED_KILLED, why, sizeof(why));
    error_set(err, ER_NOT_SUPPORTED, "%s", why);
}

void
thread_tracer_copy(struct thread_tracer **tracer,
                   const struct thread_wanted *threads, size_t count,
                   struct thread_copies *copies)
{
    struct thread_tracer *t = *tracer;
    bool in_time;

    *copies = (struct thread_copies){.failed = true};
    if (!confined_spares(CONFINED_PTRACE)) {
        set_killed_thread_error(threads->pid, threads->tid, &copies->err);
        return;
    }
    if (!t || t->over) {
        thread_tracer_free(t);
        t = *tracer = new_tracer(&copies->err);
    }
    if (!t)
        return;
    want_copies(t, threads, count);
    in_time = await_copies(t, threads, &copies->count);
    copies->list = t->copies;
    copies->failed = !in_time || t->ends;
    if (!copies->failed)
        return;
    if (in_time) {
        copies->gone = t->stop.gone;
        copies->err = t->err;
    } else {
        set_late_thread_error(threads[copies->count].tid,
                              threads[copies->count].state, &copies->err);
    }
    end_tracer(t, !in_time);
}

void
thread_tracer_keep_priority(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_RTPRIO, &limit) != 0)
        return;
    if (limit.rlim_cur < PRIORITY)
        limit.rlim_cur = PRIORITY;
    if (limit.rlim_max < PRIORITY)
        limit.rlim_max = PRIORITY;
    (void)setrlimit(RLIMIT_RTPRIO, &limit);
}
