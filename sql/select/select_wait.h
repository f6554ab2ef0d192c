/*
 * select_wait.h - what a SELECT fetches from the node while it runs.
 *
 * SQLite cannot pause inside of a table.  So one whose data are not there yet
 * says what it needs and stops the statement; the cursor waits for the node,
 * holding no thread, and the statement begins anew, passing over the rows that
 * were given out.  What was fetched stays until the statement ends: all tables
 * of one statement see one moment.
 */
#ifndef HW_SELECT_WAIT_H
#define HW_SELECT_WAIT_H

#include <pthread.h>
#include <stdatomic.h>

#include "catalog.h"
#include "handle.h"
#include "select_pins.h"
#include "select_views.h"
#include "waker.h"

struct cluster_ask;
struct controller;
struct peer_survey;
struct progress;
struct sql_node;
struct ticket;

enum {
    /* SELECTs that wait at once: each holds a handle, and others must find one
     * when the node is slow to answer. */
    SELECT_WAITERS_MAX = 32
};

struct select_wait {
    struct controller *controller;
    struct waker waker;
    unsigned fetched; /* enum catalog_need, already answered */
    unsigned wanted;  /* asked for by the table that stopped the statement */
    bool counted;     /* among those who wait */
    pthread_mutex_t lock; /* of the tickets: progress may look at any time */
    struct ticket *snapshot_ticket, *stats_ticket;
    struct stats *stats; /* a reference, or NULL */
    struct peer_survey *survey;
    struct cluster_ask *asks;      /* the last first */
    atomic_size_t asked, answered; /* nodes, of all asks; progress looks */
    struct select_pins pins;
    struct select_views views;
};

void select_wait_init(struct select_wait *wait, const struct sql_node *node,
                      struct waker waker);
/* Gives up what is awaited and what was fetched; the statement is over. */
void select_wait_end(struct select_wait *wait);
void select_wait_fini(struct select_wait *wait);

/* Whether the statement stopped for want of something. */
bool select_wait_stopped(const struct select_wait *wait);
/* Once it did: WAIT, MORE when it may begin anew, FAIL with *err. */
enum step select_wait_step(struct select_wait *wait,
                           struct catalog_scope *scope, struct error *err);
/* cursor_ops.progress */
bool select_wait_progress(struct select_wait *wait, struct progress *out);

/*
 * For tables and functions, SQLite's codes.  OK: it is there.  Another: xFilter
 * returns it; the statement stopped, or handle->failure says why it cannot be
 * had.
 */
int select_need(struct handle *handle, unsigned needs);
/* The fresh one, borrowed. */
int select_fresh(struct handle *handle, struct snapshot **out);
/* ERROR, where handle->wait is NULL. */
int select_cannot_wait(struct handle *handle);

#endif
