/*
 * temporal.c - reads and writes MySQL's dates and times.
 *
 * MySQL accepts many spellings (2026-11-30, 26.11.30, 20261130101112,
 * 2026-11-30T10:11, 1 10:11:12), and clients use most of them; SQLite's own
 * functions know a few. libc's mktime() is no help: it has time zones, an
 * environment, and no year 0.  So a moment is a day number and microseconds,
 * with the calendar computed arithmetically in a few instructions.  No
 * allocation, no locks.
 */
#include "temporal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascii.h"

enum {
    FRACTION_DIGITS = 6,
    TWO_DIGITS_PIVOT = 70,
    ZONE_MINUTES_MAX = 14 * 60,
    HOUR_DIGITS = 10,
    HOUR_MAX = 10000 /* past 838 the result is TEMPORAL_TIME_MAX, whatever
                      * the hour */
};

static bool
is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

unsigned
temporal_month_days(int year, int month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30,
                                         31, 31, 30, 31, 30, 31};

    if (month < 1 || month > 12)
        return 31;
    return days[month - 1] + (month == 2 && is_leap(year));
}

int64_t
temporal_days(const struct temporal *t)
{
    /* Years begin in March here, so that the leap day is the last of a year;
     * 400 years have 146097 days, and 153 days make five months.  (Howard
     * Hinnant, "chrono-Compatible Low-Level Date Algorithms".) */
    int64_t year = t->month > 2 ? t->year : t->year - 1;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t month = (t->month + 9) % 12; /* from March */
    int64_t of_year = (153 * month + 2) / 5 + t->day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year +
           60;
}

void
temporal_set_days(struct temporal *t, int64_t days)
{
    int64_t since = days - 60; /* 0000-03-01 */
    int64_t era = (since >= 0 ? since : since - 146096) / 146097;
    int64_t of_era = since - era * 146097;
    int64_t year =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;

    t->day = (int)(of_year - (153 * month + 2) / 5 + 1);
    t->month = (int)(month < 10 ? month + 3 : month - 9);
    t->year = (int)(year + era * 400 + (t->month <= 2));
}

int64_t
temporal_magnitude(const struct temporal *t)
{
    return t->micros < 0 ? -t->micros : t->micros;
}

int64_t
temporal_micros(const struct temporal *t)
{
    if (t->kind == TEMPORAL_TIME)
        return t->micros;
    return temporal_days(t) * TEMPORAL_DAY + t->micros;
}

void
temporal_set_micros(struct temporal *t, int64_t micros)
{
    int64_t days = micros / TEMPORAL_DAY;

    if (t->kind == TEMPORAL_TIME) {
        t->micros = micros > TEMPORAL_TIME_MAX    ? TEMPORAL_TIME_MAX
                    : micros < -TEMPORAL_TIME_MAX ? -TEMPORAL_TIME_MAX
                                                  : micros;
        return;
    }
    /* Division rounds towards zero, but a day begins before its time of day. */
    if (micros % TEMPORAL_DAY < 0)
        days--;
    t->micros = micros - days * TEMPORAL_DAY;
    temporal_set_days(t, days);
}

/* ---- reading ---- */

struct scan {
    const char *p, *end;
};

static bool
at_digit(const struct scan *s)
{
    return s->p < s->end && is_digit(*s->p);
}

/* Reads at most `most` digits; returns their number. */
static size_t
scan_datetime_number(struct scan *s, size_t most, int64_t *out)
{
    size_t count = 0;

    for (*out = 0; count < most && at_digit(s); count++)
        *out = *out * 10 + (*s->p++ - '0');
    return count;
}

/* Reads .123 as microseconds, rounded down: digits past the sixth count for
 * nothing, as scale is 0 then. */
static void
scan_second_fraction(struct scan *s, struct temporal *t)
{
    int64_t scale = TEMPORAL_SECOND / 10, micros = 0;

    if (s->end - s->p < 2 || *s->p != '.' || !is_digit(s->p[1]))
        return;
    for (s->p++; at_digit(s); s->p++, scale /= 10) {
        micros += (*s->p - '0') * scale;
        t->digits += t->digits < FRACTION_DIGITS;
    }
    t->micros += t->micros < 0 ? -micros : micros;
}

static void
skip_datetime_blanks(struct scan *s)
{
    while (s->p < s->end && is_blank(*s->p))
        s->p++;
}

static int
expand_two_digit_year(int64_t year, size_t digits)
{
    if (digits > 2)
        return (int)year;
    return (int)(year < TWO_DIGITS_PIVOT ? 2000 + year : 1900 + year);
}

static bool
is_valid(const struct temporal *t)
{
    return t->month >= 1 && t->month <= 12 && t->day >= 1 &&
           t->day <= (int)temporal_month_days(t->year, t->month) &&
           t->micros < TEMPORAL_DAY;
}

/* Reads hh:mm[:ss[.ffffff]].  The hour may have many digits: 838 and more is
 * for the caller to cut. */
static bool
clock_part(struct scan *s, struct temporal *t)
{
    int64_t hour, minute = 0, second = 0;

    if (scan_datetime_number(s, HOUR_DIGITS, &hour) == 0 || at_digit(s))
        return false;
    hour = hour < HOUR_MAX ? hour : HOUR_MAX;
    if (s->p < s->end && *s->p == ':') {
        s->p++;
        if (scan_datetime_number(s, 2, &minute) == 0)
            return false;
        if (s->p < s->end && *s->p == ':') {
            s->p++;
            if (scan_datetime_number(s, 2, &second) == 0)
                return false;
        }
    }
    if (minute > 59 || second > 59)
        return false;
    t->micros = ((hour * 60 + minute) * 60 + second) * TEMPORAL_SECOND;
    scan_second_fraction(s, t);
    return true;
}

/* Reads YYYYMMDD, YYMMDD, YYYYMMDDhhmmss or YYMMDDhhmmss: count digits in a
 * row.  The count alone tells them apart. */
static bool
scan_packed_datetime(struct scan *s, size_t count, struct temporal *t)
{
    size_t year_digits = count == 8 || count == 14 ? 4 : 2;
    int64_t year, month, day, hour = 0, minute = 0, second = 0;

    if (count != 6 && count != 8 && count != 12 && count != 14)
        return false;
    scan_datetime_number(s, year_digits, &year);
    scan_datetime_number(s, 2, &month);
    scan_datetime_number(s, 2, &day);
    if (count > 8) {
        scan_datetime_number(s, 2, &hour);
        scan_datetime_number(s, 2, &minute);
        scan_datetime_number(s, 2, &second);
        t->kind = TEMPORAL_DATETIME;
    }
    t->year = expand_two_digit_year(year, year_digits);
    t->month = (int)month;
    t->day = (int)day;
    t->micros = ((hour * 60 + minute) * 60 + second) * TEMPORAL_SECOND;
    if (count > 8)
        scan_second_fraction(s, t);
    return minute < 60 && second < 60;
}

/* Reads +hh:mm, -hh:mm or Z, and moves the time to UTC, in which heapwire
 * gives all times.  What is no offset is left for the caller, who sees that
 * the text goes on. */
static void
scan_zone_offset(struct scan *s, struct temporal *t)
{
    struct scan at = *s;
    int64_t hour, minute;
    const char *sign = at.p;

    if (t->kind != TEMPORAL_DATETIME || at.p == at.end)
        return;
    at.p++;
    if (*sign == 'Z')
        *s = at;
    if ((*sign != '+' && *sign != '-') ||
        scan_datetime_number(&at, 2, &hour) != 2 || at.p == at.end ||
        *at.p++ != ':' || scan_datetime_number(&at, 2, &minute) != 2 ||
        minute > 59 || hour * 60 + minute > ZONE_MINUTES_MAX)
        return;
    minute = (hour * 60 + minute) * (*sign == '-' ? -1 : 1);
    temporal_set_micros(t, temporal_micros(t) - minute * 60 * TEMPORAL_SECOND);
    *s = at;
}

static size_t
digits_ahead(const struct scan *s)
{
    size_t count = 0;

    while (s->p + count < s->end && is_digit(s->p[count]))
        count++;
    return count;
}

bool
temporal_parse(struct span text, struct temporal *out)
{
    struct scan s = {text.data, text.data + text.size};
    int64_t year, month, day;
    size_t digits;

    memset(out, 0, sizeof(*out));
    skip_datetime_blanks(&s);
    digits = digits_ahead(&s);
    if (digits >= 6) {
        if (!scan_packed_datetime(&s, digits, out))
            return false;
        goto end;
    }
    /* Between the numbers any character is fine, as in MySQL. */
    if (digits != 4 && digits != 2)
        return false;
    scan_datetime_number(&s, 4, &year);
    if (s.p == s.end || is_blank(*s.p) || *s.p == ':')
        return false;
    s.p++;
    if (scan_datetime_number(&s, 2, &month) == 0 || s.p == s.end)
        return false;
    s.p++;
    if (scan_datetime_number(&s, 2, &day) == 0)
        return false;
    out->year = expand_two_digit_year(year, digits);
    out->month = (int)month;
    out->day = (int)day;
    if (s.end - s.p >= 2 && (*s.p == 'T' || is_blank(*s.p)) &&
        (is_digit(s.p[1]) || is_blank(s.p[1]))) {
        s.p++;
        skip_datetime_blanks(&s);
        if (at_digit(&s)) {
            out->kind = TEMPORAL_DATETIME;
            if (!clock_part(&s, out))
                return false;
        }
    }
end:
    if (!is_valid(out))
        return false;
    scan_zone_offset(&s, out);
    skip_datetime_blanks(&s);
    out->more = s.p < s.end;
    return out->year >= 0 && out->year <= TEMPORAL_YEAR_MAX;
}

/* Reads hhmmss from the right: 11 is eleven seconds, 1011 ten minutes and
 * eleven seconds. */
static bool
packed_time(struct scan *s, struct temporal *t)
{
    int64_t value, hour, minute, second;

    scan_datetime_number(s, 18, &value);
    second = value % 100;
    minute = value / 100 % 100;
    hour = value / 10000;
    if (minute > 59 || second > 59 || hour > 9999999)
        return false;
    t->micros = ((hour * 60 + minute) * 60 + second) * TEMPORAL_SECOND;
    scan_second_fraction(s, t);
    return true;
}

bool
temporal_parse_time(struct span text, struct temporal *out)
{
    struct scan s = {text.data, text.data + text.size}, at;
    bool negative = false;
    int64_t days = 0;
    size_t digits;

    skip_datetime_blanks(&s);
    digits = digits_ahead(&s);
    /* It begins as a moment does; its time of day counts if it is a valid
     * one. */
    if ((digits >= 12 || (digits == 4 && s.p + 4 < s.end && s.p[4] == '-')) &&
        temporal_parse(text, out))
        return true;
    memset(out, 0, sizeof(*out));
    out->kind = TEMPORAL_TIME;
    if (s.p < s.end && *s.p == '-') {
        negative = true;
        s.p++;
    }
    at = s;
    if (scan_datetime_number(&at, 2, &days) > 0 && at.p < at.end &&
        *at.p == ' ' && at.p + 1 < at.end && is_digit(at.p[1])) {
        s.p = at.p + 1;
    } else {
        days = 0;
    }
    digits = digits_ahead(&s);
    if (digits == 0)
        return false;
    if (s.p + digits < s.end && s.p[digits] == ':') {
        if (!clock_part(&s, out))
            return false;
    } else if (days > 0) {
        int64_t hour;

        scan_datetime_number(&s, 2, &hour);
        out->micros = hour * 3600 * TEMPORAL_SECOND;
    } else if (!packed_time(&s, out)) {
        return false;
    }
    out->micros += days * TEMPORAL_DAY;
    out->beyond = out->micros > TEMPORAL_TIME_MAX;
    temporal_set_micros(out, negative ? -out->micros : out->micros);
    skip_datetime_blanks(&s);
    out->more = s.p < s.end;
    return true;
}

/* ---- writing ---- */

size_t
temporal_text(const struct temporal *t, char out[TEMPORAL_TEXT])
{
    int64_t micros = temporal_magnitude(t);
    int64_t seconds = micros / TEMPORAL_SECOND;
    size_t at = 0;

    if (t->kind != TEMPORAL_TIME)
        at += (size_t)snprintf(out, TEMPORAL_TEXT, "%04d-%02d-%02d", t->year,
                               t->month, t->day);
    if (t->kind == TEMPORAL_DATE)
        return at;
    at += (size_t)snprintf(
        out + at, TEMPORAL_TEXT - at, "%s%02" PRId64 ":%02d:%02d",
        t->kind == TEMPORAL_DATETIME ? " "
        : t->micros < 0              ? "-"
                                     : "",
        seconds / 3600, (int)(seconds / 60 % 60), (int)(seconds % 60));
    if (t->digits > 0) {
        snprintf(out + at, TEMPORAL_TEXT - at, ".%06d",
                 (int)(micros % TEMPORAL_SECOND));
        at += 1 + t->digits;
        out[at] = '\0';
    }
    return at;
}
