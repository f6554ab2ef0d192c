/* select_into.c - see select_into.h: assigns once it has read all rows. */
#include "select_into.h"

#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "errors.h"
#include "kind.h"
#include "memory.h"
#include "opening.h"
#include "deparse.h"
#include "sql_session.h"

enum { ROWS_AT_ONCE = 2 /* the second one is a fault */ };

struct into_cursor {
    struct cursor base; /* first */
    struct cursor *rows;
    struct sql_session *session;
    struct session_value *values; /* not yet in force */
    size_t row_count, count;
    struct span names[TREE_INTO_MAX];
    struct value room[]; /* ROWS_AT_ONCE rows */
};

/* A DECIMAL, or an integer past 63 bits, is sent as a text, but kept as a
 * number. */
static struct value
kept(const struct column *column, const struct value *value)
{
    bool decimal = column->type == COLUMN_DECIMAL;
    struct value out = *value;
    char text[400]; /* the largest double has 309 digits */

    if (value->type != VALUE_TEXT || value->size >= sizeof(text) ||
        (!decimal && column->type != COLUMN_BIGINT))
        return out;
    memcpy(text, value->data, value->size);
    text[value->size] = '\0';
    out.kind = KIND_UNSIGNED;
    if (!decimal || (column->decimals == 0 && *text != '-'))
        return out;
    return (struct value){.type = VALUE_DOUBLE,
                          .real = strtod(text, NULL),
                          .kind = (uint8_t)(KIND_EXACT + column->decimals)};
}

static int
keep_row(struct into_cursor *c, const struct value *row, struct error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        struct value given = kept(&c->rows->columns[i], &row[i]);
        struct session_value *value =
            session_value_new(NULL, c->names[i], &given, err);

        if (!value)
            return -1;
        value->next = c->values;
        c->values = value;
    }
    return 0;
}

static enum step
finish(struct into_cursor *c, struct error *err)
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
    struct rows rows = {c->room, 0, ROWS_AT_ONCE};
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
    if (rows.count > 0 && keep_row(c, c->room, err) != 0)
        return STEP_FAIL;
    return step == STEP_DONE ? finish(c, err) : STEP_MORE;
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
