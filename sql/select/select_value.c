/* select_value.c - see select_value.h. */
#include "select_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "kind.h"

/* A text made in the arena. */
static int
add_bytes(struct arena *arena, const void *data, size_t size, struct value *out)
{
    out->type = VALUE_TEXT;
    out->size = size;
    out->data = arena_strndup(arena, data, size);
    return out->data ? 0 : -1;
}

/* SQLite's bytes, until the statement's next step. */
static int
lend(enum value_type type, const char *data, size_t size, struct value *out)
{
    out->type = type;
    out->size = size;
    out->data = data;
    return data ? 0 : -1;
}

static int
lend_text(sqlite3_stmt *statement, int i, struct value *out)
{
    const void *text = sqlite3_column_text(statement, i);

    return lend(VALUE_TEXT, text, (size_t)sqlite3_column_bytes(statement, i),
                out);
}

/* Lends a blob; SQLite has no pointer for an empty one. */
static int
lend_blob(sqlite3_stmt *statement, int i, struct value *out)
{
    const void *data = sqlite3_column_blob(statement, i);
    size_t size = (size_t)sqlite3_column_bytes(statement, i);

    return lend(VALUE_BLOB, data || size > 0 ? data : "", size, out);
}

/* Converts a double that an integer can hold; else 1690. */
static int
add_integer(sqlite3_stmt *statement, int i, const struct column *column,
            struct value *out, struct error *err)
{
    out->type = VALUE_INT;
    if (sqlite3_column_type(statement, i) == SQLITE_TEXT &&
        column->flags & COLUMN_UNSIGNED)
        return lend_text(statement, i, out);
    if (sqlite3_column_type(statement, i) == SQLITE_TEXT &&
        strtoull((const char *)sqlite3_column_text(statement, i), NULL, 10) >
            INT64_MAX &&
        *sqlite3_column_text(statement, i) != '-')
        goto out_of_range;
    if (sqlite3_column_type(statement, i) != SQLITE_FLOAT) {
        out->integer = sqlite3_column_int64(statement, i);
        if (out->integer < 0 && column->flags & COLUMN_UNSIGNED)
            goto out_of_range;
        return 0;
    }
    if (kind_whole(rint(sqlite3_column_double(statement, i)), &out->integer))
        return 0;
out_of_range:
    error_set(err, ER_DATA_OUT_OF_RANGE,
              "BIGINT%s value is out of range in a column of the result",
              column->flags & COLUMN_UNSIGNED ? " UNSIGNED" : "");
    return -1;
}

/* Reads a text that function_unsigned made. */
static bool
is_unsigned(sqlite3_stmt *statement, int i)
{
    const char *text;

    if (sqlite3_column_type(statement, i) != SQLITE_TEXT)
        return false;
    text = (const char *)sqlite3_column_text(statement, i);
    return text && *text &&
           strspn(text, "0123456789") ==
               (size_t)sqlite3_column_bytes(statement, i);
}

/* Appends zeros behind the digits that a double has. */
static int
real_digits(char *text, size_t room, double x, int decimals)
{
    int whole = fabs(x) < 1 ? 0 : (int)log10(fabs(x)) + 1;
    int sure = whole < KIND_DIGITS_MAX ? KIND_DIGITS_MAX - whole : 0;

    if (decimals <= sure)
        return snprintf(text, room, "%.*f", decimals, kind_round(x, decimals));
    return snprintf(text, room, "%.*f%s%0*d", sure, x, sure ? "" : ".",
                    decimals - sure, 0);
}

/* Writes as many digits behind the point as the column has. */
static int
add_decimal(sqlite3_stmt *statement, int i, const struct column *column,
            struct arena *arena, struct value *out)
{
    char text[400]; /* the largest double has 309 digits */
    int decimals = column->decimals, size;

    if (!decimals && is_unsigned(statement, i))
        return lend_text(statement, i, out);
    if (sqlite3_column_type(statement, i) == SQLITE_INTEGER)
        size = snprintf(text, sizeof(text), "%" PRId64 "%s%0*d",
                        (int64_t)sqlite3_column_int64(statement, i),
                        decimals ? "." : "", decimals, 0);
    else
        size = real_digits(text, sizeof(text),
                           sqlite3_column_double(statement, i), decimals);
    if (sqlite3_column_type(statement, i) == SQLITE_INTEGER && !decimals)
        size--; /* %0*d writes at least one digit */
    return add_bytes(arena, text, (size_t)size, out);
}

/* ---- dates and times ---- */

/* In the pattern, d is a digit and anything else is itself. */
static bool
has_form(const char *text, size_t size, const char *form)
{
    size_t i = 0;

    for (; form[i]; i++)
        if (i >= size || (form[i] == 'd' ? text[i] < '0' || text[i] > '9'
                                         : text[i] != form[i]))
            return false;
    return true;
}

/* Accepts nothing, or a point and at most six digits. */
static bool
is_fraction(const char *text, size_t size)
{
    if (size == 0)
        return true;
    if (size > 7 || text[0] != '.')
        return false;
    while (--size > 0)
        if (text[size] < '0' || text[size] > '9')
            return false;
    return true;
}

static bool
is_time(const char *text, size_t size)
{
    size_t sign = size > 0 && text[0] == '-';
    size_t hours = has_form(text + sign, size - sign, "ddd:dd:dd") ? 9 : 8;

    return (hours == 9 || has_form(text + sign, size - sign, "dd:dd:dd")) &&
           is_fraction(text + sign + hours, size - sign - hours);
}

/* Takes a date's or a time's part where the column needs it; anything else is
 * NULL, as after CAST. */
static int
add_temporal(sqlite3_stmt *statement, int i, enum column_type type,
             struct arena *arena, struct value *out)
{
    static const char midnight[] = " 00:00:00";
    const char *text = (const char *)sqlite3_column_text(statement, i);
    size_t size = (size_t)sqlite3_column_bytes(statement, i);
    bool date = text && has_form(text, size, "dddd-dd-dd");
    bool both = date && has_form(text, size, "dddd-dd-dd dd:dd:dd") &&
                is_fraction(text + 19, size - 19);
    char room[32];

    if (!text)
        return -1;
    if (type == COLUMN_TIME && both)
        return lend(VALUE_TEXT, text + 11, size - 11, out);
    if (type == COLUMN_TIME && is_time(text, size))
        return lend(VALUE_TEXT, text, size, out);
    if (type == COLUMN_DATE && (both || (date && size == 10)))
        return lend(VALUE_TEXT, text, 10, out);
    if (type != COLUMN_TIME && type != COLUMN_DATE && both)
        return lend(VALUE_TEXT, text, size, out);
    if (type != COLUMN_TIME && type != COLUMN_DATE && date && size == 10) {
        memcpy(room, text, 10);
        memcpy(room + 10, midnight, sizeof(midnight) - 1);
        return add_bytes(arena, room, 10 + sizeof(midnight) - 1, out);
    }
    out->type = VALUE_NULL;
    return 0;
}

static int
convert(sqlite3_stmt *statement, int i, const struct column *column,
        struct arena *arena, struct value *out, struct error *err)
{
    switch (column->type) {
    case COLUMN_NULL:
        return 0;
    case COLUMN_TINYINT:
    case COLUMN_INT:
    case COLUMN_BIGINT:
        return add_integer(statement, i, column, out, err);
    case COLUMN_DOUBLE:
        out->type = VALUE_DOUBLE;
        out->real = sqlite3_column_double(statement, i);
        return 0;
    case COLUMN_DECIMAL:
        return add_decimal(statement, i, column, arena, out);
    case COLUMN_DATE:
    case COLUMN_TIME:
    case COLUMN_DATETIME:
    case COLUMN_TIMESTAMP:
        return add_temporal(statement, i, column->type, arena, out);
    case COLUMN_BLOB:
        return lend_blob(statement, i, out);
    case COLUMN_TEXT:
    case COLUMN_LONGTEXT:
        break;
    }
    return lend_text(statement, i, out);
}

int
select_value(sqlite3_stmt *statement, int i, const struct column *column,
             struct arena *arena, struct value *out, struct error *err)
{
    struct error why = {0};

    memset(out, 0, sizeof(*out));
    if (sqlite3_column_type(statement, i) == SQLITE_NULL ||
        convert(statement, i, column, arena, out, &why) == 0)
        return 0;
    if (why.code)
        *err = why;
    else
        error_memory(err, "a row");
    return -1;
}

int
select_value_keep(struct arena *arena, struct value *value, struct error *err)
{
    if (!value->data)
        return 0;
    value->data = arena_strndup(arena, value->data, value->size);
    if (value->data)
        return 0;
    error_memory(err, "a row");
    return -1;
}
