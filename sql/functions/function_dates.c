/* function_dates.c - parts of dates, and dates made from parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "function.h"
#include "function_moment.h"
#include "function_table.h"

/* ---- parts ---- */

#define PART(name, expression)                                                 \
    static void call_##name(sqlite3_context *c, int argc,                      \
                            sqlite3_value **argv)                              \
    {                                                                          \
        struct moment t;                                                       \
                                                                               \
        (void)argc;                                                            \
        if (function_moment(argv[0], &t))                                      \
            sqlite3_result_int64(c, (expression));                             \
    }

PART(year, t.year)
PART(month, t.month)
PART(day, t.day)
PART(quarter, (t.month + 2) / 3)
PART(dayofyear, function_moment_day_of_year(&t))
PART(dayofweek, function_moment_weekday(&t) + 1)
PART(weekday, (function_moment_weekday(&t) + 6) % 7)
PART(to_days, moment_days(&t))

static int
mode_of(int argc, sqlite3_value **argv, int otherwise)
{
    return argc > 1 ? (int)(function_integer(argv[1]) & 7) : otherwise;
}

static void
call_week(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;
    int year;

    if (function_moment(argv[0], &t))
        sqlite3_result_int(
            c, function_moment_week(&t, mode_of(argc, argv, 0), &year));
}

static void
call_weekofyear(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;
    int year;

    (void)argc;
    if (function_moment(argv[0], &t))
        sqlite3_result_int(c, function_moment_week(&t, 3, &year));
}

static void
call_yearweek(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;
    int year, week;

    if (!function_moment(argv[0], &t))
        return;
    week = function_moment_week(&t, mode_of(argc, argv, 0) | 2, &year);
    sqlite3_result_int(c, year * 100 + week);
}

static void
call_dayname(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;
    const char *name;

    (void)argc;
    if (!function_moment(argv[0], &t))
        return;
    name = function_format_day(function_moment_weekday(&t));
    function_text(c, name, strlen(name));
}

static void
call_monthname(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;
    const char *name;

    (void)argc;
    if (!function_moment(argv[0], &t))
        return;
    name = function_format_month(t.month - 1);
    function_text(c, name, strlen(name));
}

/* ---- dates ---- */

static void
call_date(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;

    (void)argc;
    if (!function_moment(argv[0], &t))
        return;
    t.kind = MOMENT_DATE;
    function_moment_result(c, &t);
}

/* TIMESTAMP(date [, time]) */
static void
call_timestamp(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t, time;

    if (!function_moment(argv[0], &t))
        return;
    t.kind = MOMENT_DATETIME;
    if (argc > 1) {
        if (!function_moment_or_time(argv[1], &time))
            return;
        t.digits = t.digits > time.digits ? t.digits : time.digits;
        moment_set_micros(&t, moment_micros(&t) + time.micros);
    }
    function_moment_result(c, &t);
}

static void
call_last_day(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment t;

    (void)argc;
    if (!function_moment(argv[0], &t))
        return;
    t.kind = MOMENT_DATE;
    t.day = (int)moment_month_days(t.year, t.month);
    function_moment_result(c, &t);
}

static void
return_days(sqlite3_context *c, int64_t days)
{
    struct moment t = {.kind = MOMENT_DATE};

    if (days < 366 || days > 3652424)
        return;
    moment_set_days(&t, days);
    function_moment_result(c, &t);
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
    struct moment first = {MOMENT_DATE, 0, 1, 1, 0, 0};

    if (function_any_null(argc, argv) || day < 1 || day > 4000000 || year < 0 ||
        year > MOMENT_YEAR_MAX)
        return;
    first.year = (int)(year < 70    ? year + 2000
                       : year < 100 ? year + 1900
                                    : year);
    return_days(c, moment_days(&first) + day - 1);
}

static void
call_datediff(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct moment to, from;

    (void)argc;
    if (function_moment(argv[0], &to) && function_moment(argv[1], &from))
        sqlite3_result_int64(c, moment_days(&to) - moment_days(&from));
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
    {NULL},
};
