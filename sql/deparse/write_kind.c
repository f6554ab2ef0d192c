/*
 * write_kind.c - decides how operands compare, and so whether SQLite's
 * operator can stay or a function must stand for it; and how closely SQLite
 * binds what is written.
 *
 * The choice matters twice.  A wrong one gives other rows than MySQL.  A
 * function where the operator would do hides the condition from the planner,
 * so that a table of nodes asks all of them, or every snapshot is loaded.  So
 * a comparison with a table's column stays SQLite's wherever both types are
 * sure to agree, and the rest becomes hw_eq() and the like.  Pure functions of
 * the tree and its noted types.
 */
#include "kind.h"
#include "ascii.h"
#include "sql_session.h"
#include "types.h"
#include "writer.h"

static enum operand_kind
kind_of_prefix(const struct node *node)
{
    enum operand_kind kind = write_kind(node->first);

    if (node->op == OP_BINARY)
        return OPERAND_BINARY;
    return kind == OPERAND_NUMBER && node->op != OP_NOT && node->op != OP_BANG
               ? OPERAND_NUMBER
               : OPERAND_OTHER;
}

enum operand_kind
write_kind(const struct node *node)
{
    switch (node->kind) {
    case NODE_COLUMN:
        return OPERAND_COLUMN;
    case NODE_TRUE:
    case NODE_FALSE:
    case NODE_INTEGER:
    case NODE_DECIMAL:
        return OPERAND_NUMBER;
    case NODE_STRING:
        return OPERAND_STRING;
    case NODE_TEMPORAL:
        return OPERAND_TEMPORAL;
    case NODE_ROW:
        return OPERAND_ROW;
    case NODE_HEX:
        return OPERAND_HEX;
    case NODE_PREFIX:
        return kind_of_prefix(node);
    case NODE_COLLATE:
        if (!node->binary || write_kind(node->first) == OPERAND_COLUMN)
            return write_kind(node->first);
        return OPERAND_BINARY;
    case NODE_CALL:
        return node->call->is_binary ? OPERAND_BINARY : OPERAND_OTHER;
    default:
        return OPERAND_OTHER;
    }
}

bool
write_is_text(enum operand_kind kind)
{
    return kind == OPERAND_STRING || kind == OPERAND_TEMPORAL;
}

bool
write_is_bin(const struct node *node)
{
    return write_kind(node) == OPERAND_BINARY ||
           (node->kind == NODE_COLLATE && node->binary);
}

bool
write_is_number(const struct node *node)
{
    return write_kind(node) == OPERAND_NUMBER ||
           (node->kind == NODE_BINARY && node->op != OP_CONCAT &&
            node->op != OP_ARROW && node->op != OP_ARROW_TEXT) ||
           (node->kind == NODE_CALL && (node->call->form == CALL_COUNT ||
                                        span_is_nocase(node->name, "SUM")));
}

bool
write_is_truth(const struct node *node)
{
    switch (node->kind) {
    case NODE_TRUE:
    case NODE_FALSE:
    case NODE_LIKE:
    case NODE_REGEXP:
    case NODE_IS:
    case NODE_IN:
    case NODE_BETWEEN:
    case NODE_QUANTIFIED:
    case NODE_EXISTS:
        return true;
    case NODE_PREFIX:
        return node->op == OP_NOT || node->op == OP_BANG;
    case NODE_BINARY:
        return write_is_comparison(node->op) || node->op == OP_AND ||
               node->op == OP_OR || node->op == OP_XOR;
    default:
        return false;
    }
}

/* Does SQLite drop its kind?  That happens to a column of a query's rows, and
 * to what one of SQLite's functions chooses. */
static bool
loses_kind(const struct node *node)
{
    switch (node->kind) {
    case NODE_COLUMN:
        return node->precision > 0; /* else it is a table's */
    case NODE_CASE:
    case NODE_QUERY:
        return true;
    case NODE_CALL:
        return span_is_any(node->name,
                           "ANY_VALUE COALESCE FIRST_VALUE GREATEST IF IFNULL "
                           "LAG LAST_VALUE LEAD LEAST MAX MIN NTH_VALUE "
                           "NULLIF");
    default:
        return false;
    }
}

bool
write_chooses_text(const struct node *node)
{
    bool found = false, call = node->kind == NODE_CALL;
    size_t i = node->has_operand ? 0 : 1; /* values at odd places follow
                                           * WHEN, at even ones THEN */

    if ((node->type != COLUMN_TEXT && node->type != COLUMN_LONGTEXT) ||
        !(node->kind == NODE_CASE ||
          (call && span_is_any(node->name, "COALESCE IF IFNULL"))))
        return false;
    for (const struct node *n = node->first; n && !found; n = n->next, i++)
        found = n->type != COLUMN_NULL &&
                result_type_is_number(types_operand(n, 0)) &&
                (call ? n != node->first || !span_is_nocase(node->name, "IF")
                      : (i > 0 && i % 2 == 0) || (!n->next && node->has_else));
    return found;
}

void
write_begin_kind(struct writer *w, struct result_type type)
{
    if (type.type == COLUMN_DECIMAL)
        buffer_text(w->sql, " hw_decimal(");
    else if (type.type == COLUMN_BIGINT && type.past)
        buffer_text(w->sql, " hw_kind(");
}

void
write_end_kind(struct writer *w, struct result_type type)
{
    if (type.type == COLUMN_DECIMAL)
        buffer_format(w->sql, ",%u)", type.decimals);
    else if (type.type == COLUMN_BIGINT && type.past)
        buffer_format(w->sql, ",%d)", KIND_UNSIGNED);
}

struct result_type
write_lost_kind(const struct node *node)
{
    return loses_kind(node) ? types_operand(node, 0)
                            : result_type_of(COLUMN_NULL);
}

bool
write_is_long(const struct node *node)
{
    return result_type_is_long(types_operand(node, 0));
}

struct found {
    bool day, full_day, time, other;
};

static void
note_operand_type(struct found *found, struct result_type t)
{
    if (t.type == COLUMN_TIME)
        found->time = true;
    else if (t.type == COLUMN_DATE)
        found->day = true;
    else if (result_type_is_temporal(t.type))
        found->full_day = true;
    else
        found->other |= t.type != COLUMN_NULL;
}

/* The form for a comparison.  Dates alone need none: they compare right as the
 * texts that they are. */
static enum temporal_form
temporal_comparison_type(const struct found *found)
{
    if (found->full_day)
        return TEMPORAL_FORM_DATETIME;
    if (found->day)
        return found->time || found->other ? TEMPORAL_FORM_DATE
                                           : TEMPORAL_FORM_NONE;
    return found->time ? TEMPORAL_FORM_TIME : TEMPORAL_FORM_NONE;
}

enum temporal_form
write_temporal_form(const struct node *operands, size_t column)
{
    struct found found = {0};

    for (const struct node *n = operands; n; n = n->next)
        note_operand_type(&found, types_operand(n, column));
    return temporal_comparison_type(&found);
}

bool
write_is_temporal(const struct node *node, enum temporal_form as)
{
    struct found found = {0};

    note_operand_type(&found, types_operand(node, 0));
    return as == TEMPORAL_FORM_TIME   ? found.time
           : as == TEMPORAL_FORM_DATE ? found.day
                                      : found.full_day;
}

enum temporal_form
write_case_temporal_form(const struct node *node)
{
    const struct node *n = node->first;
    struct found found = {0};

    note_operand_type(&found, types_operand(n, 0));
    for (n = n->next; n && n->next; n = n->next->next)
        note_operand_type(&found, types_operand(n, 0));
    return temporal_comparison_type(&found);
}

/* May the column be one of a derived table?  It has no type in SQLite, which
 * then does not know how to compare it with a literal.  A column in the list
 * of a SELECT may be such a one; elsewhere '=' gives the name of a snapshot, a
 * node or a key to the planner, and only a number is compared by a function
 * there: see vtab_find_function. */
static bool
may_be_derived(const struct writer *w, enum operand_kind other)
{
    if (other != OPERAND_NUMBER && other != OPERAND_STRING)
        return false;
    for (const struct scope *s = w->scope; s; s = s->outer)
        if (other == OPERAND_NUMBER && s->select->reads_query)
            return true;
    return w->scope && w->scope->lists;
}

static bool
is_equality_operator(enum tree_operator op)
{
    return op == OP_EQUAL || op == OP_IS_EQUAL || op == OP_NOT_EQUAL;
}

bool
write_is_comparison(enum tree_operator op)
{
    return op >= OP_EQUAL && op <= OP_GREATER_EQUAL;
}

bool
write_is_pairs(const struct node *node)
{
    const struct node *left = node->first, *right = left->next;

    if (!is_equality_operator(node->op) || left->kind != NODE_ROW ||
        right->kind != NODE_ROW)
        return false;
    left = left->first;
    right = right->first;
    while (left && right) {
        left = left->next;
        right = right->next;
    }
    return !left && !right;
}

bool
write_known_text(const struct writer *w, const struct node *node,
                 struct span *out)
{
    const struct session_value *known;
    const struct value *value = NULL;

    switch (node->kind) {
    case NODE_STRING:
        *out = node->name;
        return true;
    case NODE_COLLATE:
        return write_known_text(w, node->first, out);
    case NODE_PARAMETER:
        w->result->reads_values = true;
        if (w->job->parameters)
            value = &w->job->parameters[node->parameter];
        break;
    case NODE_USER:
        known = session_value_find(w->job->session, NULL, node->name);
        if (known && !w->tree->assigns)
            value = &known->value;
        break;
    default:
        break;
    }
    if (!value || (value->type != VALUE_TEXT && value->type != VALUE_BLOB))
        return false;
    *out = (struct span){value->data, value->size};
    return true;
}

/* Is it digits alone, perhaps with a sign?  SQLite takes such a text for the
 * number. */
static bool
is_digits(struct span text)
{
    size_t i = text.size > 1 && text.data[0] == '-';

    for (; i < text.size; i++)
        if (!is_digit(text.data[i]))
            return false;
    return text.size > 0;
}

/* Is one a number and the other a text, of which MySQL takes the number that
 * it begins with?  A table's column takes digits for the number by itself. */
static bool
is_mixed(const struct writer *w, const struct node *a, const struct node *b)
{
    bool number = result_type_is_number(types_operand(a, 0));
    const struct node *numeric = number ? a : b, *other = number ? b : a;
    struct span text;

    return number != result_type_is_number(types_operand(b, 0)) &&
           types_operand(other, 0).type != COLUMN_NULL &&
           !(numeric->kind == NODE_COLUMN && !numeric->derived &&
             write_known_text(w, other, &text) && is_digits(text));
}

bool
write_is_native(const struct writer *w, const struct node *node)
{
    enum operand_kind left = write_kind(node->first);
    enum operand_kind right = write_kind(node->first->next);
    bool columns = left == OPERAND_COLUMN || right == OPERAND_COLUMN;

    if (!write_is_comparison(node->op))
        return node->op == OP_AND || node->op == OP_OR;
    if (left == OPERAND_ROW || right == OPERAND_ROW)
        return !write_is_pairs(node);
    switch (write_temporal_form(node->first, 0)) {
    case TEMPORAL_FORM_NONE:
        break;
    case TEMPORAL_FORM_TIME: /* as texts '9:00:00' would be later than
                              * '10:00:00' */
        return false;
    default:
        return true;
    }
    /* A long DECIMAL is a text for SQLite, and a number beside a text never
     * equals it. */
    if (write_is_long(node->first) || write_is_long(node->first->next) ||
        (columns && is_mixed(w, node->first, node->first->next)))
        return false;
    if (is_equality_operator(node->op))
        return columns && left != OPERAND_BINARY && right != OPERAND_BINARY &&
               left != OPERAND_HEX && right != OPERAND_HEX &&
               !may_be_derived(w, left == OPERAND_COLUMN ? right : left);
    /* An order is sure to be the same only between columns and texts: SQLite
     * puts all numbers before all texts. */
    return columns && (left == OPERAND_COLUMN || write_is_text(left)) &&
           (right == OPERAND_COLUMN || write_is_text(right));
}

static bool
is_bytes(const struct node *node)
{
    return types_operand(node, 0).type == COLUMN_BLOB;
}

bool
write_is_query(const struct node *list)
{
    return list && list->kind == NODE_QUERY && !list->next;
}

bool
write_is_listed(const struct writer *w, const struct node *node)
{
    const struct node *left = node->first;
    bool by_value = write_is_long(left) || is_bytes(left);
    size_t count = 0;

    for (const struct node *n = left->next; n; n = n->next, count++)
        by_value =
            by_value || write_is_long(n) || is_bytes(n) || is_mixed(w, left, n);
    return !write_is_query(left->next) && left->kind != NODE_ROW &&
           (by_value ||
            (count <= LISTED_MAX && (write_kind(left) != OPERAND_COLUMN ||
                                     may_be_derived(w, OPERAND_STRING))));
}

enum tight
write_tight(const struct writer *w, const struct node *node)
{
    switch (node->kind) {
    case NODE_LIKE:
    case NODE_REGEXP:
    case NODE_IS:
        return TIGHT_EQUAL;
    case NODE_IN:
        return write_is_listed(w, node) ? TIGHT_ATOM : TIGHT_EQUAL;
    case NODE_PREFIX:
        return node->op == OP_NOT ? TIGHT_NOT : TIGHT_ATOM;
    case NODE_COLLATE:
        return node->binary ? TIGHT_COLLATE : write_tight(w, node->first);
    case NODE_BINARY:
        break;
    default:
        return TIGHT_ATOM;
    }
    if (!write_is_native(w, node))
        return TIGHT_ATOM;
    switch (node->op) {
    case OP_OR:
        return TIGHT_OR;
    case OP_AND:
        return TIGHT_AND;
    case OP_EQUAL:
    case OP_IS_EQUAL:
    case OP_NOT_EQUAL:
        return TIGHT_EQUAL;
    default:
        return TIGHT_ORDER;
    }
}
