/* rewrite.c - see rewrite.h: the walk over the tokens. */
#include "rewrite.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "errors.h"
#include "memory.h"
#include "rewriter.h"
#include "sql_session.h"
#include "variables.h"

/* A SELECT in parentheses where a query stands, which SQLite does not
 * accept. */
static bool
opens_query(struct rewriter *r, const struct level *outer)
{
    if (outer->clause != CLAUSE_NONE || outer->is_call ||
        outer->operand.kind != OPERAND_NONE)
        return false;
    if (!outer->wrapped && !outer->after_union &&
        (r->depth > 0 || r->job->form != REWRITE_SELECT))
        return false;
    return token_is(&r->ahead, "SELECT") || token_is_operator(&r->ahead, "(") ||
           token_is(&r->ahead, "VALUES") || token_is(&r->ahead, "WITH");
}

static int
open_parenthesis(struct rewriter *r)
{
    struct level *outer = rewriter_top(r), *inner;
    bool query = opens_query(r, outer);
    bool rows = r->rows_follow && !r->call_follows;

    if (r->depth == NESTING_MAX)
        return rewriter_fail_deep(r);
    rewriter_emit(r, query ? "SELECT * FROM" : "");
    if (!query && !outer->expects_table)
        rewriter_operand(r, OPERAND_OTHER);
    inner = &r->levels[++r->depth];
    memset(inner, 0, sizeof(*inner));
    inner->wrapped = query;
    inner->scalar = !query && rewriter_is_scalar(r, outer);
    inner->quantified = r->quantified;
    if (r->quantified)
        inner->slot = r->slots++;
    r->quantified = 0;
    r->result->may_null |= inner->scalar;
    inner->in_list = token_is(&r->previous, "IN");
    inner->in_using = token_is(&r->previous, "USING");
    inner->is_call = r->call_follows;
    inner->window = r->window_follows;
    inner->special = r->special_follows;
    inner->cte_count = r->cte_count;
    inner->pending_base = r->pending_count;
    r->call_follows = r->window_follows = r->rows_follow = false;
    r->special_follows = SPECIAL_NONE;
    if (outer->expects_table) { /* (SELECT ...) or (a JOIN b) */
        outer->reads_select = true;
        inner->clause = CLAUSE_FROM;
        inner->expects_table = true;
        inner->derived = true;
        outer->expects_table = false;
        r->result->has_tables = true;
    }
    rewriter_emit(r, "(");
    if (rows && token_is_operator(&r->ahead, "("))
        rewriter_emit(r, "VALUES");
    inner->content = r->sql->size;
    return rewriter_call_open(r);
}

/* Whether the token may follow a derived table in parentheses, UNION
 * included. */
static bool
is_alias(const struct token *token)
{
    return token->kind == TOKEN_QUOTED || token_is(token, "AS") ||
           token_is(token, "UNION") || token_is(token, "EXCEPT") ||
           token_is(token, "INTERSECT") ||
           (token->kind == TOKEN_WORD && rewriter_is_name(token));
}

static int
close_parenthesis(struct rewriter *r)
{
    struct level *level = rewriter_top(r);
    bool derived = level->derived && level->select > 0;
    bool is_row = level->is_row && !level->is_call;
    bool is_binary = level->is_binary;
    bool bare;
    size_t listed = level->is_query || level->wrapped ? 0 : level->listed + 1;

    if (r->depth == 0 || (level->quantified && !level->is_query))
        return rewriter_fail(r);
    rewriter_expression_end(r);
    if (level->clause == CLAUSE_LIST && rewriter_label_end(r, level) != 0)
        return -1;
    if (rewriter_select_end(r) != 0 || rewriter_call_close(r) != 0)
        return -1;
    rewriter_scalar_end(r);
    bare = level->bare;
    r->cte_count = level->cte_count;
    r->depth--;
    level = rewriter_top(r);
    if (derived && level->clause == CLAUSE_FROM &&
        !token_is_operator(&r->ahead, ")") && !is_alias(&r->ahead)) {
        error_set(r->err, ER_DERIVED_ALIAS,
                  "Every derived table must have its own alias");
        return -1;
    }
    if (level->clause == CLAUSE_LIST)
        rewriter_label_note(level, &r->token);
    if (is_row && level->operand.kind == OPERAND_OTHER)
        level->operand.kind = OPERAND_ROW;
    level->operand.listed = listed;
    if (is_binary && level->operand.kind == OPERAND_OTHER)
        level->operand.kind = OPERAND_BINARY;
    rewriter_emit(r, bare ? "" : ")");
    return 0;
}

static int
comma(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    rewriter_expression_end(r);
    level->is_row = true;
    level->columns += level->clause == CLAUSE_LIST;
    level->listed++;
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
    bool known;

    if (rewriter_call_token(r, &known) != 0)
        return -1;
    if (known)
        return 0;
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
    if (rewriter_operator(r, &known) != 0)
        return -1;
    if (known)
        return 0;
    rewriter_operand(r, OPERAND_OTHER); /* a star, a dot */
    rewriter_emit_span(r, r->token.text);
    return 0;
}

/* 'a' 'b' is one string; a string behind another operand is an alias. */
static int
string(struct rewriter *r)
{
    const struct level *level = rewriter_top(r);
    bool row =
        !level->is_call && !level->in_list && level->clause == CLAUSE_NONE;
    bool listed =
        r->depth > 0 && (level->clause == CLAUSE_LIST || row) &&
        (rewriter_wants_operand(r) || r->previous.kind == TOKEN_STRING);

    if (!rewriter_wants_operand(r) && r->previous.kind != TOKEN_STRING)
        rewriter_expression_end(r);
    else
        rewriter_operand(r, OPERAND_STRING);
    if (rewriter_emit_string(r, &r->token) != 0)
        return -1;
    if (listed && r->ahead.kind != TOKEN_STRING)
        rewriter_emit(r, "COLLATE NOCASE"); /* compares as its reader does */
    return 0;
}

static int
token(struct rewriter *r)
{
    struct level *level = rewriter_top(r);
    bool known;

    if (r->token.kind == TOKEN_WORD)
        return rewriter_word(r);
    if (r->token.kind == TOKEN_OPERATOR)
        return operator(r);
    if (level->clause == CLAUSE_LIST)
        rewriter_label_note(level, &r->token);
    switch (r->token.kind) {
    case TOKEN_QUOTED:
        return rewriter_name(r);
    case TOKEN_STRING:
        if (rewriter_call_token(r, &known) != 0)
            return -1;
        if (known)
            return 0;
        return string(r);
    case TOKEN_INTEGER:
    case TOKEN_DECIMAL:
        rewriter_operand(r, OPERAND_NUMBER);
        rewriter_emit_number(r, &r->token);
        return 0;
    case TOKEN_HEX:
        rewriter_operand(r, OPERAND_HEX);
        return rewriter_emit_hex(r, &r->token);
    case TOKEN_SYSTEM:
        rewriter_operand(r, OPERAND_OTHER);
        return rewriter_emit_system_variable(r, &r->token);
    case TOKEN_PARAMETER:
        /* not ?7: SQLite searches for a number one by one */
        rewriter_operand(r, OPERAND_OTHER);
        rewriter_emit(r, "?");
        if (r->job->parameters)
            rewriter_snapshot_value(
                r,
                &r->job->parameters[r->job->fragment->first + r->parameters]);
        r->parameters++;
        return 0;
    case TOKEN_USER:
        if (token_is_operator(&r->ahead, ":=") && rewriter_wants_operand(r))
            return rewriter_assign(r);
        rewriter_operand(r, OPERAND_OTHER);
        return rewriter_emit_user_variable(r, &r->token);
    default:
        return rewriter_fail(r);
    }
}

/* Notes a place for rewrite_locate, which is less exact without memory. */
static void
mark(struct rewriter *r)
{
    size_t capacity = r->mark_capacity ? 2 * r->mark_capacity : 256;
    struct mark *grown;

    if (r->mark_count == r->mark_capacity) {
        grown = mem_realloc(r->marks, capacity * sizeof(*grown));
        if (!grown)
            return;
        r->marks = grown;
        r->mark_capacity = capacity;
    }
    r->marks[r->mark_count++] =
        (struct mark){r->sql->size, r->token.text.data, rewriter_where(r)};
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
    r->ansi_quotes = variable_sql_mode(r->job->session, "ANSI_QUOTES");
    r->lexer = r->job->fragment->lexer;
    rewriter_advance(r);
    rewriter_advance(r);
    while (r->token.kind != TOKEN_END) {
        if (r->marking)
            mark(r);
        if (token(r) != 0)
            return -1;
        rewriter_advance(r);
    }
    if (r->marking)
        mark(r);
    if (r->depth > 0)
        return rewriter_fail(r);
    rewriter_expression_end(r);
    if (rewriter_top(r)->clause == CLAUSE_LIST &&
        rewriter_label_end(r, rewriter_top(r)) != 0)
        return -1;
    return rewriter_select_end(r);
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
    MEM_UNSET struct rewriter r; /* begin sets the members that are read */

    begin(&r, rewrite, out, sql);
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

/* SQLite reports a fault as a token or less of its text: finds the last token
 * of ours that began before it. */
const char *
rewrite_locate(const struct rewrite *rewrite, size_t start, size_t offset,
               const char **where)
{
    struct buffer sql;
    struct rewritten result = {0};
    struct error again; /* the error that is being located, again */
    const char *located = rewrite->fragment->end;
    struct rewriter r;
    size_t at = 0;

    *where = "field list";
    offset = offset > start ? offset - start : 0;
    begin(&r, rewrite, &result, &sql);
    r.marking = true;
    r.err = &again;
    buffer_init(&sql, REWRITE_OUTPUT_MAX);
    run(&r);
    for (size_t i = 0; i < r.mark_count && r.marks[i].offset <= offset; i++)
        at = i + 1;
    if (at > 0) {
        located = r.marks[at - 1].source;
        *where = r.marks[at - 1].where;
    }
    buffer_fini(&sql);
    mem_free(r.marks);
    return located;
}
