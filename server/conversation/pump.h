/*
 * pump.h - steps one cursor: instant ones on the loop, others on a worker.
 *
 * Everything here is called on the loop, but for take.  While a worker steps,
 * the cursor is the worker's; the loop may only cancel it.  A step that waits
 * keeps its thread, and lets others compute meanwhile.
 */
#ifndef HW_PUMP_H
#define HW_PUMP_H

#include <stdbool.h>

#include "await.h"
#include "cursor.h"
#include "errors.h"
#include "workers.h"

enum pump_state {
    PUMP_IDLE,     /* outcome and rows may be read; pump_step goes on */
    PUMP_STEPPING, /* a worker has the cursor, or will */
    PUMP_YIELDING  /* goes on in the loop's next turn */
};

struct pump {
    struct worker_job job; /* first */
    struct await await;
    struct cursor *cursor;
    struct rows rows; /* of the last step; borrowed until the next */
    enum step outcome;
    struct error error; /* when outcome is STEP_FAIL */
    enum pump_state state;
    bool opens;              /* a worker opens, or will */
    void (*open)(void *arg); /* on the worker: see pump_open */
    bool one_by_one; /* rows of a worker's step, for take; before the start */
    void (*ready)(
        void *arg); /* a step that pump_step left unfinished has ended */
    /* NULL, or called on the worker after each of its steps, with the pump as
     * if idle.  True: the worker may go on with another. */
    bool (*take)(void *arg);
    void *arg;
};

/* owner: the user charged for the worker; lasts as long as the pump.  What
 * opens the cursor gives it the pump's await, whose deadline the caller sets
 * before each step. */
void pump_init(struct pump *pump, struct workers *workers, const char *owner,
               void (*ready)(void *arg), void *arg);
/* Takes the cursor.  -1 with *err: out of memory, and the cursor is freed. */
int pump_start(struct pump *pump, struct cursor *cursor, struct error *err);

/* Before the start, once: has a worker call open, and then ready.  If it is
 * cancelled before its turn comes, open is not called and error says so. */
void pump_open(struct pump *pump);

/* True: stepped, see outcome.  False: ready will be called. */
bool pump_step(struct pump *pump);
/* Calls ready from the loop's next turn. */
void pump_yield(struct pump *pump);
/* The next outcome will be STEP_FAIL, or STEP_DONE if it was too late. */
void pump_cancel(struct pump *pump);

/* Not while PUMP_STEPPING. */
void pump_fini(struct pump *pump);

#endif
