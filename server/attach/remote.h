/*
 * remote.h - another process: its memory, and a thread of it that is borrowed.
 *
 * Symbols are read from its memory, not from files: whatever its mount
 * namespace, and whatever was upgraded on disk since it started.
 */
#ifndef HW_REMOTE_H
#define HW_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "mappings.h"

struct arena;
struct error;

enum { REMOTE_MAPS_MAX = 64 << 20, REMOTE_CODE_MAX = 16 << 20 };

struct remote {
    pid_t pid;
    int memory;          /* /proc/<pid>/mem; -1 */
    struct arena *arena; /* of maps */
    struct mappings maps;
};

/* -1 with *err; close is due in any case. */
int remote_open(struct remote *r, pid_t pid, struct error *err);
void remote_close(struct remote *r);
/* Looks at its mappings again. */
int remote_read_mappings(struct remote *r, struct error *err);

/* Exactly size bytes, or -1 with errno. */
int remote_read(const struct remote *r, uint64_t at, void *out, size_t size);
int remote_write(const struct remote *r, uint64_t at, const void *data,
                 size_t size);

/* NULL: nothing is mapped there. */
const struct mapping *remote_find(const struct remote *r, uint64_t address);
/* The base name of a mapped file; "" for anything else. */
const char *mapping_name(const struct mapping *m);

/* The first mapping of the first file whose base name begins with name; NULL:
 * none. */
const struct mapping *remote_object(const struct remote *r, const char *name);

/* The address of an exported function, of the object that begins with this
 * mapping; 0: there is none.  For a function with several versions, within (0:
 * any) is an address inside the wanted one. */
uint64_t remote_symbol(const struct remote *r, const struct mapping *object,
                       const char *name, uint64_t within);

/* The address where the object's code has these bytes; 0: nowhere. */
uint64_t remote_search(const struct remote *r, const struct mapping *object,
                       const void *bytes, size_t size);

/* ---- sleeper.c ----
 * Which thread of a process may be borrowed.  One that sleeps in a system call
 * which waits for something outside, made by a wrapper of libc that the program
 * itself called: it holds no lock of malloc, libc or the loader.  Everything
 * else is left alone. */

enum { SLEEPER_NAME_MAX = 16 };

/* Places of the process that sleepers are judged by. */
struct landmarks {
    const struct mapping *libc, *loader;
    uint64_t restorer; /* where signal handlers return to */
    uint64_t store;    /* stores a result where rbx points; 0: nowhere */
};

struct sleeper {
    pid_t tid;
    char name[SLEEPER_NAME_MAX];
    const char *call; /* the system call's name */
    long number;
    uint64_t arguments[6], stack, code;
    int rank; /* the lower, the better */
    /* epoll's, > 0: the kernel would start it again with all of it */
    int timeout_ms;
    uint64_t
        slept_at_ms; /* of such a wait: the latest time at which it began */
};

/* The best thread now with at most that rank; -1 with *err, which says what the
 * threads do instead. */
int sleeper_choose(const struct remote *r, const struct landmarks *landmarks,
                   int rank_max, struct sleeper *out, struct error *err);

enum {
    SLEEPER_RANK_WAITS = 3, /* from here on the thread waits for another one */
    SLEEPER_RANK_MAX = 5
};

/* For a stopped thread: does its stack still allow the call? */
bool sleeper_is_fit(const struct remote *r, const struct landmarks *landmarks,
                    const struct sleeper *s, const char **why);

/* ---- borrow_thread.c ----
 * A thread of another process, stopped by ptrace: waits for its stops, saves
 * its state, and restores it. */

enum {
    BORROW_STATE_MAX = 16 * 1024,
    BORROW_STOP_MS = 1000,     /* for a thread to stop */
    BORROW_MASK_BYTES = 8,     /* of a signal mask, the kernel's */
    BORROW_RESTART_BLOCK = 516 /* what a sleep returns that the kernel resumes
                                    with its remaining time */
};

enum borrow_stop {
    STOP_CALL,    /* at a system call */
    STOP_EVENT,   /* by PTRACE_INTERRUPT */
    STOP_SIGNAL,  /* a signal is about to be delivered */
    STOP_STOPPED, /* the whole process is stopped */
    STOP_EXEC,    /* the thread runs another program now */
    STOP_GONE,
    STOP_LATE /* it did not stop in time */
};

struct borrowed {
    const struct remote *remote;
    const struct landmarks *landmarks;
    struct sleeper sleeper;
    struct user_regs_struct regs;          /* the registers as they were */
    unsigned char state[BORROW_STATE_MAX]; /* floating point and vectors */
    size_t state_size;
    uint64_t mask;       /* of signals */
    uint64_t below;      /* what was put onto its stack ends here */
    uint64_t frame;      /* the frame by which it returns from the call */
    uint64_t next_frame; /* ... and from the next call */
    bool seized, stopped;
    bool returned;     /* it is about to return from a call */
    bool restart_lost; /* the kernel no longer knows how to resume the sleep */
};

static inline uint64_t
borrow_thread_bit(int signal)
{
    return 1ULL << (signal - 1);
}

/* Waits until the next stop, or that time; *signal: of STOP_SIGNAL. */
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
/* For a stop at the entry of rt_sigreturn, which the sleep itself replaces: our
 * death does no harm at any moment. */
void borrow_thread_restore_instead(struct borrowed *b);
/* Ends the tracing, and delivers that signal (0: none). */
void borrow_thread_let_go(struct borrowed *b, int signal);

/* ---- borrow.c ----
 * Call a function in another process, by a thread that sleeps there.  The call
 * is made as the kernel calls a signal handler: below the thread's stack lies
 * the frame from which rt_sigreturn restores everything.  So if we die, at any
 * instant, the thread comes back by itself; its program may notice only EINTR.
 * While we live, we restore more than a handler could: the system call
 * continues unchanged.  Signals that come meanwhile wait.  The caller has
 * SIGCHLD blocked. */

enum {
    BORROW_TEXT_MAX = 20 * 1024, /* placed on the thread's stack */
    BORROW_CALL_MS = 5000
};

/* The thread, stopped.  Or with *err, and the thread is untouched: 1 if it is
 * not asleep now, -1 if it may not be traced. */
int borrow_begin(struct borrowed *b, const struct remote *remote,
                 const struct landmarks *landmarks,
                 const struct sleeper *sleeper, struct error *err);

/* Puts size bytes onto the thread's stack; *at: where. */
int borrow_put(struct borrowed *b, const void *data, size_t size, uint64_t *at,
               struct error *err);

/* Calls function(first, second), and puts what it returns into its memory at
 * result (0: nowhere; else landmarks->store is needed).  -1 with *err, and the
 * thread runs again. */
int borrow_call(struct borrowed *b, uint64_t function, uint64_t first,
                uint64_t second, uint64_t result, struct error *err);

/* Lets the thread go on with its own work. */
void borrow_end(struct borrowed *b);

#endif
