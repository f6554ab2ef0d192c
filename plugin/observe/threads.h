/*
 * threads.h - the threads of a process: what each does and waits for, and its
 * stack.
 *
 * Nothing is asked of the process, so it may hang.  A thread's registers and
 * stack are copied while it waits, or is stopped, alone: the list shows no
 * single moment, but a thread that waits still waits.
 */
#ifndef HW_THREADS_H
#define HW_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind_walk.h"

struct arena;
struct error;
struct thread_copy;

enum { THREADS_MAX = 8192, THREAD_DEPTH_MAX = 512 };

struct thread_entry {
    int32_t tid, pid;
    const char *name;
    /* What ps shows of the process, if it is a child; NULL: the database's own
     * process. */
    const char *process;
    char state;        /* as in /proc: R, S, D, T, t, Z, ... */
    bool timed;        /* it waits for a futex with a timeout */
    bool owner_ended;  /* owner has ended, and nobody will unlock the mutex */
    const char *wchan; /* the kernel's function in which it waits; "" */
    /* Its calls in the kernel, "outermost;...;innermost"; NULL: it runs, this
     * user may not know, or it was not asked for. */
    const char *kernel;
    uint64_t user_ms, system_ms; /* processor time since its start */
    const uint64_t *addresses;   /* leaf first; all but the first are one less
                                    than the return address */
    uint32_t depth;              /* 0: no stack */
    uint32_t pause_us;           /* for how long it was stopped */
    const char *why; /* why the stack is missing or ends too soon; "" */
    uint64_t futex;  /* address of the futex that it waits for; 0: none */
    int32_t owner;   /* tid that holds this mutex; 0: unknown */
    /* Number of its deadlock, from 1: threads with one number wait for each
     * other in a circle.  0: none. */
    uint32_t deadlock;
};

struct thread_list {
    struct thread_entry *list; /* ascending by tid */
    size_t count;
    size_t left_out; /* beyond THREADS_MAX */
    uint32_t deadlocks;
    bool opened; /* the process was made dumpable for it */
    uint64_t stops, pause_total_us, pause_max_us;
    struct names *names; /* of all addresses (names.h); NULL: not named yet */
    int64_t taken_ms;    /* wall clock */
    int32_t pid;
    size_t process_count; /* with those that it forked (processes.h) */
    size_t beyond;        /* processes for which there was no room */
    size_t closed;        /* children that may not be looked at */
    size_t clashes;       /* files of children that overlap others' code */
    size_t unjoined;      /* children whose own libraries were not looked at */
    struct arena *arena;  /* holds all of it but names */
    atomic_int references;
};

struct threads_options {
    int32_t pid; /* in this process's pid namespace */
    bool stacks; /* if false, no thread is stopped: only what /proc says */
    bool kernel; /* with what they call in the kernel */
    /* With stacks: finds the callers in a copy of a thread, which runs on
     * meanwhile.  Writes at most room addresses, as in struct thread_entry;
     * returns their number. */
    uint32_t (*walk)(void *arg, const struct thread_copy *copy,
                     uint64_t *addresses, uint32_t room, enum unwind_end *end);
    void *arg;
    /* clock_ms() after which no thread is copied; 0: none */
    uint64_t deadline_ms;
    const atomic_bool *cancelled; /* or NULL */
};

/*
 * Lists the threads of the process and of those that it forked, on the caller's
 * thread.  A thread that cannot be copied is listed without a stack, and why
 * says so.  -1 with *err: there is no such process, it cannot be looked at, no
 * memory, cancelled.
 */
int threads_take(const struct threads_options *options,
                 struct thread_list **out, struct error *err);

struct thread_list *thread_list_ref(struct thread_list *list);
void thread_list_unref(struct thread_list *list); /* NULL is fine */
/* NULL: it has no such thread. */
const struct thread_entry *thread_list_find(const struct thread_list *list,
                                            int32_t tid);

/* ---- threads with equal stacks ----
 * Those without a stack are one group for each reason. */

struct thread_group {
    /* Ascending by tid; borrowed from the list. */
    const struct thread_entry *const *threads;
    size_t count; /* at least 1 */
};

struct thread_groups {
    struct thread_group *list; /* the largest first, then by their first tid */
    size_t count;
    /* the groups' arrays, one after the other */
    const struct thread_entry **threads;
};

/* -1: no memory. */
int thread_groups_init(struct thread_groups *groups,
                       const struct thread_list *list);
void thread_groups_fini(struct thread_groups *groups); /* zeroed is fine */

/* Sets of[i] to the group of thread i of the list, for all threads. */
void thread_groups_each(const struct thread_groups *groups,
                        const struct thread_list *list,
                        const struct thread_group **of);

#endif
