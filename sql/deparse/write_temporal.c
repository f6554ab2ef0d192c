/*
 * write_temporal.c - writes comparisons of dates and times, which are texts in
 * SQLite.
 *
 * Texts of dates order right only if they have one form: '2026-1-5',
 * '20260105' and '2026-01-05 00:00:00' are one moment for MySQL.  If one
 * operand is a date or a time, the others are written inside hw_temporal(),
 * which gives them that form; a table's own column has it already and stays
 * bare, so that the planner sees it.  A constant that is no date is refused
 * here, with MySQL's error, rather than compared with every row.
 */
#include <stdio.h>

#include "arena.h"
#include "errors.h"
#include "temporal.h"
#include "sql_session.h"
#include "types.h"
#include "writer.h"

static bool
is_full_datetime_type(struct result_type t)
{
    return (t.type == COLUMN_DATETIME || t.type == COLUMN_TIMESTAMP) &&
           !t.loose;
}

/* ---- constants ---- */

void
write_wrong_temporal(struct writer *w, const char *type, struct span text)
{
    if (!w->failed)
        error_set(w->err, ER_WRONG_TEMPORAL, "Incorrect %s value: '%.*s'", type,
                  (int)(text.size < TEMPORAL_TEXT ? text.size : TEMPORAL_TEXT),
                  text.data);
    w->failed = true;
}

static void
check_temporal_constant(struct writer *w, const struct node *node,
                        enum temporal_form as)
{
    static const char *const types[] = {[TEMPORAL_FORM_DATE] = "DATE",
                                        [TEMPORAL_FORM_DATETIME] = "DATETIME",
                                        [TEMPORAL_FORM_TIME] = "TIME"};
    struct temporal t;
    struct span text;

    if (write_known_text(w, node, &text) &&
        !(as == TEMPORAL_FORM_TIME ? temporal_parse_time(text, &t)
                                   : temporal_parse(text, &t)))
        write_wrong_temporal(w, types[as], text);
}

/* ---- writing ---- */

static void
open_temporal_call(struct writer *w, enum temporal_form as)
{
    buffer_text(w->sql,
                as == TEMPORAL_FORM_REAL ? " hw_real(" : " hw_temporal(");
}

/* Writes what stands behind x in the call. */
static void
close_temporal_call(struct writer *w, enum temporal_form as,
                    struct result_type type)
{
    if (as == TEMPORAL_FORM_REAL) {
        buffer_text(w->sql, ")");
        return;
    }
    buffer_text(w->sql, as == TEMPORAL_FORM_TIME ? ",'TIME'" : ",'DATETIME'");
    buffer_text(w->sql, type.type == COLUMN_TIME && as != TEMPORAL_FORM_TIME
                            ? ",1)"
                            : ")");
}

static bool
needs_form(enum temporal_form as, struct result_type type)
{
    return as != TEMPORAL_FORM_NONE && type.type != COLUMN_NULL &&
           !is_full_datetime_type(type);
}

void
write_as_temporal(struct writer *w, const struct node *node,
                  enum temporal_form as, bool date)
{
    if (as != TEMPORAL_FORM_REAL)
        check_temporal_constant(w, node, as);
    date = date && as == TEMPORAL_FORM_DATE;
    if (date)
        buffer_text(w->sql, " hw_cast(");
    else
        open_temporal_call(w, as);
    write_compared(w, node, TIGHT_OR);
    if (date)
        buffer_text(w->sql, ",'DATE',-1,-1)");
    else
        close_temporal_call(w, as, types_operand(node, 0));
}

void
write_number(struct writer *w, const struct node *node)
{
    bool moment = result_type_is_temporal(types_operand(node, 0).type);

    buffer_text(w->sql, moment ? " hw_number(" : "");
    write_expression(w, node);
    buffer_text(w->sql, moment ? ")" : "");
}

void
write_scalar(struct writer *w, const struct node *node, enum temporal_form as,
             enum tight least)
{
    if (needs_form(as, types_operand(node, 0)))
        write_as_temporal(w, node, as, false);
    else
        write_compared(w, node, least);
}

size_t
write_count(const struct node *first)
{
    size_t count = 0;

    for (; first; first = first->next)
        count++;
    return count;
}

static size_t
operand_column_count(const struct node *node)
{
    return node->kind == NODE_ROW     ? write_count(node->first)
           : node->kind == NODE_QUERY ? types_columns(node->query)
                                      : 1;
}

/* The form of one column of the operands.  Where SQLite compares rows it
 * compares by its own types, by which a number never equals a text; then both
 * become doubles. */
static enum temporal_form
find_side(const struct node *operands, size_t column)
{
    enum temporal_form as = write_temporal_form(operands, column);
    bool number = false, text = false;

    if (as != TEMPORAL_FORM_NONE ||
        !(operands->kind == NODE_ROW || write_is_query(operands->next)))
        return as;
    for (const struct node *n = operands; n; n = n->next) {
        struct result_type type = types_operand(n, column);

        number |= type.type != COLUMN_NULL && result_type_is_number(type);
        text |= !result_type_is_number(type);
    }
    return number && text ? TEMPORAL_FORM_REAL : as;
}

struct sides
write_sides(struct writer *w, const struct node *operands)
{
    struct sides out = {operand_column_count(operands), find_side(operands, 0),
                        NULL};
    enum temporal_form *all;

    if (out.count <= 1)
        return out;
    all = arena_alloc(w->job->arena, out.count * sizeof(*all));
    for (size_t i = 0; all && i < out.count; i++)
        all[i] = find_side(operands, i);
    if (!all && !w->failed) {
        error_memory(w->err, "the statement");
        w->failed = true;
    }
    out.all = all;
    return out;
}

static enum temporal_form
side_of(const struct sides *sides, size_t column)
{
    if (column == 0)
        return sides->first;
    return sides->all && column < sides->count ? sides->all[column]
                                               : TEMPORAL_FORM_NONE;
}

static void
write_temporal_row(struct writer *w, const struct node *node,
                   const struct sides *sides)
{
    size_t column = 0;

    buffer_text(w->sql, " (");
    for (const struct node *n = node->first; n; n = n->next) {
        enum temporal_form as = side_of(sides, column++);

        if (needs_form(as, types_operand(n, 0)))
            write_as_temporal(w, n, as, false);
        else
            write_collated(w, n);
        buffer_text(w->sql, n->next ? "," : ")");
    }
}

void
write_side(struct writer *w, const struct node *node, const struct sides *sides,
           enum tight least)
{
    if (node->kind == NODE_ROW)
        write_temporal_row(w, node, sides);
    else
        write_scalar(w, node, sides->first, least);
}

void
write_value(struct writer *w, const char *name, const struct node *query,
            const struct sides *sides, size_t column)
{
    enum temporal_form as = side_of(sides, column);
    struct result_type type = types_operand(query, column);
    bool wraps = needs_form(as, type);

    if (wraps)
        open_temporal_call(w, as);
    write_begin_kind(w, type);
    buffer_text(w->sql, name);
    write_end_kind(w, type);
    if (wraps)
        close_temporal_call(w, as, type);
}

/* Writes (SELECT ...), or, if its columns need a form, (WITH hw_rows(v0) AS
 * (SELECT ...) SELECT hw_temporal(v0, 'DATETIME') FROM hw_rows). */
void
write_rows(struct writer *w, const struct node *node, const struct sides *sides)
{
    size_t columns = sides ? types_columns(node->query) : 0;
    bool wraps = false;
    char name[24];

    for (size_t i = 0; i < columns; i++)
        wraps = wraps || needs_form(side_of(sides, i), types_operand(node, i));
    buffer_text(w->sql, wraps ? " ( WITH hw_rows" : " (");
    for (size_t i = 0; i < columns && wraps; i++)
        buffer_format(w->sql, "%sv%zu", i ? "," : "(", i);
    buffer_text(w->sql, wraps ? ") AS (" : "");
    w->query(w, node->query);
    buffer_text(w->sql, wraps ? ") SELECT" : ")");
    for (size_t i = 0; i < columns && wraps; i++) {
        snprintf(name, sizeof(name), " v%zu", i);
        buffer_text(w->sql, i ? "," : "");
        write_value(w, name, node, sides, i);
    }
    buffer_text(w->sql, wraps ? " FROM hw_rows)" : "");
}
