/*
 * parse_limits.c - limits for one statement: its time, and nodes at a time.
 *
 * SET STATEMENT heapwire_timeout = 5 FOR ... is MariaDB's form; the other is a
 * hint, which some clients drop as they drop comments.
 */
#include "parse.h"

#include <stddef.h>
#include <string.h>

#include "errors.h"
#include "sql_session.h"
#include "variables.h"

enum { SHOWN = 64 }; /* bytes of what was typed in an error */

static const struct {
    const char *name;
    uint64_t least, most;
    size_t offset; /* of the limit's uint32_t in struct sql_statement */
} limits[] = {{"heapwire_parallel", 1, PARALLEL_MAX,
               offsetof(struct sql_statement, parallel)},
              {"heapwire_timeout", 1, TIMEOUT_MAX_S,
               offsetof(struct sql_statement, timeout_s)}};

static int
shown(struct span text)
{
    return (int)(text.size < SHOWN ? text.size : SHOWN);
}

static int
refuse_name(struct parser *p, struct span name)
{
    error_set(p->err, ER_UNKNOWN_VARIABLE,
              "'%.*s' cannot be set for one statement; heapwire_timeout and "
              "heapwire_parallel can",
              shown(name), name.data);
    return -1;
}

/* Reads the number for the limit called name. */
static int
parse_value(struct parser *p, struct span name, struct sql_statement *out)
{
    struct span digits = p->token.text;
    size_t i = 0, count = sizeof(limits) / sizeof(limits[0]);
    uint32_t limit;
    uint64_t value;

    while (i < count && !span_is_nocase(name, limits[i].name))
        i++;
    if (i == count)
        return refuse_name(p, name);
    if (p->token.kind != TOKEN_INTEGER)
        return parser_fail(p);
    if (!parser_digits(digits, &value) || value < limits[i].least ||
        value > limits[i].most)
        return variable_refuse(limits[i].name, digits, limits[i].least,
                               limits[i].most, p->err);
    parser_advance(p);
    limit = (uint32_t)value;
    memcpy((char *)out + limits[i].offset, &limit, sizeof(limit));
    return 0;
}

int
parse_set_statement(struct parser *p, struct sql_statement *out)
{
    struct span name;

    do {
        if (parser_name(p, &name) != 0 || parser_expect_operator(p, "=") != 0 ||
            parse_value(p, name, out) != 0)
            return -1;
    } while (parser_accept_operator(p, ","));
    if (parser_expect(p, "FOR") != 0)
        return -1;
    return token_is(&p->token, "SET") ? parser_fail(p) : p->any(p, out);
}

/* name(number) name(number) ... */
static int
parse_hints(struct parser *p, struct sql_statement *out)
{
    while (p->token.kind != TOKEN_END) {
        struct span name;

        if (parser_name(p, &name) != 0 || parser_expect_operator(p, "(") != 0 ||
            parse_value(p, name, out) != 0 ||
            parser_expect_operator(p, ")") != 0)
            return -1;
    }
    return 0;
}

/* Looks for a hint before the token; inner then reads the hint.  False: no
 * hint. */
static bool
find_hint(const struct parser *p, struct parser *inner)
{
    const char *at = p->consumed, *end = p->token.text.data;
    struct span text;

    while (at < end && strchr(" \t\r\n", *at))
        at++;
    if (end - at < 5 || memcmp(at, "/*+", 3) != 0)
        return false;
    text.data = at + 3;
    end = memmem(text.data, (size_t)(end - text.data), "*/", 2);
    if (!end)
        return false;
    text.size = (size_t)(end - text.data);
    *inner = *p;
    inner->lexer = lexer_of(text);
    parser_advance(inner);
    return true;
}

int
parse_hint(struct parser *p, struct sql_statement *out)
{
    struct parser inner;

    return find_hint(p, &inner) ? parse_hints(&inner, out) : 0;
}

/* Skips MySQL's other hints, which address its optimizer. */
void
parse_select_hint(const struct parser *p, struct sql_statement *out)
{
    struct parser ahead = *p, inner;
    uint64_t ms;

    parser_advance(&ahead);
    if (!find_hint(&ahead, &inner))
        return;
    while (inner.token.kind != TOKEN_END && inner.token.kind != TOKEN_INVALID) {
        bool found = parser_accept(&inner, "MAX_EXECUTION_TIME") &&
                     parser_accept_operator(&inner, "(");

        if (found && inner.token.kind == TOKEN_INTEGER &&
            parser_digits(inner.token.text, &ms))
            out->max_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
        parser_advance(&inner);
    }
}
