/* select_value.h - a value of SQLite's as its column declares it. */
#ifndef HW_SELECT_VALUE_H
#define HW_SELECT_VALUE_H

#include <sqlite3.h>

#include "cursor.h"

struct arena;
struct error;

/* Column i of the statement's row; bytes are SQLite's until its next step, or
 * in arena.  What is no date in a column of dates is NULL.  -1 with 1037 or
 * 1690. */
int select_value(sqlite3_stmt *statement, int i, const struct column *column,
                 struct arena *arena, struct value *out, struct error *err);
/* Moves the bytes into arena. */
int select_value_keep(struct arena *arena, struct value *value,
                      struct error *err);

#endif
