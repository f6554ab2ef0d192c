/*
 * sql_cursor.h - what every cursor of sql/ has: cancelling and waiting.
 *
 * Any thread may cancel while another one steps, but not after free.
 */
#ifndef HW_SQL_CURSOR_H
#define HW_SQL_CURSOR_H

#include <stdatomic.h>

#include "cursor.h"
#include "waker.h"

struct arena;
struct catalog_table;
struct error;
struct rowset;

struct sql_cursor {
    struct cursor base; /* first */
    struct waker waker;
    atomic_bool cancelled;
    atomic_bool waiting; /* the last step said WAIT */
};

void sql_cursor_init(struct sql_cursor *cursor, const struct cursor_ops *ops,
                     struct waker waker);
void sql_cursor_cancel(struct cursor *base); /* every cursor's ops->cancel */

/* At the start of a step: -1 with 1317 when cancelled. */
int sql_cursor_check(struct sql_cursor *cursor, struct error *err);
/* At the end of one that waits: WAIT, or FAIL when cancelled meanwhile. */
enum step sql_cursor_wait(struct sql_cursor *cursor, struct error *err);

/* In the arena, for when the cursor is gone; NULL: no memory. */
const struct column *sql_cursor_copy_columns(const struct cursor *cursor,
                                             struct arena *arena);

/* An OK. */
struct cursor *sql_cursor_ok(struct error *err);
/* table's columns over rows, which are taken also on failure (NULL: none);
 * label replaces the first column's name (NULL: it stays). */
struct cursor *sql_cursor_rows(const struct catalog_table *table,
                               struct rowset *rows, const char *label,
                               struct error *err);

#endif
