/*
 * select_functions.h - MySQL's functions for SELECT: a table per file.
 *
 * A function returns NULL by returning nothing.
 */
#ifndef HW_SELECT_FUNCTIONS_H
#define HW_SELECT_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "reader.h"

struct buffer;
struct handle;

/* What a function's column is declared to be, before any row is known; its
 * values are converted to that. */
enum function_type {
    RETURNS_TEXT,
    RETURNS_LINES, /* a view's text */
    RETURNS_BYTES, /* a view's bytes */
    RETURNS_BIGINT,
    RETURNS_DOUBLE,
    RETURNS_DATE,
    RETURNS_TIME,
    RETURNS_DATETIME,
    RETURNS_ARGUMENTS, /* what holds all its arguments: COALESCE */
    RETURNS_BRANCHES,  /* likewise, all but the first: IF */
    RETURNS_FIRST,     /* as its first argument: NULLIF */
    RETURNS_MOVED,     /* a date or time as its first: DATE_ADD; else text */
    RETURNS_SECONDS,   /* DATETIME, or what a format gives: FROM_UNIXTIME */
    RETURNS_READ,      /* what a format tells: STR_TO_DATE */
    RETURNS_NUMBER,    /* of integers alone, and of decimals, the same: SUM */
    RETURNS_ROUNDED,   /* likewise, with the decimals of the second: ROUND */
    RETURNS_WHOLE,     /* BIGINT of exact numbers, else DOUBLE: CEIL */
    RETURNS_AVERAGE    /* DECIMAL, with four decimals more; or DOUBLE */
};

enum { FUNCTION_ANY = -1 /* number of arguments */ };

#define FUNCTION_WAIT_MAX_MS 1000000000000U /* 30 years: for ever */

struct function {
    const char *name;
    int least, most; /* arguments; FUNCTION_ANY: no end, least 1 */
    void (*call)(sqlite3_context *c, int argc, sqlite3_value **argv);
    enum function_type type;           /* of what it returns */
    void (*final)(sqlite3_context *c); /* an aggregate's; call is a row's */
};

/* Each ends with a row without a name. */
extern const struct function session_functions[];
extern const struct function lock_functions[];
extern const struct function compare_functions[];
extern const struct function number_functions[];
extern const struct function text_functions[];
extern const struct function search_functions[];
extern const struct function hash_functions[];
extern const struct function time_functions[];
extern const struct function date_functions[];
extern const struct function interval_functions[];
extern const struct function format_functions[];
extern const struct function cast_functions[];
extern const struct function measure_functions[];
extern const struct function aggregate_functions[];
extern const struct function slot_functions[];
extern const struct function arithmetic_functions[];

/* Those tables, and the views'; NULL behind the last. */
const struct function *function_table(size_t i);

/* By name, in any case; false: there is none that may be called. */
bool function_find(struct span name, enum function_type *type);

/* Whose statement it is. */
struct handle *function_handle(sqlite3_context *c);
const char *function_name(sqlite3_context *c);
/* For work past that on its arguments.  True: the statement has stopped, and
 * the function returns. */
bool function_charge(sqlite3_context *c, size_t bytes);
/* For work that is out of proportion.  True: it is on the loop, and begins anew
 * on a worker: the function returns. */
bool function_leave_loop(sqlite3_context *c);

/* Waits a little, at most until until_ms (clock_ms).  False: it is that late,
 * or the statement has stopped, and the function returns. */
bool function_nap(sqlite3_context *c, uint64_t until_ms);
bool function_stopped(sqlite3_context *c);

/* ---- arguments ---- */

/* An argument as text, NUL-terminated; empty for NULL. */
struct span function_argument(sqlite3_value *value);
bool function_any_null(int argc, sqlite3_value **argv);
bool function_is_number(sqlite3_value *value);
double function_real(sqlite3_value *value);
/* Rounded, and within the range; past it, the bits of what has no sign. */
int64_t function_integer(sqlite3_value *value);
/* x without what is behind the point; false: no integer holds it. */
bool function_whole(double x, int64_t *out);
/* Likewise without a sign: of -1, all of its 64 bits. */
uint64_t function_natural(sqlite3_value *value);
/* To places behind the point: half away from zero of the digits that people
 * see, not of its binary neighbour. */
double function_round(double x, int places);
/* A byte without case: ASCII's alone have any. */
unsigned char function_fold(char c);
/* Without case and blanks at the end, as the default collation has it. */
int function_collate(struct span a, struct span b);
/* As <: numbers if one of them is; bytes when binary. */
enum compare_how {
    COMPARE_TEXT,  /* without case */
    COMPARE_BINARY /* byte by byte */
};
int function_compare(sqlite3_value *a, sqlite3_value *b, enum compare_how how);

/* ---- results ---- */

void function_text(sqlite3_context *c, const char *text, size_t size);
void function_bytes(sqlite3_context *c, const void *bytes, size_t size);
/* A text that was bytes; NULL, with a warning, where they are no UTF-8. */
void function_decoded(sqlite3_context *c, struct span text);
/* What text holds; "too big" if it failed.  Frees it. */
void function_buffer(sqlite3_context *c, struct buffer *text);
/* All 64 bits: a text where SQLite's integers end. */
void function_unsigned(sqlite3_context *c, uint64_t value);

#endif
