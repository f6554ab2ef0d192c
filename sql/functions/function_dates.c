/*
 * function_dates.c - parts of dates, and dates made from parts; the clock,
 * times of day, and time zones.
 *
 * All times are UTC: the server has no time zone, and CONVERT_TZ knows offsets
 * and names of UTC alone.  NOW() is the time at which the statement began,
 * also for SYSDATE(), so that one answer shows one moment.  A value that is no
 * date gives NULL, as in MySQL.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "function.h"
#include "function_temporal.h"
#include "function_table.h"
#include "handle.h"
#include "kind.h"

static struct temporal
current_statement_time(sqlite3_context *c, unsigned digits)
{
    return function_temporal_from_unix(function_handle(c)->now_ms * 1000,
                                       digits);
}

/* Reads the digits of NOW(6)'s fraction.  False: too many, and the statement
 * fails. */
static bool
read_digits(sqlite3_context *c, int argc, sqlite3_value **argv, unsigned *out)
{
    int64_t digits = argc > 0 ? function_count(argv[0]) : 0;
    struct error err;

    *out = digits < 0 ? 0 : (unsigned)digits;
    if (digits <= 6)
        return true;
    error_set(&err, ER_TOO_BIG_PRECISION,
              "Too-big precision %lld specified for '%s'. Maximum is 6.",
              (long long)digits, function_name(c));
    function_fail(c, &err);
    return false;
}

/* Gives the statement's time as a DATETIME, a DATE or a TIME. */
static void
return_now(sqlite3_context *c, int argc, sqlite3_value **argv,
           enum temporal_kind kind)
{
    struct temporal t;
    unsigned digits;

    if (!read_digits(c, argc, argv, &digits))
        return;
    t = current_statement_time(c, digits);
    t.kind = kind;
    function_temporal_result(c, &t);
}

static void
call_now(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    return_now(c, argc, argv, TEMPORAL_DATETIME);
}

static void
call_today(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    return_now(c, 0, argv, TEMPORAL_DATE);
}

static void
call_clock(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    return_now(c, argc, argv, TEMPORAL_TIME);
}

/* ---- seconds since 1970 ---- */

static void
return_seconds(sqlite3_context *c, int64_t micros, bool fraction)
{
    if (fraction)
        sqlite3_result_double(c, (double)micros / 1e6);
    else
        sqlite3_result_int64(c, micros / TEMPORAL_SECOND);
}

static void
call_unix_timestamp(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct handle *handle = function_handle(c);
    struct temporal t;
    int64_t micros;

    if (argc == 0) {
        sqlite3_result_int64(c, handle->now_ms / 1000);
        return;
    }
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL ||
        !function_datetime(argv[0], &t))
        return;
    micros = temporal_micros(&t) - TEMPORAL_UNIX_EPOCH;
    return_seconds(c, micros > 0 ? micros : 0, t.digits > 0 && micros > 0);
}

static void
call_from_unixtime(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double seconds = function_real(argv[0]);
    struct temporal t;

    /* Up to 9999-12-31 23:59:59. */
    if (function_any_null(argc, argv) || seconds < 0 ||
        seconds > 253402300799.0)
        return;
    t = function_temporal_from_unix(llround(seconds * 1e6),
                                    function_temporal_digits(argv[0]));
    if (argc > 1)
        function_format_temporal(c, &t, function_argument(argv[1]));
    else
        function_temporal_result(c, &t);
}

/* ---- times ---- */

static void
call_time(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;

    (void)argc;
    if (!function_temporal(c, argv[0], &t))
        return;
    t.kind = TEMPORAL_TIME;
    function_temporal_result(c, &t);
}

static void
call_timediff(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal to, from, t = {.kind = TEMPORAL_TIME};

    (void)argc;
    if (!function_temporal(c, argv[0], &to) ||
        !function_temporal(c, argv[1], &from) || to.kind != from.kind)
        return;
    t.digits = to.digits > from.digits ? to.digits : from.digits;
    temporal_set_micros(&t, temporal_micros(&to) - temporal_micros(&from));
    function_temporal_result(c, &t);
}

static void
call_sec_to_time(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t = {.kind = TEMPORAL_TIME};
    double seconds = function_real(argv[0]);

    if (function_any_null(argc, argv))
        return;
    /* Far past 838:59:59, to which temporal_set_micros() cuts, and small
     * enough for llround(). */
    if (seconds > 1e9 || seconds < -1e9)
        seconds = seconds > 0 ? 1e9 : -1e9;
    if (fabs(seconds) * 1e6 > (double)TEMPORAL_TIME_MAX)
        function_warn_time(c, argv[0]);
    t.digits = function_temporal_digits(argv[0]);
    temporal_set_micros(&t, llround(seconds * 1e6));
    function_temporal_result(c, &t);
}

static void
call_time_to_sec(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;

    (void)argc;
    if (function_temporal(c, argv[0], &t))
        sqlite3_result_int64(c, t.micros / TEMPORAL_SECOND);
}

static void
call_hour(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;

    (void)argc;
    if (function_temporal(c, argv[0], &t))
        sqlite3_result_int64(c,
                             temporal_magnitude(&t) / TEMPORAL_SECOND / 3600);
}

static void
call_minute(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;

    (void)argc;
    if (function_temporal(c, argv[0], &t))
        sqlite3_result_int64(c, temporal_magnitude(&t) / TEMPORAL_SECOND / 60 %
                                    60);
}

static void
call_second(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;

    (void)argc;
    if (function_temporal(c, argv[0], &t))
        sqlite3_result_int64(c, temporal_magnitude(&t) / TEMPORAL_SECOND % 60);
}

static void
call_microsecond(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;

    (void)argc;
    if (function_temporal(c, argv[0], &t))
        sqlite3_result_int64(c, temporal_magnitude(&t) % TEMPORAL_SECOND);
}

/* ---- zones: offsets, and names of UTC ---- */

static bool
parse_zone_offset(struct span zone, int64_t *micros)
{
    struct temporal t;
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
    if (!temporal_parse_time(zone, &t) || t.kind != TEMPORAL_TIME ||
        t.micros > (int64_t)14 * 3600 * TEMPORAL_SECOND)
        return false;
    *micros = negative ? -t.micros : t.micros;
    return true;
}

static void
call_convert_tz(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;
    int64_t from, to;

    if (function_any_null(argc, argv) || !function_datetime(argv[0], &t) ||
        !parse_zone_offset(function_argument(argv[1]), &from) ||
        !parse_zone_offset(function_argument(argv[2]), &to))
        return;
    t.kind = TEMPORAL_DATETIME;
    temporal_set_micros(&t, temporal_micros(&t) - from + to);
    function_temporal_result(c, &t);
}

/* ---- parts ---- */

/* A function for each part of a date: NULL if the argument is no date. */
#define PART(name, expression)                                                 \
    static void call_##name(sqlite3_context *c, int argc,                      \
                            sqlite3_value **argv)                              \
    {                                                                          \
        struct temporal t;                                                     \
                                                                               \
        (void)argc;                                                            \
        if (function_datetime(argv[0], &t))                                    \
            sqlite3_result_int64(c, (expression));                             \
    }

PART(year, t.year)
PART(month, t.month)
PART(day, t.day)
PART(quarter, (t.month + 2) / 3)
PART(dayofyear, function_temporal_day_of_year(&t))
PART(dayofweek, function_temporal_weekday(&t) + 1)
PART(weekday, (function_temporal_weekday(&t) + 6) % 7)
PART(to_days, temporal_days(&t))

static int
mode_of(int argc, sqlite3_value **argv, int otherwise)
{
    /* MySQL takes the three lowest bits of any mode. */
    return argc > 1 ? (int)(function_integer(argv[1]) & 7) : otherwise;
}

static void
call_week(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;
    int year;

    if (function_datetime(argv[0], &t))
        sqlite3_result_int(
            c, function_temporal_week(&t, mode_of(argc, argv, 0), &year));
}

/* As WEEK(date, 3): the weeks of ISO 8601. */
static void
call_weekofyear(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;
    int year;

    (void)argc;
    if (function_datetime(argv[0], &t))
        sqlite3_result_int(c, function_temporal_week(&t, 3, &year));
}

static void
call_yearweek(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;
    int year, week;

    if (!function_datetime(argv[0], &t))
        return;
    /* 2: weeks from 1 on; earlier days are in the last one of the year before
     */
    week = function_temporal_week(&t, mode_of(argc, argv, 0) | 2, &year);
    sqlite3_result_int(c, year * 100 + week);
}

static void
call_dayname(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;
    const char *name;

    (void)argc;
    if (!function_datetime(argv[0], &t))
        return;
    name = function_format_day(function_temporal_weekday(&t));
    function_text(c, name, strlen(name));
}

static void
call_monthname(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;
    const char *name;

    (void)argc;
    if (!function_datetime(argv[0], &t))
        return;
    name = function_format_month(t.month - 1);
    function_text(c, name, strlen(name));
}

/* ---- dates ---- */

static void
call_date(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;

    (void)argc;
    if (!function_datetime(argv[0], &t))
        return;
    t.kind = TEMPORAL_DATE;
    function_temporal_result(c, &t);
}

/* TIMESTAMP(date [, time]) */
static void
call_timestamp(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t, time;

    if (!function_datetime(argv[0], &t))
        return;
    t.kind = TEMPORAL_DATETIME;
    if (argc > 1) {
        if (!function_temporal(c, argv[1], &time))
            return;
        t.digits = t.digits > time.digits ? t.digits : time.digits;
        temporal_set_micros(&t, temporal_micros(&t) + time.micros);
    }
    function_temporal_result(c, &t);
}

static void
call_last_day(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;

    (void)argc;
    if (!function_datetime(argv[0], &t))
        return;
    t.kind = TEMPORAL_DATE;
    t.day = (int)temporal_month_days(t.year, t.month);
    function_temporal_result(c, &t);
}

static void
return_days(sqlite3_context *c, int64_t days)
{
    struct temporal t = {.kind = TEMPORAL_DATE};

    /* From 0001-01-01, as in MySQL, to TEMPORAL_DAYS_MAX. */
    if (days < 366 || days > 3652424)
        return;
    temporal_set_days(&t, days);
    function_temporal_result(c, &t);
}

static void
call_from_days(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    if (!function_any_null(argc, argv))
        return_days(c, function_integer(argv[0]));
}

static void
call_makedate(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int64_t year = function_integer(argv[0]), day = function_integer(argv[1]);
    struct temporal first = {TEMPORAL_DATE, 0, 1, 1, 0, 0};

    /* 4000000: more days than up to the year 9999; the sum stays small */
    if (function_any_null(argc, argv) || day < 1 || day > 4000000 || year < 0 ||
        year > TEMPORAL_YEAR_MAX)
        return;
    first.year = (int)(year < 70    ? year + 2000
                       : year < 100 ? year + 1900
                                    : year);
    return_days(c, temporal_days(&first) + day - 1);
}

static void
call_datediff(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal to, from;

    (void)argc;
    if (function_datetime(argv[0], &to) && function_datetime(argv[1], &from))
        sqlite3_result_int64(c, temporal_days(&to) - temporal_days(&from));
}

const struct function date_functions[] = {
    {"year", 1, 1, call_year, RETURNS_BIGINT},
    {"month", 1, 1, call_month, RETURNS_BIGINT},
    {"day", 1, 1, call_day, RETURNS_BIGINT},
    {"dayofmonth", 1, 1, call_day, RETURNS_BIGINT},
    {"quarter", 1, 1, call_quarter, RETURNS_BIGINT},
    {"dayofyear", 1, 1, call_dayofyear, RETURNS_BIGINT},
    {"dayofweek", 1, 1, call_dayofweek, RETURNS_BIGINT},
    {"weekday", 1, 1, call_weekday, RETURNS_BIGINT},
    {"to_days", 1, 1, call_to_days, RETURNS_BIGINT},
    {"week", 1, 2, call_week, RETURNS_BIGINT},
    {"weekofyear", 1, 1, call_weekofyear, RETURNS_BIGINT},
    {"yearweek", 1, 2, call_yearweek, RETURNS_BIGINT},
    {"dayname", 1, 1, call_dayname, RETURNS_TEXT},
    {"monthname", 1, 1, call_monthname, RETURNS_TEXT},
    {"date", 1, 1, call_date, RETURNS_DATE},
    {"timestamp", 1, 2, call_timestamp, RETURNS_DATETIME},
    {"last_day", 1, 1, call_last_day, RETURNS_DATE},
    {"from_days", 1, 1, call_from_days, RETURNS_DATE},
    {"makedate", 2, 2, call_makedate, RETURNS_DATE},
    {"datediff", 2, 2, call_datediff, RETURNS_BIGINT},
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
