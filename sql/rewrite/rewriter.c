/* rewriter.c - see rewriter.h: the tokens, and where they stand. */
#include "rewriter.h"

#include "rewrite_words.h"

struct level *
rewriter_top(struct rewriter *r)
{
    return &r->levels[r->depth];
}

void
rewriter_advance(struct rewriter *r)
{
    r->previous = r->token;
    r->token = r->ahead;
    r->ahead = lexer_next(&r->lexer);
    if (r->ahead.kind == TOKEN_STRING && r->ahead.text.data[0] == '"' &&
        r->ansi_quotes)
        r->ahead.kind = TOKEN_QUOTED;
    if (r->ahead.text.data >= r->job->fragment->end) {
        r->ahead.kind = TOKEN_END;
        r->ahead.text.size = 0;
    }
}

const char *
rewriter_where(const struct rewriter *r)
{
    for (size_t i = r->depth + 1; i > 0; i--)
        if (r->levels[i - 1].where)
            return r->levels[i - 1].where;
    return "field list";
}

bool
rewriter_may_name(const struct token *token)
{
    return token->kind == TOKEN_WORD || token->kind == TOKEN_QUOTED;
}

bool
rewriter_is_name(const struct token *token)
{
    const char *out;

    return token->kind == TOKEN_WORD &&
           rewrite_word(token->text, &out) == WORD_NAME;
}
