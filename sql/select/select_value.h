/* select_value.h - converts SQLite's value to its column's declared type. */
#ifndef HW_SELECT_VALUE_H
#define HW_SELECT_VALUE_H

#include <sqlite3.h>
#include <stddef.h>

#include "cursor.h"
#include "reader.h"

struct arena;
struct cursor;
struct error;
struct opening;

/* Reads column i of the present row.  Its bytes are SQLite's until the next
 * step, or lie in arena.  A wrong date in a column of dates is NULL.  -1 with
 * 1037 or 1690. */
int select_value(sqlite3_stmt *statement, int i, const struct column *column,
                 struct arena *arena, struct value *out, struct error *err);
/* Copies the value's bytes to arena.  -1 with *err. */
int select_value_keep(struct arena *arena, struct value *value,
                      struct error *err);

/* Takes rows, also on failure.  The names must last as long as the cursor. */
struct cursor *select_into(const struct opening *opening, struct cursor *rows,
                           const struct span *names, size_t count,
                           struct error *err);

/* The same for DO, which drops the row. */
struct cursor *select_into_nothing(struct cursor *rows, struct error *err);

#endif
