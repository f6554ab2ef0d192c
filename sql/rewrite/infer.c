/* infer.c - see infer.h: the text taken apart, and the answer. */
#include "infer.h"

#include <string.h>
#include <strings.h>

#include "arena.h"
#include "inference.h"

struct result_type
result_type_of(enum column_type type)
{
    static const uint32_t widths[] = {
        [COLUMN_TEXT] = 1024,   [COLUMN_LONGTEXT] = 65535,
        [COLUMN_TINYINT] = 1,   [COLUMN_BLOB] = 65535,
        [COLUMN_INT] = 11,      [COLUMN_BIGINT] = 20,
        [COLUMN_DOUBLE] = 22,   [COLUMN_DECIMAL] = 22,
        [COLUMN_DATE] = 10,     [COLUMN_TIME] = 10,
        [COLUMN_DATETIME] = 19, [COLUMN_TIMESTAMP] = 19};
    struct result_type out = {.type = type, .width = widths[type]};

    return out;
}

struct result_type
unknown_type(void)
{
    struct result_type out = result_type_of(COLUMN_TEXT);

    out.unknown = true;
    return out;
}

const struct piece *
inference_here(const struct inference *p)
{
    return &p->pieces[p->at];
}

bool
inference_is(const struct inference *p, const char *word)
{
    return token_is(&inference_here(p)->token, word);
}

bool
inference_is_operator(const struct inference *p, const char *text)
{
    return token_is_operator(&inference_here(p)->token, text);
}

bool
inference_accept(struct inference *p, const char *word)
{
    bool is = inference_is(p, word);

    p->at += is;
    return is;
}

bool
inference_accept_operator(struct inference *p, const char *text)
{
    bool is = inference_is_operator(p, text);

    p->at += is;
    return is;
}

void
inference_leave(struct inference *p, size_t end)
{
    if (!p->no_memory)
        p->lost = false;
    p->at = end;
    inference_accept_operator(p, ")");
}

bool
inference_at_name(const struct inference *p)
{
    const struct piece *here = inference_here(p);

    return here->token.kind == TOKEN_QUOTED ||
           (here->token.kind == TOKEN_WORD && here->word == WORD_NAME);
}

void
inference_skip(struct inference *p)
{
    if (inference_is_operator(p, "("))
        p->at = inference_here(p)->match;
    if (inference_here(p)->token.kind != TOKEN_END)
        p->at++;
}

void *
inference_alloc(struct inference *p, size_t size)
{
    void *room = arena_alloc(p->job->arena, size);

    if (!room)
        p->no_memory = p->lost = true;
    return room;
}

struct span
inference_name(struct inference *p, const struct token *token)
{
    struct span name = token->text;

    if (token->kind != TOKEN_WORD &&
        token_decode(token, p->job->arena, &name) != 0)
        p->no_memory = p->lost = true;
    return name;
}

static struct token
next(struct lexer *lexer, const char *end)
{
    struct token token = lexer_next(lexer);

    if (token.text.data >= end || token.kind == TOKEN_INVALID) {
        token.kind = TOKEN_END;
        token.text.size = 0;
    }
    return token;
}

static size_t
count_tokens(const struct fragment *fragment)
{
    struct lexer lexer = fragment->lexer;
    size_t count = 1;

    while (next(&lexer, fragment->end).kind != TOKEN_END)
        count++;
    return count;
}

static int
take_apart(struct inference *p)
{
    const struct fragment *fragment = p->job->fragment;
    struct lexer lexer = fragment->lexer;
    size_t open[NESTING_MAX], depth = 0, parameters = 0;
    const char *out;

    p->count = count_tokens(fragment);
    p->pieces = inference_alloc(p, p->count * sizeof(*p->pieces));
    for (size_t i = 0; p->pieces && i < p->count; i++) {
        struct piece *piece = &p->pieces[i];

        piece->token = next(&lexer, fragment->end);
        piece->match = p->count - 1;
        piece->parameters = parameters;
        parameters += piece->token.kind == TOKEN_PARAMETER;
        if (piece->token.kind == TOKEN_WORD &&
            !(i > 0 && token_is_operator(&piece[-1].token, ".")))
            piece->word = rewrite_word(piece->token.text, &out);
        if (token_is_operator(&piece->token, "(") && depth < NESTING_MAX)
            open[depth++] = i;
        else if (token_is_operator(&piece->token, ")") && depth > 0)
            p->pieces[open[--depth]].match = i;
    }
    return p->pieces ? 0 : -1;
}

/* NATURAL JOIN and USING give fewer columns than the tables have. */
static struct result_type
by_name(const struct shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->count; i++)
        if (span_is_nocase(shape->columns[i].name, name))
            return shape->columns[i].type;
    return unknown_type();
}

int
infer_types(const struct rewrite *rewrite, const char *const *names,
            size_t count, struct result_type *out)
{
    struct inference p = {.job = rewrite};
    struct shape shape;

    if (take_apart(&p) != 0)
        return -1;
    shape = infer_select(&p);
    for (size_t i = 0; i < count; i++)
        out[i] = shape.count == count ? shape.columns[i].type
                                      : by_name(&shape, names[i]);
    return p.no_memory ? -1 : 0;
}
