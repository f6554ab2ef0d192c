/*
 * fanout.h - one question to many nodes, and its answers: see peers.h.
 *
 * A fan-out has two owners: the statement that asks, on any thread, and the
 * loop.  The cluster's lock guards what both touch; all calls of the waker are
 * made under it, so that none comes after the release.
 */
#ifndef HW_FANOUT_H
#define HW_FANOUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "peer_pool.h"
#include "peers.h"

enum {
    FANOUT_JITTER_MS = 100,    /* longest delay before each node, if nodes are
                                  asked a few at a time */
    FANOUT_TEXT_MAX = 8 << 20, /* bytes of a statement's text */
    FANOUT_SENT_MAX = 32 << 20 /* bytes of statement texts in flight: long texts
                                  go to fewer nodes at a time */
};

/* An item of the queue. */
struct fanout_item {
    struct fanout_item *next;
    struct peer_block *block; /* owned; NULL: an end */
};

struct fanout_end {
    struct fanout_item item; /* first */
    struct fanout_task *task;
    uint16_t code;
    bool truncated;
    uint64_t elapsed_us;
    char *text; /* owned; NULL if there was no memory for it */
};

/* One node's part. */
struct fanout_task {
    struct peer_fanout *fanout;
    struct peer_call call;
    struct fanout_end end;
    uint64_t begun_ns;
    size_t bytes; /* of its answer so far */
    /* the question was sent; the answer was cut at a ceiling; end is set */
    bool begun, cut, ended;
};

/* What the loop has to do; under the lock. */
enum { FANOUT_BEGIN = 1, FANOUT_RESUME = 2, FANOUT_LEAVE = 4 };

struct fanout_home; /* the cluster's part, below */

struct peer_fanout {
    struct fanout_home *home;
    struct peer_request request; /* its pointers are ours */
    struct sql_identity caller;
    uint64_t asked_ns, deadline_ms;
    /* under the lock */
    struct fanout_item *first, *last;
    size_t unread, to_take; /* bytes; ends that were not taken yet */
    /* todo: for the loop; holders: owners that have not let go */
    unsigned todo, holders;
    struct peer_fanout *next_due; /* the next fan-out with something to do */
    /* settled: the loop has no more to do with it */
    bool is_due, settled;
    bool released;
    bool full; /* links pause; the loop reads it without the lock */
    /* the loop's */
    struct peer_fanout *next, *previous; /* all that run */
    uv_timer_t deadline, jitter;
    unsigned handles; /* the two timers, until libuv has closed them */
    size_t begun, running, ended; /* tasks */
    size_t bytes;                 /* of all answers so far */
    bool leaving;                 /* no further node is asked */
    bool beginning;               /* begin_more() runs */
    /* the ids and the text lie behind the tasks */
    struct fanout_task tasks[];
};

/* The part that all fan-outs of the cluster share. */
struct fanout_home {
    uv_loop_t *loop;
    pthread_mutex_t *lock;
    struct peer_gather gather;
    struct peer_fanout *running; /* the loop's */
    struct peer_fanout *due;     /* under the lock */
    uint64_t seed;
    bool stopped; /* under the lock: the loop is not woken any more */
    void (*wake)(struct fanout_home *home); /* any thread */
    struct peer *(*find)(struct fanout_home *home, uint64_t id); /* loop */
};

/* ask, take and release of struct sql_peers (peers.h). */
struct peer_fanout *fanout_ask(struct fanout_home *home,
                               const struct peer_request *request,
                               struct error *err);
enum peer_event fanout_take(struct peer_fanout *fanout,
                            struct peer_block **block, struct peer_end *end);
void fanout_release(struct peer_fanout *fanout);

/* On the loop, once it was woken: does what todo says. */
void fanout_work(struct fanout_home *home);
/* Ends all of them with that error. */
void fanout_stop(struct fanout_home *home, const struct error *why);

#endif
