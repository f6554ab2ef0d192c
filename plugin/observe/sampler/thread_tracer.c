/*
 * thread_tracer.c - see thread_tracer.h.
 *
 * A thread for each copy would take three times as long as the copy, and so
 * would a handover between tracer and caller for each: so copies are made by
 * the dozen.  If it is allowed, the tracer gets real-time priority: on a busy
 * machine the stopped thread would else wait milliseconds until its tracer gets
 * a processor.
 *
 * The caller may not wait for ever for a thread that does not stop, so all of
 * the tracer's state is its own memory with two owners; whoever leaves last
 * frees it.
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
    STOP_MS = 250,    /* that a thread may take until it stops */
    STOP_MS_OF_D = 2, /* ... one in state D, which mostly takes much longer */
    STOP_CHECKS = 8,  /* waits of that length, while it lacks a processor */
    STOP_RECHECK_MS = 2, /* ... while it does not */
    /* that a tracer may take to end, also on a busy machine */
    END_MS = 1000,
    LEFT_MAX = 8, /* tracers left alone; more are not started */
    TRACER_STACK_BYTES = 64 << 10,
    COPIES_MAX = 32,      /* that are made in one handover */
    COPIED_MAX = 1 << 20, /* bytes of their stacks; most have some KB */
    ALIGNED = 16,
    PRIORITY = 1,  /* the lowest of SCHED_FIFO: above all of SCHED_OTHER */
    REFERENCES = 2 /* the thread and its caller */
};

struct thread_tracer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    atomic_uint references;
    bool over; /* used by the caller alone: it has ended or was left alone */
    atomic_int tid;
    /* Guarded by the lock: */
    bool ends, ended, left;
    bool busy;   /* the tracer works; what follows is then its own */
    size_t done; /* finished copies, which nobody changes any more */
    /* The tracer's own while busy: */
    struct ptrace_stop stop;
    struct error err;
    uint64_t until_ms;  /* no copy is begun after that */
    size_t count, used; /* number of wanted threads; bytes used */
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

/* Cleanup handler: runs also when the thread is cancelled. */
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

/* Makes the next copy.  Called with the lock, which is released while it
 * copies. */
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
    return NULL; /* its end lets go of what is still traced */
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
        /* the reference of the thread that does not exist */
        release_tracer(tracer);
        release_tracer(tracer);
        return NULL;
    }
    /* Set from here: the tracer itself may have to wait long for its first
     * turn. */
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
    /* a tracer that was left alone may free itself at any time */
    if (!tracer->left)
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

/* Hands over as many threads as one batch may have.  One in state D makes a
 * batch of its own, as it is likely to be late and would spoil the others'
 * time. */
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

/* Whether the thread or its tracer waits for a processor, which may take long
 * on a busy machine.  A tracer without a tid has not begun. */
static bool
lacks_processor(const struct thread_tracer *tracer,
                const struct thread_wanted *thread)
{
    int32_t own = atomic_load(&tracer->tid);

    return own == 0 || sample_task_state(thread->pid, thread->tid) == 'R' ||
           sample_task_state(getpid(), own) == 'R';
}

/* Waits for the batch; *count is the number of copies made.  False: the next
 * one takes too long.  Two looks in a row must find both idle:
 * lacks_processor() reads two files, and between them one thread may have woken
 * the other. */
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
