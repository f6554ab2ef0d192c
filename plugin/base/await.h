/*
 * await.h - how one thread waits for others: until a notification comes, its
 * time is up, or it is cancelled.  It also reports the progress of the awaited
 * work.
 *
 * Each statement has one, which outlives the statement's work and serves as its
 * cancel token.  One thread at a time waits; any thread may cancel, wake and
 * read progress.
 */
#ifndef HW_AWAIT_H
#define HW_AWAIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "waker.h"

struct error;

enum { AWAIT_TICK_MS = 250 };

/* The progress of slow work, in stages of its own. */
struct progress {
    unsigned stage, stages; /* from 1 */
    unsigned percent;       /* of the stage; 0: unknown */
    const char *text;       /* static */
};

/* False: no figure is known yet. */
typedef bool await_progress_of(void *of, struct progress *out);

struct await {
    atomic_bool cancelled;
    _Atomic(const char *) waits; /* a static text: what it waits for; or NULL */
    /* clock_ms, after which every wait fails; 0: never.  The waiting thread's
     * between two waits. */
    uint64_t deadline_ms;
    /* Time that the user asked for explicitly (a profile of 60 s, a sleep); the
     * deadline moves by it. */
    atomic_uint_fast64_t granted_ms;
    /* NULL, or called by the statement's thread before and after a wait that
     * blocks, and when a long computation begins or goes on (begins is false).
     * It may cancel the await. */
    void (*parks)(void *arg, bool begins);
    /* NULL, or called by that thread now and then while it waits or computes,
     * at least every AWAIT_TICK_MS of a wait. */
    void (*tick)(void *arg);
    void *arg;
    pthread_mutex_t lock; /* guards notified; taken last: wakers take it */
    pthread_cond_t changed;
    bool notified;
    pthread_mutex_t progress_lock; /* guards what follows; taken first */
    await_progress_of *progress;
    void *of;
    unsigned before, after; /* stages besides those of what is awaited */
};

void await_init(struct await *await, void (*parks)(void *arg, bool begins),
                void *arg);
void await_fini(struct await *await);

/* Cannot be undone: every wait fails, now and later. */
void await_cancel(struct await *await);
bool await_cancelled(const struct await *await);
/* Moves the deadline: the caller asked for work that takes this long. */
void await_grant(struct await *await, uint64_t ms);
/* Called between two waits: the later ones fail at until_ms (clock_ms) at the
 * latest, whatever was granted.  Returns the earlier deadline, which the caller
 * puts back. */
uint64_t await_limit(struct await *await, uint64_t until_ms);
/* Whether it is cancelled, or its time is up. */
bool await_is_over(const struct await *await);
/* -1 with 1317 if it is cancelled. */
int await_check(const struct await *await, struct error *err);

/* The thread begins, or goes on with, a long computation; NULL is fine. */
void await_compute(struct await *await);

/* A waker whose wake notifies this await: it ends the present wait, or the next
 * one. */
struct waker await_waker(struct await *await);
/* Blocks until a notification comes.  -1 with 1317: the wait is over. */
int await_notification(struct await *await, struct error *err);
/* The same, but until until_ms (clock_ms; 0: no limit) at the latest.  what
 * is a static text for the list of processes: "User sleep".  A notification
 * is consumed by the wait that it ends: check your condition before the next
 * wait. */
int await_until(struct await *await, const char *what, uint64_t until_ms,
                struct error *err);

/* Blocks until a notification comes or the await is over; parks is not called:
 * this is how parks itself waits. */
void await_pause(struct await *await);

/* From now on await_progress asks progress(of); NULL: nobody is asked.  Once
 * this returns, the former one is not being called and will not be. */
void await_watch(struct await *await, await_progress_of *progress, void *of);
/* What is awaited next is a part of larger work, which has so many stages
 * before it and after it. */
void await_stages(struct await *await, unsigned before, unsigned after);
bool await_progress(struct await *await, struct progress *out);

#endif
