/*
 * function.c - arguments and results of MySQL's functions, on top of SQLite's.
 *
 * SQLite knows integers, doubles, texts and blobs; MySQL's functions see
 * DECIMAL, unsigned integers, dates and JSON as well, and each of them
 * converts and compares in its own way.  A value's subtype tells which it is
 * (kind.h); this file turns any value into the text, the number or the order
 * that MySQL would see, so that each function is a few lines.
 *
 * All runs inside sqlite3_step() on the statement's thread.  A function that
 * works on much data charges for it (function_charge), which is where a
 * cancelled statement stops.
 */
#include "function.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "await.h"
#include "buffer.h"
#include "clean_text.h"
#include "clock.h"
#include "collate.h"
#include "errors.h"
#include "handle.h"
#include "json_text.h"
#include "kind.h"
#include "sql_session.h"

/* ---- the statement ---- */

struct handle *
function_handle(sqlite3_context *c)
{
    return ((const struct function_use *)sqlite3_user_data(c))->handle;
}

const char *
function_name(sqlite3_context *c)
{
    return ((const struct function_use *)sqlite3_user_data(c))->function->name;
}

bool
function_charge(sqlite3_context *c, size_t bytes)
{
    if (!handle_charge(function_handle(c), bytes))
        return false;
    sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    return true;
}

bool
function_compute(sqlite3_context *c)
{
    if (!handle_compute(function_handle(c)))
        return false;
    sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    return true;
}

bool
function_stopped(sqlite3_context *c)
{
    const struct handle *handle = function_handle(c);

    return !handle->await || await_is_over(handle->await);
}

bool
function_wait(sqlite3_context *c, const char *what, uint64_t until_ms)
{
    struct error ignored;

    if (clock_ms() >= until_ms)
        return false;
    if (!function_stopped(c) &&
        await_until(function_handle(c)->await, what, until_ms, &ignored) == 0)
        return true;
    sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    return false;
}

/* ---- arguments ---- */

enum { SQLITE_ARGUMENTS_MAX = 128 };

/* The arguments of the running call, and their texts: SQLite would write 1.50
 * as 1.5, and 1e20 as 1.0e+20.  The texts are made on demand and must last
 * until the call returns; a function of SQLite never calls another one, so a
 * thread needs one set (10 KB). */
static _Thread_local struct {
    int count;
    sqlite3_value **values;
    char texts[SQLITE_ARGUMENTS_MAX][KIND_TEXT];
} called;

void
function_value_begin(int argc, sqlite3_value **argv)
{
    called.count = argc;
    called.values = argv;
}

void
function_value_end(void)
{
    called.count = 0;
}

struct span
function_argument(sqlite3_value *value)
{
    struct span span;

    for (int i = 0; function_is_number(value) && i < called.count; i++)
        if (called.values[i] == value) {
            span.data = called.texts[i];
            span.size = kind_text(value, called.texts[i]);
            return span;
        }
    return kind_bytes(value);
}

bool
function_any_null(int argc, sqlite3_value **argv)
{
    for (int i = 0; i < argc; i++)
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return true;
    return false;
}

bool
function_is_number(sqlite3_value *value)
{
    int type = sqlite3_value_type(value);

    return type == SQLITE_INTEGER || type == SQLITE_FLOAT ||
           kind_is_decimal(value);
}

/* Reads the number in a string of JSON, or that of true or false. */
static bool
json_real(sqlite3_value *value, double *out)
{
    struct span text;

    if (kind_of(value) != KIND_JSON || sqlite3_value_type(value) != SQLITE_TEXT)
        return false;
    text = kind_bytes(value);
    *out = *text.data == '"' ? strtod(text.data + 1, NULL) : *text.data == 't';
    return true;
}

double
function_real(sqlite3_value *value)
{
    double real;

    if (!kind_real(value, &real) && !json_real(value, &real))
        real = sqlite3_value_double(value);
    if (isinf(real)) /* a text like 1e999, which MySQL cuts to the largest
                      * double */
        return copysign(DBL_MAX, real);
    return isnan(real) ? 0 : real;
}

/* Is it a text of digits past SQLite's integers? */
static bool
is_unsigned(sqlite3_value *value, uint64_t *out)
{
    struct span text = function_argument(value);

    if (sqlite3_value_type(value) != SQLITE_TEXT || text.size < 19 ||
        strspn(text.data, "0123456789") != text.size)
        return false;
    *out = strtoull(text.data, NULL, 10);
    return true;
}

/* Rounds a DECIMAL to an integer; past 64 bits to the nearest that there is. */
static uint64_t
bits_of_decimal(struct decimal d)
{
    decimal_shorten(d, 0, DECIMAL_ROUND, &d);
    return d.digits > (decimal_integer)UINT64_MAX ? UINT64_MAX
           : d.digits < INT64_MIN                 ? (uint64_t)INT64_MIN
                                                  : (uint64_t)d.digits;
}

static bool
bits_of(sqlite3_value *value, uint64_t *out)
{
    struct decimal d;
    struct span bytes;

    if (kind_is_decimal(value) && kind_to_decimal(value, &d))
        *out = bits_of_decimal(d);
    else if (sqlite3_value_type(value) == SQLITE_INTEGER)
        *out = (uint64_t)sqlite3_value_int64(value);
    else if (kind_of(value) == KIND_HEX) {
        bytes = function_argument(value);
        *out = 0;
        for (size_t i = 0; i < bytes.size; i++)
            *out = *out << 8 | (unsigned char)bytes.data[i];
    } else
        return is_unsigned(value, out);
    return true;
}

/* Rounds what has no bits of its own.  As in MySQL, a DOUBLE's half goes to
 * the even integer, of a text the part before the point counts, and all else
 * rounds half away from zero. */
static double
integral_real(sqlite3_value *value)
{
    double real = function_real(value);

    if (sqlite3_value_type(value) == SQLITE_FLOAT)
        return rint(real);
    return kind_of(value) == KIND_PLAIN ? trunc(real) : round(real);
}

int64_t
function_integer(sqlite3_value *value)
{
    uint64_t bits;
    int64_t whole;
    double real;

    if (bits_of(value, &bits))
        return (int64_t)bits;
    real = integral_real(value);
    if (kind_integer_part(real, &whole))
        return whole;
    return real < 0 ? INT64_MIN : INT64_MAX;
}

uint64_t
function_natural(sqlite3_value *value)
{
    uint64_t bits;
    double real;

    if (bits_of(value, &bits))
        return bits;
    real = integral_real(value);
    /* 2^63 and 2^64: a conversion of a double out of range is undefined in
     * C. */
    if (real < 9223372036854775808.0)
        return (uint64_t)function_integer(value);
    return real >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)real;
}

int64_t
function_count(sqlite3_value *value)
{
    int64_t count = function_integer(value);

    return count < 0 && function_real(value) > 0 ? INT64_MAX : count;
}

static int
compare_byte_spans(struct span a, struct span b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size > 0 ? memcmp(a.data, b.data, size) : 0;

    return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* The moment of a value that is compared with a date or time; invalid ones
 * come first. */
static int64_t
temporal_sort_key(sqlite3_value *value, bool time)
{
    struct span text = function_argument(value);
    struct temporal t;

    return (time ? temporal_parse_time(text, &t) : temporal_parse(text, &t))
               ? temporal_micros(&t)
               : INT64_MIN;
}

static bool
compare_temporal_values(sqlite3_value *a, sqlite3_value *b, int *order)
{
    enum kind kind_a = kind_of(a), kind_b = kind_of(b);
    bool time = kind_a == KIND_TIME || kind_b == KIND_TIME;
    int64_t x, y;

    if ((!kind_is_temporal(kind_a) && !kind_is_temporal(kind_b)) ||
        (time && kind_a != kind_b && kind_is_temporal(kind_a) &&
         kind_is_temporal(kind_b)))
        return false;
    x = temporal_sort_key(a, time);
    y = temporal_sort_key(b, time);
    *order = x < y ? -1 : x > y;
    return true;
}

static bool
is_past(sqlite3_value *value)
{
    return kind_of(value) == KIND_UNSIGNED;
}

/* Compares digits without leading zeros: the longer number is larger. */
static int
compare_digits(struct span a, struct span b)
{
    return a.size != b.size ? (a.size < b.size ? -1 : 1)
                            : compare_byte_spans(a, b);
}

static int
compare_integers(sqlite3_value *a, sqlite3_value *b)
{
    int64_t i, j;

    if (is_past(a) != is_past(b))
        return is_past(a) ? 1 : -1;
    if (is_past(a))
        return compare_digits(function_argument(a), function_argument(b));
    i = sqlite3_value_int64(a);
    j = sqlite3_value_int64(b);
    return i < j ? -1 : i > j;
}

enum { RANK_NUMBER = 1, RANK_TRUTH = 5 };

static bool
is_json_text(sqlite3_value *value)
{
    return kind_of(value) == KIND_JSON &&
           sqlite3_value_type(value) == SQLITE_TEXT;
}

/* JSON of different kinds is ordered by MySQL's ranking of kinds; a text that
 * is no JSON counts as a string. */
static int
rank_json(sqlite3_value *value)
{
    static const int ranks[] = {[JSON_NULL] = 0,   [JSON_NUMBER] = RANK_NUMBER,
                                [JSON_STRING] = 2, [JSON_OBJECT] = 3,
                                [JSON_ARRAY] = 4,  [JSON_BOOLEAN] = RANK_TRUTH};

    if (is_json_text(value))
        return ranks[json_kind(function_argument(value))];
    return ranks[function_is_number(value) ? JSON_NUMBER : JSON_STRING];
}

/* Gives a JSON string's decoded text; the caller frees out, in which it may
 * lie. */
static struct span
json_plain(sqlite3_value *value, struct buffer *out)
{
    struct span text = function_argument(value);

    buffer_init(out, text.size + 1);
    if (!is_json_text(value) || *text.data != '"')
        return text;
    json_decode(out, text);
    return (struct span){out->data ? out->data : "", out->size};
}

/* Compares two values of which one is JSON and no number. true and false
 * compare with 1 and 0, too. */
static int
compare_json(sqlite3_value *a, sqlite3_value *b)
{
    int rank_a = rank_json(a), rank_b = rank_json(b), order;
    struct buffer x, y;

    if ((rank_a == RANK_TRUTH && rank_b == RANK_NUMBER) ||
        (rank_a == RANK_NUMBER && rank_b == RANK_TRUTH)) {
        double p = function_real(a), q = function_real(b);

        return p < q ? -1 : p > q;
    }
    if (rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    order = compare_byte_spans(json_plain(a, &x), json_plain(b, &y));
    buffer_fini(&x);
    buffer_fini(&y);
    return order;
}

int
function_compare(sqlite3_value *a, sqlite3_value *b, enum compare_how how)
{
    struct decimal exact_a, exact_b;
    double x, y;
    int order;

    /* The most frequent case first; then from the exact to the inexact: only
     * what is no exact number is compared as doubles. */
    if (kind_is_integer(a) && kind_is_integer(b))
        return compare_integers(a, b);
    if (is_json_text(a) || is_json_text(b))
        return compare_json(a, b);
    if (kind_decimals(a) >= 0 && kind_decimals(b) >= 0 &&
        kind_to_decimal(a, &exact_a) && kind_to_decimal(b, &exact_b))
        return decimal_compare(exact_a, exact_b);
    if (compare_temporal_values(a, b, &order))
        return order;
    if (how == COMPARE_NUMBER || function_is_number(a) ||
        function_is_number(b) || is_past(a) || is_past(b)) {
        x = function_real(a);
        y = function_real(b);
        return x < y ? -1 : x > y;
    }
    return function_compare_texts(a, b, how);
}

int
function_compare_texts(sqlite3_value *a, sqlite3_value *b, enum compare_how how)
{
    if (sqlite3_value_type(a) == SQLITE_BLOB ||
        sqlite3_value_type(b) == SQLITE_BLOB)
        return compare_byte_spans(function_argument(a), function_argument(b));
    return (how == COMPARE_TEXT ? collate_compare : collate_compare_bin)(
        function_argument(a), function_argument(b));
}

/* ---- results ---- */

void
function_text(sqlite3_context *c, const char *text, size_t size)
{
    if (!function_charge(c, size))
        sqlite3_result_text64(c, text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void
function_bytes(sqlite3_context *c, const void *bytes, size_t size)
{
    sqlite3_result_blob64(c, bytes, size, SQLITE_TRANSIENT);
}

void
function_decoded(sqlite3_context *c, struct span text)
{
    if (text_is_utf8(text))
        function_text(c, text.data, text.size);
    else
        function_warn(c, ER_INVALID_CHARACTERS,
                      "Invalid utf8mb4 character string: it is NULL; HEX() "
                      "shows the bytes");
}

void
function_buffer(sqlite3_context *c, struct buffer *text)
{
    if (!text->failed)
        function_text(c, text->data ? text->data : "", text->size);
    else
        function_fits(c, SELECT_VALUE_MAX + 1);
    buffer_fini(text);
}

void
function_buffer_bytes(sqlite3_context *c, struct buffer *bytes)
{
    if (!bytes->failed)
        function_bytes(c, bytes->data ? bytes->data : "", bytes->size);
    else
        function_fits(c, SELECT_VALUE_MAX + 1);
    buffer_fini(bytes);
}

void
function_unsigned(sqlite3_context *c, uint64_t value)
{
    char text[24];

    if (value <= INT64_MAX) {
        sqlite3_result_int64(c, (int64_t)value);
        return;
    }
    snprintf(text, sizeof(text), "%" PRIu64, value);
    function_text(c, text, strlen(text));
    sqlite3_result_subtype(c, KIND_UNSIGNED);
}

/* ---- faults ---- */

enum { WARNED_MAX = 64 /* bytes of a value in a warning */ };

void
function_fail(sqlite3_context *c, const struct error *err)
{
    struct handle *handle = function_handle(c);

    /* SQLite gives the error's text alone back; its MySQL code is kept here. */
    handle->failure = *err;
    handle->failed = true;
    sqlite3_result_error(c, err->text, -1);
}

void
function_warn(sqlite3_context *c, uint16_t code, const char *format, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    warnings_add(function_handle(c)->session, code, "%s", text);
}

void
function_warn_wrong(sqlite3_context *c, const char *type, struct span text)
{
    function_warn(c, ER_WRONG_VALUE_FOR_TYPE,
                  "Incorrect %s value: '%.*s' for function %s", type,
                  (int)(text.size < WARNED_MAX ? text.size : WARNED_MAX),
                  text.data, function_name(c));
}

/* The function's name in MySQL.  The deparser calls some by names of its own,
 * with hw_ before it. */
static const char *
mysql_name(sqlite3_context *c)
{
    const char *name = function_name(c);

    return name + (strncmp(name, "hw_", 3) == 0 ? 3 : 0);
}

bool
function_fits(sqlite3_context *c, uint64_t size)
{
    struct error err;

    if (size <= SELECT_VALUE_MAX)
        return true;
    /* MySQL gives NULL and a warning past max_allowed_packet; between that and
     * the limit here it would give a value, so NULL would be wrong. */
    if (size > FUNCTION_PACKET_MAX) {
        function_warn(c, ER_PACKET_OVERFLOWED,
                      "Result of %s() was larger than max_allowed_packet (%d) "
                      "- truncated",
                      mysql_name(c), FUNCTION_PACKET_MAX);
        sqlite3_result_null(c);
        return false;
    }
    error_set(&err, ER_NOT_SUPPORTED,
              "The result of %s() is too long: a value has at most %d bytes; "
              "select a part of it, or fewer rows into it",
              mysql_name(c), SELECT_VALUE_MAX);
    function_fail(c, &err);
    return false;
}
