/* function_moment.c - see function_moment.h. */
#include "function_moment.h"

#include <stdio.h>
#include <string.h>

#include "function.h"
#include "kind.h"

/* A number without the zeros that a date begins with: 71231 is 071231,
 * 101000000 is 000101000000.  None is negative. */
static bool
parse_number(struct span digits, struct moment *out)
{
    static const char zeros[] = "000000";
    char text[32];
    size_t whole = strcspn(digits.data, ".");
    size_t size = whole < 6 ? 6 : whole > 8 && whole < 12 ? 12 : whole;
    int written = snprintf(text, sizeof(text), "%.*s%s", (int)(size - whole),
                           zeros, digits.data);

    return *digits.data != '-' && written < (int)sizeof(text) &&
           moment_parse((struct span){text, (size_t)written}, out);
}

bool
function_moment(sqlite3_value *value, struct moment *out)
{
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return false;
    return function_is_number(value)
               ? parse_number(function_argument(value), out)
               : moment_parse(function_argument(value), out);
}

bool
function_moment_or_time(sqlite3_value *value, struct moment *out)
{
    return sqlite3_value_type(value) != SQLITE_NULL &&
           moment_parse_time(function_argument(value), out);
}

void
function_moment_result(sqlite3_context *c, const struct moment *t)
{
    char text[MOMENT_TEXT];

    if (t->kind != MOMENT_TIME && (t->year < 0 || t->year > MOMENT_YEAR_MAX))
        return;
    function_text(c, text, moment_text(t, text));
    sqlite3_result_subtype(c, t->kind == MOMENT_DATE   ? KIND_DATE
                              : t->kind == MOMENT_TIME ? KIND_TIME
                                                       : KIND_DATETIME);
}

struct moment
function_moment_from_unix(int64_t micros, unsigned digits)
{
    struct moment t = {MOMENT_DATETIME, 0, 0, 0, 0, digits};

    moment_set_micros(&t, MOMENT_UNIX_EPOCH + micros);
    return t;
}

static struct moment
first_of_year(int year)
{
    struct moment t = {MOMENT_DATE, year, 1, 1, 0, 0};

    return t;
}

int
function_moment_weekday(const struct moment *t)
{
    int day = (int)((moment_days(t) + 6) % 7);

    return day < 0 ? day + 7 : day;
}

int
function_moment_day_of_year(const struct moment *t)
{
    struct moment first = first_of_year(t->year);

    return (int)(moment_days(t) - moment_days(&first)) + 1;
}

/*
 * Bits of mode: 1: weeks begin on Monday; 2: weeks run from 1 to 53, and days
 * before the first week belong to the last of the year before; 4: with Monday,
 * the first week is the first whole one, else the first with four days; with
 * Sunday the other way round.
 */
int
function_moment_week(const struct moment *t, int mode, int *year)
{
    bool monday = mode & 1, over = mode & 2;
    bool whole = monday ? (mode & 4) != 0 : (mode & 4) == 0;
    struct moment first = first_of_year(t->year);
    int start = (function_moment_weekday(&first) + (monday ? 6 : 0)) % 7;
    int day = function_moment_day_of_year(t) - 1, begins, week;

    /* day of the year on which the first week begins; may be negative */
    if (whole)
        begins = start == 0 ? 0 : 7 - start;
    else
        begins = start <= 3 ? -start : 7 - start;
    *year = t->year;
    if (day < begins) {
        struct moment last = {MOMENT_DATE, t->year - 1, 12, 31, 0, 0};

        if (!over)
            return 0;
        return function_moment_week(&last, mode, year);
    }
    week = (day - begins) / 7 + 1;
    if (over && week > 52) {
        struct moment next = first_of_year(t->year + 1);
        int next_start =
            (function_moment_weekday(&next) + (monday ? 6 : 0)) % 7;
        int left = (int)(moment_days(&next) - moment_days(t));

        if (!whole && next_start <= 3 && left <= next_start) {
            *year = t->year + 1;
            return 1;
        }
    }
    return week;
}
