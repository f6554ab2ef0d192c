/* rewrite.c - see rewrite.h: the walk over the tokens. */
#include "rewrite.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "catalog.h"
#include "errors.h"
#include "privileges.h"
#include "rewrite_words.h"
#include "rewriter.h"
#include "sql_session.h"
#include "variables.h"

static struct level *
top(struct rewriter *r)
{
    return &r->levels[r->depth];
}

static void
advance(struct rewriter *r)
{
    r->previous = r->token;
    r->token = r->ahead;
    r->ahead = lexer_next(&r->lexer);
    if (r->ahead.text.data >= r->job->fragment->end) {
        r->ahead.kind = TOKEN_END;
        r->ahead.text.size = 0;
    }
}

static bool
is_name(const struct token *token)
{
    return token->kind == TOKEN_WORD || token->kind == TOKEN_QUOTED;
}

/* ---- tables ---- */

static bool
is_cte(const struct rewriter *r, struct span name)
{
    for (size_t i = 0; i < r->cte_count; i++)
        if (r->ctes[i].size == name.size &&
            strncasecmp(r->ctes[i].data, name.data, name.size) == 0)
            return true;
    return false;
}

/* [database.]table where one is expected; the token is the first name. */
static int
table_reference(struct rewriter *r)
{
    const struct catalog_table *table;
    struct span first, second;
    bool qualified = token_is_operator(&r->ahead, ".");

    top(r)->expects_table = false;
    r->result->has_tables = true;
    if (rewriter_decode(r, &r->token, &first) != 0)
        return -1;
    if (!qualified && is_cte(r, first)) {
        emit_identifier(r, first);
        return 0;
    }
    second = first;
    if (qualified) {
        advance(r);
        advance(r);
        if (!is_name(&r->token))
            return rewriter_fail(r);
        if (rewriter_decode(r, &r->token, &second) != 0)
            return -1;
    }
    table = catalog_resolve(r->job->session, qualified ? &first : NULL, second,
                            r->err);
    if (!table || privilege_check(r->job->session->who.privileges,
                                  table->privilege, r->err) != 0)
        return -1;
    buffer_format(r->sql, " \"%s\".\"%s\"", table->database, table->name);
    return 0;
}

/* WITH name [(columns)] AS (...), name ... */
static int
define_cte(struct rewriter *r)
{
    struct span name;

    if (r->cte_count == REWRITE_CTES_MAX)
        return rewriter_fail(r);
    if (rewriter_decode(r, &r->token, &name) != 0)
        return -1;
    r->ctes[r->cte_count++] = name;
    emit_identifier(r, name);
    return 0;
}

/* ---- words ---- */

static int
name(struct rewriter *r)
{
    struct level *level = top(r);
    bool part = token_is_operator(&r->previous, ".");

    if (level->expects_table)
        return table_reference(r);
    if (level->clause == CLAUSE_WITH && !part)
        return define_cte(r);
    return emit_decoded(r, &r->token);
}

static int
from(struct rewriter *r)
{
    struct level *level = top(r);

    if (level->clause != CLAUSE_LIST) {
        emit(r, "FROM");
        return 0;
    }
    if (label_end(r, level) != 0)
        return -1;
    if (token_is(&r->ahead, "DUAL")) {
        advance(r);
        level->clause = CLAUSE_REST;
        return 0;
    }
    emit(r, "FROM");
    level->clause = CLAUSE_FROM;
    level->expects_table = true;
    return 0;
}

/* What ends a list or a FROM. */
static int
clause_end(struct rewriter *r, enum clause next, const char *out)
{
    struct level *level = top(r);

    if (level->clause == CLAUSE_LIST && label_end(r, level) != 0)
        return -1;
    level->clause = next;
    level->expects_table = false;
    emit(r, out);
    return 0;
}

/* AS: an alias, or the type of a CAST. */
static int
as(struct rewriter *r)
{
    struct level *level = top(r);
    const char *type = NULL;

    if (!level->cast) {
        if (level->clause == CLAUSE_LIST)
            level->aliased = true;
        emit(r, "AS");
        return 0;
    }
    if (r->ahead.kind == TOKEN_WORD)
        type = rewrite_type(r->ahead.text);
    advance(r);
    if (!type)
        return rewriter_fail(r);
    emit(r, "AS");
    emit(r, type);
    /* CHAR(60), CHAR CHARACTER SET x, SIGNED INTEGER: lengths say nothing */
    while (r->ahead.kind != TOKEN_END && !token_is_operator(&r->ahead, ")")) {
        if (token_is_operator(&r->ahead, "(")) {
            while (r->ahead.kind != TOKEN_END &&
                   !token_is_operator(&r->ahead, ")"))
                advance(r);
        }
        advance(r);
    }
    return 0;
}

/* CONVERT(x, type) and CONVERT(x USING charset) are CASTs. */
static int
convert_tail(struct rewriter *r, bool is_using)
{
    struct level *level = top(r);

    level->convert = false;
    level->cast = true;
    if (!is_using)
        return as(r);
    advance(r);
    emit(r, "AS TEXT");
    return 0;
}

static int
keyword(struct rewriter *r, enum rewrite_word word, const char *out)
{
    struct level *level = top(r);

    switch (word) {
    case WORD_SELECT:
        level->clause = CLAUSE_LIST;
        level->expects_table = false;
        level->count = 0;
        emit(r, out);
        return 0;
    case WORD_FROM:
        return from(r);
    case WORD_JOIN:
        level->expects_table = level->clause == CLAUSE_FROM;
        emit(r, out);
        return 0;
    case WORD_LIMIT:
        r->result->has_limit = r->result->has_limit || r->depth == 0;
        return clause_end(r, CLAUSE_REST, out);
    case WORD_TAIL:
        return clause_end(r, CLAUSE_REST, out);
    case WORD_UNION:
        return clause_end(r, CLAUSE_NONE, out);
    case WORD_AS:
        return as(r);
    case WORD_WITH:
        level->clause = CLAUSE_WITH;
        emit(r, out);
        return 0;
    case WORD_COLLATE:
        advance(r);
        if (level->clause == CLAUSE_LIST)
            label_note(level, &r->token);
        return 0;
    case WORD_CONVERT:
        r->next_is_convert = true;
        emit(r, "CAST");
        return 0;
    case WORD_CAST:
        r->next_is_cast = true;
        emit(r, out);
        return 0;
    case WORD_NILADIC:
        emit_identifier(r, r->token.text);
        if (!token_is_operator(&r->ahead, "("))
            buffer_text(r->sql, "()");
        return 0;
    case WORD_DROP:
        return 0;
    case WORD_REFUSE:
        return rewriter_fail(r);
    default:
        if (level->convert && span_is_nocase(r->token.text, "USING"))
            return convert_tail(r, true);
        emit(r, out);
        return 0;
    }
}

static int
word(struct rewriter *r)
{
    const char *out = NULL;
    enum rewrite_word kind = rewrite_word(r->token.text, &out);

    if (r->token.text.data[0] == '_' && r->ahead.kind == TOKEN_STRING)
        return 0; /* _utf8mb4'text': everything here is UTF-8 */
    if (token_is_operator(&r->previous, ".") ||
        (kind == WORD_SIDE && token_is_operator(&r->ahead, "(")))
        kind = WORD_NAME;
    if (top(r)->clause == CLAUSE_LIST) {
        switch (kind) {
        case WORD_SELECT:
        case WORD_QUANTIFIER:
        case WORD_DROP:
        case WORD_FROM:
        case WORD_TAIL:
        case WORD_LIMIT:
        case WORD_UNION:
            break;
        default:
            label_note(top(r), &r->token);
        }
    }
    return kind == WORD_NAME ? name(r) : keyword(r, kind, out);
}

/* ---- punctuation ---- */

static int
open_parenthesis(struct rewriter *r)
{
    struct level *outer = top(r), *inner;

    if (r->depth == NESTING_MAX)
        return rewriter_fail(r);
    inner = &r->levels[++r->depth];
    memset(inner, 0, sizeof(*inner));
    inner->cast = r->next_is_cast;
    inner->convert = r->next_is_convert;
    r->next_is_cast = r->next_is_convert = false;
    if (outer->expects_table) { /* (SELECT ...) or (a JOIN b) */
        inner->clause = CLAUSE_FROM;
        inner->expects_table = true;
        outer->expects_table = false;
        r->result->has_tables = true;
    }
    emit(r, "(");
    return 0;
}

static int
close_parenthesis(struct rewriter *r)
{
    struct level *level = top(r);

    if (r->depth == 0)
        return rewriter_fail(r);
    if (level->clause == CLAUSE_LIST && label_end(r, level) != 0)
        return -1;
    r->depth--;
    if (top(r)->clause == CLAUSE_LIST)
        label_note(top(r), &r->token);
    emit(r, ")");
    return 0;
}

static int
comma(struct rewriter *r)
{
    struct level *level = top(r);

    if (level->convert)
        return convert_tail(r, false);
    if (level->clause == CLAUSE_LIST && label_end(r, level) != 0)
        return -1;
    if (level->clause == CLAUSE_FROM)
        level->expects_table = true;
    emit(r, ",");
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
    if (top(r)->clause == CLAUSE_LIST)
        label_note(top(r), &r->token);
    if (token_is_operator(&r->token, "("))
        return open_parenthesis(r);
    if (token_is_operator(&r->token, ":="))
        return rewriter_fail(r);
    if (token_is_operator(&r->token, "||")) {
        emit(r, variable_sql_mode(r->job->session, "PIPES_AS_CONCAT") ? "||"
                                                                      : "OR");
        return 0;
    }
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
        if (token_is_operator(&r->token, spellings[i].mysql)) {
            emit(r, spellings[i].sqlite);
            return 0;
        }
    emit_span(r, r->token.text);
    return 0;
}

static int
token(struct rewriter *r)
{
    if (r->token.kind == TOKEN_WORD)
        return word(r);
    if (r->token.kind == TOKEN_OPERATOR)
        return operator(r);
    if (top(r)->clause == CLAUSE_LIST)
        label_note(top(r), &r->token);
    switch (r->token.kind) {
    case TOKEN_QUOTED:
        return name(r);
    case TOKEN_STRING:
        return emit_string(r, &r->token);
    case TOKEN_INTEGER:
    case TOKEN_DECIMAL:
        emit_span(r, r->token.text);
        return 0;
    case TOKEN_HEX:
        return emit_hex(r, &r->token);
    case TOKEN_SYSTEM:
        return emit_system_variable(r, &r->token);
    case TOKEN_USER:
        return emit_user_variable(r, &r->token);
    default:
        return rewriter_fail(r);
    }
}

static int
run(struct rewriter *r)
{
    enum rewrite_form form = r->job->form;

    if (form == REWRITE_EXPRESSIONS)
        emit(r, "SELECT");
    top(r)->clause = form == REWRITE_EXPRESSIONS ? CLAUSE_LIST
                     : form == REWRITE_CONDITION ? CLAUSE_REST
                                                 : CLAUSE_NONE;
    r->lexer = r->job->fragment->lexer;
    advance(r);
    advance(r);
    while (r->token.kind != TOKEN_END) {
        if (r->sql->size <= r->locate)
            r->located = r->token.text.data;
        if (token(r) != 0)
            return -1;
        advance(r);
    }
    if (r->sql->size <= r->locate)
        r->located = r->job->fragment->end;
    if (r->depth > 0)
        return rewriter_fail(r);
    return top(r)->clause == CLAUSE_LIST ? label_end(r, top(r)) : 0;
}

int
rewrite_run(const struct rewrite *rewrite, struct buffer *sql,
            struct rewritten *out, struct error *err)
{
    struct rewriter r = {.job = rewrite,
                         .result = out,
                         .sql = sql,
                         .locate = SIZE_MAX,
                         .err = err};

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
    struct rewriter r = {.job = rewrite,
                         .result = &result,
                         .sql = &sql,
                         .locate = offset > start ? offset - start : 0,
                         .located = rewrite->fragment->end};

    buffer_init(&sql, REWRITE_OUTPUT_MAX);
    run(&r);
    buffer_fini(&sql);
    return r.located;
}
