/*
 * await.h - how one thread waits for others: until a notification comes, its
 * time is up, or it is cancelled; and how far what it waits for is.
 *
 * One for each statement, which it outlives: its cancel token.  One thread at a
 * time waits; any thread may cancel, wake and look.
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

/* How far slow work is, in its own stages. */
struct progress {
    unsigned stage, stages; /* from 1 */
    unsigned percent;       /* of the stage; 0: unknown */
    const char *text;       /* static */
};

/* False: no figure yet. */
typedef bool await_progress_of(void *of, struct progress *out);

struct await {
    atomic_bool cancelled;
    _Atomic(const char *) waits; /* NULL, or static: for what it waits now */
    /* clock_ms, after which every wait fails; 0: never.  The waiting thread's
     * between two waits. */
    uint64_t deadline_ms;
    /* Time that was asked for in so many words, and so moves the deadline. */
    atomic_uint_fast64_t granted_ms;
    /* NULL, or called by the statement's thread around a wait that blocks, and
     * when it computes for long (begins false).  It may cancel the await. */
    void (*parks)(void *arg, bool begins);
    /* NULL, or called by that thread now and then while it waits or computes,
     * at least every AWAIT_TICK_MS of a wait. */
    void (*tick)(void *arg);
    void *arg;
    pthread_mutex_t lock; /* of notified; the last one taken: wakers take it */
    pthread_cond_t changed;
    bool notified;
    pthread_mutex_t progress_lock; /* of what follows; the first one taken */
    await_progress_of *progress;
    void *of;
    unsigned before, after; /* stages besides those of what is awaited */
};

void await_init(struct await *await, void (*parks)(void *arg, bool begins),
                void *arg);
void await_fini(struct await *await);

/* For good: every wait fails, now and later. */
void await_cancel(struct await *await);
bool await_cancelled(const struct await *await);
/* The work takes that long because its caller said so: the deadline moves. */
void await_grant(struct await *await, uint64_t ms);
/* Between two waits: those to come fail at that time (clock_ms) at the latest,
 * whatever was granted.  The deadline of before, which the caller puts back. */
uint64_t await_limit(struct await *await, uint64_t until_ms);
/* Whether it is cancelled, or its time is up. */
bool await_is_over(const struct await *await);
/* -1 with 1317 if it is cancelled. */
int await_check(const struct await *await, struct error *err);

/* The thread computes for long, from now on or still; NULL is fine. */
void await_compute(struct await *await);

/* Its wake is a notification, which ends the wait, or the next one. */
struct waker await_waker(struct await *await);
/* Blocks until a notification comes.  -1 with 1317: the wait is over. */
int await_notification(struct await *await, struct error *err);
/* The same, but no longer than until that time (clock_ms; 0: no limit); what is
 * static: "User sleep".  Notifications are taken then: look before the next
 * wait. */
int await_until(struct await *await, const char *what, uint64_t until_ms,
                struct error *err);

/* Blocks until a notification comes or it is over; parks is not called. */
void await_pause(struct await *await);

/* From now on await_progress asks of for its progress; progress NULL: nothing
 * more.  It is not asked any more once this returns. */
void await_watch(struct await *await, await_progress_of *progress, void *of);
/* What is awaited next is a part of more: so many stages come before it, and
 * after it. */
void await_stages(struct await *await, unsigned before, unsigned after);
bool await_progress(struct await *await, struct progress *out);

#endif
