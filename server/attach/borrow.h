/*
 * borrow.h - call a function in another process, by a thread that sleeps there.
 *
 * The call is made as the kernel makes that of a signal handler: below the
 * thread's stack lies the frame from which rt_sigreturn restores everything.
 * So whatever becomes of us, the thread comes back by itself; all that its
 * program may notice then is EINTR.  Where we live on we put back more than a
 * handler could: the system call goes on as if nothing had been.
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
    BORROW_TEXT_MAX = 20 * 1024, /* that lies on its stack meanwhile */
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
    bool forgetful; /* the kernel has forgotten how the sleep goes on */
    uint64_t kept;  /* signals that came though nothing lets them */
};

/* The thread, stopped.  Or with *err, and nothing has happened to it: 1 if it
 * is not asleep now, -1 if it may not be traced. */
int borrow_begin(struct borrowed *b, const struct remote *remote,
                 const struct landmarks *places, const struct sleeper *sleeper,
                 struct error *err);

/* Puts size bytes onto its stack: *at. */
int borrow_put(struct borrowed *b, const void *data, size_t size, uint64_t *at,
               struct error *err);

/* Calls function(first, second).  Steps through it if result is not NULL, and
 * gives what it has returned: for short ones.  -1 with *err, and the thread has
 * been let go. */
int borrow_call(struct borrowed *b, uint64_t function, uint64_t first,
                uint64_t second, uint64_t *result, struct error *err);

/* Lets the thread go on with what it did. */
void borrow_end(struct borrowed *b);

#endif
