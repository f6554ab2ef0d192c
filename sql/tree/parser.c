/* parser.c - see parser.h. */
#include "parser.h"

#include "arena.h"
#include "errors.h"
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

/* Outside of a tree "a" stays a string, which may stand for a name. */
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
    if (p->looked) {
        p->token = p->ahead;
        p->lexer = p->behind;
        p->looked = false;
        return;
    }
    p->token = parser_next(p, &p->lexer);
}

const struct token *
parser_ahead(struct parser *p)
{
    if (!p->looked) {
        p->behind = p->lexer;
        p->ahead = parser_next(p, &p->behind);
        p->looked = true;
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

int
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
