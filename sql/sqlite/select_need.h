/*
 * select_need.h - the data that a table or a function of a SELECT lacks.
 *
 * SQLite cannot pause inside of a table.  So a table whose data are missing
 * notes its need and stops the statement; select_wait.h fetches the data, and
 * the statement begins anew.  Fetched data stay until the statement ends.
 */
#ifndef HW_SELECT_NEED_H
#define HW_SELECT_NEED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "waker.h"

struct cluster_ask;
struct controller;
struct handle;
struct peer_survey;
struct select_pins;
struct function_views;
struct snapshot;
struct stats;
struct ticket;

/* A statement that can wait. */
struct select_wait {
    struct controller *controller;
    struct waker waker;
    unsigned fetched; /* needs already answered (enum catalog_need) */
    unsigned wanted;  /* needs of the table that stopped the statement */
    bool counted;     /* it counts among SELECT_WAITERS_MAX */
    pthread_mutex_t
        lock; /* guards the tickets, which progress may read at any time */
    struct ticket *snapshot_ticket, *stats_ticket;
    struct stats *stats; /* a reference, or NULL */
    struct peer_survey *survey;
    struct cluster_ask *asks; /* the last one asked comes first */
    atomic_size_t asked,
        answered; /* nodes of all questions, for the progress */
    struct select_pins *pins;
    struct function_views *views;
};

/*
 * For tables and functions, with SQLite's codes.  OK: the data are there.
 * xFilter returns any other code: the statement stopped, or handle->failure
 * says why the data cannot be had.
 */
int select_need(struct handle *handle, unsigned needs);
/* The fresh snapshot, borrowed. */
int select_need_fresh(struct handle *handle, struct snapshot **out);
/* Refuses, since handle->wait is NULL: ERROR. */
int select_need_refuse(struct handle *handle);

#endif
