/*
 * function_casts.c - CAST and CONVERT (hw_cast(x, type, length, decimals)),
 * and conversions that the deparser inserts where SQLite has no type for a
 * value.
 *
 * A value's type in MySQL is its subtype here (kind.h), and SQLite loses it in
 * derived tables and in sorting.  The deparser therefore calls hw_decimal,
 * hw_kind and hw_temporal where a type is known but lost, hw_key where values
 * are ordered, and hw_json where SQLite's JSON functions take a value.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "collate.h"
#include "function.h"
#include "function_temporal.h"
#include "function_table.h"
#include "handle.h"
#include "kind.h"
#include "sql_session.h"

enum { PRECISION = 10 /* precision of a DECIMAL that states none */ };

static void
cast_char(sqlite3_context *c, sqlite3_value *value, int64_t length, int64_t n)
{
    struct span text = function_argument(value);

    (void)n;
    /* CHAR(5) is five characters, BINARY(5) five bytes. */
    if (length >= 0)
        text.size = utf8_prefix(text, length);
    function_decoded(c, text);
}

static void
cast_binary(sqlite3_context *c, sqlite3_value *value, int64_t length, int64_t n)
{
    struct span bytes = function_argument(value);
    struct buffer out;

    (void)n;
    if (length >= 0 && (size_t)length < bytes.size)
        bytes.size = (size_t)length;
    buffer_init(&out, SELECT_VALUE_MAX);
    buffer_add(&out, bytes.data, bytes.size);
    while (length >= 0 && out.size < (size_t)length && !out.failed)
        buffer_char(&out, '\0');
    if (out.failed)
        sqlite3_result_error_toobig(c);
    else
        function_bytes(c, out.data ? out.data : "", out.size);
    buffer_fini(&out);
}

/* Reads the digits that a text begins with; rounds a number. */
static int64_t
read_cast_integer(sqlite3_value *value)
{
    if (kind_is_decimal(value) && function_real(value) >= 0x1p63)
        return INT64_MAX;
    if (function_is_number(value) || kind_of(value) != KIND_PLAIN)
        return function_integer(value);
    /* MySQL reads a text up to its first character that is no digit, and
     * rounds only numbers. */
    return (int64_t)strtoll(function_argument(value).data, NULL, 10);
}

static void
cast_signed(sqlite3_context *c, sqlite3_value *value, int64_t length, int64_t n)
{
    (void)length;
    (void)n;
    sqlite3_result_int64(c, read_cast_integer(value));
}

static void
cast_unsigned(sqlite3_context *c, sqlite3_value *value, int64_t length,
              int64_t n)
{
    (void)length;
    (void)n;
    if (function_is_number(value) || kind_of(value) != KIND_PLAIN)
        function_unsigned(c, function_natural(value));
    else
        function_unsigned(c, strtoull(function_argument(value).data, NULL, 10));
}

/* Reads any value as a DECIMAL.  False: it is too large for one; *sign is its
 * sign. */
static bool
read_decimal(sqlite3_value *value, struct decimal *out, int *sign)
{
    double real;
    size_t used;
    struct span text;

    *sign = 1;
    if (kind_to_decimal(value, out))
        return true;
    if (sqlite3_value_type(value) == SQLITE_FLOAT ||
        kind_of(value) == KIND_HEX) {
        real = function_real(value);
        *sign = real < 0 ? -1 : 1;
        return decimal_of_real(real, out);
    }
    text = kind_bytes(value);
    *sign = text.size > 0 && strtod(text.data, NULL) < 0 ? -1 : 1;
    return decimal_read(text, out, &used);
}

/* A value with more digits becomes the largest that fits, with a warning. */
static void
cast_as_decimal(sqlite3_context *c, sqlite3_value *value, int64_t length,
                int64_t n)
{
    int precision = length < 0    ? PRECISION
                    : length == 0 ? PRECISION
                                  : (int)length;
    int decimals = n < 0                   ? 0
                   : n > KIND_DECIMALS_MAX ? KIND_DECIMALS_MAX
                                           : (int)n;
    struct decimal d, most;
    int sign;
    bool fits = read_decimal(value, &d, &sign);

    if (precision <= DECIMAL_DIGITS) {
        most = decimal_most(precision, decimals);
        if (fits) {
            decimal_shorten(d, decimals, DECIMAL_ROUND, &d);
            sign = d.digits < 0 ? -1 : 1;
            fits = decimal_compare((struct decimal){sign * d.digits, d.scale},
                                   most) <= 0;
        }
        if (!fits) {
            function_warn(c, ER_OUT_OF_RANGE,
                          "Out of range value for a DECIMAL(%d,%d): it is the "
                          "largest one",
                          precision, decimals);
            d = (struct decimal){sign * most.digits, most.scale};
        }
    } else if (!fits) {
        sqlite3_result_error(
            c,
            "DECIMAL value is out of range in a CAST: it has more than 38 "
            "digits",
            -1);
        return;
    }
    kind_result_exact(c, d, decimals);
}

static void
cast_double(sqlite3_context *c, sqlite3_value *value, int64_t length, int64_t n)
{
    (void)length;
    (void)n;
    sqlite3_result_double(c, function_real(value));
}

static unsigned
clamp_fraction_digits(int64_t length)
{
    return length < 0 ? 0 : length > 6 ? 6 : (unsigned)length;
}

static void
cast_date(sqlite3_context *c, sqlite3_value *value, int64_t length, int64_t n)
{
    struct temporal t;

    (void)length;
    (void)n;
    if (!function_datetime(value, &t))
        return;
    t.kind = TEMPORAL_DATE;
    function_temporal_result(c, &t);
}

static void
cast_datetime(sqlite3_context *c, sqlite3_value *value, int64_t length,
              int64_t n)
{
    struct temporal t;

    (void)n;
    if (!function_datetime(value, &t))
        return;
    t.kind = TEMPORAL_DATETIME;
    t.digits = clamp_fraction_digits(length);
    function_temporal_result(c, &t);
}

static void
cast_time(sqlite3_context *c, sqlite3_value *value, int64_t length, int64_t n)
{
    struct temporal t;

    (void)n;
    if (!function_temporal(c, value, &t))
        return;
    t.kind = TEMPORAL_TIME;
    t.digits = clamp_fraction_digits(length);
    function_temporal_result(c, &t);
}

static void
cast_year(sqlite3_context *c, sqlite3_value *value, int64_t length, int64_t n)
{
    int64_t year = read_cast_integer(value);

    (void)length;
    (void)n;
    if (year > 0 && year < 100)
        year += year < 70 ? 2000 : 1900;
    sqlite3_result_int64(c, year);
}

static void
cast_json(sqlite3_context *c, sqlite3_value *value, int64_t length, int64_t n)
{
    (void)length;
    (void)n;
    if (sqlite3_value_type(value) == SQLITE_TEXT &&
        kind_of(value) == KIND_PLAIN)
        function_json_form(c, value);
    else
        sqlite3_result_value(c, value);
}

static void
call_cast(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    static const struct {
        const char *type;
        void (*cast)(sqlite3_context *c, sqlite3_value *value, int64_t length,
                     int64_t n);
    } casts[] = {
        {"CHAR", cast_char},          {"BINARY", cast_binary},
        {"SIGNED", cast_signed},      {"UNSIGNED", cast_unsigned},
        {"DECIMAL", cast_as_decimal}, {"DOUBLE", cast_double},
        {"DATE", cast_date},          {"DATETIME", cast_datetime},
        {"TIME", cast_time},          {"YEAR", cast_year},
        {"JSON", cast_json},
    };
    struct span type = function_argument(argv[1]);

    if (function_any_null(argc, argv))
        return;
    for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); i++)
        if (span_is(type, casts[i].type))
            casts[i].cast(c, argv[0], function_integer(argv[2]),
                          function_integer(argv[3]));
}

/* ---- what a moment is compared with ---- */

static void
warn_of_temporal_text(sqlite3_context *c, const char *what, bool time,
                      struct span text)
{
    function_warn(c, ER_TRUNCATED_VALUE, "%s %s value: '%.*s'", what,
                  time ? "time" : "datetime",
                  (int)(text.size < TEMPORAL_TEXT ? text.size : TEMPORAL_TEXT),
                  text.data);
}

/* Reads a value that is compared with a date or time.  Beside a DATETIME a
 * time of day is one of today, as in MySQL. */
static bool
read_temporal_argument(sqlite3_context *c, sqlite3_value *value, bool time,
                       bool of_time, struct temporal *t)
{
    struct temporal day;

    if (!time && !of_time)
        return function_datetime(value, t);
    if (!function_temporal(c, value, t))
        return false;
    if (time) {
        t->kind = TEMPORAL_TIME;
    } else if (t->kind == TEMPORAL_TIME) {
        day = function_temporal_from_unix(function_handle(c)->now_ms * 1000,
                                          t->digits);
        day.micros = 0;
        temporal_set_micros(&day, temporal_micros(&day) + t->micros);
        day.more = t->more;
        *t = day;
    }
    return true;
}

/* hw_temporal(x, 'DATETIME'), hw_temporal(x, 'TIME'): the one text of its
 * moment, so that SQLite compares equal moments as equal texts; therefore
 * without zeros behind a fraction.  With a third argument x is a TIME. */
static void
call_temporal(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    static const char zero[] = "0000-00-00 00:00:00";
    bool time = span_is(function_argument(argv[1]), "TIME");
    struct span text = function_argument(argv[0]);
    struct temporal t;

    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    /* The number 0 stands for the date without days, which no date equals. */
    if (!time && function_is_number(argv[0]) && function_real(argv[0]) == 0) {
        function_text(c, zero, sizeof(zero) - 1);
        return;
    }
    if (!read_temporal_argument(c, argv[0], time, argc > 2, &t)) {
        warn_of_temporal_text(c, "Incorrect", time, text);
        return;
    }
    if (t.more)
        warn_of_temporal_text(c, "Truncated incorrect", time, text);
    if (!time)
        t.kind = TEMPORAL_DATETIME;
    /* Drops the zeros behind the last digit of the fraction that counts. */
    for (int64_t rest = temporal_magnitude(&t) % TEMPORAL_SECOND,
                 i = t.digits = 6;
         i > 0 && rest % 10 == 0; i--, rest /= 10)
        t.digits--;
    function_temporal_result(c, &t);
}

/* ---- literals that SQLite has no type for ---- */

/* hw_decimal(x, decimals): any number as a DECIMAL that shows so many
 * decimals. x is a literal's text, a value whose kind SQLite has lost, or the
 * bytes of hw_key(). */
static void
call_decimal(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct decimal d;
    int sign;

    if (!function_any_null(argc, argv) &&
        ((sqlite3_value_type(argv[0]) == SQLITE_BLOB &&
          decimal_of_key(kind_bytes(argv[0]), &d)) ||
         read_decimal(argv[0], &d, &sign)))
        kind_result_exact(c, d, sqlite3_value_int(argv[1]));
    else
        sqlite3_result_value(c, argv[0]);
}

/* hw_key(x): bytes that order as exact numbers do, where SQLite's values for
 * them may not (kind.h). */
static void
call_key(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    unsigned char key[DECIMAL_KEY];
    struct decimal d;
    int sign;

    (void)argc;
    if (sqlite3_value_type(argv[0]) != SQLITE_NULL &&
        read_decimal(argv[0], &d, &sign))
        sqlite3_result_blob(c, key, (int)decimal_key(d, key), SQLITE_TRANSIENT);
}

/* hw_kind(x, kind): X'41', or digits past SQLite's integers */
static void
call_kind(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct decimal d;
    int kind = sqlite3_value_int(argv[1]), sign;

    (void)argc;
    if (kind >= KIND_EXACT && read_decimal(argv[0], &d, &sign)) {
        kind_result_exact(c, d, kind % (KIND_QUOTIENT - KIND_EXACT));
        return;
    }
    sqlite3_result_value(c, argv[0]);
    if (kind != KIND_UNSIGNED || sqlite3_value_type(argv[0]) == SQLITE_TEXT)
        sqlite3_result_subtype(c, (unsigned)kind);
}

/* hw_json(x, truth): what SQLite's JSON takes for the value of x; the text of
 * a number, with its subtype, for the digits that a double has not. */
static void
call_json(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    bool truth = sqlite3_value_int(argv[1]) != 0;
    struct span text = function_argument(argv[0]);
    char real[KIND_TEXT + 2];

    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    if (truth)
        text = function_real(argv[0]) != 0 ? (struct span){"true", 4}
                                           : (struct span){"false", 5};
    if (!truth && sqlite3_value_type(argv[0]) == SQLITE_FLOAT &&
        kind_of(argv[0]) == KIND_PLAIN) { /* SQLite would write 15 digits of
                                           * it */
        bool whole = strcspn(text.data, ".eE") == text.size;

        snprintf(real, sizeof(real), "%s%s", text.data, whole ? ".0" : "");
        text = (struct span){real, strlen(real)};
    } else if (!truth && !kind_beyond_sqlite(argv[0])) {
        sqlite3_result_value(c, argv[0]);
        return;
    }
    function_text(c, text.data, text.size);
    /* SQLite's JSON functions embed a value of this subtype as JSON and do not
     * quote it. */
    sqlite3_result_subtype(c, 'J');
}

const struct function cast_functions[] = {
    {"hw_cast", 4, 4, call_cast, RETURNS_TEXT},
    {"hw_decimal", 2, 2, call_decimal, RETURNS_DOUBLE},
    {"hw_key", 1, 1, call_key, RETURNS_BYTES},
    {"hw_json", 2, 2, call_json, RETURNS_TEXT},
    {"hw_kind", 2, 2, call_kind, RETURNS_TEXT},
    {"hw_temporal", 2, 3, call_temporal, RETURNS_DATETIME},
    {NULL},
};
