/* type_call.c - see type_call.h. */
#include "type_call.h"

#include <stdlib.h>
#include <string.h>

#include "function.h"
#include "function_formats.h"
#include "function_table.h"
#include "view_cache.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { DECIMALS_MAX = 30 }; /* decimals of a DECIMAL */

static struct result_type
of(enum column_type type)
{
    return result_type_of(type);
}

static struct result_type
moment(enum column_type type, bool loose)
{
    struct result_type out = of(type);

    out.loose = loose;
    return out;
}

struct result_type
type_moved(struct result_type from, struct result_type amount, struct span unit)
{
    bool whole =
        result_type_is_integer(amount) &&
        span_is_any(unit, "SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR");

    if (from.type == COLUMN_DATE &&
        span_is_any(unit, "DAY WEEK MONTH QUARTER YEAR YEAR_MONTH"))
        return from;
    if (!result_type_is_moment(from.type))
        return of(COLUMN_TEXT);
    return moment(from.type == COLUMN_TIME ? COLUMN_TIME : COLUMN_DATETIME,
                  from.loose || !whole);
}

/* CAST(x AS type), CONVERT(x, type); a DECIMAL(p, s) has its digits. */
static struct result_type
cast(const struct tree_call *call)
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
    struct result_type out = of(COLUMN_TEXT);

    for (size_t i = 0; i < COUNT(types); i++)
        if (strcmp(call->type, types[i].name) == 0)
            out = of(types[i].type);
    out.past = strcmp(call->type, "UNSIGNED") == 0;
    out.flags = out.past ? COLUMN_UNSIGNED : 0;
    out.loose = call->lengths[0] > 0;
    if (out.type == COLUMN_DECIMAL && call->lengths[1] > 0)
        out.decimals = (uint8_t)(call->lengths[1] % (DECIMALS_MAX + 1));
    return out;
}

/* The type that STR_TO_DATE reads; an unknown format may contain every part. */
static struct result_type
read_with(const struct node *format)
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
    return moment(!time  ? COLUMN_DATE
                  : date ? COLUMN_DATETIME
                         : COLUMN_TIME,
                  loose);
}

/* What SUM and ABS give. */
static struct result_type
number(struct result_type from)
{
    from = result_type_number(from);
    if (from.hex || (from.past && result_type_is_integer(from)))
        return result_type_unsigned();
    if (result_type_is_integer(from))
        return of(COLUMN_BIGINT);
    return result_type_is_exact(from) ? from : of(COLUMN_DOUBLE);
}

/* ROUND(x), ROUND(x, 2); DOUBLE if the text does not tell the digits. */
static struct result_type
rounded(struct result_type from, const struct node *digits)
{
    if (result_type_is_integer(from))
        return number(from);
    if (!result_type_is_exact(from))
        return of(COLUMN_DOUBLE);
    if (!digits)
        return result_type_decimal(0);
    return digits->kind == NODE_INTEGER && digits->text.size <= 2
               ? result_type_decimal(strtoul(digits->text.data, NULL, 10))
               : of(COLUMN_DOUBLE);
}

static struct result_type
wide(enum column_type type, uint32_t width)
{
    struct result_type out = of(type);

    out.width = width;
    return out;
}

static struct result_type
returned(enum function_type type, const struct node *node,
         const struct operands *given)
{
    static const struct span day = {"DAY", 3};
    const struct tree_call *call = node->call;
    const struct node *first = node->first;
    const struct node *second = first ? first->next : NULL;
    struct result_type plain = result_type_number(given->first);

    switch (type) {
    case RETURNS_LINES: /* in characters of utf8mb4 */
        return wide(COLUMN_LONGTEXT, VIEW_BYTES_MAX / 4);
    case RETURNS_BYTES:
        return wide(COLUMN_BLOB, VIEW_BYTES_MAX);
    case RETURNS_BIGINT:
        return of(COLUMN_BIGINT);
    case RETURNS_DOUBLE:
        return of(COLUMN_DOUBLE);
    case RETURNS_DATE:
        return of(COLUMN_DATE);
    case RETURNS_TIME:
        return moment(COLUMN_TIME, first);
    case RETURNS_DATETIME:
        return moment(COLUMN_DATETIME, first);
    case RETURNS_ARGUMENTS:
        return given->all;
    case RETURNS_BRANCHES:
        return given->behind_first;
    case RETURNS_FIRST:
        return given->first;
    case RETURNS_MOVED:
        if (call->form == CALL_TIMESTAMP)
            return type_moved(given->last, given->first, call->unit);
        return type_moved(given->first, given->last,
                          call->unit.size > 0 ? call->unit : day);
    case RETURNS_SECONDS:
        return moment(second ? COLUMN_TEXT : COLUMN_DATETIME,
                      !result_type_is_integer(given->first));
    case RETURNS_READ:
        return read_with(second);
    case RETURNS_NUMBER:
        return number(given->all);
    case RETURNS_EPOCH:
        return first && first->kind == NODE_STRING &&
                       !memchr(first->name.data, '.', first->name.size)
                   ? of(COLUMN_BIGINT)
                   : number(given->all);
    case RETURNS_ROUNDED:
        return rounded(plain, second);
    case RETURNS_WHOLE:
        return result_type_is_exact(plain) && !result_type_is_integer(plain)
                   ? of(COLUMN_BIGINT)
                   : number(plain);
    case RETURNS_AVERAGE:
        return result_type_is_exact(plain)
                   ? result_type_decimal(plain.decimals + QUOTIENT_DECIMALS)
                   : of(COLUMN_DOUBLE);
    case RETURNS_TEXT:
        break;
    }
    return of(COLUMN_TEXT);
}

struct result_type
type_call(const struct node *node, const struct operands *given)
{
    const struct tree_call *call = node->call;
    enum function_type type = RETURNS_TEXT;

    if (call->form == CALL_CAST || call->form == CALL_CONVERT)
        return call->type ? cast(call) : of(COLUMN_TEXT);
    /* CHAR(228) gives bytes, unless USING names a character set */
    if (span_is_nocase(node->name, "CHAR"))
        return of(call->has_using && !call->is_binary ? COLUMN_TEXT
                                                      : COLUMN_BLOB);
    function_table_find(node->name, &type);
    return returned(type, node, given);
}
