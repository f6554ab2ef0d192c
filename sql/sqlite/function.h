/*
 * function.h - a function of MySQL for SELECT: the statement that calls it, its
 * arguments and its results, in MySQL's terms.
 *
 * A function that sets no result returns NULL.
 */
#ifndef HW_FUNCTION_H
#define HW_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "reader.h"

struct buffer;
struct error;
struct handle;

/* The declared type of a function's column, known before any row; its values
 * are converted to it. */
enum function_type {
    RETURNS_TEXT,
    RETURNS_LINES, /* a view's text */
    RETURNS_BYTES, /* a view's bytes */
    RETURNS_BINARY,
    RETURNS_BIGINT,
    RETURNS_UNSIGNED, /* BIGINT UNSIGNED */
    RETURNS_DOUBLE,
    RETURNS_DATE,
    RETURNS_TIME,
    RETURNS_DATETIME,
    RETURNS_ARGUMENTS, /* the type that holds all its arguments: COALESCE */
    RETURNS_BRANCHES,  /* the type that holds all but the first: IF */
    RETURNS_FIRST,     /* the first argument's: NULLIF */
    RETURNS_MOVED, /* date or time as the first argument, moved: DATE_ADD; else
                      text */
    RETURNS_LATER, /* the same, moved by a time: ADDTIME */
    RETURNS_SECONDS, /* DATETIME, or what a format gives: FROM_UNIXTIME */
    RETURNS_READ,    /* by the letters of its format: STR_TO_DATE */
    RETURNS_NUMBER,  /* integers and decimals keep their type: ABS */
    RETURNS_EPOCH,   /* as RETURNS_NUMBER, of a moment: UNIX_TIMESTAMP */
    RETURNS_ROUNDED, /* as RETURNS_NUMBER, with the decimals of the second
                        argument: ROUND */
    RETURNS_INTEGER, /* BIGINT from exact numbers, else DOUBLE: CEIL */
    RETURNS_SUM,     /* DECIMAL, or DOUBLE */
    RETURNS_AVERAGE  /* the same, with four decimals more */
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
    size_t width; /* of its column, in characters; 0: the type's usual */
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
/* The same, before work that is out of proportion to the arguments. */
bool function_compute(sqlite3_context *c);

/* Waits for a notification until until_ms (clock_ms) at the latest; others
 * compute meanwhile. what is shown as the statement's state.  False: it is
 * that late, or the statement has stopped and the function must return. */
bool function_wait(sqlite3_context *c, const char *what, uint64_t until_ms);
bool function_stopped(sqlite3_context *c);

/* Call them around each function, on its thread: they hold the texts of
 * arguments that are numbers. */
void function_value_begin(int argc, sqlite3_value **argv);
void function_value_end(void);

/* ---- arguments ---- */

/* An argument as text, NUL-terminated; empty for NULL. */
struct span function_argument(sqlite3_value *value);
bool function_any_null(int argc, sqlite3_value **argv);
bool function_is_number(sqlite3_value *value);
double function_real(sqlite3_value *value);
/* Rounded to an integer in range; past it, with the bits of an unsigned one. */
int64_t function_integer(sqlite3_value *value);
/* The same, unsigned: -1 has all 64 bits. */
uint64_t function_natural(sqlite3_value *value);
/* A count or a place: as function_integer, past its range the largest. */
int64_t function_count(sqlite3_value *value);
/* How texts compare; if either value is a number, both compare as numbers. */
enum compare_how {
    COMPARE_TEXT,  /* collate_compare; bytes as bytes */
    COMPARE_BIN,   /* collate_compare_bin */
    COMPARE_NUMBER /* as numbers, also two texts */
};
int function_compare(sqlite3_value *a, sqlite3_value *b, enum compare_how how);
/* The same, but two numbers compare as texts, too. */
int function_compare_texts(sqlite3_value *a, sqlite3_value *b,
                           enum compare_how how);

/* ---- results ---- */

void function_text(sqlite3_context *c, const char *text, size_t size);
void function_bytes(sqlite3_context *c, const void *bytes, size_t size);
/* Sets a text from bytes; NULL, with a warning, if they are not UTF-8. */
void function_decoded(sqlite3_context *c, struct span text);
/* Sets the buffer's text, or fails as function_fits if it failed; frees the
 * buffer. */
void function_buffer(sqlite3_context *c, struct buffer *text);
/* The same for bytes. */
void function_buffer_bytes(sqlite3_context *c, struct buffer *bytes);
/* Sets 64 bits without a sign; as a text past SQLite's integers. */
void function_unsigned(sqlite3_context *c, uint64_t value);

enum { FUNCTION_PACKET_MAX = 16 * 1024 * 1024 /* max_allowed_packet */ };

/* May a result have that many bytes?  If not, the statement fails; or, where
 * MySQL's would, it goes on with NULL and warning 1301. */
bool function_fits(sqlite3_context *c, uint64_t size);
/* Ends the statement with this error. */
void function_fail(sqlite3_context *c, const struct error *err);
void function_warn(sqlite3_context *c, uint16_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Warning 1411: the text is no such type. */
void function_warn_wrong(sqlite3_context *c, const char *type,
                         struct span text);

#endif
