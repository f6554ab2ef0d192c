/*
 * function_durations.c - times added and made from parts (ADDTIME, MAKETIME),
 * and periods of months (PERIOD_ADD).
 */
#include <math.h>
#include <stdint.h>

#include "errors.h"
#include "function.h"
#include "function_temporal.h"
#include "function_table.h"
#include "kind.h"

/* ADDTIME and SUBTIME; a date counts as its midnight.  A text's result has six
 * decimals or none, as MySQL does not know its type. */
static void
return_shifted_time(sqlite3_context *c, sqlite3_value **argv, int sign)
{
    bool typed = kind_is_temporal(kind_of(argv[0]));
    struct temporal t, time;
    int64_t micros;

    if (!function_temporal(c, argv[0], &t) ||
        !function_temporal(c, argv[1], &time) || time.kind != TEMPORAL_TIME)
        return;
    if (t.kind == TEMPORAL_DATE)
        t.kind = TEMPORAL_DATETIME;
    micros = temporal_micros(&t) + sign * time.micros;
    t.digits = t.digits > time.digits ? t.digits : time.digits;
    if (!typed)
        t.digits = micros % TEMPORAL_SECOND ? 6 : 0;
    temporal_set_micros(&t, micros);
    function_temporal_result(c, &t);
}

static void
call_addtime(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    return_shifted_time(c, argv, 1);
}

static void
call_subtime(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    return_shifted_time(c, argv, -1);
}

/* MAKETIME(hour, minute, second) */
static void
call_maketime(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int64_t hour = function_count(argv[0]), minute = function_count(argv[1]);
    int64_t most =
        TEMPORAL_TIME_MAX / TEMPORAL_SECOND; /* more than all hours */
    double second = function_real(argv[2]);
    struct temporal t = {.kind = TEMPORAL_TIME};
    int64_t size;

    if (function_any_null(argc, argv) || minute < 0 || minute > 59 ||
        !(second >= 0 && second < 60))
        return;
    t.digits = function_temporal_digits(argv[2]);
    /* Cut before the multiplication, which would overflow. */
    size = hour > most || hour < -most ? most : hour < 0 ? -hour : hour;
    size = (size * 60 + minute) * 60 * TEMPORAL_SECOND + llround(second * 1e6);
    if (size > TEMPORAL_TIME_MAX)
        function_warn_time(c, argv[0]);
    temporal_set_micros(&t, hour < 0 ? -size : size);
    function_temporal_result(c, &t);
}

static void
call_to_seconds(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;

    (void)argc;
    if (function_datetime(argv[0], &t))
        sqlite3_result_int64(c, temporal_micros(&t) / TEMPORAL_SECOND);
}

/* ---- periods: YYMM or YYYYMM ---- */

enum { PERIOD_MAX = 99999912, PERIOD_PIVOT = 70 };

static int64_t
expand_period_year(int64_t year)
{
    return year >= 100 ? year : year + (year < PERIOD_PIVOT ? 2000 : 1900);
}

/* Reads a period as months since year 0.  False: it is none, and the statement
 * fails. */
static bool
read_period(sqlite3_context *c, sqlite3_value *value, int64_t *months)
{
    int64_t period = function_integer(value), month = period % 100;
    struct error err;

    if (period > 0 && period <= PERIOD_MAX && month >= 1 && month <= 12) {
        *months = expand_period_year(period / 100) * 12 + month - 1;
        return true;
    }
    error_set(&err, ER_WRONG_ARGUMENTS,
              "Incorrect arguments to %s: a period is YYMM or YYYYMM",
              function_name(c));
    function_fail(c, &err);
    return false;
}

static void
call_period_add(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int64_t months, more = function_integer(argv[1]);

    if (function_any_null(argc, argv) || !read_period(c, argv[0], &months))
        return;
    if (more > PERIOD_MAX || more < -months) /* no period */
        return;
    months += more;
    sqlite3_result_int64(c, expand_period_year(months / 12) * 100 +
                                months % 12 + 1);
}

static void
call_period_diff(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int64_t to, from;

    if (!function_any_null(argc, argv) && read_period(c, argv[0], &to) &&
        read_period(c, argv[1], &from))
        sqlite3_result_int64(c, to - from);
}

const struct function duration_functions[] = {
    {"addtime", 2, 2, call_addtime, RETURNS_LATER},
    {"subtime", 2, 2, call_subtime, RETURNS_LATER},
    {"maketime", 3, 3, call_maketime, RETURNS_TIME},
    {"to_seconds", 1, 1, call_to_seconds, RETURNS_BIGINT, .width = 12},
    {"period_add", 2, 2, call_period_add, RETURNS_BIGINT, .width = 6},
    {"period_diff", 2, 2, call_period_diff, RETURNS_BIGINT, .width = 6},
    {NULL},
};
