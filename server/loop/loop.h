/*
 * loop.h - the event loop of the sessions: a role that threads take in turn.
 *
 * One lock, the loop's.  The thread that leads waits for events without it, and
 * handles each under it, from top to bottom.  A handler that is about to wait,
 * or to compute for long, leaves the loop: another thread leads from then on,
 * and the handler goes on without the lock until it rejoins.  So what is short
 * costs no switch of threads, and what belongs to "the loop" is guarded by one
 * lock, whoever holds it.  (Leader and followers: a queue of events to a pool
 * of threads costs two switches for each.)
 *
 * Other threads, as main's, take the lock to call what is said to be the
 * loop's.  At rest one thread leads, and one is ready to.
 */
#ifndef HW_LOOP_H
#define HW_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "watchdog.h"

struct error;

enum {
    LOOP_EVENTS = 64, /* of one round */
    LOOP_IDLE_MS = 5000,
    LOOP_NICE = 10, /* of a thread that computes for long */
#ifdef HW_WATCHFUL
    LOOP_STACK_BYTES = 8 << 20 /* frames are larger under a sanitizer */
#else
    LOOP_STACK_BYTES = 2 << 20
#endif
};

/* A descriptor that is watched; part of its owner. */
struct loop_source {
    int fd;          /* -1: closed */
    uint32_t events; /* EPOLLIN, ...; 0: it is not watched at all */
    void (*on_event)(struct loop_source *source, uint32_t events);
};

/* Something to do in the next round; part of its owner. */
struct loop_task {
    struct loop_task *next;
    bool queued;
    void (*run)(struct loop_task *task);
};

struct loop_tasks {
    struct loop_task *first, **end;
};

struct loop {
    pthread_mutex_t lock; /* of all that follows, and of what is the loop's */
    pthread_cond_t rest;  /* nobody leads, or all is over */
    int epoll;
    struct loop_source wake;
    bool led, stop;
    unsigned threads, resting; /* alive; of these, those that may lead */
    /* the last thread that ended, to be joined, if has_ended */
    pthread_t ended;
    bool has_ended;
    struct watchdog watchdog;
    struct epoll_event ready[LOOP_EVENTS];
    int ready_at, ready_count;
    struct loop_tasks later, now; /* of the next round, and of this one */
    uint64_t round_ms;            /* when this one began (clock_ms) */
    /* interval of on_tick, 0: none; and when the next is due */
    uint64_t tick_ms, due_ms;
    /* Set by the owner, before the start. */
    void (*on_tick)(void *arg);
    void (*on_wake)(void *arg); /* after loop_wake */
    void *arg;
};

int loop_init(struct loop *loop, struct error *err);
/* Starts the threads at rest.  -1 with *err. */
int loop_start(struct loop *loop, struct error *err);
/* Ends and awaits all threads; without the lock, and after their work. */
void loop_stop(struct loop *loop);
void loop_fini(struct loop *loop);

void loop_lock(struct loop *loop);
void loop_unlock(struct loop *loop);
/* Makes the leading thread call on_wake.  Any thread may call it without the
 * lock, a signal's handler, too. */
void loop_wake(struct loop *loop);

/* Lowers this thread's priority, as it computes for long off the loop and the
 * database goes first.  If the priority cannot be raised again (CAP_SYS_NICE),
 * the thread ends instead of leading once more. */
void loop_lower_priority(void);
/* Raises it again where that is allowed; before the loop's lock is taken again.
 */
void loop_restore_priority(void);

/* Does this thread lead? */
bool loop_leads(void);

/* ---- with the lock ---- */

/* Sets the events to watch for from now on; 0: none.  -1: no memory. */
int loop_watch(struct loop *loop, struct loop_source *source, uint32_t events);
/* Closes the descriptor.  The source's owner may be freed by a task, and not
 * before. */
void loop_close(struct loop *loop, struct loop_source *source);
/* Runs the task once, in the next round. */
void loop_later(struct loop *loop, struct loop_task *task);
void loop_cancel_task(struct loop *loop, struct loop_task *task);
/* ms 0: no ticks. */
void loop_set_tick(struct loop *loop, uint64_t ms);

/* Makes sure that another thread can lead; -1 with *err (1135). */
int loop_make_ready(struct loop *loop, struct error *err);
/* After loop_make_ready: another thread leads from now on, and the lock is
 * given up.  loop_lock() takes it again. */
void loop_yield_lead(struct loop *loop);

#endif
