/*
 * row_value.c - see row_value.h.
 *
 * A text row takes each value as it is.  A binary row has one fixed type for
 * each column, while a cell of ours may be of another type, as SQLite's are:
 * such a value is converted, clamped to the type's range, or sent as zero,
 * since the protocol has no place for an error in a row.
 */
#include "row_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "real_text.h"

/* ---- dates and times, behind a byte of length ---- */

enum {
    DATE_BYTES = 4,
    DATETIME_BYTES = 7,
    DATETIME_FULL = 11, /* with microseconds */
    TIME_BYTES = 8,
    TIME_FULL = 12,
    DAYS_MAX = 34 /* TIME ends at 838 hours */
};

static void
put_clock(struct buffer *out, int64_t micros)
{
    int64_t seconds = micros / TEMPORAL_SECOND;

    buffer_u8(out, (uint8_t)(seconds / 3600 % 24));
    buffer_u8(out, (uint8_t)(seconds / 60 % 60));
    buffer_u8(out, (uint8_t)(seconds % 60));
    if (micros % TEMPORAL_SECOND)
        buffer_u32(out, (uint32_t)(micros % TEMPORAL_SECOND));
}

static void
put_time(struct buffer *out, const struct temporal *t)
{
    int64_t micros = temporal_magnitude(t);

    /* Length 0 stands for the time 00:00:00. */
    if (micros == 0) {
        buffer_u8(out, 0);
        return;
    }
    buffer_u8(out, micros % TEMPORAL_SECOND ? TIME_FULL : TIME_BYTES);
    buffer_u8(out, t->micros < 0);
    buffer_u32(out, (uint32_t)(micros / TEMPORAL_DAY));
    put_clock(out, micros);
}

/* Writes the parts of t that a value of this kind has; zero parts at the end
 * are left out, as MySQL does. */
static void
binary_temporal_put(struct buffer *out, enum temporal_kind kind,
                    const struct temporal *t)
{
    bool clock = kind == TEMPORAL_DATETIME && t->micros != 0;

    if (kind == TEMPORAL_TIME) {
        put_time(out, t);
        return;
    }
    if (!clock && !t->year && !t->month && !t->day) {
        buffer_u8(out, 0);
        return;
    }
    buffer_u8(out, !clock                        ? DATE_BYTES
                   : t->micros % TEMPORAL_SECOND ? DATETIME_FULL
                                                 : DATETIME_BYTES);
    buffer_u16(out, (uint16_t)t->year);
    buffer_u8(out, (uint8_t)t->month);
    buffer_u8(out, (uint8_t)t->day);
    if (clock)
        put_clock(out, t->micros);
}

static bool
read_clock(struct reader *r, bool full, struct temporal *t)
{
    int64_t hour = reader_u8(r), minute = reader_u8(r), second = reader_u8(r);
    uint32_t micros = full ? reader_u32(r) : 0;

    t->micros = ((hour * 60 + minute) * 60 + second) * TEMPORAL_SECOND + micros;
    /* shown with three digits of fraction if they suffice */
    t->digits = micros == 0 ? 0 : micros % 1000 == 0 ? 3 : 6;
    return hour < 24 && minute < 60 && second < 60 && micros < TEMPORAL_SECOND;
}

static bool
read_time(struct reader *r, struct temporal *t)
{
    uint8_t size = reader_u8(r);
    bool negative, valid;
    uint32_t days;

    if (size != 0 && size != TIME_BYTES && size != TIME_FULL)
        r->failed = true;
    if (size == 0 || r->failed)
        return true;
    negative = reader_u8(r) != 0;
    days = reader_u32(r);
    valid = read_clock(r, size == TIME_FULL, t) && days <= DAYS_MAX;
    if (valid)
        t->micros += days * TEMPORAL_DAY;
    if (negative)
        t->micros = -t->micros;
    return valid;
}

bool
binary_temporal_read(struct reader *r, enum temporal_kind kind,
                     struct temporal *out)
{
    bool valid = true;
    uint8_t size;

    *out = (struct temporal){.kind = kind};
    if (kind == TEMPORAL_TIME)
        return read_time(r, out);
    size = reader_u8(r);
    if (size != 0 && size != DATE_BYTES && size != DATETIME_BYTES &&
        size != DATETIME_FULL)
        r->failed = true;
    if (size >= DATE_BYTES) {
        out->year = reader_u16(r);
        out->month = reader_u8(r);
        out->day = reader_u8(r);
    }
    if (size >= DATETIME_BYTES)
        valid = read_clock(r, size == DATETIME_FULL, out);
    return valid && out->year <= TEMPORAL_YEAR_MAX && out->month <= 12 &&
           out->day <= 31;
}

/* ---- text rows: ProtocolText::ResultsetRow ---- */

enum { TEXT_NULL = 0xfb };

/* MySQL has neither infinities nor NaN: they are sent as NULL. */
static void
put_text_double(struct buffer *out, double real)
{
    char text[REAL_TEXT];

    if (isfinite(real))
        buffer_lenenc_bytes(out, text, real_text(real, text));
    else
        buffer_u8(out, TEXT_NULL);
}

/* Most values are integers, and printf takes ten times as long. */
static void
put_text_integer(struct buffer *out, int64_t integer)
{
    char text[24], *end = text + sizeof(text), *at = end;
    uint64_t rest = integer < 0 ? -(uint64_t)integer : (uint64_t)integer;

    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (integer < 0)
        *--at = '-';
    buffer_lenenc_bytes(out, at, (size_t)(end - at));
}

void
text_value_put(struct buffer *out, const struct value *value)
{
    switch (value->type) {
    case VALUE_NULL:
        buffer_u8(out, TEXT_NULL);
        break;
    case VALUE_INT:
        put_text_integer(out, value->integer);
        break;
    case VALUE_DOUBLE:
        put_text_double(out, value->real);
        break;
    case VALUE_TEXT:
    case VALUE_BLOB:
        buffer_lenenc_bytes(out, value->data, value->size);
        break;
    }
}

/* ---- rows of prepared statements ---- */

enum {
    NULL_OFFSET = 2,     /* the bitmap's first two bits stand for no column */
    NUMBER_TEXT_MAX = 64 /* of a text that is parsed as a number */
};

static bool
is_null(const struct column *column, const struct value *value)
{
    return value->type == VALUE_NULL || column->type == COLUMN_NULL ||
           (value->type == VALUE_DOUBLE && !isfinite(value->real));
}

/* Copies the text as a C string, cut: what is longer is no number. */
static const char *
number_text(const struct value *value, char out[NUMBER_TEXT_MAX])
{
    size_t size =
        value->size < NUMBER_TEXT_MAX ? value->size : NUMBER_TEXT_MAX - 1;

    if (size)
        memcpy(out, value->data, size);
    out[size] = '\0';
    return out;
}

static double
as_double(const struct value *value)
{
    char text[NUMBER_TEXT_MAX];
    double real;

    if (value->type == VALUE_INT)
        return (double)value->integer;
    if (value->type == VALUE_DOUBLE)
        return value->real;
    real = strtod(number_text(value, text), NULL);
    return isfinite(real) ? real : 0;
}

/* Rounds, and clamps to the range; unsigned values come as their bits. */
static int64_t
from_double(double real, bool is_unsigned)
{
    real = round(real);
    if (is_unsigned && real >= 0x1p63)
        return real >= 0x1p64 ? -1 : (int64_t)(uint64_t)real;
    if (real >= 0x1p63)
        return INT64_MAX;
    return real < -0x1p63 ? INT64_MIN : (int64_t)real;
}

static int64_t
as_integer(const struct value *value, bool is_unsigned)
{
    char text[NUMBER_TEXT_MAX];
    const char *start;
    char *end;
    int64_t integer;

    if (value->type == VALUE_INT)
        return value->integer;
    if (value->type == VALUE_DOUBLE)
        return from_double(value->real, is_unsigned);
    start = number_text(value, text);
    if (is_unsigned && !strchr(start, '-'))
        integer = (int64_t)strtoull(start, &end, 10);
    else
        integer = strtoll(start, &end, 10);
    if (*end == '.' || *end == 'e' || *end == 'E')
        return from_double(as_double(value), is_unsigned);
    return integer;
}

static int64_t
clamp_column_integer(int64_t integer, int64_t least, int64_t most)
{
    return integer < least ? least : integer > most ? most : integer;
}

static void
put_tinyint(struct buffer *out, const struct column *column,
            const struct value *v)
{
    (void)column;
    buffer_u8(out, (uint8_t)clamp_column_integer(as_integer(v, false), INT8_MIN,
                                                 INT8_MAX));
}

static void
put_int(struct buffer *out, const struct column *column, const struct value *v)
{
    bool is_unsigned = column->flags & COLUMN_UNSIGNED;

    buffer_u32(out, (uint32_t)clamp_column_integer(
                        as_integer(v, is_unsigned), is_unsigned ? 0 : INT32_MIN,
                        is_unsigned ? UINT32_MAX : INT32_MAX));
}

static void
put_bigint(struct buffer *out, const struct column *column,
           const struct value *v)
{
    buffer_u64(out,
               (uint64_t)as_integer(v, (column->flags & COLUMN_UNSIGNED) != 0));
}

static void
put_double(struct buffer *out, const struct column *column,
           const struct value *v)
{
    double real = as_double(v);
    uint64_t bits;

    (void)column;
    memcpy(&bits, &real, sizeof(bits));
    buffer_u64(out, bits);
}

static void
put_text_cell(struct buffer *out, const struct column *column,
              const struct value *v)
{
    (void)column;
    text_value_put(out, v);
}

/* Accepts a text only in the form that temporal_text() writes, or with a T
 * between date and time; an integer or a double is invalid. */
static bool
parse_temporal_column(const struct value *v, bool time, struct temporal *out)
{
    enum { T_AT = 10 };
    struct span written = {v->data, v->size};
    char text[TEMPORAL_TEXT];
    size_t size;

    if ((v->type != VALUE_TEXT && v->type != VALUE_BLOB) ||
        !(time ? temporal_parse_time : temporal_parse)(written, out) ||
        (out->kind == TEMPORAL_TIME) != time)
        return false;
    size = temporal_text(out, text);
    if (size == v->size && out->kind == TEMPORAL_DATETIME &&
        v->data[T_AT] == 'T')
        text[T_AT] = 'T';
    return size == v->size && memcmp(text, v->data, size) == 0;
}

static void
put_temporal_value(struct buffer *out, const struct column *column,
                   const struct value *v)
{
    enum temporal_kind kind = column->type == COLUMN_DATE   ? TEMPORAL_DATE
                              : column->type == COLUMN_TIME ? TEMPORAL_TIME
                                                            : TEMPORAL_DATETIME;
    struct temporal t;

    if (!parse_temporal_column(v, kind == TEMPORAL_TIME, &t))
        t = (struct temporal){.kind = kind};
    binary_temporal_put(out, kind, &t);
}

static void (*const puts_of[])(struct buffer *out, const struct column *column,
                               const struct value *v) = {
    [COLUMN_NULL] = NULL, /* is_null() is true for it */
    [COLUMN_TEXT] = put_text_cell,
    [COLUMN_LONGTEXT] = put_text_cell,
    [COLUMN_BLOB] = put_text_cell,
    [COLUMN_TINYINT] = put_tinyint,
    [COLUMN_INT] = put_int,
    [COLUMN_BIGINT] = put_bigint,
    [COLUMN_DOUBLE] = put_double,
    [COLUMN_DECIMAL] = put_text_cell,
    [COLUMN_DATE] = put_temporal_value,
    [COLUMN_TIME] = put_temporal_value,
    [COLUMN_DATETIME] = put_temporal_value,
    [COLUMN_TIMESTAMP] = put_temporal_value,
};

void
binary_row_put(struct buffer *out, const struct column *columns,
               const struct value *values, size_t count)
{
    uint8_t bits = 0;
    size_t bit = NULL_OFFSET;

    /* the header byte of ProtocolBinary::ResultsetRow */
    buffer_u8(out, 0);
    for (size_t i = 0; i < count; i++, bit++) {
        if (bit == 8) {
            buffer_u8(out, bits);
            bits = 0;
            bit = 0;
        }
        if (is_null(&columns[i], &values[i]))
            bits |= (uint8_t)(1u << bit);
    }
    buffer_u8(out, bits);
    for (size_t i = 0; i < count; i++)
        if (!is_null(&columns[i], &values[i]))
            puts_of[columns[i].type](out, &columns[i], &values[i]);
}
