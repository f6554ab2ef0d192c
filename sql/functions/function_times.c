/* function_times.c - the clock, times of day, and time zones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "function.h"
#include "function_moment.h"
#include "function_table.h"
#include "handle.h"
#include "kind.h"

static struct moment
now(sqlite3_context *c, unsigned digits)
{
    return function_moment_from_unix(function_handle(c)->now_ms * 1000, digits);
}

static unsigned
digits_of(int argc, sqlite3_value **argv)
{
    int64_t digits = argc > 0 ? function_integer(argv[0]) : 0;

    return digits < 0 ? 0 : digits > 6 ? 6 : (unsigned)digits;
}

static void
call_now(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t = now(c, digits_of(argc, argv));

    function_moment_result(c, &t);
}

static void
call_today(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t = now(c, 0);

    (void)argc;
    (void)argv;
    t.kind = MOMENT_DATE;
    function_moment_result(c, &t);
}

static void
call_clock(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t = now(c, digits_of(argc, argv));

    t.kind = MOMENT_TIME;
    function_moment_result(c, &t);
}

/* ---- seconds since 1970 ---- */

static void
return_seconds(sqlite3_context *c, int64_t micros, bool fraction)
{
    if (fraction)
        sqlite3_result_double(c, (double)micros / 1e6);
    else
        sqlite3_result_int64(c, micros / MOMENT_SECOND);
}

static void
call_unix_timestamp(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct handle *handle = function_handle(c);
    struct moment t;
    int64_t micros;

    if (argc == 0) {
        sqlite3_result_int64(c, handle->now_ms / 1000);
        return;
    }
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL ||
        !function_moment(argv[0], &t))
        return;
    micros = moment_micros(&t) - MOMENT_UNIX_EPOCH;
    return_seconds(c, micros > 0 ? micros : 0, t.digits > 0 && micros > 0);
}

/* Digits of the fraction of a number of seconds: as written, or all six. */
static unsigned
digits_shown(sqlite3_value *seconds)
{
    int decimals = kind_decimals(seconds);

    if (sqlite3_value_numeric_type(seconds) == SQLITE_INTEGER)
        return 0;
    return decimals >= 0 && decimals < 6 ? (unsigned)decimals : 6;
}

static void
call_from_unixtime(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double seconds = function_real(argv[0]);
    struct moment t;

    if (function_any_null(argc, argv) || seconds < 0 ||
        seconds > 253402300799.0)
        return;
    t = function_moment_from_unix(llround(seconds * 1e6),
                                  digits_shown(argv[0]));
    if (argc > 1)
        function_format_moment(c, &t, function_argument(argv[1]));
    else
        function_moment_result(c, &t);
}

/* ---- times ---- */

static void
call_time(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;

    (void)argc;
    if (!function_moment_or_time(argv[0], &t))
        return;
    t.kind = MOMENT_TIME;
    function_moment_result(c, &t);
}

static void
call_timediff(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment to, from, t = {.kind = MOMENT_TIME};

    (void)argc;
    if (!function_moment_or_time(argv[0], &to) ||
        !function_moment_or_time(argv[1], &from) ||
        (to.kind == MOMENT_TIME) != (from.kind == MOMENT_TIME))
        return;
    t.digits = to.digits > from.digits ? to.digits : from.digits;
    moment_set_micros(&t, moment_micros(&to) - moment_micros(&from));
    function_moment_result(c, &t);
}

static void
call_sec_to_time(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t = {.kind = MOMENT_TIME};
    double seconds = function_real(argv[0]);

    if (function_any_null(argc, argv))
        return;
    if (seconds > 1e9 || seconds < -1e9)
        seconds = seconds > 0 ? 1e9 : -1e9;
    t.digits = digits_shown(argv[0]);
    moment_set_micros(&t, llround(seconds * 1e6));
    function_moment_result(c, &t);
}

static void
call_time_to_sec(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;

    (void)argc;
    if (function_moment_or_time(argv[0], &t))
        sqlite3_result_int64(c, t.micros / MOMENT_SECOND);
}

static void
call_hour(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;

    (void)argc;
    if (function_moment_or_time(argv[0], &t))
        sqlite3_result_int64(c, moment_size(&t) / MOMENT_SECOND / 3600);
}

static void
call_minute(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;

    (void)argc;
    if (function_moment_or_time(argv[0], &t))
        sqlite3_result_int64(c, moment_size(&t) / MOMENT_SECOND / 60 % 60);
}

static void
call_second(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;

    (void)argc;
    if (function_moment_or_time(argv[0], &t))
        sqlite3_result_int64(c, moment_size(&t) / MOMENT_SECOND % 60);
}

static void
call_microsecond(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;

    (void)argc;
    if (function_moment_or_time(argv[0], &t))
        sqlite3_result_int64(c, moment_size(&t) % MOMENT_SECOND);
}

/* ---- zones: offsets, and names of UTC ---- */

static bool
offset(struct span zone, int64_t *micros)
{
    struct moment t;
    bool negative = zone.size > 0 && *zone.data == '-';

    *micros = 0;
    if (span_is_nocase(zone, "SYSTEM") || span_is_nocase(zone, "UTC") ||
        span_is_nocase(zone, "GMT") || span_is_nocase(zone, "Etc/UTC"))
        return true;
    if (zone.size < 5 || zone.size > 6 || (*zone.data != '+' && !negative) ||
        !memchr(zone.data, ':', zone.size))
        return false;
    zone.data++;
    zone.size--;
    if (!moment_parse_time(zone, &t) || t.kind != MOMENT_TIME ||
        t.micros > (int64_t)14 * 3600 * MOMENT_SECOND)
        return false;
    *micros = negative ? -t.micros : t.micros;
    return true;
}

static void
call_convert_tz(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;
    int64_t from, to;

    if (function_any_null(argc, argv) || !function_moment(argv[0], &t) ||
        !offset(function_argument(argv[1]), &from) ||
        !offset(function_argument(argv[2]), &to))
        return;
    t.kind = MOMENT_DATETIME;
    moment_set_micros(&t, moment_micros(&t) - from + to);
    function_moment_result(c, &t);
}

const struct function time_functions[] = {
    {"now", 0, 1, call_now, RETURNS_DATETIME},
    {"current_timestamp", 0, 1, call_now, RETURNS_DATETIME},
    {"localtime", 0, 1, call_now, RETURNS_DATETIME},
    {"localtimestamp", 0, 1, call_now, RETURNS_DATETIME},
    {"sysdate", 0, 1, call_now, RETURNS_DATETIME},
    {"utc_timestamp", 0, 1, call_now, RETURNS_DATETIME},
    {"curdate", 0, 0, call_today, RETURNS_DATE},
    {"current_date", 0, 0, call_today, RETURNS_DATE},
    {"utc_date", 0, 0, call_today, RETURNS_DATE},
    {"curtime", 0, 1, call_clock, RETURNS_TIME},
    {"current_time", 0, 1, call_clock, RETURNS_TIME},
    {"utc_time", 0, 1, call_clock, RETURNS_TIME},
    {"unix_timestamp", 0, 1, call_unix_timestamp, RETURNS_EPOCH},
    {"from_unixtime", 1, 2, call_from_unixtime, RETURNS_SECONDS},
    {"time", 1, 1, call_time, RETURNS_TIME},
    {"timediff", 2, 2, call_timediff, RETURNS_TIME},
    {"sec_to_time", 1, 1, call_sec_to_time, RETURNS_TIME},
    {"time_to_sec", 1, 1, call_time_to_sec, RETURNS_BIGINT},
    {"hour", 1, 1, call_hour, RETURNS_BIGINT},
    {"minute", 1, 1, call_minute, RETURNS_BIGINT},
    {"second", 1, 1, call_second, RETURNS_BIGINT},
    {"microsecond", 1, 1, call_microsecond, RETURNS_BIGINT},
    {"convert_tz", 3, 3, call_convert_tz, RETURNS_DATETIME},
    {NULL},
};
