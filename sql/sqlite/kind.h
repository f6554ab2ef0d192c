/*
 * kind.h - what a value is in MySQL where SQLite's type does not say it.
 *
 * The subtype of SQLite's value holds it.  SQLite drops a subtype where a value
 * goes into a row of a derived table, and in its own functions.
 */
#ifndef HW_KIND_H
#define HW_KIND_H

#include <stdbool.h>

#include <sqlite3.h>

#include "moment.h"
#include "reader.h"
#include "real_text.h"

enum kind {
    KIND_PLAIN,
    KIND_UNSIGNED,      /* a text of digits: past SQLite's integers */
    KIND_HEX,           /* 0x1f: bytes, and a number beside numbers */
    KIND_DATE,          /* the text of one */
    KIND_TIME,          /* likewise */
    KIND_DATETIME,      /* likewise */
    KIND_MOMENT_TEXT,   /* likewise, of any of them; it compares as a text */
    KIND_EXACT = 128,   /* and up: a DECIMAL, with so many decimals more */
    KIND_QUOTIENT = 192 /* likewise; it has more digits than it shows */
};

enum {
    KIND_TEXT = 64, /* bytes of a number as a text */
    KIND_DECIMALS_MAX = 30,
    KIND_DIGITS_MAX = 15 /* of a DECIMAL: SQLite's doubles have no more */
};

enum kind kind_of(sqlite3_value *value);
/* As SQLite writes it; empty for NULL. */
struct span kind_bytes(sqlite3_value *value);
bool kind_is_moment(enum kind kind); /* not KIND_MOMENT_TEXT */
bool kind_is_integer(sqlite3_value *value);
/* Of a number that is exact; -1: it is a double, or no number. */
int kind_decimals(sqlite3_value *value);

/* The number that a value of a kind with a meaning of its own is: of bytes, and
 * of a moment: 20260131101112.  False: as SQLite has it. */
bool kind_real(sqlite3_value *value, double *out);
/* Likewise of a plain text that is written as our dates and times are. */
bool kind_reads_moment(sqlite3_value *value, double *out);
/* Of a number. */
size_t kind_text(sqlite3_value *value, char out[KIND_TEXT]);

/* To places behind the point: half away from zero of the digits that people
 * see, not of its binary neighbour. */
double kind_round(double x, int places);
/* x without what is behind the point; false: no integer holds it. */
bool kind_whole(double x, int64_t *out);
/* x, rounded to the decimals: so equal ones are the same double. */
void kind_exact(sqlite3_context *c, double x, int decimals);
/* x, rounded to KIND_DIGITS_MAX in all. */
void kind_quotient(sqlite3_context *c, double x, int decimals);

#endif
