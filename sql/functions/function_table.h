/* function_table.h - all functions that a SELECT may call. */
#ifndef HW_FUNCTION_TABLE_H
#define HW_FUNCTION_TABLE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "function.h"
#include "reader.h"

/* The lists, one per file.  Each ends with an entry whose name is NULL. */
extern const struct function session_functions[];
extern const struct function compare_functions[];
extern const struct function number_functions[];
extern const struct function text_functions[];
extern const struct function search_functions[];
extern const struct function date_functions[];
extern const struct function interval_functions[];
extern const struct function format_functions[];
extern const struct function cast_functions[];
extern const struct function aggregate_functions[];
extern const struct function slot_functions[];
extern const struct function arithmetic_functions[];
extern const struct function bit_functions[];
extern const struct function hash_functions[];
extern const struct function character_functions[];
extern const struct function list_functions[];
extern const struct function address_functions[];
extern const struct function duration_functions[];
extern const struct function json_functions[];

/* Sets the result to a text's JSON in MySQL's form, as CAST(value AS JSON)
 * does, or fails. */
void function_json_form(sqlite3_context *c, sqlite3_value *value);

/* List i of heapwire's functions: those of a file, then the views; NULL past
 * the last. */
const struct function *function_table(size_t i);

/* Finds a function that a SELECT may call, heapwire's or SQLite's; the name's
 * case does not matter. *width as in struct function.  False: no such
 * function. */
bool function_table_find(struct span name, enum function_type *type,
                         uint32_t *width);

/* Registers heapwire's functions with SQLite.  -1 if SQLite refuses. */
int function_table_add(struct handle *handle);
/* Finds one of heapwire's functions by the name that SQLite gives. */
bool function_table_get(const struct handle *handle, const char *name,
                        void (**call)(sqlite3_context *, int, sqlite3_value **),
                        void **arg);

#endif
