/*
 * function.h - a function of MySQL for SELECT, and the statement that calls it.
 *
 * A function returns NULL by returning nothing.
 */
#ifndef HW_FUNCTION_H
#define HW_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

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
    RETURNS_READ,      /* by the letters of a format: STR_TO_DATE */
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

/* The user data of a function in SQLite. */
struct function_use {
    struct handle *handle;
    const struct function *function;
};

/* The statement that calls the function. */
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

#endif
