/*
 * thread_tracer.h - the thread that copies others, one after the other.
 *
 * A tracer is a thread, and its end lets go of what it traces, whatever
 * happened.  So it ends after each copy that failed, and is cancelled where a
 * thread does not stop in time; the next copy starts another one.  Where even
 * that does not end it (the stack is of a file whose server hangs), it is left
 * alone: it has memory of its own, and goes when it can.  Of one caller.
 */
#ifndef HW_THREAD_TRACER_H
#define HW_THREAD_TRACER_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct thread_copy;
struct thread_tracer;

/*
 * Stops the thread, copies registers and stack, and lets it go on at once,
 * whatever happens meanwhile: where this process is killed, the kernel does.
 * *tracer: NULL at first.  state: the thread's, of a moment ago.  -1 with *err:
 * ER_NOT_SUPPORTED: it is not allowed (the text says what would be needed);
 * *gone: the thread has ended; else it did not stop in time.
 */
int thread_tracer_copy(struct thread_tracer **tracer, int32_t pid, int32_t tid,
                       char state, struct thread_copy *copy, bool *gone,
                       struct error *err);
void thread_tracer_free(struct thread_tracer *tracer); /* NULL is fine */

/* ---- ptrace_stop.c ---- */

/* What to copy; ptrace_copy_here, by the tracer, fills the rest. */
struct ptrace_stop {
    int32_t pid, tid;
    struct thread_copy *copy;
    struct error *err;
    bool gone;
    int rc;
};

/* By a thread whose end follows if that fails, and which may be cancelled in
 * it, and there alone. */
void ptrace_copy_here(struct ptrace_stop *stop);

#endif
