/* inference.c - see inference.h. */
#include "inference.h"

#include "arena.h"

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

struct result_type
infer_expression(struct inference *p)
{
    return p->expression(p);
}
