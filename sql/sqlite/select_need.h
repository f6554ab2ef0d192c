/*
 * select_need.h - what a table or a function of a SELECT lacks.
 *
 * SQLite cannot pause inside of a table.  So a table whose data are missing
 * says what it needs and stops the statement; select_wait.h fetches it, and the
 * statement begins anew.  What was fetched stays until the statement ends.
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
    unsigned fetched; /* enum catalog_need, already answered */
    unsigned wanted;  /* asked for by the table that stopped the statement */
    bool counted;     /* among SELECT_WAITERS_MAX */
    pthread_mutex_t lock; /* of the tickets: progress may look at any time */
    struct ticket *snapshot_ticket, *stats_ticket;
    struct stats *stats; /* a reference, or NULL */
    struct peer_survey *survey;
    struct cluster_ask *asks;      /* the last first */
    atomic_size_t asked, answered; /* nodes, of all asks; progress looks */
    struct select_pins *pins;
    struct function_views *views;
};

/*
 * For tables and functions, SQLite's codes.  OK: it is there.  Another: xFilter
 * returns it; the statement stopped, or handle->failure says why it cannot be
 * had.
 */
int select_need(struct handle *handle, unsigned needs);
/* The fresh one, borrowed. */
int select_need_fresh(struct handle *handle, struct snapshot **out);
/* ERROR, where handle->wait is NULL. */
int select_need_refuse(struct handle *handle);

#endif
