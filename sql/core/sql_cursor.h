/*
 * sql_cursor.h - the base of every cursor of sql/: its await.
 */
#ifndef HW_SQL_CURSOR_H
#define HW_SQL_CURSOR_H

#include "await.h"
#include "cursor.h"

struct arena;
struct catalog_table;
struct error;
struct rowset;

struct sql_cursor {
    struct cursor base;  /* first */
    struct await *await; /* NULL: it never waits, and is never cancelled */
};

void sql_cursor_init(struct sql_cursor *cursor, const struct cursor_ops *ops,
                     struct await *await);

/* Call it at the start of a step: -1 with 1317 if cancelled. */
int sql_cursor_check(struct sql_cursor *cursor, struct error *err);

/* Copies the columns into arena, where they outlive the cursor; NULL: out of
 * memory. */
const struct column *sql_cursor_copy_columns(const struct cursor *cursor,
                                             struct arena *arena);

/* A cursor that answers OK. */
struct cursor *sql_cursor_ok(struct error *err);
/* A cursor with table's columns over rows (NULL: none), which it takes, also on
 * failure. label replaces the first column's name, unless it is NULL. */
struct cursor *sql_cursor_rows(const struct catalog_table *table,
                               struct rowset *rows, const char *label,
                               struct error *err);

#endif
