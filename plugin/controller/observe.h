/*
 * observe.h - what the database does, seen from outside: profiles of processor
 * time and of wall-clock time, and the stacks of all threads.
 *
 * Nothing is asked of the database, so it may hang, and needs neither an agent
 * nor jemalloc.  As with a controller's other requests, equal ones that wait
 * share one observation; one of each kind runs at a time, concurrently with
 * heap dumps.  It is cancelled when nobody follows it any more.
 */
#ifndef HW_OBSERVE_H
#define HW_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "flight.h"
#include "waker.h"

struct await;
struct controller;
struct error;
struct snapshot;
struct thread_list;

enum observe_kind {
    OBSERVE_CPU,    /* result.snapshot: time on the processor */
    OBSERVE_WALL,   /* result.snapshot: wall-clock time, waiting or not */
    OBSERVE_THREADS /* result.threads */
};

enum {
    OBSERVE_WAIT_S = 30,  /* for other profiles, at most: else it is refused */
    OBSERVE_SECONDS = 10, /* unless told otherwise */
    OBSERVE_SECONDS_MAX = 600,
    OBSERVE_HZ_MAX = 1000
};

/* Texts are copied. */
struct observe_request {
    enum observe_kind kind;
    uint32_t seconds, hz; /* of a profile; hz 0: sampler.h's default */
    bool kernel;          /* not of OBSERVE_WALL: with the kernel's functions */
    const char *owner;    /* the user, who shares the queue; NULL: none */
    bool keep;            /* the snapshot, in the store */
    const char *name;     /* its name; NULL: one is made up */
};

struct observe_result {
    struct snapshot *snapshot;   /* the taker's reference, or NULL */
    struct thread_list *threads; /* likewise */
};

/* NULL with *err: there is no process, or a number is out of bounds. */
struct seat *controller_observe(struct controller *controller,
                                const struct observe_request *request,
                                struct waker waker, struct error *err);

/* As controller_wait. */
int controller_observe_wait(struct seat *seat, struct await *await,
                            struct observe_result *result, struct error *err);

/* The process that would be observed, as we see it.  0 with *err. */
int32_t controller_observe_pid(struct controller *controller,
                               struct error *err);

/* Gives the unwind tables' files to another user, as whom heapwired will
 * continue, and keeps the right to a real-time priority that root has. */
int controller_observe_give(struct controller *controller, uint32_t uid,
                            uint32_t gid, struct error *err);

#endif
