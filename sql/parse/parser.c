/* parser.c - the parser's tools, with one token of look-ahead. */
#include "parser.h"

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
