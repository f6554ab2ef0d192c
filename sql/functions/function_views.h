/*
 * function_views.h - views as functions of SELECT: dot('a'), pprof('a', 'b').
 *
 * One for every form of view.h, and export for the snapshot's own file.  A view
 * that is not there yet stops the statement as a table does (select_wait.h);
 * those that are stay until it ends, for it reads them again each time that it
 * begins anew.
 */
#ifndef HW_FUNCTION_VIEWS_H
#define HW_FUNCTION_VIEWS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "cursor.h"
#include "waker.h"

struct error;
struct function;
struct job_progress;
struct view_cache;
struct view_ticket;

enum {
    FUNCTION_VIEWS_MAX = 512,           /* that one statement reads, */
    FUNCTION_VIEWS_BYTES_MAX = 64 << 20 /* and bytes of them: one always fits */
};

struct read_view;

struct function_views {
    struct view_cache *cache;
    struct waker waker;
    pthread_mutex_t *lock; /* of the ticket: progress may look at any time */
    struct view_ticket *ticket; /* awaited, for the first of: */
    struct read_view *first;
    size_t count, bytes;
};

/* Ends with one without a name. */
const struct function *function_views_list(void);

/* DONE: what was awaited is there; WAIT, or FAIL with *err. */
enum step function_views_step(struct function_views *views, struct error *err);
/* Under the lock.  False when none is awaited. */
bool function_views_progress(const struct function_views *views,
                             struct job_progress *out);
void function_views_end(struct function_views *views);

#endif
