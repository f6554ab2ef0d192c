/* infer.c - see infer.h: splits the text into pieces, and lists the types. */
#include "infer.h"

#include <string.h>
#include <strings.h>

#include "inference.h"

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

/* Finds a column's type by its label: NATURAL JOIN and USING give fewer columns
 * than the tables have, so positions differ. */
static struct result_type
by_name(const struct shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->count; i++)
        if (span_is_nocase(shape->columns[i].name, name))
            return shape->columns[i].type;
    return result_type_unknown();
}

int
infer_types(const struct rewrite *rewrite, const char *const *names,
            size_t count, struct result_type *out)
{
    struct inference p = {.job = rewrite, .expression = infer_operators};
    struct shape shape;

    if (take_apart(&p) != 0)
        return -1;
    shape = infer_select(&p);
    for (size_t i = 0; i < count; i++)
        out[i] = shape.count == count ? shape.columns[i].type
                                      : by_name(&shape, names[i]);
    return p.no_memory ? -1 : 0;
}
