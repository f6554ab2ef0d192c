/* parser.c - the parser's tools and the small statements. */
#include "parser.h"

#include <string.h>

#include "arena.h"
#include "errors.h"

void
parser_advance(struct parser *p)
{
    p->consumed = p->token.text.data + p->token.text.size;
    p->parameters += p->token.kind == TOKEN_PARAMETER;
    p->before = p->lexer;
    p->token = lexer_next(&p->lexer);
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
    return syntax_error(p->source, p->token.text.data, p->err);
}

int
parser_expect(struct parser *p, const char *word)
{
    return parser_accept(p, word) ? 0 : parser_fail(p);
}

bool
parser_done(struct parser *p)
{
    return p->token.kind == TOKEN_END || token_is_operator(&p->token, ";");
}

int
parser_decode(struct parser *p, struct span *out)
{
    if (token_decode(&p->token, p->arena, out) != 0) {
        error_memory(p->err, "the statement");
        return -1;
    }
    parser_advance(p);
    return 0;
}

int
parser_name(struct parser *p, struct span *out)
{
    if (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_QUOTED)
        return parser_fail(p);
    return parser_decode(p, out);
}

int
parser_name_or_string(struct parser *p, struct span *out)
{
    if (p->token.kind == TOKEN_STRING || p->token.kind == TOKEN_PARAMETER)
        return parser_string(p, out, NULL);
    return parser_name(p, out);
}

int
parser_fragment(struct parser *p, bool stop_at_comma, struct fragment *out)
{
    size_t depth = 0;

    out->lexer = p->before;
    out->first = p->parameters;
    if (parser_done(p))
        return parser_fail(p);
    while (!parser_done(p)) {
        if (token_is_operator(&p->token, "(") && ++depth > NESTING_MAX) {
            error_set(p->err, ER_STACK_OVERRUN, STATEMENT_TOO_DEEP);
            return -1;
        }
        if (token_is_operator(&p->token, ")") && depth-- == 0)
            return parser_fail(p);
        if (stop_at_comma && depth == 0 && token_is_operator(&p->token, ","))
            break;
        if (p->token.kind == TOKEN_INVALID ||
            (p->token.kind == TOKEN_PARAMETER &&
             p->how->use == PARAMETERS_NONE))
            return parser_fail(p);
        parser_advance(p);
    }
    if (depth != 0 || p->consumed <= out->lexer.pos)
        return parser_fail(p);
    out->end = p->consumed;
    out->parameters = p->parameters - out->first;
    return 0;
}

static int
parse_select(struct parser *p, struct statement *out)
{
    out->kind = STATEMENT_SELECT;
    parse_select_hint(p, out);
    return parser_fragment(p, false, &out->select);
}

static int
parse_do(struct parser *p, struct statement *out)
{
    out->kind = STATEMENT_DO;
    parser_advance(p);
    return parser_fragment(p, false, &out->select);
}

static int
parse_use(struct parser *p, struct statement *out)
{
    out->kind = STATEMENT_USE;
    parser_advance(p);
    return parser_name(p, &out->use);
}

/* A number, or a ? for one, alone needs no working out. */
static bool
at_id(const struct parser *p)
{
    struct lexer ahead = p->lexer;
    struct token next = lexer_next(&ahead);

    return (p->token.kind == TOKEN_INTEGER ||
            p->token.kind == TOKEN_PARAMETER) &&
           (next.kind == TOKEN_END || token_is_operator(&next, ";"));
}

static int
parse_id(struct parser *p, uint32_t *out)
{
    uint64_t id;

    if (p->token.kind == TOKEN_INTEGER) {
        if (!parser_digits(p->token.text, &id))
            id = UINT64_MAX; /* nobody's */
        parser_advance(p);
    } else if (parser_number(p, &id, NULL) != 0) {
        return -1;
    }
    *out = id > UINT32_MAX ? UINT32_MAX : (uint32_t)id;
    return 0;
}

static int
parse_kill(struct parser *p, struct statement *out)
{
    out->kind = STATEMENT_KILL;
    parser_advance(p);
    out->kill.query_only = parser_accept(p, "QUERY");
    if (!out->kill.query_only)
        parser_accept(p, "CONNECTION");
    out->kill.is_expression = !at_id(p);
    return out->kill.is_expression
               ? parser_fragment(p, false, &out->kill.expression)
               : parse_id(p, &out->kill.id);
}

static const struct {
    const char *word;
    int (*parse)(struct parser *p, struct statement *out);
} statements[] = {
    {"ADMIN", parse_admin},
    {"SELECT", parse_select},
    {"WITH", parse_select},
    {"TABLE", parse_select},
    {"VALUES", parse_select},
    {"SHOW", parse_show},
    {"DESC", parse_describe},
    {"DESCRIBE", parse_describe},
    {"EXPLAIN", parse_describe},
    {"SET", parse_set},
    {"USE", parse_use},
    {"KILL", parse_kill},
    {"DO", parse_do},
    {"BEGIN", parse_transaction},
    {"START", parse_transaction},
    {"COMMIT", parse_transaction},
    {"ROLLBACK", parse_transaction},
    {"SAVEPOINT", parse_savepoint},
    {"RELEASE", parse_savepoint},
    {"INSERT", parse_change},
    {"UPDATE", parse_change},
    {"DELETE", parse_change},
    {"REPLACE", parse_change},
    {"CREATE", parse_change},
    {"ALTER", parse_change},
    {"TRUNCATE", parse_change},
    {"RENAME", parse_change},
    {"LOAD", parse_change},
    {"GRANT", parse_change},
    {"REVOKE", parse_change},
    {"INSTALL", parse_change},
    {"UNINSTALL", parse_change},
};

int
parser_statement(struct parser *p, struct statement *out)
{
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        if (token_is(&p->token, statements[i].word))
            return statements[i].parse(p, out);
    if (token_is_operator(&p->token, "(")) /* (SELECT 1) UNION (SELECT 2) */
        return parse_select(p, out);
    return parse_other(p, out);
}

int
statement_parse(struct span text, const struct parsing *how,
                struct statement *out, struct error *err)
{
    struct parser p = {.lexer = lexer_of(text),
                       .source = text,
                       .how = how,
                       .arena = how->arena,
                       .err = err};

    memset(out, 0, sizeof(*out));
    out->source = text;
    p.token.text.data = text.data;
    parser_advance(&p);
    parser_accept_operator(&p, ";");
    if (p.token.kind == TOKEN_END) {
        error_set(err, ER_EMPTY_QUERY, "Query was empty");
        return -1;
    }
    if (parser_statement(&p, out) != 0)
        return -1;
    parser_accept_operator(&p, ";");
    if (p.token.kind != TOKEN_END)
        return parser_fail(&p);
    out->parameters = p.parameters;
    return parser_count_parameters(&p);
}
