/*
 * type_rules.c - what type a node has, by its operands' types: literals,
 * operators, calls.
 *
 * A function says by its enum function_type how its type follows from its
 * arguments; only CAST, CHAR and the operators have rules of their own here.
 * Pure, and called once per node while types.c walks the tree.
 */
#include "types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "function.h"
#include "function_temporal.h"
#include "function_table.h"
#include "view_cache.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    SUM_DIGITS = 22,        /* digits that SUM adds, as in MySQL: for 10^22
                             * rows */
    BIGINT_SAFE_DIGITS = 18 /* FLOOR gives a BIGINT below these */
};

struct operands
operands_none(void)
{
    struct result_type none = result_type_of(COLUMN_NULL);
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

/* ---- calls ---- */

static struct result_type
temporal_result_type(enum column_type type, bool loose)
{
    struct result_type out = result_type_of(type);

    out.loose = loose;
    return out;
}

/* The type of from + INTERVAL amount unit: whole days keep a date, shorter
 * units add a time. */
static struct result_type
interval_result_type(struct result_type from, struct result_type amount,
                     struct span unit)
{
    bool whole =
        result_type_is_integer(amount) &&
        span_is_any(unit, "SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR");

    if (from.type == COLUMN_DATE &&
        span_is_any(unit, "DAY WEEK MONTH QUARTER YEAR YEAR_MONTH"))
        return from;
    if (!result_type_is_temporal(from.type))
        return result_type_of(COLUMN_TEXT);
    return temporal_result_type(from.type == COLUMN_TIME ? COLUMN_TIME
                                                         : COLUMN_DATETIME,
                                from.loose || !whole);
}

/* DECIMAL(p, s), DECIMAL(p), DECIMAL */
static struct result_type
cast_decimal_type(const struct tree_call *call)
{
    size_t precision = call->lengths[0] > 0 ? (size_t)call->lengths[0] : 10;
    size_t decimals = call->lengths[1] > 0 ? (size_t)call->lengths[1] : 0;

    if (decimals > DECIMAL_SCALE_MAX)
        decimals = DECIMAL_SCALE_MAX;
    return result_type_decimal(precision > decimals ? precision - decimals : 0,
                               decimals);
}

/* CAST(x AS type), CONVERT(x, type) */
static struct result_type
cast_result_type(const struct tree_call *call)
{
    static const struct {
        const char *name;
        enum column_type type;
    } types[] = {
        {"BINARY", COLUMN_BLOB},       {"DATE", COLUMN_DATE},
        {"DATETIME", COLUMN_DATETIME}, {"DECIMAL", COLUMN_DECIMAL},
        {"DOUBLE", COLUMN_DOUBLE},     {"SIGNED", COLUMN_BIGINT},
        {"TIME", COLUMN_TIME},         {"UNSIGNED", COLUMN_BIGINT},
    };
    struct result_type out = result_type_of(COLUMN_TEXT);

    for (size_t i = 0; i < COUNT(types); i++)
        if (strcmp(call->type, types[i].name) == 0)
            out = result_type_of(types[i].type);
    out.past = strcmp(call->type, "UNSIGNED") == 0;
    out.flags = out.past ? COLUMN_UNSIGNED : 0;
    /* DATETIME(3) has a fraction. */
    out.loose = call->lengths[0] > 0;
    return out.type == COLUMN_DECIMAL ? cast_decimal_type(call) : out;
}

/* The type that STR_TO_DATE reads; an unknown format may contain every part. */
static struct result_type
str_to_date_result_type(const struct node *format)
{
    bool known = format && format->kind == NODE_STRING;
    struct span text = known ? format->name : (struct span){"", 0};
    bool date = !known, time = !known, loose = !known;

    for (size_t i = 0; i + 1 < text.size; i++)
        if (text.data[i] == '%') {
            i++;
            date = date || function_format_reads_date(text.data[i]);
            time = time || function_format_reads_time(text.data[i]);
            loose = loose || text.data[i] == 'f';
        }
    return temporal_result_type(!time  ? COLUMN_DATE
                                : date ? COLUMN_DATETIME
                                       : COLUMN_TIME,
                                loose);
}

/* The type of ABS(x). */
static struct result_type
absolute_result_type(struct result_type from)
{
    from = result_type_number(from);
    if (from.hex || (from.past && result_type_is_integer(from)))
        return result_type_unsigned();
    if (result_type_is_integer(from))
        return result_type_of(COLUMN_BIGINT);
    return result_type_is_exact(from) ? from : result_type_of(COLUMN_DOUBLE);
}

/* The decimals that a literal asks for: 2, 1.9 (which is 2), '1.9' (which is
 * 1); otherwise those of x. */
static size_t
asked_decimals(const struct node *digits, size_t otherwise)
{
    const bool is_text = digits->kind == NODE_STRING;
    const struct span literal = is_text ? digits->name : digits->text;
    char text[32];
    double n;

    if (digits->kind == NODE_PREFIX)
        return 0; /* -1 */
    if (!is_text && digits->kind != NODE_INTEGER &&
        digits->kind != NODE_DECIMAL)
        return otherwise;
    snprintf(text, sizeof(text), "%.*s",
             (int)(literal.size < sizeof(text) ? literal.size : sizeof(text)),
             literal.data);
    n = is_text               ? (double)strtol(text, NULL, 10)
        : strpbrk(text, "eE") ? rint(strtod(text, NULL))
                              : round(strtod(text, NULL));
    return n < 0 ? 0 : n > DECIMAL_SCALE_MAX ? DECIMAL_SCALE_MAX : (size_t)n;
}

/* ROUND(x), ROUND(x, 2); DOUBLE if the text does not tell the digits.  ROUND(x,
 * -1) may be past all integers. */
static struct result_type
rounded_result_type(struct result_type from, const struct node *digits)
{
    size_t whole = result_type_integer_digits(from);

    if (result_type_is_integer(from))
        return !digits || digits->kind == NODE_INTEGER ||
                       whole < BIGINT_SAFE_DIGITS
                   ? absolute_result_type(from)
                   : result_type_decimal(whole + 1, 0);
    if (!result_type_is_exact(from))
        return result_type_of(COLUMN_DOUBLE);
    return result_type_decimal(
        whole + 1, digits ? asked_decimals(digits, from.decimals) : 0);
}

/* The type of SUM and AVG: x with so many more digits. */
static struct result_type
summed_result_type(struct result_type from, size_t whole, size_t decimals)
{
    if (from.hex)
        from = result_type_unsigned();
    return result_type_is_exact(from)
               ? result_type_decimal(result_type_integer_digits(from) + whole,
                                     from.decimals + decimals)
               : result_type_of(COLUMN_DOUBLE);
}

static struct result_type
sized_result_type(enum column_type type, uint32_t width)
{
    struct result_type out = result_type_of(type);

    out.width = width;
    return out;
}

/* Whole digits stay, decimals go. */
static struct result_type
integer_part_type(struct result_type from)
{
    size_t whole = result_type_integer_digits(from);

    if (from.type != COLUMN_DECIMAL)
        return absolute_result_type(from);
    return whole < BIGINT_SAFE_DIGITS ? result_type_of(COLUMN_BIGINT)
                                      : result_type_decimal(whole + 1, 0);
}

/* UNIX_TIMESTAMP of a text without a fraction is an integer. */
static struct result_type
epoch_result_type(const struct node *first, const struct operands *given)
{
    return first && first->kind == NODE_STRING &&
                   !memchr(first->name.data, '.', first->name.size)
               ? result_type_of(COLUMN_BIGINT)
               : absolute_result_type(given->all);
}

/* A date or time plus an interval.  TIMESTAMPADD has the date last, and
 * ADDDATE(date, number) adds days. */
static struct result_type
moved_result_type(const struct tree_call *call, const struct operands *given)
{
    static const struct span day = {"DAY", 3};

    if (call->form == CALL_TIMESTAMP)
        return interval_result_type(given->last, given->first, call->unit);
    return interval_result_type(given->first, given->last,
                                call->unit.size > 0 ? call->unit : day);
}

/* The types that do not depend on the arguments. */
static struct result_type
fixed_return_type(enum function_type type)
{
    switch (type) {
    case RETURNS_LINES: /* in characters of utf8mb4 */
        return sized_result_type(COLUMN_LONGTEXT, VIEW_BYTES_MAX / 4);
    case RETURNS_BYTES:
        return sized_result_type(COLUMN_BLOB, VIEW_BYTES_MAX);
    case RETURNS_BINARY:
        return result_type_of(COLUMN_BLOB);
    case RETURNS_BIGINT:
        return result_type_of(COLUMN_BIGINT);
    case RETURNS_UNSIGNED:
        return result_type_unsigned();
    case RETURNS_DOUBLE:
        return result_type_of(COLUMN_DOUBLE);
    case RETURNS_DATE:
        return result_type_of(COLUMN_DATE);
    default:
        return result_type_of(COLUMN_TEXT);
    }
}

static struct result_type
function_return_type(enum function_type type, const struct node *node,
                     const struct operands *given)
{
    static const struct span hour = {"HOUR", 4};
    const struct node *first = node->first;
    const struct node *second = first ? first->next : NULL;
    struct result_type number = result_type_number(given->first);

    switch (type) {
    case RETURNS_ARGUMENTS:
        return given->all;
    case RETURNS_BRANCHES:
        return given->behind_first;
    case RETURNS_FIRST:
        return given->first;
    case RETURNS_TIME:
        /* With an argument (digits, or a text) the result may have a
         * fraction. */
        return temporal_result_type(COLUMN_TIME, first);
    case RETURNS_DATETIME:
        return temporal_result_type(COLUMN_DATETIME, first);
    case RETURNS_MOVED:
        return moved_result_type(node->call, given);
    case RETURNS_LATER:
        return interval_result_type(given->first, result_type_of(COLUMN_DOUBLE),
                                    hour);
    case RETURNS_SECONDS:
        return temporal_result_type(second ? COLUMN_TEXT : COLUMN_DATETIME,
                                    !result_type_is_integer(given->first));
    case RETURNS_READ:
        return str_to_date_result_type(second);
    case RETURNS_EPOCH:
        return epoch_result_type(first, given);
    case RETURNS_NUMBER:
        return absolute_result_type(given->all);
    case RETURNS_ROUNDED:
        return rounded_result_type(number, second);
    case RETURNS_INTEGER:
        return integer_part_type(number);
    case RETURNS_SUM:
        return summed_result_type(number, SUM_DIGITS, 0);
    case RETURNS_AVERAGE:
        return summed_result_type(number, 0, QUOTIENT_DECIMALS);
    default:
        return fixed_return_type(type);
    }
}

static struct result_type
of_call(const struct node *node, const struct operands *given)
{
    const struct tree_call *call = node->call;
    enum function_type type = RETURNS_TEXT;
    struct result_type out;
    uint32_t width;

    if (call->form == CALL_CAST || call->form == CALL_CONVERT)
        return call->type ? cast_result_type(call)
                          : result_type_of(COLUMN_TEXT);
    /* CHAR(228) gives bytes, unless USING names a character set */
    if (span_is_nocase(node->name, "CHAR"))
        return result_type_of(
            call->has_using && !call->is_binary ? COLUMN_TEXT : COLUMN_BLOB);
    function_table_find(node->name, &type, &width);
    out = function_return_type(type, node, given);
    out.width = width ? width : out.width;
    return out;
}

/* ---- literals ---- */

/* An integer literal; past 64 bits it is a DECIMAL. */
static struct result_type
integer_literal_type(struct span text)
{
    struct result_type out = result_type_of(COLUMN_BIGINT);
    uint64_t value = 0;
    bool large = false;

    for (size_t i = 0; i < text.size && !large; i++) {
        unsigned digit = (unsigned)(text.data[i] - '0');

        large = value > (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    if (large)
        return result_type_decimal(text.size, 0);
    if (value > INT64_MAX)
        out = result_type_unsigned();
    out.width = (uint32_t)text.size;
    return out;
}

/* 1.50 has two decimals; 1.5e0 is a DOUBLE. */
static struct result_type
decimal_literal_type(struct span text)
{
    const char *point = memchr(text.data, '.', text.size);
    size_t whole = point ? (size_t)(point - text.data) : 0;

    if (!point || memchr(text.data, 'e', text.size) ||
        memchr(text.data, 'E', text.size))
        return result_type_of(COLUMN_DOUBLE);
    return result_type_decimal(whole, text.size - whole - 1);
}

static struct result_type
string_literal_type(const struct node *node)
{
    struct result_type out = result_type_of(COLUMN_TEXT);

    out.width = (uint32_t)node->name.size;
    return out;
}

static struct result_type
boolean_result_type(void)
{
    struct result_type out = result_type_of(COLUMN_BIGINT);

    out.width = 1;
    return out;
}

static struct result_type
temporal_literal_type(const struct node *node)
{
    struct result_type out =
        result_type_of(span_is_nocase(node->word, "DATE")   ? COLUMN_DATE
                       : span_is_nocase(node->word, "TIME") ? COLUMN_TIME
                                                            : COLUMN_DATETIME);

    out.loose = memchr(node->name.data, '.', node->name.size);
    return out;
}

/* ---- operators ---- */

static struct result_type
negated_result_type(struct result_type of_what)
{
    of_what = result_type_number(of_what);
    if (of_what.past || of_what.hex)
        return result_type_decimal(20, 0);
    if (result_type_is_integer(of_what))
        return result_type_of(COLUMN_BIGINT);
    return result_type_is_exact(of_what) ? of_what
                                         : result_type_of(COLUMN_DOUBLE);
}

/* A sum has the decimals of the longer operand, a product those of both, a
 * quotient four more than its dividend. */
static struct result_type
arithmetic_result_type(enum tree_operator op, struct result_type left,
                       struct result_type right)
{
    size_t whole, other;

    left = left.hex ? result_type_unsigned() : result_type_number(left);
    right = right.hex ? result_type_unsigned() : result_type_number(right);
    if (!result_type_is_exact(left) || !result_type_is_exact(right))
        return result_type_of(COLUMN_DOUBLE);
    whole = result_type_integer_digits(left);
    other = result_type_integer_digits(right);
    if (op == OP_DIVIDE)
        /* Dividing by 0.01 multiplies by 100, hence the decimals of the
         * divisor. */
        return result_type_decimal(whole + right.decimals,
                                   left.decimals + QUOTIENT_DECIMALS);
    if (result_type_is_integer(left) && result_type_is_integer(right))
        /* As in MySQL an unsigned operand makes the result unsigned; of a
         * remainder only the left one. */
        return left.past || (right.past && op != OP_MOD)
                   ? result_type_unsigned()
                   : result_type_of(COLUMN_BIGINT);
    if (op == OP_TIMES)
        return result_type_decimal(whole + other,
                                   left.decimals + right.decimals);
    return result_type_decimal((whole > other ? whole : other) + 1,
                               left.decimals > right.decimals ? left.decimals
                                                              : right.decimals);
}

static struct result_type
operator_result_type(enum tree_operator op, const struct operands *given)
{
    switch (op) {
    case OP_PLUS:
    case OP_MINUS:
    case OP_TIMES:
    case OP_DIVIDE:
    case OP_MOD:
        return arithmetic_result_type(op, given->first, given->last);
    case OP_DIV:
        return given->first.past || given->last.past
                   ? result_type_unsigned()
                   : result_type_of(COLUMN_BIGINT);
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
        return result_type_of(COLUMN_TEXT);
    case OP_POSITIVE:
        return given->first;
    case OP_NEGATIVE:
        return negated_result_type(given->first);
    case OP_BINARY:
        return result_type_of(COLUMN_BLOB);
    default:
        return result_type_of(COLUMN_BIGINT);
    }
}

struct result_type
type_of_node(const struct node *node, const struct operands *given)
{
    struct result_type out;

    if (node->introduced)
        return node->binary                ? result_type_of(COLUMN_BLOB)
               : node->kind == NODE_STRING ? string_literal_type(node)
                                           : result_type_of(COLUMN_TEXT);
    switch (node->kind) {
    case NODE_NULL:
        return result_type_of(COLUMN_NULL);
    case NODE_TRUE:
    case NODE_FALSE:
        return boolean_result_type();
    case NODE_INTEGER:
        return integer_literal_type(node->text);
    case NODE_DECIMAL:
        return decimal_literal_type(node->text);
    case NODE_STRING:
        return string_literal_type(node);
    case NODE_HEX:
        out = result_type_of(COLUMN_BLOB);
        out.hex = true;
        return out;
    case NODE_TEMPORAL:
        return temporal_literal_type(node);
    case NODE_CALL:
        return of_call(node, given);
    case NODE_PREFIX:
        /* -2^63 fits into a BIGINT, though 2^63 does not. */
        if (node->op == OP_NEGATIVE && node->first->kind == NODE_INTEGER &&
            span_is(node->first->text, "9223372036854775808"))
            return result_type_of(COLUMN_BIGINT);
        return operator_result_type(node->op, given);
    case NODE_BINARY:
        return operator_result_type(node->op, given);
    case NODE_INTERVAL:
        return interval_result_type(given->first, given->last, node->word);
    case NODE_COLLATE:
        return given->first;
    default:
        return result_type_of(COLUMN_BIGINT);
    }
}
