/*
 * sleeper.h - which thread of a process may be borrowed.
 *
 * One that sleeps in a system call which waits for something outside, made by a
 * wrapper of libc that the program itself called: it holds no lock of malloc,
 * libc or the loader.  Everything else is left alone.
 */
#ifndef HW_SLEEPER_H
#define HW_SLEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "remote.h"

struct error;

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
    int rank;       /* the lower, the better */
    int timeout_ms; /* epoll's, > 0: the kernel does not go on with it */
    uint64_t
        slept_at_ms; /* of such a wait: the latest time at which it began */
};

/* The best thread now with at most that rank; -1 with *err, which says what the
 * threads do instead. */
int sleeper_choose(const struct remote *r, const struct landmarks *places,
                   int rank_max, struct sleeper *out, struct error *err);

enum {
    SLEEPER_RANK_WAITS = 3, /* for another thread: from here on */
    SLEEPER_RANK_MAX = 5
};

/* For a stopped thread: whether its stack still allows the call. */
bool sleeper_is_fit(const struct remote *r, const struct landmarks *places,
                    const struct sleeper *s, const char **why);

#endif
