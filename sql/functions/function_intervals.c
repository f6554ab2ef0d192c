/*
 * function_intervals.c - INTERVAL n UNIT: adding, subtracting, differences and
 * EXTRACT; and what all functions of dates share (function_temporal.h).
 *
 * An interval is a number of months and a number of microseconds, which do not
 * convert into each other: a month is added to the calendar, where January 31
 * becomes the last of February, microseconds to the moment.  MySQL's compound
 * units ('1 2:3' DAY_MINUTE) are a string of fields each, read from a text
 * with any separators.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "errors.h"
#include "function.h"
#include "function_temporal.h"
#include "function_table.h"
#include "kind.h"

/* Reads a number as a date.  It lacks the zeros that a date may begin with:
 * 71231 is 071231, 101000000 is 000101000000.  None is negative. */
static bool
parse_numeric_datetime(struct span digits, struct temporal *out)
{
    static const char zeros[] = "000000";
    char text[32];
    size_t whole = strcspn(digits.data, ".");
    size_t size = whole < 6 ? 6 : whole > 8 && whole < 12 ? 12 : whole;
    int written = snprintf(text, sizeof(text), "%.*s%s", (int)(size - whole),
                           zeros, digits.data);

    return *digits.data != '-' && written < (int)sizeof(text) &&
           temporal_parse((struct span){text, (size_t)written}, out);
}

bool
function_datetime(sqlite3_value *value, struct temporal *out)
{
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return false;
    return function_is_number(value)
               ? parse_numeric_datetime(function_argument(value), out)
               : temporal_parse(function_argument(value), out);
}

void
function_warn_time(sqlite3_context *c, sqlite3_value *value)
{
    struct span text = function_argument(value);

    function_warn(c, ER_TRUNCATED_VALUE,
                  "Truncated incorrect time value: '%.*s'",
                  (int)(text.size < TEMPORAL_TEXT ? text.size : TEMPORAL_TEXT),
                  text.data);
}

bool
function_temporal(sqlite3_context *c, sqlite3_value *value,
                  struct temporal *out)
{
    if (sqlite3_value_type(value) == SQLITE_NULL ||
        !temporal_parse_time(function_argument(value), out))
        return false;
    if (out->beyond)
        function_warn_time(c, value);
    return true;
}

unsigned
function_temporal_digits(sqlite3_value *seconds)
{
    int decimals = kind_decimals(seconds);

    if (sqlite3_value_numeric_type(seconds) == SQLITE_INTEGER)
        return 0;
    return decimals >= 0 && decimals < 6 ? (unsigned)decimals : 6;
}

void
function_temporal_result(sqlite3_context *c, const struct temporal *t)
{
    char text[TEMPORAL_TEXT];

    if (t->kind != TEMPORAL_TIME &&
        (t->year < 0 || t->year > TEMPORAL_YEAR_MAX))
        return;
    function_text(c, text, temporal_text(t, text));
    sqlite3_result_subtype(c, t->kind == TEMPORAL_DATE   ? KIND_DATE
                              : t->kind == TEMPORAL_TIME ? KIND_TIME
                                                         : KIND_DATETIME);
}

struct temporal
function_temporal_from_unix(int64_t micros, unsigned digits)
{
    struct temporal t = {TEMPORAL_DATETIME, 0, 0, 0, 0, digits};

    temporal_set_micros(&t, TEMPORAL_UNIX_EPOCH + micros);
    return t;
}

static struct temporal
first_of_year(int year)
{
    struct temporal t = {TEMPORAL_DATE, year, 1, 1, 0, 0};

    return t;
}

int
function_temporal_weekday(const struct temporal *t)
{
    int day = (int)((temporal_days(t) + 6) % 7);

    return day < 0 ? day + 7 : day;
}

int
function_temporal_day_of_year(const struct temporal *t)
{
    struct temporal first = first_of_year(t->year);

    return (int)(temporal_days(t) - temporal_days(&first)) + 1;
}

/*
 * Bits of mode: 1: weeks begin on Monday.  2: weeks run from 1 to 53, and days
 * before the first week belong to the last of the year before.  4: with
 * Monday, the first week is the first whole one, else the first with four
 * days; with Sunday the other way round.
 */
int
function_temporal_week(const struct temporal *t, int mode, int *year)
{
    bool monday = mode & 1, over = mode & 2;
    bool whole = monday ? (mode & 4) != 0 : (mode & 4) == 0;
    struct temporal first = first_of_year(t->year);
    int start = (function_temporal_weekday(&first) + (monday ? 6 : 0)) % 7;
    int day = function_temporal_day_of_year(t) - 1, begins, week;

    /* day of the year on which the first week begins; may be negative */
    if (whole)
        begins = start == 0 ? 0 : 7 - start;
    else
        begins = start <= 3 ? -start : 7 - start;
    *year = t->year;
    /* The day belongs to the last week of the year before, if weeks are
     * counted so. */
    if (day < begins) {
        struct temporal last = {TEMPORAL_DATE, t->year - 1, 12, 31, 0, 0};

        if (!over)
            return 0;
        return function_temporal_week(&last, mode, year);
    }
    week = (day - begins) / 7 + 1;
    if (over && week > 52) {
        struct temporal next = first_of_year(t->year + 1);
        int next_start =
            (function_temporal_weekday(&next) + (monday ? 6 : 0)) % 7;
        int left = (int)(temporal_days(&next) - temporal_days(t));

        /* The next year's first week has four of its days and begins in this
         * year. */
        if (!whole && next_start <= 3 && left <= next_start) {
            *year = t->year + 1;
            return 1;
        }
    }
    return week;
}

enum { FIELDS_MAX = 5, FRACTION_WIDTH = 6 };

/* More than all years there are, and far from overflowing 64 bits. */
#define LIMIT_MICROS (INT64_C(3660000) * TEMPORAL_DAY)

/* The units; fields run from left to right and count months or microseconds. */
static const struct unit {
    const char *name;
    int64_t months, micros; /* of a unit with one field */
    const char *fields;     /* of a unit with several: y m d h i s f */
} units[] = {
    {"MICROSECOND", 0, 1, NULL},
    {"SECOND", 0, TEMPORAL_SECOND, NULL},
    {"MINUTE", 0, 60 * TEMPORAL_SECOND, NULL},
    {"HOUR", 0, 3600 * TEMPORAL_SECOND, NULL},
    {"DAY", 0, TEMPORAL_DAY, NULL},
    {"WEEK", 0, 7 * TEMPORAL_DAY, NULL},
    {"MONTH", 1, 0, NULL},
    {"QUARTER", 3, 0, NULL},
    {"YEAR", 12, 0, NULL},
    {"SECOND_MICROSECOND", 0, 0, "sf"},
    {"MINUTE_MICROSECOND", 0, 0, "isf"},
    {"MINUTE_SECOND", 0, 0, "is"},
    {"HOUR_MICROSECOND", 0, 0, "hisf"},
    {"HOUR_SECOND", 0, 0, "his"},
    {"HOUR_MINUTE", 0, 0, "hi"},
    {"DAY_MICROSECOND", 0, 0, "dhisf"},
    {"DAY_SECOND", 0, 0, "dhis"},
    {"DAY_MINUTE", 0, 0, "dhi"},
    {"DAY_HOUR", 0, 0, "dh"},
    {"YEAR_MONTH", 0, 0, "ym"},
};

static const struct unit *
find_interval_unit(sqlite3_value *value)
{
    struct span name = function_argument(value);

    if (name.size > 8 && strncmp(name.data, "SQL_TSI_", 8) == 0) {
        name.data += 8;
        name.size -= 8;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (span_is_nocase(name, units[i].name))
            return &units[i];
    return NULL;
}

struct amount {
    int64_t months, micros;
    bool has_time, has_fraction;
    unsigned digits; /* digits of the fraction */
};

static int64_t
field_micros(char field)
{
    switch (field) {
    case 'd':
        return TEMPORAL_DAY;
    case 'h':
        return 3600 * TEMPORAL_SECOND;
    case 'i':
        return 60 * TEMPORAL_SECOND;
    case 's':
        return TEMPORAL_SECOND;
    default:
        return 1;
    }
}

/* Reads '1 2:3:4' as DAY_SECOND.  If numbers are missing, the first fields
 * are: '5' is five seconds. */
static bool
read_compound_interval(struct span text, const char *fields, struct amount *out)
{
    int64_t numbers[FIELDS_MAX] = {0}, sign = 1;
    size_t count = 0, wanted = strlen(fields), i = 0;

    while (i < text.size && text.data[i] == ' ')
        i++;
    if (i < text.size && text.data[i] == '-') {
        sign = -1;
        i++;
    }
    /* Anything that is no digit separates: '1 2:3', '1.2.3', '1-2-3'. */
    while (i < text.size) {
        size_t start = i;

        if (!is_digit(text.data[i])) {
            i++;
            continue;
        }
        if (count == wanted)
            return false;
        for (; i < text.size && is_digit(text.data[i]); i++)
            if (numbers[count] < INT32_MAX)
                numbers[count] = numbers[count] * 10 + (text.data[i] - '0');
        /* '.5' is half a second: the digits of a fraction count from the
         * left. */
        if (fields[wanted - 1] == 'f' && i == text.size)
            for (size_t n = i - start; n < FRACTION_WIDTH; n++)
                numbers[count] *= 10;
        count++;
    }
    for (i = 0; i < count; i++) {
        char field = fields[wanted - count + i];

        if (field == 'y' || field == 'm')
            out->months += sign * numbers[i] * (field == 'y' ? 12 : 1);
        else if (numbers[i] > LIMIT_MICROS / field_micros(field))
            return false;
        else
            out->micros += sign * numbers[i] * field_micros(field);
    }
    out->has_time = fields[0] != 'y';
    out->has_fraction = fields[wanted - 1] == 'f';
    return count > 0;
}

static bool
amount_of(sqlite3_value *value, const struct unit *unit, struct amount *out)
{
    double real = function_real(value);

    memset(out, 0, sizeof(*out));
    out->digits = FRACTION_WIDTH;
    if (unit->fields)
        return read_compound_interval(function_argument(value), unit->fields,
                                      out);
    out->has_time = unit->micros > 0 && unit->micros < TEMPORAL_DAY;
    if (unit->micros == TEMPORAL_SECOND &&
        sqlite3_value_numeric_type(value) != SQLITE_INTEGER &&
        real != floor(real)) {
        out->has_fraction = true;
        if (kind_decimals(value) > 0 && kind_decimals(value) < FRACTION_WIDTH)
            out->digits = (unsigned)kind_decimals(value);
    } else {
        real = round(real);
    }
    /* Before the conversion below, which is undefined for a larger number. */
    if (fabs(real) * (double)(unit->months * 31 * TEMPORAL_DAY + unit->micros) >
        (double)LIMIT_MICROS)
        return false;
    out->has_fraction = out->has_fraction || unit->micros == 1;
    out->months = (int64_t)real * unit->months;
    out->micros = unit->months ? 0 : llround(real * (double)unit->micros);
    return true;
}

/* False outside of MySQL's years. */
static bool
add_months(struct temporal *t, int64_t months)
{
    int64_t all = (int64_t)t->year * 12 + t->month - 1 + months;

    if (all < 0 || all > (int64_t)TEMPORAL_YEAR_MAX * 12 + 11)
        return false;
    t->year = (int)(all / 12);
    t->month = (int)(all % 12) + 1;
    /* January 31 and a month is the last of February. */
    if (t->day > (int)temporal_month_days(t->year, t->month))
        t->day = (int)temporal_month_days(t->year, t->month);
    return true;
}

/* Reads a date, a moment, or a text in a time's form; with bare, digits alone
 * as well.  A wrong date is refused here, because temporal_parse_time() would
 * read its year as a time. */
static bool
read_any_temporal(sqlite3_value *value, bool bare, struct temporal *out)
{
    struct span text = function_argument(value);
    size_t i = 0;

    if (function_datetime(value, out))
        return true;
    while (i < text.size && text.data[i] == ' ')
        i++;
    i += i < text.size && text.data[i] == '-';
    while (i < text.size && is_digit(text.data[i]))
        i++;
    if (i == text.size ? !bare : !strchr(bare ? ": ." : ":", text.data[i]))
        return false;
    return sqlite3_value_type(value) != SQLITE_NULL &&
           temporal_parse_time(text, out);
}

static void
return_date_plus_interval(sqlite3_context *c, sqlite3_value *to,
                          sqlite3_value *value, const struct unit *unit,
                          int sign)
{
    struct amount amount;
    struct temporal t;

    if (!unit) {
        sqlite3_result_error(c, "unknown unit of an INTERVAL", -1);
        return;
    }
    if (sqlite3_value_type(value) == SQLITE_NULL ||
        !read_any_temporal(to, false, &t) || !amount_of(value, unit, &amount))
        return;
    if (t.kind == TEMPORAL_DATE && amount.has_time)
        t.kind = TEMPORAL_DATETIME;
    if (amount.has_fraction)
        t.digits = amount.digits > t.digits ? amount.digits : t.digits;
    if (amount.months != 0 &&
        (t.kind == TEMPORAL_TIME || !add_months(&t, sign * amount.months)))
        return;
    temporal_set_micros(&t, temporal_micros(&t) + sign * amount.micros);
    /* MySQL gives NULL before year 1 and past 9999. */
    if (t.kind != TEMPORAL_TIME && (t.year < 1 || t.year > TEMPORAL_YEAR_MAX))
        return;
    function_temporal_result(c, &t);
    /* MySQL gives a text where it was given a text. */
    if (!kind_is_temporal(kind_of(to)))
        sqlite3_result_subtype(c, KIND_TEMPORAL_TEXT);
}

static const struct unit *
unit_argument(int argc, sqlite3_value **argv)
{
    return argc > 2 ? find_interval_unit(argv[2]) : &units[4]; /* days */
}

static void
call_date_add(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    return_date_plus_interval(c, argv[0], argv[1], unit_argument(argc, argv),
                              1);
}

static void
call_date_sub(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    return_date_plus_interval(c, argv[0], argv[1], unit_argument(argc, argv),
                              -1);
}

static void
call_timestampadd(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    return_date_plus_interval(c, argv[2], argv[1], find_interval_unit(argv[0]),
                              1);
}

/* Counts the whole months between two moments; one is whole when the later
 * moment has reached the day and time of the earlier. */
static int64_t
months_between(const struct temporal *from, const struct temporal *to)
{
    const struct temporal *early = from, *late = to;
    bool backward = temporal_micros(from) > temporal_micros(to);
    int64_t months;

    if (backward) {
        early = to;
        late = from;
    }
    months =
        (int64_t)(late->year - early->year) * 12 + late->month - early->month;
    if (late->day < early->day ||
        (late->day == early->day && late->micros < early->micros))
        months--;
    return backward ? -months : months;
}

static void
call_timestampdiff(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct unit *unit = find_interval_unit(argv[0]);
    struct temporal from, to;

    (void)argc;
    if (!unit || unit->fields) {
        sqlite3_result_error(c, "unknown unit of TIMESTAMPDIFF", -1);
        return;
    }
    if (!function_datetime(argv[1], &from) || !function_datetime(argv[2], &to))
        return;
    if (unit->months)
        sqlite3_result_int64(c, months_between(&from, &to) / unit->months);
    else
        sqlite3_result_int64(
            c, (temporal_micros(&to) - temporal_micros(&from)) / unit->micros);
}

/* ---- EXTRACT ---- */

static int64_t
field_value(const struct temporal *t, char field)
{
    int64_t micros = temporal_magnitude(t), seconds = micros / TEMPORAL_SECOND;

    switch (field) {
    case 'y':
        return t->year;
    case 'm':
        return t->month;
    case 'd':
        return t->kind == TEMPORAL_TIME ? seconds / 86400 : t->day;
    case 'h':
        return seconds / 3600;
    case 'i':
        return seconds / 60 % 60;
    case 's':
        return seconds % 60;
    default:
        return micros % TEMPORAL_SECOND;
    }
}

/* EXTRACT: the field of a simple unit, or the fields of a compound one, as one
 * number. */
static void
call_extract(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    /* The fields of the units without several, in the order of units[]. */
    static const char plain[] = "fsihdwmqy";
    const struct unit *unit = find_interval_unit(argv[0]);
    struct temporal t;
    int64_t value = 0;
    int year;
    char field;

    (void)argc;
    if (!unit) {
        sqlite3_result_error(c, "unknown unit of EXTRACT", -1);
        return;
    }
    if (!read_any_temporal(argv[1], true, &t))
        return;
    if (unit->fields) {
        for (const char *f = unit->fields; *f; f++)
            value = value * (*f == 'f' ? TEMPORAL_SECOND : 100) +
                    field_value(&t, *f);
        sqlite3_result_int64(c, t.micros < 0 ? -value : value);
        return;
    }
    field = plain[unit - units];
    if (field == 'w')
        value = function_temporal_week(&t, 0, &year);
    else if (field == 'q')
        value = (t.month + 2) / 3;
    else
        value = field_value(&t, field);
    sqlite3_result_int64(c, t.micros < 0 ? -value : value);
}

const struct function interval_functions[] = {
    {"date_add", 3, 3, call_date_add, RETURNS_MOVED},
    {"date_sub", 3, 3, call_date_sub, RETURNS_MOVED},
    {"adddate", 2, 3, call_date_add, RETURNS_MOVED},
    {"subdate", 2, 3, call_date_sub, RETURNS_MOVED},
    {"timestampadd", 3, 3, call_timestampadd, RETURNS_MOVED},
    {"timestampdiff", 3, 3, call_timestampdiff, RETURNS_BIGINT},
    {"extract", 2, 2, call_extract, RETURNS_BIGINT},
    {NULL},
};
