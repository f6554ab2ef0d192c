/* temporal.c - see temporal.h. */
#include "temporal.h"

#include <stdio.h>
#include <string.h>

enum {
    DATE_BYTES = 4,
    DATETIME_BYTES = 7,
    DATETIME_FULL = 11, /* with microseconds */
    TIME_BYTES = 8,
    TIME_FULL = 12,
    HOURS_A_DAY = 24
};

/* Texts */

/* Digits, at least min and at most max of them. */
static bool
take_number(struct span *s, size_t min, size_t max, uint32_t *out)
{
    size_t n = 0;

    *out = 0;
    while (n < max && n < s->size && s->data[n] >= '0' && s->data[n] <= '9')
        *out = *out * 10 + (uint32_t)(s->data[n++] - '0');
    s->data += n;
    s->size -= n;
    return n >= min;
}

static bool
take_char(struct span *s, char c)
{
    if (s->size == 0 || s->data[0] != c)
        return false;
    s->data++;
    s->size--;
    return true;
}

/* .f to .ffffff, in microseconds; may be absent. */
static bool
take_fraction(struct span *s, uint32_t *out)
{
    size_t before, digits;

    *out = 0;
    if (!take_char(s, '.'))
        return true;
    before = s->size;
    if (!take_number(s, 1, 6, out))
        return false;
    for (digits = before - s->size; digits < 6; digits++)
        *out *= 10;
    return true;
}

static bool
in_range(const struct temporal *t, bool time_alone)
{
    uint32_t hours = time_alone ? HOURS_A_DAY * (TEMPORAL_DAYS_MAX + 1) : 24;

    return t->year <= 9999 && t->month <= 12 && t->day <= 31 &&
           t->hour < hours && t->minute < 60 && t->second < 60 &&
           t->microsecond < 1000000;
}

static bool
take_clock(struct span *s, struct temporal *t)
{
    uint32_t minute, second;

    if (!take_number(s, 1, 3, &t->hour) || !take_char(s, ':') ||
        !take_number(s, 1, 2, &minute) || !take_char(s, ':') ||
        !take_number(s, 1, 2, &second) || !take_fraction(s, &t->microsecond))
        return false;
    t->minute = (uint8_t)minute;
    t->second = (uint8_t)second;
    return true;
}

bool
temporal_parse_datetime(struct span text, struct temporal *out)
{
    struct temporal t = {0};
    uint32_t year, month, day;

    if (!take_number(&text, 4, 4, &year) || !take_char(&text, '-') ||
        !take_number(&text, 1, 2, &month) || !take_char(&text, '-') ||
        !take_number(&text, 1, 2, &day))
        return false;
    t.year = (uint16_t)year;
    t.month = (uint8_t)month;
    t.day = (uint8_t)day;
    if (text.size > 0 && ((!take_char(&text, ' ') && !take_char(&text, 'T')) ||
                          !take_clock(&text, &t)))
        return false;
    if (text.size > 0 || !in_range(&t, false))
        return false;
    *out = t;
    return true;
}

bool
temporal_parse_time(struct span text, struct temporal *out)
{
    struct temporal t = {.negative = take_char(&text, '-')};

    if (!take_clock(&text, &t) || text.size > 0 || !in_range(&t, true))
        return false;
    *out = t;
    return true;
}

static int
print_fraction(uint32_t microsecond, char *out, size_t size)
{
    if (microsecond == 0)
        return 0;
    if (microsecond % 1000 == 0)
        return snprintf(out, size, ".%03u", microsecond / 1000);
    return snprintf(out, size, ".%06u", microsecond);
}

int
temporal_print_date(const struct temporal *t, char out[TEMPORAL_TEXT_MAX])
{
    return snprintf(out, TEMPORAL_TEXT_MAX, "%04u-%02u-%02u", t->year, t->month,
                    t->day);
}

int
temporal_print_datetime(const struct temporal *t, char out[TEMPORAL_TEXT_MAX])
{
    int size =
        snprintf(out, TEMPORAL_TEXT_MAX, "%04u-%02u-%02u %02u:%02u:%02u",
                 t->year, t->month, t->day, t->hour, t->minute, t->second);

    return size + print_fraction(t->microsecond, out + size,
                                 TEMPORAL_TEXT_MAX - (size_t)size);
}

int
temporal_print_time(const struct temporal *t, char out[TEMPORAL_TEXT_MAX])
{
    int size = snprintf(out, TEMPORAL_TEXT_MAX, "%s%02u:%02u:%02u",
                        t->negative ? "-" : "", t->hour, t->minute, t->second);

    return size + print_fraction(t->microsecond, out + size,
                                 TEMPORAL_TEXT_MAX - (size_t)size);
}

/* Bytes */

static bool
has_time(const struct temporal *t)
{
    return t->hour || t->minute || t->second || t->microsecond;
}

static void
put_day(struct buffer *out, const struct temporal *t)
{
    buffer_u16(out, t->year);
    buffer_u8(out, t->month);
    buffer_u8(out, t->day);
}

static void
put_clock(struct buffer *out, const struct temporal *t)
{
    buffer_u8(out, (uint8_t)(t->hour % HOURS_A_DAY));
    buffer_u8(out, t->minute);
    buffer_u8(out, t->second);
    if (t->microsecond)
        buffer_u32(out, t->microsecond);
}

void
temporal_put_date(struct buffer *out, const struct temporal *t)
{
    bool any = t->year || t->month || t->day;

    buffer_u8(out, any ? DATE_BYTES : 0);
    if (any)
        put_day(out, t);
}

void
temporal_put_datetime(struct buffer *out, const struct temporal *t)
{
    if (!has_time(t)) {
        temporal_put_date(out, t);
        return;
    }
    buffer_u8(out, t->microsecond ? DATETIME_FULL : DATETIME_BYTES);
    put_day(out, t);
    put_clock(out, t);
}

void
temporal_put_time(struct buffer *out, const struct temporal *t)
{
    if (!has_time(t)) {
        buffer_u8(out, 0);
        return;
    }
    buffer_u8(out, t->microsecond ? TIME_FULL : TIME_BYTES);
    buffer_u8(out, t->negative);
    buffer_u32(out, t->hour / HOURS_A_DAY);
    put_clock(out, t);
}

static void
read_clock(struct reader *r, struct temporal *t, bool full)
{
    t->hour += reader_u8(r);
    t->minute = reader_u8(r);
    t->second = reader_u8(r);
    if (full)
        t->microsecond = reader_u32(r);
}

bool
temporal_read_datetime(struct reader *r, struct temporal *out)
{
    uint8_t size = reader_u8(r);
    struct temporal t = {0};

    if (size != 0 && size != DATE_BYTES && size != DATETIME_BYTES &&
        size != DATETIME_FULL)
        r->failed = true;
    if (size >= DATE_BYTES) {
        t.year = reader_u16(r);
        t.month = reader_u8(r);
        t.day = reader_u8(r);
    }
    if (size >= DATETIME_BYTES)
        read_clock(r, &t, size == DATETIME_FULL);
    *out = t;
    return in_range(&t, false);
}

bool
temporal_read_time(struct reader *r, struct temporal *out)
{
    uint8_t size = reader_u8(r);
    struct temporal t = {0};
    uint32_t days = 0;

    if (size != 0 && size != TIME_BYTES && size != TIME_FULL)
        r->failed = true;
    if (size != 0) {
        t.negative = reader_u8(r) != 0;
        days = reader_u32(r);
        read_clock(r, &t, size == TIME_FULL);
    }
    if (days > TEMPORAL_DAYS_MAX || t.hour >= HOURS_A_DAY)
        return false;
    t.hour += days * HOURS_A_DAY;
    *out = t;
    return in_range(&t, true);
}
