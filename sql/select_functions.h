/* select_functions.h - the functions behind select_functions.c's table. */
#ifndef HW_SELECT_FUNCTIONS_H
#define HW_SELECT_FUNCTIONS_H

#include <stdbool.h>

#include <sqlite3.h>

#include "reader.h"

/* What a function's column is declared to be, before any row is known; its
 * values are converted to that. */
enum function_type {
    RETURNS_TEXT,
    RETURNS_BIGINT,
    RETURNS_DOUBLE,
    RETURNS_DATE,
    RETURNS_TIME,
    RETURNS_DATETIME,
    RETURNS_ARGUMENTS, /* what holds all its arguments: COALESCE */
    RETURNS_BRANCHES,  /* likewise, all but the first: IF */
    RETURNS_FIRST,     /* as its first argument: NULLIF */
    RETURNS_NUMBER     /* BIGINT of integers, else DOUBLE: SUM */
};

/* By name, in any case; false: there is none that may be called. */
bool function_find(struct span name, enum function_type *type);

/* A text argument, NUL-terminated; empty for NULL. */
struct span function_argument(sqlite3_value *value);
void function_text(sqlite3_context *c, const char *text, size_t size);

void function_now(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_today(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_clock(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_unix_timestamp(sqlite3_context *c, int argc,
                             sqlite3_value **argv);
void function_timediff(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_concat(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_concat_ws(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_if(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_left(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_right(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_char_length(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_length(sqlite3_context *c, int argc, sqlite3_value **argv);
void function_like(sqlite3_context *c, int argc, sqlite3_value **argv);

#endif
