/*
 * kind.h - a value's type in MySQL, where SQLite's type does not tell it.
 *
 * The subtype of SQLite's value holds the kind.  SQLite drops it in rows of a
 * derived table, and in its own functions.
 *
 * A DECIMAL is one of three values of SQLite, so that SQLite finds equal ones
 * equal: an integer, if it is one of 64 bits; a double, if it has at most 15
 * digits, which a double tells apart; else the text of its digits, without
 * zeros at the end.  Texts come behind numbers, so what orders DECIMALs that
 * may be long does so by hw_key().
 */
#ifndef HW_KIND_H
#define HW_KIND_H

#include <stdbool.h>

#include <sqlite3.h>

#include "cursor.h"
#include "decimal.h"
#include "temporal.h"
#include "reader.h"
#include "real_text.h"

enum kind {
    KIND_PLAIN,
    KIND_UNSIGNED =
        VALUE_KIND_UNSIGNED, /* a text of digits, past SQLite's integers */
    KIND_HEX,                /* 0x1f: bytes, and a number beside numbers */
    KIND_DATE,               /* the text of a date */
    KIND_TIME,               /* the text of a time */
    KIND_DATETIME,           /* the text of both */
    KIND_TEMPORAL_TEXT, /* the text of any of these, which compares as a text */
    KIND_JSON = 'J',    /* as SQLite marks it; a number that is one of JSON */
    KIND_EXACT = VALUE_KIND_DECIMAL, /* and above: the rest is its decimals */
    KIND_QUOTIENT =
        192 /* as KIND_EXACT, and it has more digits than it shows */
};

enum {
    KIND_TEXT = DECIMAL_TEXT, /* bytes of a number as a text */
    KIND_DECIMALS_MAX = DECIMAL_SCALE_MAX,
    KIND_DIGITS_MAX = 15 /* of a DECIMAL that is a double in SQLite */
};

enum kind kind_of(sqlite3_value *value);
/* The kind of a number that SQLite's own type would lose; else KIND_PLAIN. */
enum kind kind_beyond_sqlite(sqlite3_value *value);
/* The value, with its kind, for a variable; texts and bytes are borrowed. */
struct value kind_value(sqlite3_value *value);
/* The text as SQLite writes it; empty for NULL. */
struct span kind_bytes(sqlite3_value *value);
bool kind_is_temporal(enum kind kind); /* not KIND_TEMPORAL_TEXT */
bool kind_is_integer(sqlite3_value *value);
/* Decimals of an exact number; -1: a double, or not a number. */
int kind_decimals(sqlite3_value *value);
bool kind_is_decimal(sqlite3_value *value); /* no integer */
/* The value of an exact number, of bytes or a moment beside numbers.  False:
 * it is none of these. */
bool kind_to_decimal(sqlite3_value *value, struct decimal *out);
/* Reads a double that stands for a DECIMAL; false: no DECIMAL is as large. */
bool kind_real_decimal(double x, struct decimal *out);

/* The number behind a value with its own kind: bytes, or a moment, which is
 * 20260131101112.  False: SQLite's value is right. */
bool kind_real(sqlite3_value *value, double *out);
/* The number of a plain text that has the form of a date or time. */
bool kind_reads_temporal(sqlite3_value *value, struct decimal *out);
/* Writes a number as text; returns its bytes. */
size_t kind_text(sqlite3_value *value, char out[KIND_TEXT]);

/* Rounds to places behind the point: half away from zero, by the decimal digits
 * and not by their binary neighbour. */
double kind_round(double x, int places);
/* The integer part of x; false: no integer holds it. */
bool kind_integer_part(double x, int64_t *out);
/* Sets a DECIMAL result with that many decimals; kind_result_quotient sets one
 * that has further digits than it shows. */
void kind_result_exact(sqlite3_context *c, struct decimal d, int decimals);
void kind_result_quotient(sqlite3_context *c, struct decimal d, int decimals);

#endif
