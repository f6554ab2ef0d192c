/* kind.c - see kind.h. */
#include "kind.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTIENT_KEPT = 9 /* decimals of a quotient in a variable */ };

enum kind
kind_of(sqlite3_value *value)
{
    unsigned kind = sqlite3_value_subtype(value);

    return kind <= KIND_MOMENT_TEXT || kind == KIND_JSON ||
                   (kind >= KIND_EXACT &&
                    kind % (KIND_QUOTIENT - KIND_EXACT) <= KIND_DECIMALS_MAX)
               ? (enum kind)kind
               : KIND_PLAIN;
}

enum kind
kind_keeps(sqlite3_value *value)
{
    enum kind kind = kind_of(value);

    return kind == KIND_UNSIGNED || kind >= KIND_EXACT ? kind : KIND_PLAIN;
}

struct value
kind_value(sqlite3_value *value)
{
    struct value out = {.kind = (uint8_t)kind_keeps(value)};
    struct span bytes;

    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
        return out;
    case SQLITE_INTEGER:
        out.type = VALUE_INT;
        out.integer = sqlite3_value_int64(value);
        return out;
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
        return out;
    }
    if (out.kind >= KIND_QUOTIENT && out.kind < KIND_QUOTIENT + QUOTIENT_KEPT) {
        out.kind = KIND_EXACT + QUOTIENT_KEPT;
        out.real = kind_round(out.real, QUOTIENT_KEPT);
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
kind_is_moment(enum kind kind)
{
    return kind == KIND_DATE || kind == KIND_TIME || kind == KIND_DATETIME;
}

bool
kind_is_integer(sqlite3_value *value)
{
    return kind_of(value) == KIND_UNSIGNED ||
           (sqlite3_value_type(value) == SQLITE_INTEGER &&
            kind_of(value) <= KIND_EXACT);
}

int
kind_decimals(sqlite3_value *value)
{
    enum kind kind = kind_of(value);

    if (kind >= KIND_EXACT)
        return (int)kind % (KIND_QUOTIENT - KIND_EXACT);
    return kind_is_integer(value) ? 0 : -1;
}

static double
moment_real(struct span text)
{
    struct moment t;
    int64_t micros, seconds, clock, day;
    double real;

    if (!moment_parse_time(text, &t))
        return 0;
    micros = moment_size(&t);
    seconds = micros / MOMENT_SECOND;
    clock = seconds / 3600 * 10000 + seconds / 60 % 60 * 100 + seconds % 60;
    day = t.year * 10000 + t.month * 100 + t.day;
    if (t.kind == MOMENT_DATE)
        return (double)day;
    real = (double)(t.kind == MOMENT_TIME ? clock : day * 1000000 + clock);
    if (t.digits > 0)
        real += (double)(micros % MOMENT_SECOND) / MOMENT_SECOND;
    return t.micros < 0 ? -real : real;
}

bool
kind_real(sqlite3_value *value, double *out)
{
    struct span bytes;

    switch (kind_of(value)) {
    case KIND_HEX: /* the highest byte comes first */
        bytes = kind_bytes(value);
        *out = 0;
        for (size_t i = 0; i < bytes.size; i++)
            *out = *out * 256 + (unsigned char)bytes.data[i];
        return true;
    case KIND_DATE:
    case KIND_TIME:
    case KIND_DATETIME:
    case KIND_MOMENT_TEXT:
        *out = moment_real(kind_bytes(value));
        return true;
    default:
        return false;
    }
}

bool
kind_reads_moment(sqlite3_value *value, double *out)
{
    struct span text;
    struct moment t;
    char again[MOMENT_TEXT];

    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return false;
    text = kind_bytes(value);
    if (text.size < sizeof("10:00:00") - 1 || text.size >= MOMENT_TEXT ||
        !moment_parse_time(text, &t) || moment_text(&t, again) != text.size ||
        memcmp(text.data, again, text.size) != 0)
        return false;
    *out = moment_real(text);
    return true;
}

size_t
kind_text(sqlite3_value *value, char out[KIND_TEXT])
{
    int decimals = kind_decimals(value);
    double real = sqlite3_value_double(value);

    if (sqlite3_value_type(value) == SQLITE_INTEGER)
        return (size_t)snprintf(
            out, KIND_TEXT, "%" PRId64 "%s%.*s",
            (int64_t)sqlite3_value_int64(value), decimals > 0 ? "." : "",
            decimals > 0 ? decimals : 0, "000000000000000000000000000000");
    if (decimals < 0)
        return real_text(real, out);
    return (size_t)snprintf(out, KIND_TEXT, "%.*f", decimals, real);
}

double
kind_round(double x, int places)
{
    double scale = pow(10, places < 0 ? -places : places), scaled, rounded;
    char text[40];

    scaled = places >= 0 ? x * scale : x / scale;
    if (!isfinite(scaled) || fabs(scaled) > 1e15)
        return x;
    snprintf(text, sizeof(text), "%.15g", scaled);
    rounded = round(strtod(text, NULL));
    return places >= 0 ? rounded / scale : rounded * scale;
}

bool
kind_whole(double x, int64_t *out)
{
    if (!(x >= -0x1p63 && x < 0x1p63)) /* also refuses NaN */
        return false;
    *out = (int64_t)x;
    return true;
}

/* Whether a double has enough digits for it. */
static bool
is_exact(double x, int decimals)
{
    return decimals >= 0 && decimals <= KIND_DIGITS_MAX && fabs(x) < 1e15;
}

static void
result(sqlite3_context *c, const char *text, unsigned kind)
{
    double x = strtod(text, NULL);

    sqlite3_result_double(c, x == 0 ? 0 : x);
    sqlite3_result_subtype(c, kind);
}

void
kind_quotient(sqlite3_context *c, double x, int decimals)
{
    char text[KIND_TEXT];

    if (!is_exact(x, decimals)) {
        sqlite3_result_double(c, x);
        return;
    }
    snprintf(text, sizeof(text), "%.*g", KIND_DIGITS_MAX, x);
    result(c, text, (unsigned)(KIND_QUOTIENT + decimals));
}

void
kind_exact(sqlite3_context *c, double x, int decimals)
{
    char text[KIND_TEXT];

    if (!is_exact(x, decimals)) {
        sqlite3_result_double(c, x);
        return;
    }
    snprintf(text, sizeof(text), "%.*f", decimals, kind_round(x, decimals));
    result(c, text, (unsigned)(KIND_EXACT + decimals));
}
