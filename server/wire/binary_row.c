/* binary_row.c - see binary_row.h. */
#include "binary_row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "binary_moment.h"
#include "text_value.h"

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

/* Only as moment_text() writes it, but for a T; an integer or a double is
 * invalid. */
static bool
read_moment(const struct value *v, bool time, struct moment *out)
{
    enum { T_AT = 10 };
    struct span written = {v->data, v->size};
    char text[MOMENT_TEXT];
    size_t size;

    if ((v->type != VALUE_TEXT && v->type != VALUE_BLOB) ||
        !(time ? moment_parse_time : moment_parse)(written, out) ||
        (out->kind == MOMENT_TIME) != time)
        return false;
    size = moment_text(out, text);
    if (size == v->size && out->kind == MOMENT_DATETIME && v->data[T_AT] == 'T')
        text[T_AT] = 'T';
    return size == v->size && memcmp(text, v->data, size) == 0;
}

static void
put_moment(struct buffer *out, const struct column *column,
           const struct value *v)
{
    enum moment_kind kind = column->type == COLUMN_DATE   ? MOMENT_DATE
                            : column->type == COLUMN_TIME ? MOMENT_TIME
                                                          : MOMENT_DATETIME;
    struct moment t;

    if (!read_moment(v, kind == MOMENT_TIME, &t))
        t = (struct moment){.kind = kind};
    binary_moment_put(out, kind, &t);
}

static void (*const puts_of[])(struct buffer *out, const struct column *column,
                               const struct value *v) = {
    [COLUMN_NULL] = NULL, /* is_null */
    [COLUMN_TEXT] = put_text,       [COLUMN_LONGTEXT] = put_text,
    [COLUMN_BLOB] = put_text,       [COLUMN_TINYINT] = put_tinyint,
    [COLUMN_INT] = put_int,         [COLUMN_BIGINT] = put_bigint,
    [COLUMN_DOUBLE] = put_double,   [COLUMN_DECIMAL] = put_text,
    [COLUMN_DATE] = put_moment,     [COLUMN_TIME] = put_moment,
    [COLUMN_DATETIME] = put_moment, [COLUMN_TIMESTAMP] = put_moment,
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
