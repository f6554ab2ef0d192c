/*
 * borrow.h - call a function in another process, by a thread that sleeps there.
 *
 * The call is made as the kernel calls a signal handler: below the thread's
 * stack lies the frame from which rt_sigreturn restores everything.  So if we
 * die, at any instant, the thread comes back by itself; its program may notice
 * only EINTR. While we live, we restore more than a handler could: the system
 * call continues unchanged.
 *
 * Signals that come meanwhile wait.  The caller has SIGCHLD blocked.
 */
#ifndef HW_BORROW_H
#define HW_BORROW_H

#include <stddef.h>
#include <stdint.h>

#include "borrow_thread.h"

struct error;

enum {
    BORROW_TEXT_MAX = 20 * 1024, /* placed on the thread's stack */
    BORROW_CALL_MS = 5000
};

/* The thread, stopped.  Or with *err, and the thread is untouched: 1 if it is
 * not asleep now, -1 if it may not be traced. */
int borrow_begin(struct borrowed *b, const struct remote *remote,
                 const struct landmarks *places, const struct sleeper *sleeper,
                 struct error *err);

/* Puts size bytes onto its stack: *at. */
int borrow_put(struct borrowed *b, const void *data, size_t size, uint64_t *at,
               struct error *err);

/* Calls function(first, second), and puts what it returns into its memory at
 * result (0: nowhere; else places->store is needed).  -1 with *err, and the
 * thread runs again. */
int borrow_call(struct borrowed *b, uint64_t function, uint64_t first,
                uint64_t second, uint64_t result, struct error *err);

/* Lets the thread go on with its own work. */
void borrow_end(struct borrowed *b);

#endif
