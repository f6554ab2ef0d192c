/*
 * borrow.h - call a function in another process, by a thread that sleeps there.
 *
 * The call is made as the kernel calls a signal handler: below the thread's
 * stack lies the frame from which rt_sigreturn restores everything.  So if we
 * die, the thread still comes back by itself; its program may notice only
 * EINTR. While we live, we restore more than a handler could: the system call
 * continues unchanged.
 *
 * Signals that come meanwhile wait.  The caller has SIGCHLD blocked.
 */
#ifndef HW_BORROW_H
#define HW_BORROW_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "sleeper.h"

struct error;

enum {
    BORROW_TEXT_MAX = 20 * 1024, /* placed on the thread's stack */
    BORROW_STATE_MAX = 16 * 1024,
    BORROW_CALL_MS = 5000,
    BORROW_STOP_MS = 1000
};

struct borrowed {
    const struct remote *remote;
    const struct landmarks *places;
    struct sleeper sleeper;
    struct user_regs_struct regs;          /* as it was */
    unsigned char state[BORROW_STATE_MAX]; /* floating point and vectors */
    size_t state_size;
    uint64_t mask;        /* of signals */
    uint64_t text, frame; /* on its stack */
    bool seized, stopped;
    bool returned;  /* it is about to return from a call */
    bool forgetful; /* the kernel no longer knows how to resume the sleep */
    uint64_t kept;  /* signals that came although all were blocked */
};

/* The thread, stopped.  Or with *err, and the thread is untouched: 1 if it is
 * not asleep now, -1 if it may not be traced. */
int borrow_begin(struct borrowed *b, const struct remote *remote,
                 const struct landmarks *places, const struct sleeper *sleeper,
                 struct error *err);

/* Puts size bytes onto its stack: *at. */
int borrow_put(struct borrowed *b, const void *data, size_t size, uint64_t *at,
               struct error *err);

/* Calls function(first, second). If result is not NULL, steps through the call
 * and gives its return value: for short calls.  -1 with *err, and the thread
 * runs again. */
int borrow_call(struct borrowed *b, uint64_t function, uint64_t first,
                uint64_t second, uint64_t *result, struct error *err);

/* Lets the thread go on with its own work. */
void borrow_end(struct borrowed *b);

#endif
