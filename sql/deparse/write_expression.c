/*
 * write_expression.c - writes literals, columns, variables, CASE and
 * subqueries as SQLite's text.
 *
 * MySQL has literals of types that SQLite lacks; they become calls that set a
 * value's kind: hw_decimal('1.50',2), hw_kind(X'1f',2),
 * hw_cast('2026-01-31','DATE',0,-1).  All strings pass through write_string(),
 * which quotes them: the text cannot end a string of SQLite's, whatever the
 * client wrote.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "kind.h"
#include "temporal.h"
#include "sql_session.h"
#include "variables.h"
#include "writer.h"

/* A NUL would end the statement for SQLite, so such a string is written as
 * hexadecimal digits. */
static void
bytes_as_hex(struct writer *w, struct span bytes)
{
    static const char digits[] = "0123456789abcdef";

    buffer_text(w->sql, " CAST(X'");
    for (size_t i = 0; i < bytes.size; i++) {
        buffer_char(w->sql, digits[(unsigned char)bytes.data[i] >> 4]);
        buffer_char(w->sql, digits[(unsigned char)bytes.data[i] & 15]);
    }
    buffer_text(w->sql, "' AS TEXT)");
}

static void
write_string_literal(struct writer *w, const struct node *node)
{
    struct span text = node->name;

    write_snapshot_value(w, &(struct value){.type = VALUE_TEXT,
                                            .data = text.data,
                                            .size = text.size});
    if (memchr(text.data, '\0', text.size)) {
        bytes_as_hex(w, text);
        return;
    }
    buffer_char(w->sql, ' ');
    write_string(w, text);
}

static void
write_temporal_literal(struct writer *w, const struct node *node)
{
    bool time = span_is_nocase(node->word, "TIME");
    bool date = span_is_nocase(node->word, "DATE");
    const char *type = time ? "TIME" : date ? "DATE" : "DATETIME";
    char room[TEMPORAL_TEXT];
    struct temporal t;
    struct span text = node->name;
    bool valid;

    if (time)
        valid = temporal_parse_time(text, &t) && t.kind == TEMPORAL_TIME;
    else
        valid = temporal_parse(text, &t) && (!date || t.kind == TEMPORAL_DATE);
    if (!valid || t.more) {
        write_wrong_temporal(w, type, text);
        return;
    }
    if (!time && !date)
        t.kind = TEMPORAL_DATETIME;
    text.data = room;
    text.size = temporal_text(&t, room);
    buffer_text(w->sql, " hw_cast(");
    write_string(w, text);
    buffer_format(w->sql, ",'%s',%u,-1)", type, t.digits);
}

/* Writes 1.5e0; fails with 1367 for 1e400, which no double holds. */
static void
real_number(struct writer *w, struct span text)
{
    const char *copy = arena_strndup(w->job->arena, text.data, text.size);

    if (copy && !isfinite(strtod(copy, NULL)) && !w->failed) {
        error_set(w->err, ER_ILLEGAL_NUMBER,
                  "Illegal double '%.60s' value found during parsing", copy);
        w->failed = true;
    }
    buffer_format(w->sql, " %.*s", (int)text.size, text.data);
}

/* Writes a literal with a point, or an integer past 64 bits. */
static void
decimal_number(struct writer *w, struct span text)
{
    struct decimal d;
    int decimals = 0;

    if (!decimal_read_exact(text, &d, &decimals) && !w->failed) {
        error_set(w->err, ER_DATA_OUT_OF_RANGE,
                  "DECIMAL value is out of range in '%.*s': it has more than "
                  "%d digits, or more than %d behind the point",
                  text.size < 60 ? (int)text.size : 60, text.data,
                  DECIMAL_DIGITS, DECIMAL_SCALE_MAX);
        w->failed = true;
    }
    buffer_format(w->sql, " hw_decimal('%.*s',%d)", (int)text.size, text.data,
                  decimals);
}

static void
write_number_literal(struct writer *w, const struct node *node)
{
    static const char largest[] = "9223372036854775807";
    size_t size = sizeof(largest) - 1;
    struct span text = node->text;

    if (memchr(text.data, 'e', text.size) ||
        memchr(text.data, 'E', text.size)) {
        real_number(w, text);
        return;
    }
    while (text.size > 1 && text.data[0] == '0') {
        text.data++;
        text.size--;
    }
    if (node->type == COLUMN_DECIMAL)
        decimal_number(w, text);
    else if (text.size > size ||
             (text.size == size && memcmp(text.data, largest, size) > 0))
        buffer_format(w->sql, " hw_kind('%.*s',%d)", (int)text.size, text.data,
                      KIND_UNSIGNED);
    else
        buffer_format(w->sql, " %.*s", (int)text.size, text.data);
}

/* Writes 0x1f, x'1f', 0b01 or b'01' as bytes; the first byte of bits is filled
 * with zeros from the left. */
static void
write_hex_or_bit_literal(struct writer *w, const struct node *node)
{
    struct span digits = {node->text.data + 2, node->text.size - 2};
    bool bits = node->text.data[0] == 'b' || node->text.data[0] == 'B' ||
                node->text.data[1] == 'b';

    if (node->text.data[1] == '\'')
        digits.size--;
    buffer_text(w->sql, " hw_kind(");
    if (bits) {
        size_t at = 0, size = digits.size % 8;

        buffer_text(w->sql, " X'");
        for (; at < digits.size; at += size, size = 8) {
            unsigned number = 0;

            if (size == 0)
                size = 8;
            for (size_t i = at; i < at + size; i++)
                number = number << 1 | (unsigned)(digits.data[i] - '0');
            buffer_format(w->sql, "%02x", number);
        }
    } else {
        buffer_text(w->sql, digits.size % 2 ? " X'0" : " X'");
        buffer_add(w->sql, digits.data, digits.size);
    }
    buffer_format(w->sql, "',%d)", KIND_HEX);
}

static void
write_user_variable(struct writer *w, const struct node *node)
{
    const struct session_value *known =
        session_value_find(w->job->session, NULL, node->name);

    if (known)
        write_snapshot_value(w, &known->value);
    buffer_text(w->sql, " hw_user_variable(");
    write_string(w, node->name);
    buffer_text(w->sql, ")");
}

/* Writes a plain ? and notes which of the statement's it is: for ?7 SQLite
 * searches a list each time it parses one. */
static void
write_parameter_marker(struct writer *w, const struct node *node)
{
    unsigned kind = 0;

    if (w->parameters > w->tree->parameters)
        return; /* written twice: write_key() takes it back */
    if (w->job->parameters) {
        write_snapshot_value(w, &w->job->parameters[node->parameter]);
        kind = w->job->parameters[node->parameter].kind;
    }
    if (kind)
        buffer_format(w->sql, " hw_kind( ?,%u)", kind);
    else
        buffer_text(w->sql, " ?");
    w->result->reordered |= node->parameter != w->tree->first + w->parameters;
    w->positions[w->parameters++] = node->parameter;
}

static void
write_literal(struct writer *w, const struct node *node)
{
    switch (node->kind) {
    case NODE_NULL:
        buffer_text(w->sql, " NULL");
        break;
    case NODE_TRUE:
        buffer_text(w->sql, " TRUE");
        break;
    case NODE_FALSE:
        buffer_text(w->sql, " FALSE");
        break;
    case NODE_INTEGER:
    case NODE_DECIMAL:
        write_number_literal(w, node);
        break;
    case NODE_STRING:
        write_string_literal(w, node);
        break;
    case NODE_HEX:
        write_hex_or_bit_literal(w, node);
        break;
    case NODE_TEMPORAL:
        write_temporal_literal(w, node);
        break;
    case NODE_PARAMETER:
        write_parameter_marker(w, node);
        break;
    case NODE_USER:
        write_user_variable(w, node);
        break;
    default: /* NODE_SYSTEM */
        buffer_format(w->sql, " hw_variable(%zu,%d)",
                      (size_t)(node->variable - variables), (int)node->scope);
        break;
    }
}

static void
write_column_reference(struct writer *w, const struct node *node)
{
    write_snapshot_column(w, node);
    if (node->of && node->of->has_database) {
        write_identifier(w, node->of->database);
        buffer_text(w->sql, ".");
    }
    if (node->of) {
        write_identifier(w, node->of->table);
        buffer_text(w->sql, ".");
    }
    write_identifier(w, node->name);
}

/* Writes table.*: SQLite has no database.table.*. */
static void
write_star_column(struct writer *w, const struct node *node)
{
    if (node->of) {
        write_identifier(w, node->of->table);
        buffer_text(w->sql, ".");
    }
    buffer_text(w->sql, " *");
}

/* Writes @x := y; hw_assign() does it when the row is read. */
static void
write_assignment(struct writer *w, const struct node *node)
{
    buffer_text(w->sql, " hw_assign(");
    write_string(w, node->name);
    buffer_text(w->sql, ",");
    write_expression(w, node->first);
    buffer_text(w->sql, ")");
}

static void
write_row_expression(struct writer *w, const struct node *node)
{
    buffer_text(w->sql, " (");
    for (const struct node *n = node->first; n; n = n->next) {
        write_collated(w, n);
        buffer_text(w->sql, n->next ? "," : ")");
    }
}

/* ---- CASE: hw_case and hw_when compare as MySQL's = does, and SQLite's CASE
 * reads only the branch that it takes ---- */

static void
write_case(struct writer *w, const struct node *node)
{
    const struct node *n = node->first;
    enum temporal_form as = TEMPORAL_FORM_NONE;
    unsigned slot = 0;

    buffer_text(w->sql, " CASE");
    if (node->has_operand) {
        slot = write_slot(w);
        as = write_case_temporal_form(node);
        buffer_format(w->sql, " hw_case(%u,", slot);
        write_scalar(w, n, as, TIGHT_OR);
        buffer_text(w->sql, ")");
        n = n->next;
    }
    while (n && n->next) {
        buffer_text(w->sql, " WHEN");
        if (node->has_operand) {
            buffer_format(w->sql, " hw_when(%u,", slot);
            write_scalar(w, n, as, TIGHT_OR);
            buffer_text(w->sql, ")");
        } else {
            write_expression(w, n);
        }
        buffer_text(w->sql, " THEN");
        write_expression(w, n->next);
        n = n->next->next;
    }
    if (n) {
        buffer_text(w->sql, " ELSE");
        write_expression(w, n);
    }
    buffer_text(w->sql, " END");
}

/* ---- queries ---- */

static bool
is_short(const struct node *limit)
{
    return limit && limit->text.size == 1 &&
           (limit->text.data[0] == '0' || limit->text.data[0] == '1');
}

/* May the query have more than one row? */
static bool
may_have_rows(const struct tree_query *query)
{
    const struct tree_select *select = query->arms->select;

    if (is_short(query->limit))
        return false;
    if (query->arms->next)
        return true;
    if (!select)
        return may_have_rows(query->arms->query);
    return select->group || select->rows ||
           (select->from && (!select->aggregates || select->has_over));
}

static size_t
query_column_count(const struct tree_query *query)
{
    while (!query->arms->select)
        query = query->arms->query;
    return query->arms->select->columns;
}

/* Writes a SELECT in place of a value.  It may have one row at most, and
 * SQLite would take the first of many; so a SELECT that may have several is
 * read by hw_one(), an aggregate that fails at the second row. */
static void
write_scalar_subquery(struct writer *w, const struct node *node)
{
    bool many =
        query_column_count(node->query) == 1 && may_have_rows(node->query);

    w->result->may_null = true;
    buffer_text(w->sql, many ? " ( WITH hw_rows(v) AS (" : " (");
    w->query(w, node->query);
    buffer_text(w->sql, many ? ") SELECT hw_one(v) FROM hw_rows)" : ")");
}

void
write_node(struct writer *w, const struct node *node)
{
    switch (node->kind) {
    case NODE_ASSIGN:
        write_assignment(w, node);
        break;
    case NODE_COLUMN:
        write_column_reference(w, node);
        break;
    case NODE_STAR:
        write_star_column(w, node);
        break;
    case NODE_CALL:
        write_call(w, node);
        break;
    case NODE_ROW:
        write_row_expression(w, node);
        break;
    case NODE_CASE:
        write_case(w, node);
        break;
    case NODE_QUERY:
        write_scalar_subquery(w, node);
        break;
    case NODE_EXISTS:
        buffer_text(w->sql, " EXISTS");
        write_rows(w, node, NULL);
        break;
    default:
        if (node->kind <= NODE_SYSTEM)
            write_literal(w, node);
        else
            write_operator(w, node);
        break;
    }
}
