/*
 * flight.h - work that several ask for: a thread of a pool runs it once, and
 * all who asked follow it.
 *
 * A follower has a seat, and may leave it at any time without harm to the work
 * or to others.  The work knows no follower: nobody's kill or deadline becomes
 * another's error.  Work that nobody follows any more is dropped while it waits
 * for its turn, cancelled where that is possible, and else runs on.  The pool
 * starts threads for what may run, up to its ceiling; they end once there was
 * nothing for FLIGHT_IDLE_MS: at rest there is none.
 *
 * flights.lock guards all of this and what else the owner puts under it.  It is
 * held while wakers run (they only post) and never while work does.
 */
#ifndef HW_FLIGHT_H
#define HW_FLIGHT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "await.h"
#include "errors.h"
#include "user_quota.h"
#include "waker.h"

enum { FLIGHT_IDLE_MS = 5000 };

struct flight;

struct flight_kind {
    /* Without the lock.  Ends in flight_finish, after which the flight may be
     * gone. */
    void (*run)(struct flight *flight);
    /* These with the lock. */
    void (*free)(struct flight *flight);
    bool (*progress)(struct flight *flight, struct progress *out);
    bool cancels; /* once nobody follows it; else it runs on */
};

/* First in what the owner shares. */
struct flight {
    const struct flight_kind *kind;
    struct flights *flights;
    struct flight *next;                  /* in the list */
    struct seat *seats;                   /* of those that follow */
    char owner[USER_QUOTA_OWNER_MAX + 1]; /* who asked first */
    bool listed, started, finished, failed;
    atomic_bool cancelled; /* run looks at it; nobody may join any more */
    struct error error;
    int references; /* the list's, each seat's, and the owner's */
};

struct seat {
    struct flight *flight;
    struct waker waker;
    bool keep; /* the owner's own */
    struct seat *next;
};

struct flights {
    pthread_mutex_t lock;
    struct flight *first; /* that have not finished, oldest first */
    /* One that has not started and may, or NULL.  With the lock. */
    struct flight *(*next)(struct flights *flights);
    const char *name; /* of the threads */
    unsigned max, threads, idle;
    bool stop, has_ended;
    pthread_t ended; /* the latest thread that did; it joins the one before */
    pthread_cond_t changed;
};

/* ---- for the owner ---- */

/* max: the ceiling of threads; 0: flight_join runs the work. */
void flights_init(struct flights *flights, const char *name, unsigned max,
                  struct flight *(*next)(struct flights *flights));
/* Begins nothing more, waits for what runs, joins the threads, and frees.  All
 * seats have been left.  Without the lock. */
void flights_stop(struct flights *flights);

/* All that follow with the lock. */

/* What may run has changed otherwise than by a start, an end or a seat left. */
void flights_roll(struct flights *flights);

/* One reference: the caller's.  The rest of it is zeroed.  owner: NULL: none.
 */
void flight_init(struct flight *flight, const struct flight_kind *kind,
                 struct flights *flights, const char *owner);
void flight_unref(struct flight *flight); /* NULL is fine */
/* A seat; begins what is neither in the list nor finished.  NULL with *err. */
struct seat *flight_join(struct flight *flight, struct waker waker,
                         struct error *err);
/* failure NULL: it succeeded.  Wakes. */
void flight_finish(struct flight *flight, const struct error *failure);

/* ---- for those that follow, without the lock ---- */

enum flight_state { FLIGHT_RUNS, FLIGHT_DONE, FLIGHT_FAILED };

/* FAILED: with *err. */
enum flight_state flight_poll(struct seat *seat, struct error *err);
/* Blocks until it has finished; the seat's waker is the await's.  -1 with *err:
 * it failed, or the wait is over. */
int flight_wait(struct seat *seat, struct await *await, struct error *err);
/* Frees the seat: its waker is not called any more once this returns.  NULL is
 * fine. */
void flight_leave(struct seat *seat);
/* How far the work is: false while that is unknown. */
bool flight_progress(struct seat *seat, struct progress *out);

#endif
