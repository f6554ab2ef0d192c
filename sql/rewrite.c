/* rewrite.c - see rewrite.h: the walk over the tokens. */
#include "rewrite.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "errors.h"
#include "rewriter.h"
#include "sql_session.h"
#include "variables.h"

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
    if (r->ahead.text.data >= r->job->fragment->end) {
        r->ahead.kind = TOKEN_END;
        r->ahead.text.size = 0;
    }
}

static int
open_parenthesis(struct rewriter *r)
{
    struct level *outer = rewriter_top(r), *inner;

    if (r->depth == NESTING_MAX)
        return rewriter_fail(r);
    inner = &r->levels[++r->depth];
    memset(inner, 0, sizeof(*inner));
    inner->cast = r->next_is_cast;
    inner->convert = r->next_is_convert;
    inner->cte_count = r->cte_count;
    r->next_is_cast = r->next_is_convert = false;
    if (outer->expects_table) { /* (SELECT ...) or (a JOIN b) */
        inner->clause = CLAUSE_FROM;
        inner->expects_table = true;
        outer->expects_table = false;
        r->result->has_tables = true;
    }
    rewriter_emit(r, "(");
    return 0;
}

static int
close_parenthesis(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    if (r->depth == 0)
        return rewriter_fail(r);
    if (level->clause == CLAUSE_LIST && rewriter_label_end(r, level) != 0)
        return -1;
    r->cte_count = level->cte_count;
    r->depth--;
    if (rewriter_top(r)->clause == CLAUSE_LIST)
        rewriter_label_note(rewriter_top(r), &r->token);
    rewriter_emit(r, ")");
    return 0;
}

static int
comma(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    if (level->convert)
        return rewriter_convert_tail(r, false);
    if (level->clause == CLAUSE_LIST && rewriter_label_end(r, level) != 0)
        return -1;
    if (level->clause == CLAUSE_FROM)
        level->expects_table = true;
    rewriter_emit(r, ",");
    return 0;
}

static int
operator(struct rewriter *r)
{
    static const struct {
        const char *mysql, *sqlite;
    } spellings[] = {
        {"<=>", "IS"},
        {"&&", "AND"},
        {"!", "NOT"},
        {"/", "*1.0/"}, /* 7 / 2 is 3.5 in MySQL; DIV divides integers */
    };

    if (token_is_operator(&r->token, ","))
        return comma(r);
    if (token_is_operator(&r->token, ")"))
        return close_parenthesis(r);
    if (rewriter_top(r)->clause == CLAUSE_LIST)
        rewriter_label_note(rewriter_top(r), &r->token);
    if (token_is_operator(&r->token, "("))
        return open_parenthesis(r);
    if (token_is_operator(&r->token, ":="))
        return rewriter_fail(r);
    if (token_is_operator(&r->token, "||")) {
        rewriter_emit(r, variable_sql_mode(r->job->session, "PIPES_AS_CONCAT")
                             ? "||"
                             : "OR");
        return 0;
    }
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
        if (token_is_operator(&r->token, spellings[i].mysql)) {
            rewriter_emit(r, spellings[i].sqlite);
            return 0;
        }
    rewriter_emit_span(r, r->token.text);
    return 0;
}

static int
token(struct rewriter *r)
{
    if (r->token.kind == TOKEN_WORD)
        return rewriter_word(r);
    if (r->token.kind == TOKEN_OPERATOR)
        return operator(r);
    if (rewriter_top(r)->clause == CLAUSE_LIST)
        rewriter_label_note(rewriter_top(r), &r->token);
    switch (r->token.kind) {
    case TOKEN_QUOTED:
        return rewriter_name(r);
    case TOKEN_STRING:
        return rewriter_emit_string(r, &r->token);
    case TOKEN_INTEGER:
    case TOKEN_DECIMAL:
        rewriter_emit_span(r, r->token.text);
        return 0;
    case TOKEN_HEX:
        return rewriter_emit_hex(r, &r->token);
    case TOKEN_SYSTEM:
        return rewriter_emit_system_variable(r, &r->token);
    case TOKEN_PARAMETER:
        buffer_format(r->sql, " ?%zu", ++r->parameters);
        return 0;
    case TOKEN_USER:
        return rewriter_emit_user_variable(r, &r->token);
    default:
        return rewriter_fail(r);
    }
}

static int
run(struct rewriter *r)
{
    enum rewrite_form form = r->job->form;

    if (form == REWRITE_EXPRESSIONS)
        rewriter_emit(r, "SELECT");
    rewriter_top(r)->clause = form == REWRITE_EXPRESSIONS ? CLAUSE_LIST
                              : form == REWRITE_CONDITION ? CLAUSE_REST
                                                          : CLAUSE_NONE;
    r->lexer = r->job->fragment->lexer;
    rewriter_advance(r);
    rewriter_advance(r);
    while (r->token.kind != TOKEN_END) {
        if (r->sql->size <= r->locate)
            r->located = r->token.text.data;
        if (token(r) != 0)
            return -1;
        rewriter_advance(r);
    }
    if (r->sql->size <= r->locate)
        r->located = r->job->fragment->end;
    if (r->depth > 0)
        return rewriter_fail(r);
    return rewriter_top(r)->clause == CLAUSE_LIST
               ? rewriter_label_end(r, rewriter_top(r))
               : 0;
}

static void
begin(struct rewriter *r, const struct rewrite *rewrite,
      struct rewritten *result, struct buffer *sql)
{
    memset(r, 0, offsetof(struct rewriter, levels));
    memset(&r->levels[0], 0, sizeof(r->levels[0]));
    r->job = rewrite;
    r->result = result;
    r->sql = sql;
}

int
rewrite_run(const struct rewrite *rewrite, struct buffer *sql,
            struct rewritten *out, struct error *err)
{
    struct rewriter r;

    begin(&r, rewrite, out, sql);
    r.locate = SIZE_MAX;
    r.err = err;
    memset(out, 0, sizeof(*out));
    if ((size_t)(rewrite->fragment->end - rewrite->fragment->lexer.pos) >
        REWRITE_SOURCE_MAX) {
        error_set(err, ER_NOT_SUPPORTED,
                  "This version of heapwire doesn't yet support 'SELECT of "
                  "more than %d bytes'",
                  REWRITE_SOURCE_MAX);
        return -1;
    }
    if (run(&r) != 0)
        return -1;
    if (!sql->failed)
        return 0;
    error_memory(err, "the statement");
    return -1;
}

const char *
rewrite_locate(const struct rewrite *rewrite, size_t start, size_t offset)
{
    struct buffer sql;
    struct rewritten result = {0};
    struct error again; /* the one that is being located */
    struct rewriter r;

    begin(&r, rewrite, &result, &sql);
    r.locate = offset > start ? offset - start : 0;
    r.located = rewrite->fragment->end;
    r.err = &again;
    buffer_init(&sql, REWRITE_OUTPUT_MAX);
    run(&r);
    buffer_fini(&sql);
    return r.located;
}
