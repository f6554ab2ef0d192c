/* binary_row.c - see binary_row.h. */
#include "binary_row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text_value.h"
#include "temporal.h"

enum {
    NULL_OFFSET = 2,     /* bits of the bitmap without a column */
    NUMBER_TEXT_MAX = 64 /* of a text that is parsed as a number */
};

static bool
is_null(const struct column *column, const struct value *value)
{
    return value->type == VALUE_NULL || column->type == COLUMN_NULL ||
           (value->type == VALUE_DOUBLE && !isfinite(value->real));
}

/* The text as a C string, cut: a longer one is no number. */
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

/* Rounded, and cut to the range; unsigned ones come as their bits. */
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
between(int64_t integer, int64_t least, int64_t most)
{
    return integer < least ? least : integer > most ? most : integer;
}

static void
put_tinyint(struct buffer *out, const struct column *column,
            const struct value *v)
{
    (void)column;
    buffer_u8(out, (uint8_t)between(as_integer(v, false), INT8_MIN, INT8_MAX));
}

static void
put_int(struct buffer *out, const struct column *column, const struct value *v)
{
    bool is_unsigned = column->flags & COLUMN_UNSIGNED;

    buffer_u32(out, (uint32_t)between(as_integer(v, is_unsigned),
                                      is_unsigned ? 0 : INT32_MIN,
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
put_text(struct buffer *out, const struct column *column, const struct value *v)
{
    (void)column;
    text_value_put(out, v);
}

/* Temporal values are texts; an integer or a double is invalid. */
static bool
read_temporal(const struct value *v,
              bool (*parse)(struct span text, struct temporal *out),
              struct temporal *out)
{
    return (v->type == VALUE_TEXT || v->type == VALUE_BLOB) &&
           parse((struct span){v->data, v->size}, out);
}

static void
put_date(struct buffer *out, const struct column *column, const struct value *v)
{
    struct temporal t = {0};

    (void)column;
    (void)read_temporal(v, temporal_parse_datetime, &t);
    temporal_put_date(out, &t);
}

static void
put_datetime(struct buffer *out, const struct column *column,
             const struct value *v)
{
    struct temporal t = {0};

    (void)column;
    (void)read_temporal(v, temporal_parse_datetime, &t);
    temporal_put_datetime(out, &t);
}

static void
put_time(struct buffer *out, const struct column *column, const struct value *v)
{
    struct temporal t = {0};

    (void)column;
    (void)read_temporal(v, temporal_parse_time, &t);
    temporal_put_time(out, &t);
}

static void (*const puts_of[])(struct buffer *out, const struct column *column,
                               const struct value *v) = {
    [COLUMN_NULL] = NULL, /* is_null */
    [COLUMN_TEXT] = put_text,
    [COLUMN_LONGTEXT] = put_text,
    [COLUMN_BLOB] = put_text,
    [COLUMN_TINYINT] = put_tinyint,
    [COLUMN_INT] = put_int,
    [COLUMN_BIGINT] = put_bigint,
    [COLUMN_DOUBLE] = put_double,
    [COLUMN_DECIMAL] = put_text,
    [COLUMN_DATE] = put_date,
    [COLUMN_TIME] = put_time,
    [COLUMN_DATETIME] = put_datetime,
    [COLUMN_TIMESTAMP] = put_datetime,
};

void
binary_row_put(struct buffer *out, const struct column *columns,
               const struct value *values, size_t count)
{
    uint8_t bits = 0;
    size_t bit = NULL_OFFSET;

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
