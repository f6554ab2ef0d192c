/*
 * write_operator.c - writes operators in their form for SQLite.
 *
 * Where MySQL's operator differs from SQLite's in meaning, its operands become
 * a function's arguments; write_kind.c decides that.  A comparison with a
 * column stays SQLite's own: the column knows how it compares, and SQLite's
 * planner sees the condition.
 */
#include <string.h>

#include "handle.h"
#include "writer.h"

/* In the order of enum tree_operator.  A comparison has both forms. */
static const struct {
    const char *native, *function;
} operators[] = {
    [OP_OR] = {" OR", NULL},
    [OP_XOR] = {NULL, " hw_xor("},
    [OP_AND] = {" AND", NULL},
    [OP_EQUAL] = {" =", " hw_eq("},
    [OP_IS_EQUAL] = {" IS", " hw_is("},
    [OP_NOT_EQUAL] = {" <>", " hw_ne("},
    [OP_LESS] = {" <", " hw_lt("},
    [OP_LESS_EQUAL] = {" <=", " hw_le("},
    [OP_GREATER] = {" >", " hw_gt("},
    [OP_GREATER_EQUAL] = {" >=", " hw_ge("},
    [OP_BIT_OR] = {NULL, " hw_bit_or("},
    [OP_BIT_AND] = {NULL, " hw_bit_and("},
    [OP_SHIFT_LEFT] = {NULL, " hw_shift_left("},
    [OP_SHIFT_RIGHT] = {NULL, " hw_shift_right("},
    [OP_PLUS] = {NULL, " hw_plus("},
    [OP_MINUS] = {NULL, " hw_minus("},
    [OP_TIMES] = {NULL, " hw_times("},
    [OP_DIVIDE] = {NULL, " hw_divide("},
    [OP_MOD] = {NULL, " mod("},
    [OP_DIV] = {NULL, " hw_div("},
    [OP_BIT_XOR] = {NULL, " hw_bit_xor("},
    [OP_CONCAT] = {NULL, " concat("},
    [OP_ARROW] = {NULL, " json_extract("},
    [OP_ARROW_TEXT] = {NULL, " hw_json_text_at("},
};

/* ---- two operands ---- */

static void
native_operand(struct writer *w, const struct node *node,
               const struct node *other, const struct sides *sides,
               enum tight least)
{
    if (node->kind == NODE_QUERY && other->kind == NODE_ROW)
        write_rows(w, node, sides);
    else
        write_side(w, node, sides, least);
}

static void
write_native_operator(struct writer *w, const struct node *node,
                      enum tight tight)
{
    const struct node *left = node->first, *right = left->next;
    struct sides sides = {0};

    if (write_is_comparison(node->op))
        sides = write_sides(w, left);
    native_operand(w, left, right, &sides, tight);
    buffer_text(w->sql, operators[node->op].native);
    native_operand(w, right, left, &sides, tight + 1);
}

/* Writes the last argument of the functions of function_compare.c:
 * COMPARE_BIN, or nothing. */
static void
how_compared(struct writer *w, const struct node *left,
             const struct node *right)
{
    if (write_is_bin(left) || write_is_bin(right))
        buffer_text(w->sql, ",1");
}

/* Writes (a, b) = (c, d) as a = c AND b = d.  It splits the rows by halves,
 * since a chain of ANDs would nest as deeply as the rows are long. */
static void
write_row_comparison_pairs(struct writer *w, const struct node *node,
                           const struct node **left, const struct node **right,
                           size_t count)
{
    buffer_text(w->sql, " (");
    if (count == 1) {
        struct node pair = *node, a = **left, b = **right;

        /* Copies on the stack, because the list of operands is in the nodes: a
         * and b belong to their rows. */
        pair.first = &a;
        a.next = &b;
        b.next = NULL;
        write_operand(w, &pair, TIGHT_NOT);
        *left = (*left)->next;
        *right = (*right)->next;
    } else {
        write_row_comparison_pairs(w, node, left, right, count / 2);
        buffer_text(w->sql, node->op == OP_NOT_EQUAL ? " OR" : " AND");
        write_row_comparison_pairs(w, node, left, right, count - count / 2);
    }
    buffer_text(w->sql, ")");
}

static void
write_binary_operator(struct writer *w, const struct node *node)
{
    const struct node *left = node->first, *right = left->next;
    struct sides sides;

    if (write_is_native(w, node)) {
        bool joined = w->joined;

        /* A join by snapshot names no snapshot: each table's comes from the
         * other. */
        w->joined = joined ||
                    ((node->op == OP_EQUAL || node->op == OP_IS_EQUAL) &&
                     write_is_snapshot(w, left) && write_is_snapshot(w, right));
        write_native_operator(w, node, write_tight(w, node));
        w->joined = joined;
        return;
    }
    if (write_is_pairs(node)) {
        left = left->first;
        right = right->first;
        write_row_comparison_pairs(w, node, &left, &right, write_count(left));
        return;
    }
    buffer_text(w->sql, operators[node->op].function);
    if (node->op == OP_ARROW || node->op == OP_ARROW_TEXT) {
        write_list(w, left);
    } else if (!write_is_comparison(node->op)) {
        write_number(w, left);
        buffer_text(w->sql, ",");
        write_number(w, right);
    } else {
        sides = write_sides(w, left);
        write_side(w, left, &sides, TIGHT_OR);
        buffer_text(w->sql, ",");
        write_side(w, right, &sides, TIGHT_OR);
        how_compared(w, left, right);
    }
    buffer_text(w->sql, ")");
}

static void
write_prefix_operator(struct writer *w, const struct node *node)
{
    static const char *const functions[] = {[OP_NEGATIVE] = " hw_negative(",
                                            [OP_BIT_NOT] = " hw_bit_not(",
                                            [OP_BANG] = " (NOT",
                                            [OP_BINARY] = " hw_binary("};

    if (node->op == OP_POSITIVE) {
        buffer_text(w->sql, " +");
        write_operand(w, node->first, TIGHT_ATOM);
    } else if (node->op == OP_NOT) {
        buffer_text(w->sql, " NOT");
        write_operand(w, node->first, TIGHT_NOT);
    } else {
        buffer_text(w->sql, functions[node->op]);
        write_operand(w, node->first,
                      node->op == OP_BANG ? TIGHT_NOT : TIGHT_OR);
        buffer_text(w->sql, ")");
    }
}

/* ---- LIKE, REGEXP, IS, BETWEEN ---- */

static void
write_like_predicate(struct writer *w, const struct node *node)
{
    const struct node *pattern = node->first->next;
    bool binary = write_is_bin(node->first) || write_is_bin(pattern);

    write_compared(w, node->first, TIGHT_EQUAL);
    buffer_text(w->sql, node->negated ? " NOT LIKE" : " LIKE");
    buffer_text(w->sql, binary ? " hw_binary(" : "");
    write_operand(w, pattern, binary ? TIGHT_OR : TIGHT_ARROW);
    buffer_text(w->sql, binary ? ")" : "");
    if (!pattern->next)
        return;
    buffer_text(w->sql, " ESCAPE");
    write_operand(w, pattern->next, TIGHT_ARROW);
}

static void
write_infix_predicate(struct writer *w, const struct node *node,
                      const char *text)
{
    const struct node *right = node->first->next;
    bool binary = node->kind == NODE_REGEXP && write_is_bin(node->first);

    write_compared(w, node->first, TIGHT_EQUAL);
    buffer_text(w->sql, text);
    buffer_text(w->sql, binary ? " hw_binary(" : "");
    write_operand(w, right, binary ? TIGHT_OR : TIGHT_ORDER);
    buffer_text(w->sql, binary ? ")" : "");
}

static void
write_between_predicate(struct writer *w, const struct node *node)
{
    const struct node *value = node->first, *least = value->next;
    struct sides sides = write_sides(w, value);

    buffer_text(w->sql, node->negated ? " (NOT hw_between(" : " hw_between(");
    write_side(w, value, &sides, TIGHT_OR);
    buffer_text(w->sql, ",");
    write_side(w, least, &sides, TIGHT_OR);
    buffer_text(w->sql, ",");
    write_side(w, least->next, &sides, TIGHT_OR);
    how_compared(w, value, least->next);
    buffer_text(w->sql, node->negated ? "))" : ")");
}

/* ---- IN, ANY, ALL ---- */

/* Writes a list of rows as VALUES. */
static void
in_rows(struct writer *w, const struct node *left, const struct sides *sides)
{
    const char *before = " (VALUES";

    for (const struct node *n = left->next; n; n = n->next) {
        buffer_text(w->sql, before);
        buffer_text(w->sql, n->kind == NODE_ROW ? "" : " (");
        write_side(w, n, sides, TIGHT_OR);
        buffer_text(w->sql, n->kind == NODE_ROW ? "" : ")");
        before = ",";
    }
    buffer_text(w->sql, ")");
}

/* Writes hw_in(0, x, a, b).  A longer list is split, because a function takes
 * a limited number of arguments: CASE hw_case(0, x) WHEN 1 THEN 1 IN (hw_in(0,
 * hw_kept(0), a, b), hw_in(0, hw_kept(0), c)) END evaluates x once. */
static void
in_list(struct writer *w, const struct node *node, const struct sides *sides)
{
    const struct node *left = node->first, *n = left->next;
    bool many = write_count(n) > LISTED_MAX;
    unsigned slot = many ? write_slot(w) : 0;

    buffer_text(w->sql, node->negated ? " (NOT" : "");
    if (many) {
        buffer_format(w->sql, " CASE hw_case(%u,", slot);
        write_side(w, left, sides, TIGHT_OR);
        buffer_text(w->sql, ") WHEN 1 THEN 1 IN (");
    }
    for (size_t i = 0; n; n = n->next, i++) {
        if (i % LISTED_MAX == 0) {
            buffer_text(w->sql, i ? ")," : "");
            buffer_text(w->sql, write_is_bin(left) ? " hw_in(1," : " hw_in(0,");
            if (many)
                buffer_format(w->sql, " hw_kept(%u)", slot);
            else
                write_side(w, left, sides, TIGHT_OR);
        }
        buffer_text(w->sql, ",");
        write_side(w, n, sides, TIGHT_OR);
    }
    buffer_text(w->sql, many ? ")) END" : ")");
    buffer_text(w->sql, node->negated ? ")" : "");
}

static void
write_in_predicate(struct writer *w, const struct node *node)
{
    const struct node *left = node->first, *list = left->next;
    struct sides sides = write_sides(w, left);

    if (write_is_listed(w, node)) {
        in_list(w, node, &sides);
        return;
    }
    if (left->kind == NODE_ROW || sides.first != TEMPORAL_FORM_NONE)
        write_side(w, left, &sides, TIGHT_EQUAL);
    else
        write_collated(w, left);
    buffer_text(w->sql, node->negated ? " NOT IN" : " IN");
    if (write_is_query(list)) {
        write_rows(w, list, &sides);
    } else if (left->kind == NODE_ROW) {
        in_rows(w, left, &sides);
    } else {
        for (const struct node *n = list; n; n = n->next) {
            buffer_text(w->sql, n == list ? " (" : ",");
            write_side(w, n, &sides, TIGHT_OR);
        }
        buffer_text(w->sql, ")");
    }
}

/* Writes x > ALL (SELECT y): the smallest and the largest y are enough to
 * answer for all, so the rows need not be kept. */
static void
write_quantified_comparison(struct writer *w, const struct node *node)
{
    const struct node *value = node->first, *query = value->next;
    struct sides sides = write_sides(w, value);
    unsigned slot = write_slot(w);

    buffer_text(w->sql, " hw_quantified(");
    write_side(w, value, &sides, TIGHT_OR);
    buffer_text(w->sql, ",( WITH hw_rows(v) AS (");
    w->query(w, query->query);
    buffer_format(w->sql, ") SELECT hw_bounds(%u,", slot);
    write_value(w, "v", query, &sides, 0);
    buffer_format(w->sql, ") FROM hw_rows),'%s',%d)",
                  operators[node->op].native + 1, node->all);
}

/* ---- all ---- */

static void
write_interval_arithmetic(struct writer *w, const struct node *node)
{
    buffer_text(w->sql, node->op == OP_PLUS ? " date_add(" : " date_sub(");
    write_list(w, node->first);
    buffer_format(w->sql, ",'%.*s')", (int)node->word.size, node->word.data);
}

static void
write_collate_operator(struct writer *w, const struct node *node)
{
    if (!node->binary) {
        write_expression(w, node->first);
        return;
    }
    write_operand(w, node->first, TIGHT_COLLATE);
    buffer_text(w->sql, " COLLATE " COLLATION_BIN);
}

void
write_operator(struct writer *w, const struct node *node)
{
    switch (node->kind) {
    case NODE_PREFIX:
        write_prefix_operator(w, node);
        break;
    case NODE_LIKE:
        write_like_predicate(w, node);
        break;
    case NODE_REGEXP:
        write_infix_predicate(w, node,
                              node->negated ? " NOT REGEXP" : " REGEXP");
        break;
    case NODE_IS:
        write_infix_predicate(w, node, node->negated ? " IS NOT" : " IS");
        break;
    case NODE_IN:
        write_in_predicate(w, node);
        break;
    case NODE_BETWEEN:
        write_between_predicate(w, node);
        break;
    case NODE_QUANTIFIED:
        write_quantified_comparison(w, node);
        break;
    case NODE_INTERVAL:
        write_interval_arithmetic(w, node);
        break;
    case NODE_COLLATE:
        write_collate_operator(w, node);
        break;
    default:
        write_binary_operator(w, node);
        break;
    }
}
