/*
 * rewriter_label.c - labels of selected expressions.
 *
 * Clients find columns by label: an expression without an alias has its source
 * text as typed, a column its own name, a string its value.
 */
#include "rewrite_words.h"
#include "rewriter.h"

void
rewriter_label_note(struct level *level, const struct token *token)
{
    bool name = token->kind == TOKEN_WORD || token->kind == TOKEN_QUOTED;
    bool dot = token_is_operator(token, ".");

    if (level->count++ == 0) {
        level->start = token->text.data;
        level->aliased = false;
        level->plain = name;
    } else { /* names and dots alternate */
        level->plain =
            level->plain && (token_is_operator(&level->last, ".") ? name : dot);
    }
    level->before = level->last;
    level->last = *token;
}

static enum rewrite_word
word_of(const struct token *token)
{
    const char *out;

    return token->kind == TOKEN_WORD ? rewrite_word(token->text, &out)
                                     : WORD_NAME;
}

/* Whether an expression can end with token. */
static bool
ends_operand(const struct token *token)
{
    switch (token->kind) {
    case TOKEN_WORD:
        return word_of(token) == WORD_NAME || word_of(token) == WORD_VALUE ||
               word_of(token) == WORD_END || word_of(token) == WORD_NILADIC;
    case TOKEN_OPERATOR:
        return token_is_operator(token, ")");
    case TOKEN_END:
    case TOKEN_INVALID:
        return false;
    default:
        return true;
    }
}

/* Whether the last token is an alias without AS: it follows a whole operand. */
static bool
has_bare_alias(const struct level *level)
{
    const struct token *last = &level->last;

    if (level->count < 2 || !ends_operand(&level->before))
        return false;
    if (last->kind == TOKEN_STRING)
        return level->before.kind != TOKEN_STRING;
    return last->kind == TOKEN_QUOTED ||
           (last->kind == TOKEN_WORD && word_of(last) == WORD_NAME);
}

static struct span
cut(struct span text)
{
    if (text.size <= REWRITE_LABEL_MAX)
        return text;
    text.size = REWRITE_LABEL_MAX;
    while (text.size > 0 &&
           ((unsigned char)text.data[text.size] & 0xc0) == 0x80)
        text.size--;
    return text;
}

int
rewriter_label_end(struct rewriter *r, struct level *level)
{
    bool star = token_is_operator(&level->last, "*");
    const struct token *last = &level->last;
    struct span label = {level->start, 0};
    size_t count = level->count;

    level->count = 0;
    if (count == 0 || level->aliased || star || r->job->form != REWRITE_SELECT)
        return 0;
    level->count = count;
    if (has_bare_alias(level)) {
        level->count = 0;
        return 0;
    }
    level->count = 0;
    label.size = (size_t)(last->text.data + last->text.size - level->start);
    if ((level->plain || (count == 1 && last->kind == TOKEN_STRING)) &&
        rewriter_decode(r, last, &label) != 0)
        return -1;
    buffer_text(r->sql, " AS");
    rewriter_emit_identifier(r, cut(label));
    return 0;
}
