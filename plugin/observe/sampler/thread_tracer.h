/*
 * thread_tracer.h - the thread that copies others, one after the other.
 *
 * A tracer is a thread: when it ends, the kernel lets go of what it traces,
 * whatever happened.  So it ends after a copy that failed, and is cancelled if
 * a thread does not stop in time; the next copy starts another tracer.  If even
 * cancelling does not end it (the stack lies in a file whose server hangs), it
 * is left alone: it has memory of its own, and ends when it can.  A tracer
 * belongs to one caller.
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
    char state; /* as it was a moment ago */
    /* if it waits it need not be stopped; most registers are then missing */
    bool unstopped;
};

struct thread_copies {
    const struct thread_copy *list; /* valid until the tracer's next call */
    size_t count;
    /* The thread after those could not be copied.  err says why;
     * ER_NOT_SUPPORTED: it is not allowed (the text says what would be needed).
     * gone: it has ended; else it did not stop in time. */
    bool failed, gone;
    struct error err;
};

/* Stops each thread, unless it may be copied without, copies registers and
 * stack, and lets it go on at once; if this process is killed meanwhile, the
 * kernel lets it go.  *tracer is NULL at first.  Returns after the first copy
 * that fails, or when the room for copies is full: at least one was copied or
 * failed. */
void thread_tracer_copy(struct thread_tracer **tracer,
                        const struct thread_wanted *threads, size_t count,
                        struct thread_copies *copies);
void thread_tracer_free(struct thread_tracer *tracer); /* NULL is fine */

/* Call it as root, before that is given up: raises RLIMIT_RTPRIO, so that
 * tracers may still get real-time priority afterwards. */
void thread_tracer_keep_priority(void);

/* ---- ptrace_stop.c ---- */

/* The caller sets what to copy; ptrace_copy_here(), on the tracer's thread,
 * fills the rest. */
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

/* To be called on a thread that ends if this fails, and that may be cancelled
 * in here only. */
void ptrace_copy_here(struct ptrace_stop *stop);

#endif
