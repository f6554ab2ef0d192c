/* type_rules.c - literals and operators; see type_rules.h. */
#include "type_rules.h"

#include <string.h>

#include "type_call.h"

static struct result_type
of(enum column_type type)
{
    return result_type_of(type);
}

struct operands
operands_none(void)
{
    struct result_type none = of(COLUMN_NULL);
    struct operands out = {0, none, none, none, none};

    return out;
}

void
operands_add(struct operands *o, struct result_type type)
{
    if (o->count++ == 0)
        o->first = type;
    else
        o->behind_first = result_type_widened(o->behind_first, type);
    o->all = result_type_widened(o->all, type);
    o->last = type;
}

/* ---- literals ---- */

/* An integer literal; past 64 bits it is a DECIMAL. */
static struct result_type
integer(struct span text)
{
    struct result_type out = of(COLUMN_BIGINT);
    uint64_t value = 0;
    bool large = false;

    for (size_t i = 0; i < text.size && !large; i++) {
        unsigned digit = (unsigned)(text.data[i] - '0');

        large = value > (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    if (large)
        out = of(COLUMN_DECIMAL);
    else if (value > INT64_MAX)
        out = result_type_unsigned();
    out.width = (uint32_t)text.size;
    return out;
}

/* 1.50 has two decimals; 1.5e0 is a DOUBLE. */
static struct result_type
decimal(struct span text)
{
    const char *point = memchr(text.data, '.', text.size);

    if (!point || text.size - 1 > EXACT_DIGITS_MAX ||
        memchr(text.data, 'e', text.size) || memchr(text.data, 'E', text.size))
        return of(COLUMN_DOUBLE);
    return result_type_decimal((size_t)(text.data + text.size - point - 1));
}

static struct result_type
string(const struct node *node)
{
    struct result_type out = of(COLUMN_TEXT);

    out.width = (uint32_t)node->name.size;
    return out;
}

static struct result_type
truth(void)
{
    struct result_type out = of(COLUMN_BIGINT);

    out.width = 1;
    return out;
}

static struct result_type
moment(const struct node *node)
{
    struct result_type out =
        of(span_is_nocase(node->word, "DATE")   ? COLUMN_DATE
           : span_is_nocase(node->word, "TIME") ? COLUMN_TIME
                                                : COLUMN_DATETIME);

    out.loose = memchr(node->name.data, '.', node->name.size);
    return out;
}

/* ---- operators ---- */

static struct result_type
negative(struct result_type of_what)
{
    of_what = result_type_number(of_what);
    if (of_what.past || of_what.hex)
        return of(COLUMN_DECIMAL);
    if (result_type_is_integer(of_what))
        return of(COLUMN_BIGINT);
    return result_type_is_exact(of_what) ? of_what : of(COLUMN_DOUBLE);
}

/* A sum has the decimals of the longer operand, a product those of both, a
 * quotient four more than its dividend. */
static struct result_type
calculated(enum tree_operator op, struct result_type left,
           struct result_type right)
{
    left = left.hex ? result_type_unsigned() : result_type_number(left);
    right = right.hex ? result_type_unsigned() : result_type_number(right);
    if (!result_type_is_exact(left) || !result_type_is_exact(right))
        return of(COLUMN_DOUBLE);
    if (op == OP_DIVIDE)
        return result_type_decimal(left.decimals + QUOTIENT_DECIMALS);
    if (result_type_is_integer(left) && result_type_is_integer(right))
        return left.past || (right.past && op != OP_MOD)
                   ? result_type_unsigned()
                   : of(COLUMN_BIGINT);
    if (op == OP_TIMES)
        return result_type_decimal(left.decimals + right.decimals);
    return result_type_decimal(left.decimals > right.decimals ? left.decimals
                                                              : right.decimals);
}

static struct result_type
applied(enum tree_operator op, const struct operands *given)
{
    switch (op) {
    case OP_PLUS:
    case OP_MINUS:
    case OP_TIMES:
    case OP_DIVIDE:
    case OP_MOD:
        return calculated(op, given->first, given->last);
    case OP_DIV:
        return given->first.past || given->last.past ? result_type_unsigned()
                                                     : of(COLUMN_BIGINT);
    case OP_BIT_OR:
    case OP_BIT_AND:
    case OP_BIT_XOR:
    case OP_BIT_NOT:
    case OP_SHIFT_LEFT:
    case OP_SHIFT_RIGHT:
        return result_type_unsigned();
    case OP_CONCAT:
    case OP_ARROW:
    case OP_ARROW_TEXT:
        return of(COLUMN_TEXT);
    case OP_POSITIVE:
        return given->first;
    case OP_NEGATIVE:
        return negative(given->first);
    case OP_BINARY:
        return of(COLUMN_BLOB);
    default:
        return of(COLUMN_BIGINT);
    }
}

struct result_type
type_of_node(const struct node *node, const struct operands *given)
{
    struct result_type out;

    if (node->introduced)
        return node->binary                ? of(COLUMN_BLOB)
               : node->kind == NODE_STRING ? string(node)
                                           : of(COLUMN_TEXT);
    switch (node->kind) {
    case NODE_NULL:
        return of(COLUMN_NULL);
    case NODE_TRUE:
    case NODE_FALSE:
        return truth();
    case NODE_INTEGER:
        return integer(node->text);
    case NODE_DECIMAL:
        return decimal(node->text);
    case NODE_STRING:
        return string(node);
    case NODE_HEX:
        out = of(COLUMN_BLOB);
        out.hex = true;
        return out;
    case NODE_MOMENT:
        return moment(node);
    case NODE_CALL:
        return type_call(node, given);
    case NODE_PREFIX:
    case NODE_BINARY:
        return applied(node->op, given);
    case NODE_INTERVAL:
        return type_moved(given->first, given->last, node->word);
    case NODE_COLLATE:
        return given->first;
    default:
        return of(COLUMN_BIGINT);
    }
}
