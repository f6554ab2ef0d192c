/* infer_call.c - the types of CASE, CAST, INTERVAL and calls of functions. */
#include <stdlib.h>
#include <string.h>

#include "function.h"
#include "function_formats.h"
#include "function_table.h"
#include "inference.h"
#include "view_cache.h"

static struct result_type
of(enum column_type type)
{
    return result_type_of(type);
}

struct result_type
infer_case(struct inference *p)
{
    struct result_type out = of(COLUMN_NULL);

    p->at++;
    if (!inference_is(p, "WHEN"))
        infer_expression(p);
    while (!p->lost && inference_accept(p, "WHEN")) {
        infer_expression(p);
        if (!inference_accept(p, "THEN"))
            p->lost = true;
        else
            out = result_type_widened(out, infer_expression(p));
    }
    if (!p->lost && inference_accept(p, "ELSE"))
        out = result_type_widened(out, infer_expression(p));
    if (!inference_accept(p, "END"))
        p->lost = true;
    return out;
}

/* The type that a CAST names; a DECIMAL(p, s) has its digits. */
static struct result_type
cast_type(const struct inference *p)
{
    static const struct {
        const char *word;
        enum column_type type;
        uint16_t flags;
    } types[] = {
        {"BINARY", COLUMN_BLOB, 0},
        {"DATE", COLUMN_DATE, 0},
        {"DATETIME", COLUMN_DATETIME, 0},
        {"DECIMAL", COLUMN_DECIMAL, 0},
        {"DEC", COLUMN_DECIMAL, 0},
        {"DOUBLE", COLUMN_DOUBLE, 0},
        {"FLOAT", COLUMN_DOUBLE, 0},
        {"INTEGER", COLUMN_BIGINT, 0},
        {"NUMERIC", COLUMN_DECIMAL, 0},
        {"REAL", COLUMN_DOUBLE, 0},
        {"SIGNED", COLUMN_BIGINT, 0},
        {"TIME", COLUMN_TIME, 0},
        {"TIMESTAMP", COLUMN_DATETIME, 0},
        {"UNSIGNED", COLUMN_BIGINT, COLUMN_UNSIGNED},
    };
    const struct piece *here = inference_here(p);
    struct result_type out = of(COLUMN_TEXT);

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (token_is(&here->token, types[i].word)) {
            out = of(types[i].type);
            out.flags = types[i].flags;
            out.past = out.flags != 0;
        }
    if (out.type == COLUMN_DECIMAL && p->at + 5 < p->count &&
        token_is_operator(&here[1].token, "(") &&
        token_is_operator(&here[3].token, ",") &&
        here[4].token.kind == TOKEN_INTEGER)
        out.decimals = (uint8_t)(strtoul(here[4].token.text.data, NULL, 10) %
                                 (DECIMALS_MAX + 1));
    return out;
}

/* CAST(x AS type), CONVERT(x, type), CONVERT(x USING charset) */
struct result_type
infer_cast(struct inference *p)
{
    struct result_type out = of(COLUMN_TEXT);
    size_t end;

    p->at++;
    end = inference_here(p)->match;
    p->at++;
    infer_expression(p);
    if (inference_accept(p, "AS") || inference_accept_operator(p, ","))
        out = cast_type(p);
    inference_leave(p, end);
    return out;
}

/* The type of DATE + INTERVAL: whole days keep a date, shorter units add a
 * time. */
static struct result_type
moved(struct result_type from, struct span unit)
{
    static const char *const days[] = {"DAY",     "WEEK", "MONTH",
                                       "QUARTER", "YEAR", "YEAR_MONTH"};

    if (from.type == COLUMN_DATE) {
        for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++)
            if (span_is_nocase(unit, days[i]))
                return from;
        return of(COLUMN_DATETIME);
    }
    if (from.type == COLUMN_TIMESTAMP)
        return of(COLUMN_DATETIME);
    return from.type == COLUMN_DATETIME || from.type == COLUMN_TIME
               ? from
               : of(COLUMN_TEXT);
}

/* INTERVAL x unit, behind the value that it moves. */
struct result_type
infer_interval(struct inference *p, struct result_type from)
{
    p->at++;
    infer_expression(p);
    if (inference_here(p)->token.kind == TOKEN_WORD) {
        from = moved(from, inference_here(p)->token.text);
        p->at++;
    }
    return from;
}

struct arguments {
    size_t count;
    struct result_type first, all, behind_first, last;
    struct span start, format; /* the first token; a literal second one */
    size_t digits;             /* literal second argument of ROUND(x, digits) */
    bool has_digits;
};

static struct arguments
no_arguments(void)
{
    struct arguments out = {.first = of(COLUMN_NULL)};

    out.all = out.behind_first = out.last = out.first;
    return out;
}

static void
find_digits(const struct inference *p, struct arguments *out)
{
    const struct piece *here = inference_here(p);

    out->has_digits = here->token.kind == TOKEN_INTEGER &&
                      here->token.text.size <= 2 &&
                      token_is_operator(&here[1].token, ")");
    if (out->has_digits)
        out->digits = strtoul(here->token.text.data, NULL, 10);
}

/* The type of ROUND(x), ROUND(x, 2); DOUBLE if the text does not tell. */
static struct result_type
rounded(const struct arguments *a)
{
    if (result_type_is_integer(a->first))
        return of(COLUMN_BIGINT);
    if (!result_type_is_exact(a->first) || (a->count > 1 && !a->has_digits))
        return of(COLUMN_DOUBLE);
    return result_type_decimal(a->count > 1 ? a->digits : 0);
}

/* Reads the arguments behind "(", as far as they are understood. */
static struct arguments
arguments(struct inference *p)
{
    struct arguments out = no_arguments();
    struct result_type type;

    out.start = inference_here(p)->token.text;

    while (inference_here(p)->word == WORD_QUANTIFIER)
        p->at++;
    do {
        if (out.count == 1 && inference_is(p, "INTERVAL")) {
            out.first = out.all = infer_interval(p, out.first);
            continue;
        }
        if (inference_is_operator(p, ")"))
            break;
        if (out.count == 1)
            find_digits(p, &out);
        if (out.count == 1 && inference_here(p)->token.kind == TOKEN_STRING)
            out.format = inference_here(p)->token.text;
        type = infer_expression(p);
        if (p->lost)
            type = of(COLUMN_TEXT);
        if (out.count++ == 0)
            out.first = type;
        else
            out.behind_first = result_type_widened(out.behind_first, type);
        out.all = result_type_widened(out.all, type);
        out.last = type;
    } while (!p->lost && inference_accept_operator(p, ","));
    return out;
}

/* The type that STR_TO_DATE reads; an unknown format may contain every part. */
static struct result_type
read_with(struct span format)
{
    bool date = format.size == 0, time = date;

    for (size_t i = 0; i + 1 < format.size; i++)
        if (format.data[i] == '%') {
            i++;
            date = date || function_format_reads_date(format.data[i]);
            time = time || function_format_reads_time(format.data[i]);
        }
    return of(!time ? COLUMN_DATE : date ? COLUMN_DATETIME : COLUMN_TIME);
}

static struct result_type
returned(enum function_type type, const struct arguments *a)
{
    static const struct span day = {"DAY", 3};
    struct result_type out;

    switch (type) {
    case RETURNS_LINES:
        out = of(COLUMN_LONGTEXT);
        out.width = VIEW_BYTES_MAX / 4; /* in characters of utf8mb4 */
        return out;
    case RETURNS_BYTES:
        out = of(COLUMN_BLOB);
        out.width = VIEW_BYTES_MAX;
        return out;
    case RETURNS_BIGINT:
        return of(COLUMN_BIGINT);
    case RETURNS_DOUBLE:
        return of(COLUMN_DOUBLE);
    case RETURNS_DATE:
        return of(COLUMN_DATE);
    case RETURNS_TIME:
        return of(COLUMN_TIME);
    case RETURNS_DATETIME:
        return of(COLUMN_DATETIME);
    case RETURNS_ARGUMENTS:
        return a->all;
    case RETURNS_BRANCHES:
        return a->behind_first;
    case RETURNS_FIRST:
        return a->first;
    case RETURNS_MOVED:
        return a->count < 3 ? moved(a->first, day) : moved(a->last, a->start);
    case RETURNS_SECONDS:
        return of(a->count > 1 ? COLUMN_TEXT : COLUMN_DATETIME);
    case RETURNS_READ:
        return read_with(a->format);
    case RETURNS_NUMBER:
        return result_type_is_integer(a->all) ? of(COLUMN_BIGINT)
               : result_type_is_exact(a->all) ? a->all
                                              : of(COLUMN_DOUBLE);
    case RETURNS_ROUNDED:
        return rounded(a);
    case RETURNS_WHOLE:
        return of(result_type_is_exact(a->first) ? COLUMN_BIGINT
                                                 : COLUMN_DOUBLE);
    case RETURNS_AVERAGE:
        return result_type_is_exact(a->first)
                   ? result_type_decimal(a->first.decimals + QUOTIENT_DECIMALS)
                   : of(COLUMN_DOUBLE);
    case RETURNS_TEXT:
        break;
    }
    return of(COLUMN_TEXT);
}

/* Whether CHAR(228) gives bytes: it does, unless USING names a character
 * set. */
static bool
is_bytes(const struct inference *p, struct span name)
{
    return span_is_nocase(name, "CHAR") &&
           (!inference_is(p, "USING") ||
            token_is(&inference_here(p)[1].token, "BINARY"));
}

/* The type of name(...) or CURRENT_DATE, with the OVER of a window. */
struct result_type
infer_call(struct inference *p)
{
    struct span name = inference_name(p, &inference_here(p)->token);
    enum function_type type = RETURNS_TEXT;
    struct arguments given = no_arguments();
    bool bytes = false;
    size_t end;

    function_table_find(name, &type);
    p->at++;
    if (inference_is_operator(p, "(")) {
        end = inference_here(p)->match;
        p->at++;
        given = arguments(p);
        bytes = is_bytes(p, name);
        if (!p->no_memory)
            p->lost = false;
        p->at = end;
        inference_accept_operator(p, ")");
    }
    if (inference_accept(p, "OVER"))
        inference_skip(p);
    return bytes ? of(COLUMN_BLOB) : returned(type, &given);
}
