/*
 * select_wait.h - what a SELECT fetches from the node while it runs.
 *
 * A table or a function that lacks something stops the statement
 * (select_need.h).  The cursor waits for it, holding no thread; then the
 * statement begins anew and passes over the rows that it has given out.  What
 * was fetched stays until the statement ends: all tables of one statement see
 * one moment.
 */
#ifndef HW_SELECT_WAIT_H
#define HW_SELECT_WAIT_H

#include <stdbool.h>

#include "cursor.h"
#include "select_need.h"
#include "waker.h"

struct catalog_scope;
struct error;
struct progress;
struct select_pins;
struct function_views;
struct sql_node;

enum {
    /* SELECTs that wait at once: each holds a handle, and others must find one
     * when the node is slow to answer. */
    SELECT_WAITERS_MAX = 32
};

/* pins and views are the statement's own, and last as long as wait does. */
void select_wait_init(struct select_wait *wait, struct select_pins *pins,
                      struct function_views *views, const struct sql_node *node,
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

#endif
