/* function_table.h - all functions that a SELECT may call. */
#ifndef HW_FUNCTION_TABLE_H
#define HW_FUNCTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <sqlite3.h>

#include "function.h"
#include "reader.h"

/* Our functions, a table per file, and the views; NULL behind the last. */
const struct function *function_table(size_t i);

/* Ours, or one of SQLite's, by name in any case; false: no such function may be
 * called. */
bool function_table_find(struct span name, enum function_type *type);

/* Makes ours known to SQLite.  -1 when it refuses. */
int function_table_add(struct handle *handle);
/* One of ours, as SQLite calls it. */
bool function_table_get(const struct handle *handle, const char *name,
                        void (**call)(sqlite3_context *, int, sqlite3_value **),
                        void **arg);

#endif
