/*
 * function_views.h - views as functions of SELECT: dot('a'), pprof('a', 'b').
 *
 * There is one for each form of view.h, and export for the snapshot's own file.
 * The statement waits for a view that is missing (fetch.h).  Views stay until
 * it ends, since its rows borrow their bytes.
 */
#ifndef HW_FUNCTION_VIEWS_H
#define HW_FUNCTION_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

struct function;
struct view_cache;

enum {
    FUNCTION_VIEWS_MAX = 512, /* views of one statement */
    FUNCTION_VIEWS_BYTES_MAX =
        64 << 20 /* bytes of these views; the first one always fits */
};

struct read_view;

struct function_views {
    struct view_cache *cache;
    struct read_view *first;
    size_t count, bytes;
};

/* The list ends with an entry whose name is NULL. */
const struct function *function_views_list(void);

void function_views_fini(struct function_views *views);

#endif
