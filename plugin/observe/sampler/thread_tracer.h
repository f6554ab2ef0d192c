/*
 * thread_tracer.h - the thread that copies others, one after the other.
 *
 * A tracer is a thread, and its end lets go of what it traces, whatever
 * happened.  So it ends after each copy that failed, and is cancelled where a
 * thread does not stop in time; the next copy starts another one.  Of one
 * caller.
 */
#ifndef HW_THREAD_TRACER_H
#define HW_THREAD_TRACER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct thread_copy;

/* What to copy; ptrace_copy_here, by the tracer, fills the rest. */
struct ptrace_stop {
    int32_t pid, tid;
    struct thread_copy *copy;
    struct error *err;
    bool gone;
    int rc;
};

struct thread_tracer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool runs; /* the caller's: it is to be joined */
    /* With the lock: */
    bool ends;
    struct ptrace_stop *job; /* NULL: done */
};

void thread_tracer_init(struct thread_tracer *tracer); /* no thread yet */
void thread_tracer_fini(struct thread_tracer *tracer);
/*
 * Stops the thread, copies registers and stack, and lets it go on at once,
 * whatever happens meanwhile: where this process is killed, the kernel does.
 * state: the thread's, of a moment ago.  -1 with *err: ER_NOT_SUPPORTED: it is
 * not allowed (the text says what would be needed); *gone: the thread has
 * ended; else it did not stop in time.
 */
int thread_tracer_copy(struct thread_tracer *tracer, int32_t pid, int32_t tid,
                       char state, struct thread_copy *copy, bool *gone,
                       struct error *err);

/* ---- ptrace_stop.c ---- */

/* By a thread whose end follows if that fails, and which may be cancelled in
 * it, and there alone. */
void ptrace_copy_here(struct ptrace_stop *stop);

#endif
