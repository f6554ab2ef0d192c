/* rewriter.c - see rewriter.h: tokens, levels and operands, and their
 * places. */
#include "rewriter.h"

#include <string.h>

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

/* ---- operands ---- */

bool
rewriter_wants_operand(struct rewriter *r)
{
    return rewriter_top(r)->operand.kind == OPERAND_NONE;
}

void
rewriter_operand(struct rewriter *r, enum operand_kind kind)
{
    struct level *level = rewriter_top(r);

    if (level->operand.kind != OPERAND_NONE)
        return;
    level->operand.kind = kind;
    level->operand.start = r->sql->size;
    level->operand.depth = 1;
}

/* Inserts text at offset `at` of sql, and moves the rest. */
void
rewriter_insert(struct rewriter *r, size_t at, const char *text)
{
    size_t size = strlen(text);
    char *end;

    if (at > r->sql->size) { /* past the end: the statement fails */
        r->sql->failed = true;
        return;
    }
    end = buffer_reserve(r->sql, size);
    if (!end)
        return;
    memmove(r->sql->data + at + size, r->sql->data + at, r->sql->size - at);
    memcpy(r->sql->data + at, text, size);
    buffer_claim(r->sql, size);
    for (size_t i = r->mark_count; i > 0 && r->marks[i - 1].offset >= at; i--)
        r->marks[i - 1].offset += size;
}
