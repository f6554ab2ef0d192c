/*
 * select_wait.h - what a SELECT fetches from the node while it runs.
 *
 * A table or a function whose data are missing stops the statement
 * (select_need.h).  The cursor waits for them and holds no thread; then the
 * statement begins anew, and skips the rows that it has returned before.  The
 * data stay until the statement ends: all its tables show one moment.
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
    /* SELECTs that wait at one time.  Each holds a handle, and others must find
     * one while the node is slow. */
    SELECT_WAITERS_MAX = 32
};

/* pins and views belong to the statement, and last as long as wait. */
void select_wait_init(struct select_wait *wait, struct select_pins *pins,
                      struct function_views *views, const struct sql_node *node,
                      struct waker waker);
/* Gives up what is awaited, and frees what was fetched; the statement is
 * over. */
void select_wait_end(struct select_wait *wait);
void select_wait_fini(struct select_wait *wait);

/* Whether the statement stopped because data were missing. */
bool select_wait_stopped(const struct select_wait *wait);
/* Call it after that: WAIT, MORE (the statement may begin anew), or FAIL with
 * *err. */
enum step select_wait_step(struct select_wait *wait,
                           struct catalog_scope *scope, struct error *err);
/* cursor_ops.progress */
bool select_wait_progress(struct select_wait *wait, struct progress *out);

#endif
