/*
 * kind.c - MySQL's type of a value in SQLite: reads it from the value's
 * subtype, converts by it, and sets it on results.
 *
 * One byte of subtype has to tell a DECIMAL and its decimals from a double,
 * 0x1f from a text, and a date from a text; see kind.h for the encoding and
 * what SQLite loses.  Most calls look at the subtype and return; the
 * conversions of DECIMALs that are doubles take a few operations, and only
 * long ones go through text.
 */
#include "kind.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUOTIENT_KEPT = 9 /* decimals that a quotient keeps in a variable: MySQL's
                         variables have no more */
};

/* so that a kind's rest by it is its decimals, of both groups */
_Static_assert(KIND_EXACT % (KIND_QUOTIENT - KIND_EXACT) == 0, "decimals");

enum kind
kind_of(sqlite3_value *value)
{
    unsigned kind = sqlite3_value_subtype(value);

    return kind <= KIND_TEMPORAL_TEXT || kind == KIND_JSON ||
                   (kind >= KIND_EXACT &&
                    kind % (KIND_QUOTIENT - KIND_EXACT) <= KIND_DECIMALS_MAX)
               ? (enum kind)kind
               : KIND_PLAIN;
}

enum kind
kind_beyond_sqlite(sqlite3_value *value)
{
    enum kind kind = kind_of(value);

    return kind == KIND_UNSIGNED || kind >= KIND_EXACT ? kind : KIND_PLAIN;
}

struct value
kind_value(sqlite3_value *value)
{
    struct value out = {.kind = (uint8_t)kind_beyond_sqlite(value)};
    struct span bytes;

    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
        return out;
    case SQLITE_INTEGER:
        out.type = VALUE_INT;
        out.integer = sqlite3_value_int64(value);
        break;
    case SQLITE_FLOAT:
        out.type = VALUE_DOUBLE;
        out.real = sqlite3_value_double(value);
        break;
    default:
        bytes = kind_bytes(value);
        out.type =
            sqlite3_value_type(value) == SQLITE_BLOB ? VALUE_BLOB : VALUE_TEXT;
        out.data = bytes.data;
        out.size = bytes.size;
        break;
    }
    if (out.kind >= KIND_QUOTIENT) {
        int shown = kind_decimals(value), kept = QUOTIENT_KEPT;

        out.kind = (uint8_t)(KIND_EXACT + (shown > kept ? shown : kept));
        out.real = kind_round(out.real, shown > kept ? shown : kept);
    }
    return out;
}

struct span
kind_bytes(sqlite3_value *value)
{
    const unsigned char *text = sqlite3_value_text(value);
    struct span span = {"", 0};

    if (text) {
        span.data = (const char *)text;
        span.size = (size_t)sqlite3_value_bytes(value);
    }
    return span;
}

bool
kind_is_temporal(enum kind kind)
{
    return kind == KIND_DATE || kind == KIND_TIME || kind == KIND_DATETIME;
}

bool
kind_is_integer(sqlite3_value *value)
{
    return kind_of(value) == KIND_UNSIGNED ||
           (sqlite3_value_type(value) == SQLITE_INTEGER &&
            kind_of(value) < KIND_EXACT);
}

int
kind_decimals(sqlite3_value *value)
{
    enum kind kind = kind_of(value);

    if (kind >= KIND_EXACT)
        return (int)kind % (KIND_QUOTIENT - KIND_EXACT);
    return kind_is_integer(value) ? 0 : -1;
}

/* The number of a date or time: 20260131101112, with six decimals if it has a
 * fraction, as MySQL converts it. */
static struct decimal
temporal_decimal(struct span text)
{
    struct decimal out = {0, 0};
    struct temporal t;
    int64_t micros, seconds, clock, day;

    if (!temporal_parse_time(text, &t))
        return out;
    micros = temporal_magnitude(&t);
    seconds = micros / TEMPORAL_SECOND;
    clock = seconds / 3600 * 10000 + seconds / 60 % 60 * 100 + seconds % 60;
    day = t.year * 10000 + t.month * 100 + t.day;
    out.digits = t.kind == TEMPORAL_DATE   ? day
                 : t.kind == TEMPORAL_TIME ? clock
                                           : day * 1000000 + clock;
    if (t.digits > 0 && t.kind != TEMPORAL_DATE) {
        out.digits = out.digits * TEMPORAL_SECOND + micros % TEMPORAL_SECOND;
        out.scale = 6;
    }
    if (t.micros < 0 && t.kind != TEMPORAL_DATE)
        out.digits = -out.digits;
    return out;
}

static double
temporal_real(struct span text)
{
    return decimal_real(temporal_decimal(text));
}

bool
kind_real(sqlite3_value *value, double *out)
{
    struct span bytes;

    switch (kind_of(value)) {
    case KIND_HEX: /* big-endian, as MySQL reads 0x0100 as 256 */
        bytes = kind_bytes(value);
        *out = 0;
        for (size_t i = 0; i < bytes.size; i++)
            *out = *out * 256 + (unsigned char)bytes.data[i];
        return true;
    case KIND_DATE:
    case KIND_TIME:
    case KIND_DATETIME:
    case KIND_TEMPORAL_TEXT:
        *out = temporal_real(kind_bytes(value));
        return true;
    default:
        return false;
    }
}

bool
kind_reads_temporal(sqlite3_value *value, struct decimal *out)
{
    struct span text;
    struct temporal t;
    char again[TEMPORAL_TEXT];

    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return false;
    text = kind_bytes(value);
    /* Only a text in the exact form counts, so that '2026' or '10-11' stay
     * numbers and texts. */
    if (text.size < sizeof("10:00:00") - 1 || text.size >= TEMPORAL_TEXT ||
        !temporal_parse_time(text, &t) ||
        temporal_text(&t, again) != text.size ||
        memcmp(text.data, again, text.size) != 0)
        return false;
    *out = temporal_decimal(text);
    return true;
}

bool
kind_real_decimal(double x, struct decimal *out)
{
    char text[32];
    size_t used;

    snprintf(text, sizeof(text), "%.*e", KIND_DIGITS_MAX - 1, x);
    return isfinite(x) &&
           decimal_read((struct span){text, strlen(text)}, out, &used);
}

/* Finds the decimal digits of a double that has at most 15 of them.  Scaling
 * and comparing is exact then and avoids a text; what does not fit goes
 * through one. */
static struct decimal
real_decimal(double x, int scale)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3, 1e4,  1e5,
                                    1e6,  1e7,  1e8,  1e9, 1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15};
    struct decimal out = {0, 0};
    double digits;

    if (scale >= 0 && scale <= KIND_DIGITS_MAX) {
        digits = rint(x * powers[scale]);
        if (fabs(digits) < powers[KIND_DIGITS_MAX] &&
            digits / powers[scale] == x)
            return (struct decimal){(decimal_integer)digits, scale};
    }
    kind_real_decimal(x, &out);
    return out;
}

bool
kind_is_decimal(sqlite3_value *value)
{
    return kind_of(value) >= KIND_EXACT;
}

bool
kind_to_decimal(sqlite3_value *value, struct decimal *out)
{
    enum kind kind = kind_of(value);
    size_t used;

    if (kind_is_temporal(kind) || kind == KIND_TEMPORAL_TEXT) {
        *out = temporal_decimal(kind_bytes(value));
        return true;
    }
    if (kind != KIND_UNSIGNED && kind < KIND_EXACT &&
        sqlite3_value_type(value) != SQLITE_INTEGER)
        return false;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        *out = (struct decimal){sqlite3_value_int64(value), 0};
        return true;
    case SQLITE_FLOAT:
        *out = real_decimal(sqlite3_value_double(value),
                            kind >= KIND_QUOTIENT ? QUOTIENT_KEPT
                                                  : kind_decimals(value));
        return true;
    default:
        return decimal_read(kind_bytes(value), out, &used) && used > 0;
    }
}

size_t
kind_text(sqlite3_value *value, char out[KIND_TEXT])
{
    struct decimal d;

    if (kind_is_decimal(value) && kind_to_decimal(value, &d))
        return decimal_text(d, kind_decimals(value), out);
    if (sqlite3_value_type(value) == SQLITE_INTEGER)
        return (size_t)snprintf(out, KIND_TEXT, "%" PRId64,
                                (int64_t)sqlite3_value_int64(value));
    return real_text(sqlite3_value_double(value), out);
}

double
kind_round(double x, int places)
{
    double scale = pow(10, places < 0 ? -places : places), scaled, rounded;
    char text[40];

    scaled = places >= 0 ? x * scale : x / scale;
    /* beyond 15 digits (KIND_DIGITS_MAX) none behind the point is exact */
    if (!isfinite(scaled) || fabs(scaled) > 1e15)
        return x;
    /* 2.675 is 2.67499... in binary, but MySQL rounds it to 2.68: the 15
     * digits that identify it are rounded, not its bits. */
    snprintf(text, sizeof(text), "%.15g", scaled);
    rounded = round(strtod(text, NULL));
    return places >= 0 ? rounded / scale : rounded * scale;
}

bool
kind_integer_part(double x, int64_t *out)
{
    if (!(x >= -0x1p63 && x < 0x1p63)) /* also refuses NaN */
        return false;
    *out = (int64_t)x;
    return true;
}

static void
set_decimal_result(sqlite3_context *c, struct decimal d, unsigned kind)
{
    /* 10^15: a number of at most 15 digits is found again from its double. */
    static const decimal_integer most = 1000000000000000;
    char text[DECIMAL_TEXT];

    d = decimal_short(d);
    if (d.scale == 0 && d.digits >= INT64_MIN && d.digits <= INT64_MAX)
        sqlite3_result_int64(c, (int64_t)d.digits);
    else if (d.digits < most && d.digits > -most)
        sqlite3_result_double(c, decimal_real(d));
    else
        sqlite3_result_text(c, text, (int)decimal_text(d, d.scale, text),
                            SQLITE_TRANSIENT);
    sqlite3_result_subtype(c, kind);
}

static int
limit_decimals(int decimals)
{
    return decimals < 0                   ? 0
           : decimals > KIND_DECIMALS_MAX ? KIND_DECIMALS_MAX
                                          : decimals;
}

void
kind_result_quotient(sqlite3_context *c, struct decimal d, int decimals)
{
    set_decimal_result(c, d,
                       (unsigned)(KIND_QUOTIENT + limit_decimals(decimals)));
}

void
kind_result_exact(sqlite3_context *c, struct decimal d, int decimals)
{
    decimals = limit_decimals(decimals);
    decimal_shorten(d, decimals, DECIMAL_ROUND, &d);
    set_decimal_result(c, d, (unsigned)(KIND_EXACT + decimals));
}
