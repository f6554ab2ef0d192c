/*
 * function_views.h - views as functions of SELECT: dot('a'), pprof('a', 'b').
 *
 * There is one for each form of view.h, and export for the snapshot's own file.
 * A view that is missing stops the statement as a table does (select_wait.h).
 * Finished views stay until the statement ends, since it reads them again each
 * time it begins anew.
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
    FUNCTION_VIEWS_MAX = 512, /* views of one statement */
    FUNCTION_VIEWS_BYTES_MAX =
        64 << 20 /* bytes of these views; the first one always fits */
};

struct read_view;

struct function_views {
    struct view_cache *cache;
    struct waker waker;
    pthread_mutex_t
        *lock; /* guards ticket, which progress may read at any time */
    struct view_ticket *ticket; /* the view that is awaited, or NULL */
    struct read_view *first;
    size_t count, bytes;
};

/* The list ends with an entry whose name is NULL. */
const struct function *function_views_list(void);

/* DONE once the awaited view has arrived; WAIT, or FAIL with *err. */
enum step function_views_step(struct function_views *views, struct error *err);
/* The caller holds the lock.  False: no view is awaited. */
bool function_views_progress(const struct function_views *views,
                             struct job_progress *out);
void function_views_end(struct function_views *views);

#endif
