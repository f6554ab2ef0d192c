/*
 * function_formats.c - DATE_FORMAT, TIME_FORMAT and STR_TO_DATE: MySQL's
 * letters, written and read.
 *
 * strftime() and strptime() have other letters (%i, %c, %D, weeks by four
 * definitions) and depend on a locale.  Reading gathers all that the format
 * names and only then makes a date of it, because a week or a day of the year
 * needs a year that may come later in the text.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "buffer.h"
#include "ascii.h"
#include "errors.h"
#include "function.h"
#include "function_temporal.h"
#include "function_table.h"
#include "handle.h"

static const char *const months[] = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};

const char *
function_format_month(int month)
{
    return months[month];
}

const char *
function_format_day(int day)
{
    return days[day];
}

/* ---- writing ---- */

struct parts {
    const struct temporal *t;
    int64_t hour, minute, second, micro;
    int weekday, day_of_year;
};

static struct parts
parts_of(const struct temporal *t)
{
    int64_t micros = temporal_magnitude(t), seconds = micros / TEMPORAL_SECOND;
    struct parts p = {.t = t,
                      .hour = seconds / 3600,
                      .minute = seconds / 60 % 60,
                      .second = seconds % 60,
                      .micro = micros % TEMPORAL_SECOND};

    if (t->kind != TEMPORAL_TIME) {
        p.weekday = function_temporal_weekday(t);
        p.day_of_year = function_temporal_day_of_year(t);
    }
    return p;
}

static const char *
ordinal_day_suffix(int day)
{
    if (day / 10 == 1)
        return "th";
    return day % 10 == 1   ? "st"
           : day % 10 == 2 ? "nd"
           : day % 10 == 3 ? "rd"
                           : "th";
}

/* Writes a week's number or its year, by the mode of WEEK() that MySQL gives to
 * each letter. */
static void
add_week(struct buffer *out, const struct temporal *t, char c)
{
    static const struct {
        char c;
        int mode;
    } modes[] = {{'U', 0}, {'u', 1}, {'V', 2}, {'v', 3}, {'X', 2}, {'x', 3}};
    int year, week;

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (modes[i].c == c) {
            week = function_temporal_week(t, modes[i].mode, &year);
            if (c == 'X' || c == 'x')
                buffer_format(out, "%04d", year);
            else
                buffer_format(out, "%02d", week);
        }
}

/* Writes the part of the date that a letter stands for; false: it stands for
 * none. */
static bool
add_date_part(struct buffer *out, const struct parts *p, char c)
{
    const struct temporal *t = p->t;

    switch (c) {
    case 'Y':
        buffer_format(out, "%04d", t->year);
        return true;
    case 'y':
        buffer_format(out, "%02d", t->year % 100);
        return true;
    case 'm':
        buffer_format(out, "%02d", t->month);
        return true;
    case 'c':
        buffer_format(out, "%d", t->month);
        return true;
    case 'M':
        buffer_text(out, months[t->month - 1]);
        return true;
    case 'b':
        buffer_add(out, months[t->month - 1], 3);
        return true;
    case 'd':
        buffer_format(out, "%02d", t->day);
        return true;
    case 'e':
        buffer_format(out, "%d", t->day);
        return true;
    case 'D':
        buffer_format(out, "%d%s", t->day, ordinal_day_suffix(t->day));
        return true;
    case 'W':
        buffer_text(out, days[p->weekday]);
        return true;
    case 'a':
        buffer_add(out, days[p->weekday], 3);
        return true;
    case 'w':
        buffer_format(out, "%d", p->weekday);
        return true;
    case 'j':
        buffer_format(out, "%03d", p->day_of_year);
        return true;
    default:
        break;
    }
    if (!strchr("UuVvXx", c))
        return false;
    add_week(out, t, c);
    return true;
}

static bool
add_time_part(struct buffer *out, const struct parts *p, char c)
{
    int hour12 = p->hour % 12 ? (int)(p->hour % 12) : 12;
    int hour = (int)p->hour, minute = (int)p->minute, second = (int)p->second;
    const char *half = p->hour % 24 < 12 ? "AM" : "PM";

    switch (c) {
    case 'H':
        buffer_format(out, "%02d", hour);
        return true;
    case 'k':
        buffer_format(out, "%d", hour);
        return true;
    case 'h':
    case 'I':
        buffer_format(out, "%02d", hour12);
        return true;
    case 'l':
        buffer_format(out, "%d", hour12);
        return true;
    case 'i':
        buffer_format(out, "%02d", minute);
        return true;
    case 's':
    case 'S':
        buffer_format(out, "%02d", second);
        return true;
    case 'f':
        buffer_format(out, "%06d", (int)p->micro);
        return true;
    case 'p':
        buffer_text(out, half);
        return true;
    case 'r':
        buffer_format(out, "%02d:%02d:%02d %s", hour12, minute, second, half);
        return true;
    case 'T':
        buffer_format(out, "%02d:%02d:%02d", hour, minute, second);
        return true;
    default:
        return false;
    }
}

void
function_format_temporal(sqlite3_context *c, const struct temporal *t,
                         struct span format)
{
    struct parts p = parts_of(t);
    struct buffer out;

    buffer_init(&out, SELECT_VALUE_MAX);
    if (t->kind == TEMPORAL_TIME && t->micros < 0)
        buffer_char(&out, '-');
    for (size_t i = 0; i < format.size; i++) {
        char letter = format.data[i];

        if (letter != '%' || i + 1 == format.size) {
            buffer_char(&out, letter);
            continue;
        }
        letter = format.data[++i];
        /* A time has no year: NULL, as in MySQL. */
        if (t->kind == TEMPORAL_TIME && function_format_reads_date(letter)) {
            buffer_fini(&out);
            return;
        }
        if (letter == '\0' ||
            (t->kind != TEMPORAL_TIME && add_date_part(&out, &p, letter)))
            continue;
        if (!add_time_part(&out, &p, letter))
            buffer_char(&out, letter);
    }
    function_buffer(c, &out);
}

static void
call_date_format(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;

    (void)argc;
    if (!function_any_null(2, argv) && function_argument(argv[1]).size > 0 &&
        function_datetime(argv[0], &t))
        function_format_temporal(c, &t, function_argument(argv[1]));
}

static void
call_time_format(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct temporal t;

    (void)argc;
    if (function_any_null(2, argv) || function_argument(argv[1]).size == 0 ||
        !function_temporal(c, argv[0], &t))
        return;
    t.kind = TEMPORAL_TIME;
    function_format_temporal(c, &t, function_argument(argv[1]));
}

/* ---- reading ---- */

struct reading {
    const char *p, *end;
    int year, month, day, hour, minute, second, micro;
    int half;                 /* 0: not read, 1: AM, 2: PM */
    int weekday, day_of_year; /* 1 is Monday and the first day; 0: not read */
    int week, week_year;      /* of %U %u %V %v, and of %X %x; -1: not read */
    char week_letter, year_letter;
    bool has_date, has_time;
};

bool
function_format_reads_date(char c)
{
    return c && strchr("YymcMbdeDWawjUuVvXx", c);
}

bool
function_format_reads_time(char c)
{
    return c && strchr("HkhIlisSfprT", c);
}

static bool
read_format_digits(struct reading *r, int most, int *out)
{
    int count = 0;

    for (*out = 0; count < most && r->p < r->end && is_digit(*r->p); count++)
        *out = *out * 10 + (*r->p++ - '0');
    return count > 0;
}

static bool
read_calendar_name(struct reading *r, const char *const *names, size_t count,
                   size_t cut, int *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = cut ? cut : strlen(names[i]);

        if ((size_t)(r->end - r->p) >= size &&
            strncasecmp(r->p, names[i], size) == 0) {
            r->p += size;
            *out = (int)i + 1;
            return true;
        }
    }
    return false;
}

static bool
read_format_microseconds(struct reading *r)
{
    const char *start = r->p;

    if (!read_format_digits(r, 6, &r->micro))
        return false;
    /* .5 is half a second. */
    for (int n = (int)(r->p - start); n < 6; n++)
        r->micro *= 10;
    return true;
}

/* Turns 1 for Sunday into 1 for Monday. */
static bool
from_monday(struct reading *r)
{
    r->weekday = r->weekday == 1 ? 7 : r->weekday - 1;
    return true;
}

/* Finds the date of a day of the year, or of a week's day.  As in MySQL, %V
 * needs %X, %v needs %x, and %U and %u need %Y. */
static bool
find_day(struct reading *r)
{
    bool sunday = r->week_letter == 'U' || r->week_letter == 'V';
    bool strict = r->week_letter == 'V' || r->week_letter == 'v';
    struct temporal t = {TEMPORAL_DATE, r->year, 1, 1, 0, 0};
    int64_t found = temporal_days(&t) + r->day_of_year - 1;
    int first;

    if (r->week >= 0 && r->weekday > 0) {
        if (strict ? r->year_letter != (sunday ? 'X' : 'x') : r->year_letter)
            return false;
        if (strict)
            t.year = r->week_year;
        /* first: the day of the week of January 1; 0 is Monday, or Sunday where
         * weeks begin then.  Week 1 is that of the first Sunday, or else the
         * first with four days in the year, so it may begin a week later than
         * the week of January 1. */
        first = (int)((temporal_days(&t) + 5 + sunday) % 7);
        found = temporal_days(&t) - first + ((int64_t)r->week - 1) * 7 +
                (sunday ? r->weekday % 7 : r->weekday - 1) +
                (first > (sunday ? 0 : 3) ? 7 : 0);
    } else if (r->day_of_year == 0) {
        return true;
    }
    if (found < 1 || found > TEMPORAL_DAYS_MAX)
        return false;
    temporal_set_days(&t, found);
    r->year = t.year;
    r->month = t.month;
    r->day = t.day;
    return true;
}

/* The letters that stand for a number: its digits at most, and the member
 * that holds it. */
struct number_specifier {
    char letter;
    int digits;
    size_t member;
};

static const struct number_specifier number_specifiers[] = {
    {'Y', 4, offsetof(struct reading, year)},
    {'y', 2, offsetof(struct reading, year)},
    {'m', 2, offsetof(struct reading, month)},
    {'c', 2, offsetof(struct reading, month)},
    {'d', 2, offsetof(struct reading, day)},
    {'e', 2, offsetof(struct reading, day)},
    {'D', 2, offsetof(struct reading, day)},
    {'w', 1, offsetof(struct reading, weekday)},
    {'j', 3, offsetof(struct reading, day_of_year)},
    {'U', 2, offsetof(struct reading, week)},
    {'u', 2, offsetof(struct reading, week)},
    {'V', 2, offsetof(struct reading, week)},
    {'v', 2, offsetof(struct reading, week)},
    {'X', 4, offsetof(struct reading, week_year)},
    {'x', 4, offsetof(struct reading, week_year)},
    {'H', 2, offsetof(struct reading, hour)},
    {'k', 2, offsetof(struct reading, hour)},
    {'h', 2, offsetof(struct reading, hour)},
    {'I', 2, offsetof(struct reading, hour)},
    {'l', 2, offsetof(struct reading, hour)},
    {'i', 2, offsetof(struct reading, minute)},
    {'s', 2, offsetof(struct reading, second)},
    {'S', 2, offsetof(struct reading, second)},
};

static bool
read_specified_number(struct reading *r, char letter)
{
    const struct number_specifier *s = number_specifiers;
    const struct number_specifier *end =
        s + sizeof(number_specifiers) / sizeof(*s);

    while (s < end && s->letter != letter)
        s++;
    return s < end &&
           read_format_digits(r, s->digits, (int *)((char *)r + s->member));
}

/* Checks and completes the number that read_specified_number has read. */
static bool
finish_specified_number(struct reading *r, char letter)
{
    switch (letter) {
    case 'y':
        r->year += r->year < 70 ? 2000 : 1900;
        return true;
    case 'D': /* 1st, 2nd: any two characters */
        if (r->end - r->p < 2)
            return false;
        r->p += 2;
        return true;
    case 'w': /* 0 is Sunday */
        return r->weekday++ < 7 && from_monday(r);
    case 'j':
        return r->day_of_year > 0 && r->day_of_year <= 366;
    case 'U':
    case 'u':
        r->week_letter = letter;
        return r->week <= 53;
    case 'V':
    case 'v':
        r->week_letter = letter;
        return r->week > 0 && r->week <= 53;
    case 'X':
    case 'x':
        r->year_letter = letter;
        return true;
    default:
        return true;
    }
}

/* %T and %r are formats of their own, one level deep. */
static bool read_format(struct reading *r, struct span format);

static bool
read_format_specifier(struct reading *r, char letter)
{
    static const char *const halves[] = {"AM", "PM"};
    static const struct span clock = {"%H:%i:%S", 8},
                             clock12 = {"%h:%i:%S %p", 11};

    r->has_date = r->has_date || function_format_reads_date(letter);
    r->has_time = r->has_time || function_format_reads_time(letter);
    switch (letter) {
    case 'M':
        return read_calendar_name(r, months, 12, 0, &r->month);
    case 'b':
        return read_calendar_name(r, months, 12, 3, &r->month);
    case 'W':
        return read_calendar_name(r, days, 7, 0, &r->weekday) && from_monday(r);
    case 'a':
        return read_calendar_name(r, days, 7, 3, &r->weekday) && from_monday(r);
    case 'p':
        return read_calendar_name(r, halves, 2, 0, &r->half);
    case 'f':
        return read_format_microseconds(r);
    case 'T':
        return read_format(r, clock);
    case 'r':
        return read_format(r, clock12);
    case '%':
        return r->p < r->end && *r->p++ == '%';
    default:
        return read_specified_number(r, letter) &&
               finish_specified_number(r, letter);
    }
}

static bool
read_format(struct reading *r, struct span format)
{
    for (size_t i = 0; i < format.size; i++) {
        /* A blank in the text or in the format stands for any number of
         * them. */
        while (r->p < r->end && *r->p == ' ')
            r->p++;
        if (format.data[i] == ' ')
            continue;
        if (format.data[i] != '%' || i + 1 == format.size) {
            if (r->p == r->end || *r->p++ != format.data[i])
                return false;
        } else if (!read_format_specifier(r, format.data[++i])) {
            return false;
        }
    }
    return true;
}

/* Reads all that the format names; false: the text does not have it, or it is
 * no date. */
static bool
read_formatted_datetime(struct reading *r, struct span format,
                        struct temporal *t)
{
    if (!read_format(r, format) || !find_day(r))
        return false;
    /* 12 AM is midnight, 12 PM noon; 13 PM is no time. */
    if (r->half && (r->hour < 1 || r->hour > 12))
        return false;
    if (r->half)
        r->hour = r->hour % 12 + (r->half == 2 ? 12 : 0);
    if (r->hour > 23 || r->minute > 59 || r->second > 59)
        return false;
    if (r->has_date && (r->month < 1 || r->month > 12 || r->day < 1 ||
                        r->day > (int)temporal_month_days(r->year, r->month)))
        return false;
    t->kind = !r->has_time  ? TEMPORAL_DATE
              : r->has_date ? TEMPORAL_DATETIME
                            : TEMPORAL_TIME;
    t->year = r->year;
    t->month = r->month;
    t->day = r->day;
    t->digits = r->micro ? 6 : 0;
    t->micros = ((int64_t)(r->hour * 60 + r->minute) * 60 + r->second) *
                    TEMPORAL_SECOND +
                r->micro;
    return true;
}

static void
call_str_to_date(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span text = function_argument(argv[0]);
    struct reading r = {
        .p = text.data, .end = text.data + text.size, .week = -1};
    struct temporal t = {0};

    if (function_any_null(argc, argv))
        return;
    if (!read_formatted_datetime(&r, function_argument(argv[1]), &t)) {
        function_warn_wrong(c, "datetime", text);
        return;
    }
    function_temporal_result(c, &t);
    while (r.p < r.end && *r.p == ' ')
        r.p++;
    if (r.p < r.end)
        function_warn(
            c, ER_TRUNCATED_VALUE, "Truncated incorrect %s value: '%.*s'",
            t.kind == TEMPORAL_DATE   ? "date"
            : t.kind == TEMPORAL_TIME ? "time"
                                      : "datetime",
            (int)(text.size < TEMPORAL_TEXT ? text.size : TEMPORAL_TEXT),
            text.data);
}

const struct function format_functions[] = {
    /* the third argument is MariaDB's locale, which changes nothing here */
    {"date_format", 2, 3, call_date_format, RETURNS_TEXT},
    {"time_format", 2, 2, call_time_format, RETURNS_TEXT},
    {"str_to_date", 2, 2, call_str_to_date, RETURNS_READ},
    {NULL},
};
