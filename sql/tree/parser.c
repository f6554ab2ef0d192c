/*
 * parser.c - tools that all statement parsers share: tokens, errors, names,
 * and literals that may be a ? or a @variable.
 *
 * The parsers are recursive descent by hand: a grammar in a generator would
 * not read MySQL's exceptions, and a text written by hand gives MySQL's own
 * errors.  A parser sees one token and, on demand, the next.  Everything that
 * a statement keeps goes into its arena, and nothing is freed singly.  Parsing
 * runs on the event loop's thread as a rule, and before any privilege is
 * checked.
 */
#include "parser.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "ascii.h"
#include "cursor.h"
#include "errors.h"
#include "lexer.h"
#include "sql.h"
#include "sql_statement.h"
#include "variables.h"

bool
parser_mode(const struct parser *p, const char *word)
{
    return p->how->session && variable_sql_mode(p->how->session, word);
}

bool
parser_quotes(const struct parser *p, const struct token *token)
{
    return token->kind == TOKEN_STRING && token->text.data[0] == '"' &&
           parser_mode(p, "ANSI_QUOTES");
}

/* With ANSI_QUOTES "a" is a name in expressions.  Outside of them it stays a
 * string, since SET and SHOW accept either where a name is due. */
struct token
parser_next(const struct parser *p, struct lexer *lexer)
{
    struct token token = lexer_next(lexer);

    if (p->tree && parser_quotes(p, &token))
        token.kind = TOKEN_QUOTED;
    return token;
}

void
parser_advance(struct parser *p)
{
    p->consumed = p->token.text.data + p->token.text.size;
    p->parameters += p->token.kind == TOKEN_PARAMETER;
    /* The lexer was moved on already when the token was looked at. */
    if (p->has_ahead) {
        p->token = p->ahead;
        p->lexer = p->behind;
        p->has_ahead = false;
        return;
    }
    p->token = parser_next(p, &p->lexer);
}

const struct token *
parser_ahead(struct parser *p)
{
    if (!p->has_ahead) {
        p->behind = p->lexer;
        p->ahead = parser_next(p, &p->behind);
        p->has_ahead = true;
    }
    return &p->ahead;
}

bool
parser_accept(struct parser *p, const char *word)
{
    bool is = token_is(&p->token, word);

    if (is)
        parser_advance(p);
    return is;
}

bool
parser_accept_any(struct parser *p, const char *words)
{
    bool is = token_is_any(&p->token, words);

    if (is)
        parser_advance(p);
    return is;
}

bool
parser_accept_operator(struct parser *p, const char *text)
{
    bool is = token_is_operator(&p->token, text);

    if (is)
        parser_advance(p);
    return is;
}

int
parser_fail(struct parser *p)
{
    /* "Not supported, because" helps more than "syntax error" where the
     * statement is right by MySQL's manual. */
    if (parser_refuse_missing(p, parser_ahead(p)) != 0)
        return -1;
    return syntax_error(p->source, p->token.text.data, p->err);
}

int
parser_fail_deep(struct parser *p)
{
    error_set(p->err, ER_STACK_OVERRUN, STATEMENT_TOO_DEEP);
    return -1;
}

int
parser_fail_many(struct parser *p, const char *what, int most,
                 const char *where)
{
    error_set(p->err, ER_NOT_SUPPORTED, STATEMENT_TOO_MANY, what, most, where);
    return -1;
}

static int
parser_fail_memory(struct parser *p)
{
    error_memory(p->err, "the statement");
    return -1;
}

int
parser_expect(struct parser *p, const char *word)
{
    return parser_accept(p, word) ? 0 : parser_fail(p);
}

int
parser_expect_operator(struct parser *p, const char *text)
{
    return parser_accept_operator(p, text) ? 0 : parser_fail(p);
}

bool
parser_done(struct parser *p)
{
    return p->token.kind == TOKEN_END || token_is_operator(&p->token, ";");
}

void *
parser_alloc(struct parser *p, size_t size)
{
    void *room = arena_alloc(p->arena, size);

    if (!room)
        parser_fail_memory(p);
    return room;
}

int
parser_decode(struct parser *p, struct span *out)
{
    if (token_decode(&p->token, p->arena, out) != 0)
        return parser_fail_memory(p);
    parser_advance(p);
    return 0;
}

int
parser_name(struct parser *p, struct span *out)
{
    if (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_QUOTED &&
        !parser_quotes(p, &p->token))
        return parser_fail(p);
    return parser_decode(p, out);
}

/* ---- a ? or @name whose value the parser needs ---- */

static int
wrong_arguments(struct parser *p, const char *why)
{
    error_set(p->err, ER_WRONG_ARGUMENTS, "Incorrect arguments to EXECUTE: %s",
              why);
    return -1;
}

int
parser_count_parameters(struct parser *p)
{
    if (p->parameters > SQL_PARAMETERS_MAX) {
        error_set(p->err, ER_PS_MANY_PARAM,
                  "Prepared statement contains too many placeholders");
        return -1;
    }
    if (p->how->use == PARAMETERS_GIVEN &&
        p->how->parameters->count != p->parameters)
        return wrong_arguments(p, "one value is needed for each ?");
    return 0;
}

/* Finds the value of the @name that is the token.  When a statement is only
 * described, its value does not matter. */
static int
read_parameter_variable(struct parser *p, const struct value **out)
{
    struct token token = p->token;
    struct span name;

    if (parser_decode(p, &name) != 0)
        return -1;
    *out = NULL;
    if (p->how->use == PARAMETERS_ABSENT)
        return 0;
    *out = sql_session_variable(p->how->session, name);
    if (*out && (*out)->type != VALUE_NULL)
        return 0;
    error_set(p->err, ER_WRONG_ARGUMENTS,
              "Incorrect arguments: the variable %.*s is NULL",
              span_shown(token.text), token.text.data);
    return -1;
}

/* Finds the value of the ? or @name that is the token, and consumes it; *out is
 * NULL if the value is absent. */
static int
take_parameter(struct parser *p, const struct value **out)
{
    const struct sql_parameters *given = p->how->parameters;
    size_t index = p->parameters;

    if (p->token.kind == TOKEN_USER && p->how->session)
        return read_parameter_variable(p, out);
    if (p->token.kind != TOKEN_PARAMETER || p->how->use == PARAMETERS_NONE)
        return parser_fail(p);
    parser_advance(p);
    *out = NULL;
    if (p->how->use == PARAMETERS_ABSENT)
        return 0;
    if (index >= given->count)
        return wrong_arguments(p, "one value is needed for each ?");
    if (given->values[index].type == VALUE_NULL)
        return wrong_arguments(p, "this ? cannot be NULL");
    *out = &given->values[index];
    return 0;
}

/* Writes the value as the text that a literal would have.  17 digits identify
 * any double. */
static int
value_text(struct parser *p, const struct value *value, struct span *out)
{
    char number[32];
    const char *text = value->data;
    int size = (int)value->size;

    if (value->type == VALUE_INT)
        size = snprintf(number, sizeof(number), "%" PRId64, value->integer);
    else if (value->type == VALUE_DOUBLE)
        size = snprintf(number, sizeof(number), "%.17g", value->real);
    if (value->type == VALUE_INT || value->type == VALUE_DOUBLE)
        text = number;
    out->size = (size_t)size;
    out->data = arena_strndup(p->arena, text, out->size);
    return out->data ? 0 : parser_fail_memory(p);
}

int
parser_string(struct parser *p, struct span *out, bool *unknown)
{
    const struct value *value = NULL;

    if (p->token.kind == TOKEN_STRING)
        return parser_decode(p, out);
    if (take_parameter(p, &value) != 0)
        return -1;
    out->data = "";
    out->size = 0;
    if (unknown)
        *unknown = !value;
    return value ? value_text(p, value, out) : 0;
}

bool
parser_accept_null(struct parser *p)
{
    const struct sql_parameters *given = p->how->parameters;
    size_t index = p->parameters;

    if (p->token.kind != TOKEN_PARAMETER || p->how->use != PARAMETERS_GIVEN ||
        index >= given->count || given->values[index].type != VALUE_NULL)
        return parser_accept(p, "NULL");
    parser_advance(p);
    return true;
}

int
parser_name_or_string(struct parser *p, struct span *out)
{
    if (p->token.kind == TOKEN_STRING || p->token.kind == TOKEN_PARAMETER)
        return parser_string(p, out, NULL);
    return parser_name(p, out);
}

/* Decodes x'1f2e' and 0x1f2e, which must have an even number of digits here:
 * they are bytes. b'01' is the same kind of token and is refused. */
static int
decode_hex(struct parser *p, struct span *out)
{
    struct span digits = p->token.text;
    bool quoted = digits.data[1] == '\'';
    char *bytes;

    digits.data += 2;
    digits.size -= 2 + quoted;
    if (digits.size % 2 != 0 ||
        (p->token.text.data[quoted ? 0 : 1] | 0x20) != 'x')
        return parser_fail(p);
    bytes = parser_alloc(p, digits.size / 2 + 1);
    if (!bytes)
        return -1;
    for (size_t i = 0; i < digits.size / 2; i++)
        bytes[i] = (char)(hex_digit(digits.data[2 * i]) * 16 +
                          hex_digit(digits.data[2 * i + 1]));
    *out = (struct span){bytes, digits.size / 2};
    parser_advance(p);
    return 0;
}

int
parser_bytes(struct parser *p, struct span *out)
{
    if (p->token.kind == TOKEN_HEX)
        return decode_hex(p, out);
    parser_accept(p, "_binary");
    return parser_string(p, out, NULL);
}

bool
parser_digits(struct span text, uint64_t *out)
{
    uint64_t number = 0;

    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned char)text.data[i] - (unsigned)'0';

        if (digit > 9 || number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *out = number;
    return text.size > 0;
}

int
parser_number(struct parser *p, uint64_t *out, bool *unknown)
{
    const struct value *value = NULL;
    struct span text;

    /* Clients that write a parameter's value into the text themselves put
     * numbers into quotes, too. */
    if (p->token.kind == TOKEN_INTEGER || p->token.kind == TOKEN_STRING) {
        text = p->token.text;
        if (p->token.kind == TOKEN_STRING && text.size >= 2) {
            text.data++;
            text.size -= 2;
        }
        if (!parser_digits(text, out))
            return parser_fail(p);
        parser_advance(p);
        return 0;
    }
    if (take_parameter(p, &value) != 0)
        return -1;
    *out = 0;
    if (unknown)
        *unknown = !value;
    if (!value)
        return 0;
    if (value_text(p, value, &text) != 0)
        return -1;
    return parser_digits(text, out)
               ? 0
               : wrong_arguments(p, "this ? must be a number");
}

/* ---- what MySQL has and heapwire has not ---- */

static const struct {
    const char *first, *second; /* second: one of these */
    const char *what, *why;
} missing[] = {
    {"AT", "TIME", "AT TIME ZONE", "all times are UTC"},
    {"GROUPS", "BETWEEN CURRENT UNBOUNDED", "GROUPS of a frame",
     "use ROWS or RANGE"},
    {"IGNORE", "NULLS", "IGNORE NULLS", "leave them out by WHERE"},
    {"MEMBER", "OF", "MEMBER OF", "use JSON_CONTAINS"},
    {"PARTITION", "(", "PARTITION", "no table has partitions"},
    {"PROCEDURE", "ANALYSE", "PROCEDURE ANALYSE", "DESCRIBE has the types"},
    {"RETURNING",
     "BINARY CHAR DATE DATETIME DECIMAL DOUBLE FLOAT INTEGER JSON REAL SIGNED "
     "TIME UNSIGNED YEAR",
     "JSON_VALUE ... RETURNING", "use JSON_EXTRACT and CAST"},
    {"SOUNDS", "LIKE", "SOUNDS LIKE", "compare the SOUNDEX of both"},
    {"VALUES", "(", "VALUES()", "nothing is inserted"},
    {"{", "OJ", "{OJ ...}", "leave out the braces"},
};

int
parser_refuse(struct parser *p, const char *what, const char *why)
{
    error_set(p->err, ER_NOT_SUPPORTED,
              "This version of heapwire doesn't yet support '%s': %s", what,
              why);
    return -1;
}

int
parser_refuse_missing(struct parser *p, const struct token *next)
{
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
        if (!token_is(&p->token, missing[i].first) &&
            !token_is_operator(&p->token, missing[i].first))
            continue;
        if (token_is_any(next, missing[i].second) ||
            token_is_operator(next, missing[i].second))
            return parser_refuse(p, missing[i].what, missing[i].why);
    }
    return 0;
}

int
parser_refuse_change(struct parser *p)
{
    error_set(p->err, ER_READ_ONLY,
              "The heapwire server is running with the --read-only option so "
              "it cannot execute this statement");
    return -1;
}
