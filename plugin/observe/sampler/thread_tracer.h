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
#include <stddef.h>
#include <stdint.h>

#include "errors.h"

struct thread_copy;
struct thread_tracer;

struct thread_wanted {
    int32_t pid, tid;
    char state;     /* of a moment ago */
    bool unstopped; /* where it waits: its copy lacks most registers then */
};

struct thread_copies {
    const struct thread_copy *list; /* good until the tracer's next call */
    size_t count;
    /* The thread behind those could not be copied: err says why, with
     * ER_NOT_SUPPORTED where it is not allowed (the text says what would be
     * needed).  gone: it has ended; else it did not stop in time. */
    bool failed, gone;
    struct error err;
};

/*
 * Stops each of the threads, but for those that may be copied without, copies
 * registers and stack, and lets it go on at once, whatever happens meanwhile:
 * where this process is killed, the kernel does.  *tracer: NULL at first.  The
 * first copy that fails ends it, or so many were made as find room: one is
 * copied, or failed, at least.
 */
void thread_tracer_copy(struct thread_tracer **tracer,
                        const struct thread_wanted *threads, size_t count,
                        struct thread_copies *copies);
void thread_tracer_free(struct thread_tracer *tracer); /* NULL is fine */

/* As root, before it is given up: tracers come before others on their processor
 * after that, too (RLIMIT_RTPRIO), where the system lets root allow it. */
void thread_tracer_keep_priority(void);

/* ---- ptrace_stop.c ---- */

/* What to copy; ptrace_copy_here, by the tracer, fills the rest. */
struct ptrace_stop {
    int32_t pid, tid;
    bool unstopped;
    int schedstat; /* the tracer's own, open; -1: none */
    struct thread_copy *copy;
    uint8_t *bytes; /* SAMPLER_STACK_BYTES */
    struct error *err;
    bool gone;
    int rc;
};

/* By a thread whose end follows if that fails, and which may be cancelled in
 * it, and there alone. */
void ptrace_copy_here(struct ptrace_stop *stop);

#endif
