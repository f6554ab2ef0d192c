/*
 * flight.h - work that several clients ask for: a thread of a pool runs it
 * once, and all who asked follow it.
 *
 * A follower has a seat, and may leave it at any time without harm to the work
 * or to others.  The work knows no follower: one client's kill or deadline
 * never becomes another's error.  Work that nobody follows any more is dropped
 * while it waits for its turn, cancelled if its kind can be, and otherwise runs
 * on.  The pool starts threads for work that may run, up to its ceiling; a
 * thread ends after FLIGHT_IDLE_MS without work: at rest there is none.
 *
 * flights.lock guards all of this and what else the owner puts under it.  It is
 * held while wakers run (they only post) and never while work runs.
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
    /* These are called with the lock. */
    void (*free)(struct flight *flight);
    bool (*progress)(struct flight *flight, struct progress *out);
    bool cancels; /* set flight.cancelled once nobody follows it */
};

/* First member of the owner's struct. */
struct flight {
    const struct flight_kind *kind;
    struct flights *flights;
    struct flight *next;                  /* in the list */
    struct seat *seats;                   /* the followers' */
    char owner[USER_QUOTA_OWNER_MAX + 1]; /* who asked first */
    bool listed, started, finished, failed;
    atomic_bool cancelled; /* run() polls it; nobody may join any more */
    struct error error;
    int references; /* the list's, each seat's, and the owner's */
};

struct seat {
    struct flight *flight;
    struct waker waker;
    bool keep; /* for the owner's use */
    struct seat *next;
};

struct flights {
    pthread_mutex_t lock;
    struct flight *first; /* not finished, oldest first */
    /* The flight to start next, or NULL: none may start now.  With the lock. */
    struct flight *(*next)(struct flights *flights);
    const char *name; /* of the threads */
    unsigned max, threads, idle;
    bool stop, has_ended;
    pthread_t ended; /* the latest thread that ended; it joined the one before
                      * it */
    pthread_cond_t changed;
};

/* ---- for the owner ---- */

/* max: the ceiling of threads; 0: flight_join runs the work itself. */
void flights_init(struct flights *flights, const char *name, unsigned max,
                  struct flight *(*next)(struct flights *flights));
/* Starts nothing more, waits for running work, joins the threads, and frees.
 * All seats must have been left.  Without the lock. */
void flights_stop(struct flights *flights);

/* All that follow are called with the lock. */

/* Call when the answer of next() may have changed, other than by a start, an
 * end or a seat that was left. */
void flights_roll(struct flights *flights);

/* Starts with one reference, the caller's; the caller has zeroed the rest.
 * owner NULL: none. */
void flight_init(struct flight *flight, const struct flight_kind *kind,
                 struct flights *flights, const char *owner);
void flight_unref(struct flight *flight); /* NULL is fine */
/* Takes a seat, and begins the flight if it is neither in the list nor
 * finished.  NULL with *err. */
struct seat *flight_join(struct flight *flight, struct waker waker,
                         struct error *err);
/* Ends the flight and wakes its followers.  failure NULL: it succeeded. */
void flight_finish(struct flight *flight, const struct error *failure);

/* ---- for followers, without the lock ---- */

enum flight_state { FLIGHT_RUNS, FLIGHT_DONE, FLIGHT_FAILED };

/* FAILED: with *err. */
enum flight_state flight_poll(struct seat *seat, struct error *err);
/* Blocks until the flight has finished; the seat's waker must be the await's.
 * -1 with *err: it failed, or the await was cancelled or ran out of time. */
int flight_wait(struct seat *seat, struct await *await, struct error *err);
/* Frees the seat: its waker is not called any more once this returns.  NULL is
 * fine. */
void flight_leave(struct seat *seat);
/* Reports the progress of the work; false: unknown. */
bool flight_progress(struct seat *seat, struct progress *out);

#endif
