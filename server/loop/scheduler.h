/*
 * scheduler.h - how many statements run beside the loop at one time.
 *
 * A statement that steps aside takes a place, so many may wait; to compute it
 * takes a turn, which few have: a hundred threads never compute beside a
 * database.  Where others wait a turn is over after COMPUTE_SLICE_MS, and goes
 * on behind them.  Users share both as user_quota.h says.  Statements of other
 * nodes have places of their own, or nodes full of statements that wait for
 * nodes would wait in a circle.
 *
 * Has a lock of its own, under which both wakers are called; any thread.
 */
#ifndef HW_SCHEDULER_H
#define HW_SCHEDULER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "waker.h"

enum {
    COMPUTE_SLOTS = 8,     /* statements that compute, */
    COMPUTE_SLICE_MS = 50, /* at a stretch, while others wait for that, */
    THREAD_SLOTS = 192, /* and with those that wait: so many of this node's and
                     so many of others' */
};

/* One statement's; zeroed, with the first four set. */
struct scheduler_entry {
    const char *owner;          /* lasts as long */
    struct waker slot, granted; /* what was waited for is there: a place, and
                                    a turn */
    bool forwarded;             /* of another node, which waits for it */
    /* turns.lock guards the rest. */
    bool has_slot, awaits_slot, queued, computes;
    struct scheduler_entry *next; /* with a place; or the first of the next user
                          that awaits one */
    struct scheduler_entry *ahead,
        *behind;                  /* of its user, that await a place */
    struct scheduler_entry *last; /* of them; the first one's */
    struct scheduler_entry *next_queued;
    uint64_t until_ms; /* its turn lasts so long (clock_ms) */
};

struct scheduler {
    pthread_mutex_t lock;
    struct scheduler_entry *with_slot;
    struct scheduler_entry *awaiting; /* a place: each user's first */
    struct scheduler_entry *computing[COMPUTE_SLOTS];
    struct scheduler_entry *queue; /* for a turn: the one that came first */
};

void scheduler_init(struct scheduler *scheduler);
void scheduler_fini(struct scheduler *scheduler);

/* True: it has a place.  False: there is none for its owner, and `place` will
 * be called; fine while it waits already. */
bool scheduler_take_thread_slot(struct scheduler *scheduler,
                                struct scheduler_entry *entry);
/* Gives up place and turn, or the wait; fine without. */
void scheduler_release_slots(struct scheduler *scheduler,
                             struct scheduler_entry *entry);

/* To be called in a place, and now and then while it computes.  True: it
 * computes; else it waits for others, and `granted` will be called.
 * at_once: whoever else computes, since it is about to end. */
bool scheduler_request_compute(struct scheduler *scheduler,
                               struct scheduler_entry *entry, bool at_once);
/* Whether it has computed for COMPUTE_SLICE_MS. */
bool scheduler_is_slice_over(struct scheduler *scheduler,
                             const struct scheduler_entry *entry);
/* It waits from now on, and others compute instead. */
void scheduler_yield_compute(struct scheduler *scheduler,
                             struct scheduler_entry *entry);
/* Whether it waits for its turn still. */
bool scheduler_awaits_compute(struct scheduler *scheduler,
                              struct scheduler_entry *entry);

#endif
