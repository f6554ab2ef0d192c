/*
 * select_value.c - converts SQLite's values into those of the declared column
 * types, and runs SELECT ... INTO.
 *
 * A column's definition was sent before its first value, and drivers decode by
 * it, so each value must become the declared type or NULL; what does not fit a
 * number is an error, as MySQL has it.  Texts and blobs are borrowed from
 * SQLite until the next step; only what must be rewritten (decimals, times of
 * midnight) is made in the batch's arena.
 */
#include "select_query.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cursor.h"
#include "deparse.h"
#include "ascii.h"
#include "errors.h"
#include "kind.h"
#include "memory.h"
#include "sql_cursor.h"
#include "sql_session.h"

enum {
    ROWS_AT_ONCE = 2 /* reading two tells whether there is more than one */
};

struct into_cursor {
    struct cursor base; /* first */
    struct cursor *rows;
    struct sql_session *session;
    struct session_value *values; /* not yet in force */
    size_t row_count, count;
    struct span names[TREE_INTO_MAX];
    struct value rows_storage[]; /* ROWS_AT_ONCE rows */
};

/* Gives a variable its number's kind back: a DECIMAL, or an integer past 63
 * bits, is sent as a text. */
static struct value
restore_numeric_kind(const struct column *column, const struct value *value)
{
    struct value out = *value;

    if (value->type == VALUE_TEXT && column->type == COLUMN_DECIMAL)
        out.kind = (uint8_t)(KIND_EXACT + column->decimals);
    else if (value->type == VALUE_TEXT && column->type == COLUMN_BIGINT)
        out.kind = KIND_UNSIGNED;
    return out;
}

static int
keep_row(struct into_cursor *c, const struct value *row, struct error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        struct value given =
            restore_numeric_kind(&c->rows->columns[i], &row[i]);
        struct session_value *value =
            session_value_new(NULL, c->names[i], &given, err);

        if (!value)
            return -1;
        value->next = c->values;
        /* Not in force yet: a second row, or an error, must leave the
         * variables as they are. */
        c->values = value;
    }
    return 0;
}

static enum step
finish_select_into(struct into_cursor *c, struct error *err)
{
    struct session_value *values = c->values;

    c->values = NULL;
    if (c->count == 0) /* DO drops the row */
        return STEP_DONE;
    c->base.affected_rows = c->row_count;
    return session_value_apply(c->session, values, err) == 0 ? STEP_DONE
                                                             : STEP_FAIL;
}

static enum step
into_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct into_cursor *c = (struct into_cursor *)base;
    struct rows rows = {c->rows_storage, 0, ROWS_AT_ONCE};
    enum step step = c->rows->ops->step(c->rows, &rows, err);

    out->count = 0;
    if (step == STEP_FAIL)
        return STEP_FAIL;
    if (c->row_count + rows.count > 1) {
        error_set(err, ER_TOO_MANY_ROWS,
                  "Result consisted of more than one row");
        return STEP_FAIL;
    }
    c->row_count += rows.count;
    if (rows.count > 0 && keep_row(c, c->rows_storage, err) != 0)
        return STEP_FAIL;
    return step == STEP_DONE ? finish_select_into(c, err) : STEP_MORE;
}

static void
into_free(struct cursor *base)
{
    struct into_cursor *c = (struct into_cursor *)base;

    session_value_free(c->values);
    cursor_free(c->rows);
    mem_free(c);
}

static const struct cursor_ops into_ops = {into_step, into_free};

/* Takes rows, a SELECT's cursor, also on failure. */
static struct into_cursor *
into_new(struct cursor *rows, struct error *err)
{
    struct into_cursor *c =
        mem_zalloc(1, sizeof(*c) + ROWS_AT_ONCE * rows->column_count *
                                       sizeof(struct value));

    if (!c) {
        error_memory(err, "a SELECT");
        cursor_free(rows);
        return NULL;
    }
    c->base.ops = &into_ops;
    c->base.info = "";
    c->base.timed = rows->timed;
    c->rows = rows;
    return c;
}

struct cursor *
select_into(const struct opening *opening, struct cursor *rows,
            const struct span *names, size_t count, struct error *err)
{
    struct into_cursor *c;

    if (rows->column_count != count) {
        error_set(err, ER_COLUMN_COUNT,
                  "The used SELECT statements have a different number of "
                  "columns");
        cursor_free(rows);
        return NULL;
    }
    c = into_new(rows, err);
    if (!c)
        return NULL;
    c->session = opening->session;
    c->count = count;
    memcpy(c->names, names, count * sizeof(names[0]));
    return &c->base;
}

struct cursor *
select_into_nothing(struct cursor *rows, struct error *err)
{
    struct into_cursor *c = into_new(rows, err);

    return c ? &c->base : NULL;
}

/* Copies a text into the arena. */
static int
add_copied_text(struct arena *arena, const void *data, size_t size,
                struct value *out)
{
    out->type = VALUE_TEXT;
    out->size = size;
    out->data = arena_strndup(arena, data, size);
    return out->data ? 0 : -1;
}

/* Borrows SQLite's bytes, until the statement's next step. */
static int
borrow_sqlite_bytes(enum value_type type, const char *data, size_t size,
                    struct value *out)
{
    out->type = type;
    out->size = size;
    out->data = data;
    return data ? 0 : -1;
}

static int
borrow_column_text(sqlite3_stmt *statement, int i, struct value *out)
{
    const void *text = sqlite3_column_text(statement, i);

    return borrow_sqlite_bytes(VALUE_TEXT, text,
                               (size_t)sqlite3_column_bytes(statement, i), out);
}

/* Lends a blob; SQLite has no pointer for an empty one. */
static int
borrow_column_blob(sqlite3_stmt *statement, int i, struct value *out)
{
    const void *data = sqlite3_column_blob(statement, i);
    size_t size = (size_t)sqlite3_column_bytes(statement, i);

    return borrow_sqlite_bytes(VALUE_BLOB, data || size > 0 ? data : "", size,
                               out);
}

/* Gives an integer; a double is rounded.  Fails with 1690 if it is out of
 * range. */
static int
add_integer(sqlite3_stmt *statement, int i, const struct column *column,
            struct value *out, struct error *err)
{
    out->type = VALUE_INT;
    if (sqlite3_column_type(statement, i) == SQLITE_TEXT &&
        column->flags & COLUMN_UNSIGNED)
        return borrow_column_text(statement, i, out);
    if (sqlite3_column_type(statement, i) == SQLITE_TEXT &&
        strtoull((const char *)sqlite3_column_text(statement, i), NULL, 10) >
            INT64_MAX &&
        *sqlite3_column_text(statement, i) != '-')
        goto out_of_range;
    if (sqlite3_column_type(statement, i) != SQLITE_FLOAT) {
        out->integer = sqlite3_column_int64(statement, i);
        /* Drivers would read a negative number as one past 63 bits. */
        if (out->integer < 0 && column->flags & COLUMN_UNSIGNED)
            goto out_of_range;
        return 0;
    }
    if (kind_integer_part(rint(sqlite3_column_double(statement, i)),
                          &out->integer))
        return 0;
out_of_range:
    error_set(err, ER_DATA_OUT_OF_RANGE,
              "BIGINT%s value is out of range in a column of the result",
              column->flags & COLUMN_UNSIGNED ? " UNSIGNED" : "");
    return -1;
}

/* Writes as many digits behind the point as the column has. */
static int
add_decimal(sqlite3_stmt *statement, int i, const struct column *column,
            struct arena *arena, struct value *out, struct error *err)
{
    char text[DECIMAL_TEXT];
    struct decimal d;
    size_t used;
    bool read;

    switch (sqlite3_column_type(statement, i)) {
    case SQLITE_INTEGER:
        d = (struct decimal){sqlite3_column_int64(statement, i), 0};
        read = true;
        break;
    case SQLITE_FLOAT:
        read = kind_real_decimal(sqlite3_column_double(statement, i), &d);
        break;
    default:
        borrow_column_text(statement, i, out);
        read = decimal_read((struct span){out->data, out->size}, &d, &used);
        break;
    }
    if (read)
        return add_copied_text(arena, text,
                               decimal_text(d, column->decimals, text), out);
    error_set(err, ER_DATA_OUT_OF_RANGE,
              "DECIMAL value is out of range in a column of the result: it has "
              "more than %d digits",
              DECIMAL_DIGITS);
    return -1;
}

/* Writes a number in a column of texts. */
static int
add_number_text(sqlite3_stmt *statement, int i, struct arena *arena,
                struct value *out)
{
    sqlite3_value *value = sqlite3_column_value(statement, i);
    char text[KIND_TEXT];

    if (sqlite3_value_type(value) == SQLITE_BLOB)
        return borrow_column_text(statement, i, out);
    return add_copied_text(arena, text, kind_text(value, text), out);
}

/* ---- dates and times ---- */

/* Does the text begin as the pattern, in which d is a digit and anything else
 * is itself? */
static bool
has_form(const char *text, size_t size, const char *form)
{
    size_t i = 0;

    for (; form[i]; i++)
        if (i >= size ||
            (form[i] == 'd' ? !is_digit(text[i]) : text[i] != form[i]))
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
        if (!is_digit(text[size]))
            return false;
    return true;
}

static bool
is_time_value_text(const char *text, size_t size)
{
    size_t sign = size > 0 && text[0] == '-';
    size_t hours = has_form(text + sign, size - sign, "ddd:dd:dd") ? 9 : 8;

    return (hours == 9 || has_form(text + sign, size - sign, "dd:dd:dd")) &&
           is_fraction(text + sign + hours, size - sign - hours);
}

/* Gives a date or a time: takes the part that the column needs, or adds
 * midnight.  Anything else is NULL, as after CAST, since drivers fail on a
 * date that is none. */
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
        return borrow_sqlite_bytes(VALUE_TEXT, text + 11, size - 11, out);
    if (type == COLUMN_TIME && is_time_value_text(text, size))
        return borrow_sqlite_bytes(VALUE_TEXT, text, size, out);
    if (type == COLUMN_DATE && (both || (date && size == 10)))
        return borrow_sqlite_bytes(VALUE_TEXT, text, 10, out);
    if (type != COLUMN_TIME && type != COLUMN_DATE && both)
        return borrow_sqlite_bytes(VALUE_TEXT, text, size, out);
    /* A date in a column of moments is its midnight. */
    if (type != COLUMN_TIME && type != COLUMN_DATE && date && size == 10) {
        memcpy(room, text, 10);
        memcpy(room + 10, midnight, sizeof(midnight) - 1);
        return add_copied_text(arena, room, 10 + sizeof(midnight) - 1, out);
    }
    out->type = VALUE_NULL;
    return 0;
}

static int
convert_column_value(sqlite3_stmt *statement, int i,
                     const struct column *column, struct arena *arena,
                     struct value *out, struct error *err)
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
        return add_decimal(statement, i, column, arena, out, err);
    case COLUMN_DATE:
    case COLUMN_TIME:
    case COLUMN_DATETIME:
    case COLUMN_TIMESTAMP:
        return add_temporal(statement, i, column->type, arena, out);
    case COLUMN_BLOB:
        return borrow_column_blob(statement, i, out);
    case COLUMN_TEXT:
    case COLUMN_LONGTEXT:
        if (sqlite3_column_type(statement, i) == SQLITE_TEXT)
            break;
        return add_number_text(statement, i, arena, out);
    }
    return borrow_column_text(statement, i, out);
}

int
select_value(sqlite3_stmt *statement, int i, const struct column *column,
             struct arena *arena, struct value *out, struct error *err)
{
    struct error why = {0};

    memset(out, 0, sizeof(*out));
    if (sqlite3_column_type(statement, i) == SQLITE_NULL ||
        convert_column_value(statement, i, column, arena, out, &why) == 0)
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
