/*
 * borrow_thread.h - a thread of another process, stopped by ptrace: waits for
 * its stops, saves its state, and restores it.
 */
#ifndef HW_BORROW_THREAD_H
#define HW_BORROW_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "sleeper.h"

enum {
    BORROW_STATE_MAX = 16 * 1024,
    BORROW_STOP_MS = 1000,
    BORROW_MASK_BYTES = 8,     /* of a signal mask, the kernel's */
    BORROW_RESTART_BLOCK = 516 /* what a sleep returns that the kernel resumes
                                    with its remaining time */
};

enum borrow_stop {
    STOP_CALL,    /* at a system call */
    STOP_EVENT,   /* by PTRACE_INTERRUPT */
    STOP_SIGNAL,  /* a signal is about to be delivered */
    STOP_STOPPED, /* the whole process is stopped */
    STOP_EXEC,    /* it is another program now */
    STOP_GONE,
    STOP_LATE /* it did not stop in time */
};

struct borrowed {
    const struct remote *remote;
    const struct landmarks *places;
    struct sleeper sleeper;
    struct user_regs_struct regs;          /* as it was */
    unsigned char state[BORROW_STATE_MAX]; /* floating point and vectors */
    size_t state_size;
    uint64_t mask;  /* of signals */
    uint64_t below; /* what was put onto its stack ends here */
    uint64_t frame; /* by which it returns from the call */
    uint64_t next;  /* ... and from the next one */
    bool seized, stopped;
    bool returned;  /* it is about to return from a call */
    bool forgetful; /* the kernel no longer knows how to resume the sleep */
};

static inline uint64_t
borrow_thread_bit(int signal)
{
    return 1ULL << (signal - 1);
}

/* Until the next stop, or that time; *signal: which, of STOP_SIGNAL. */
enum borrow_stop borrow_thread_await(struct borrowed *b, uint64_t until_ms,
                                     int *signal);
/* A ptrace request; -1 with errno. */
long borrow_thread_request(struct borrowed *b, int what, uintptr_t data);
/* Lets the stopped thread run, by that request, and delivers that signal (0:
 * none). */
void borrow_thread_go_on(struct borrowed *b, int how, int signal);

/* Takes registers, signal mask and vectors.  -1 with errno. */
int borrow_thread_save(struct borrowed *b);
/* Was it stopped in the sleep that it was chosen for? */
bool borrow_thread_is_interrupted(const struct borrowed *b);

/* At a stop on the way back to the program, where the kernel itself restarts
 * most system calls. */
void borrow_thread_restore_there(struct borrowed *b);
/* At the entry of rt_sigreturn, replaces it by the sleep itself: our death does
 * no harm at any moment. */
void borrow_thread_restore_instead(struct borrowed *b);
/* Ends the tracing, and delivers that signal (0: none). */
void borrow_thread_let_go(struct borrowed *b, int signal);

#endif
