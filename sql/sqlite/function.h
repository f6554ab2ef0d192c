/*
 * function.h - a function of MySQL for SELECT, and the statement that calls it.
 *
 * A function that sets no result returns NULL.
 */
#ifndef HW_FUNCTION_H
#define HW_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct handle;

/* The declared type of a function's column, known before any row; its values
 * are converted to it. */
enum function_type {
    RETURNS_TEXT,
    RETURNS_LINES, /* a view's text */
    RETURNS_BYTES, /* a view's bytes */
    RETURNS_BIGINT,
    RETURNS_DOUBLE,
    RETURNS_DATE,
    RETURNS_TIME,
    RETURNS_DATETIME,
    RETURNS_ARGUMENTS, /* the type that holds all its arguments: COALESCE */
    RETURNS_BRANCHES,  /* the type that holds all but the first: IF */
    RETURNS_FIRST,     /* the first argument's: NULLIF */
    RETURNS_MOVED, /* date or time as the first argument, moved: DATE_ADD; else
                      text */
    RETURNS_SECONDS, /* DATETIME, or what a format gives: FROM_UNIXTIME */
    RETURNS_READ,    /* by the letters of its format: STR_TO_DATE */
    RETURNS_NUMBER,  /* integers and decimals keep their type: SUM */
    RETURNS_EPOCH,   /* as RETURNS_NUMBER, of a moment: UNIX_TIMESTAMP */
    RETURNS_ROUNDED, /* as RETURNS_NUMBER, with the decimals of the second
                        argument: ROUND */
    RETURNS_WHOLE,   /* BIGINT from exact numbers, else DOUBLE: CEIL */
    RETURNS_AVERAGE  /* DECIMAL, with four decimals more; or DOUBLE */
};

enum { FUNCTION_ANY = -1 /* number of arguments */ };

#define FUNCTION_WAIT_MAX_MS 1000000000000U /* 30 years: no limit */

struct function {
    const char *name;
    int least, most; /* number of arguments; FUNCTION_ANY: no limit, least 1 */
    void (*call)(sqlite3_context *c, int argc, sqlite3_value **argv);
    enum function_type type;           /* of what it returns */
    void (*final)(sqlite3_context *c); /* for an aggregate; call takes a row */
    /* Takes a row back, as a window moves; final, called between, changes
     * nothing then.  NULL: no window. */
    void (*inverse)(sqlite3_context *c, int argc, sqlite3_value **argv);
};

/* SQLite's user data of a function. */
struct function_use {
    struct handle *handle;
    const struct function *function;
};

/* The statement that calls the function. */
struct handle *function_handle(sqlite3_context *c);
const char *function_name(sqlite3_context *c);
/* Call it before work that exceeds the size of the arguments.  True: the
 * statement has stopped, and the function must return. */
bool function_charge(sqlite3_context *c, size_t bytes);
/* The same before work without proportion to the arguments. */
bool function_compute(sqlite3_context *c);

/* Waits for news, at most until until_ms (clock_ms), and others compute; what
 * is its state meanwhile.  False: it is that late, or the statement has stopped
 * and the function must return. */
bool function_wait(sqlite3_context *c, const char *what, uint64_t until_ms);
bool function_stopped(sqlite3_context *c);

#endif
