/*
 * scheduler.h - how many statements run off the loop at one time.
 *
 * A statement that leaves the loop takes a thread slot, so many may wait; to
 * compute it takes a compute slot, of which there are few: a hundred threads
 * never compute beside a database.  Where others wait, a time slice of
 * COMPUTE_SLICE_MS is given, and the next one behind them.  Users share both
 * kinds of slots as user_quota.h says.  Statements of other nodes have thread
 * slots of their own, or nodes full of statements that wait for nodes would
 * wait in a circle.
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
    const char *owner; /* lives as long as the entry */
    /* called when a thread slot, a compute slot is granted */
    struct waker slot, granted;
    /* from another node, which waits for the answer */
    bool forwarded;
    /* scheduler.lock guards the rest. */
    bool has_slot, awaits_slot, queued, computes;
    struct scheduler_entry *next; /* with a thread slot; or the first of the
                                      next user that awaits one */
    /* neighbours in the line of its user */
    struct scheduler_entry *ahead, *behind;
    /* the line's last; set in its first */
    struct scheduler_entry *last;
    struct scheduler_entry *next_queued;
    uint64_t until_ms; /* its time slice lasts so long (clock_ms) */
};

struct scheduler {
    pthread_mutex_t lock;
    struct scheduler_entry *with_slot;
    struct scheduler_entry *awaiting; /* a thread slot: each user's first */
    struct scheduler_entry *computing[COMPUTE_SLOTS];
    struct scheduler_entry *queue; /* for a compute slot: who came first */
};

void scheduler_init(struct scheduler *scheduler);
void scheduler_fini(struct scheduler *scheduler);

/* True: it has a thread slot.  False: there is none for its owner, and `slot`
 * will be called; fine while it waits already. */
bool scheduler_take_thread_slot(struct scheduler *scheduler,
                                struct scheduler_entry *entry);
/* Releases both slots, or ends the wait; fine without. */
void scheduler_release_slots(struct scheduler *scheduler,
                             struct scheduler_entry *entry);

/* To be called with a thread slot, and now and then while it computes.  True:
 * it computes; else it waits for others, and `granted` will be called.
 * at_once: whoever else computes, since it is about to end. */
bool scheduler_request_compute(struct scheduler *scheduler,
                               struct scheduler_entry *entry, bool at_once);
/* Has it computed for COMPUTE_SLICE_MS? */
bool scheduler_is_slice_over(struct scheduler *scheduler,
                             const struct scheduler_entry *entry);
/* It begins to wait, and others compute instead. */
void scheduler_yield_compute(struct scheduler *scheduler,
                             struct scheduler_entry *entry);
/* Does it still wait for a compute slot? */
bool scheduler_awaits_compute(struct scheduler *scheduler,
                              struct scheduler_entry *entry);

#endif
