/*
 * fetch.h - what a SELECT fetches from the node, and from others, while it
 * runs.
 *
 * A table or a function whose data are missing fetches them, and the statement
 * waits there.  The data stay until the statement ends: all its
 * tables show one moment.
 */
#ifndef HW_FETCH_H
#define HW_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "observed_name.h"

struct await;
struct cluster_ask;
struct controller;
struct error;
struct function_views;
struct handle;
struct memory_map;
struct peer_survey;
struct select_sources;
struct snapshot;
struct sql_node;
struct sql_session;
struct stats;
struct thread_list;

enum {
    /* SELECTs that wait at one time, which users share.  Each holds a handle,
     * and its user's others must find one while the node is slow. */
    FETCH_WAITERS_MAX = 96
};

/* What a statement that can wait has fetched. */
struct fetch {
    struct controller *controller;
    struct await *await;
    const char **slot;   /* among those that wait, while it does */
    unsigned fetched;    /* needs already answered (enum catalog_need) */
    struct stats *stats; /* references, or NULL */
    struct snapshot *snapshot;
    struct peer_survey *survey;
    struct thread_list *threads;
    struct memory_map *mappings;
    struct observed observed[OBSERVED_MAX];
    size_t observed_count;
    struct cluster_ask *asks; /* the last one asked comes first */
    struct select_sources *sources;
    struct function_views *views;
};

/*
 * Fetches what is missing; for tables and functions, so it returns SQLite's
 * codes.  OK: the data are there.  ERROR: handle->failure says why not.
 */
int fetch_needs(struct handle *handle, unsigned needs);
/* The fresh snapshot, borrowed. */
int fetch_fresh(struct handle *handle, struct snapshot **out);
/* Takes another snapshot now; the caller owns the reference. */
int fetch_another(struct handle *handle, struct snapshot **out);
/* Refuses because handle->fetch is NULL: ERROR. */
int fetch_refuse(struct handle *handle);

/* Call it before a wait.  -1 if too many wait already; handle->failure says
 * so. */
int fetch_begin_waiting(struct handle *handle);
void fetch_end_waiting(struct fetch *fetch);

/* Frees the data that were fetched from this node, and the survey. */
void fetch_fini(struct fetch *fetch);

/* ---- the state of all other members at this moment ----
 *
 * A node that does not answer in time is reported as such; the survey itself
 * does not fail.  It does not ask this node. */

enum { PEER_SURVEY_MS = 2000 };

/* One node's answer; its texts are clean and belong to the survey. */
struct peer_survey_answer {
    const char *error; /* why it did not answer; NULL: the rest is valid */
    const char *state, *since, *profiling, *reason, *started;
    unsigned cpus; /* 0: not known */
};

/* Starts the questions.  NULL with *err. */
struct peer_survey *peer_survey_new(const struct sql_session *session,
                                    struct await *await, struct error *err);
void peer_survey_free(struct peer_survey *survey); /* NULL is fine */
/* Blocks until all have answered or failed.  -1 with *err: the wait is over. */
int peer_survey_wait(struct peer_survey *survey, struct await *await,
                     struct error *err);
/* The node's answer, after that; NULL: the node was not asked. */
const struct peer_survey_answer *
peer_survey_find(const struct peer_survey *survey, uint64_t id);

#endif
