/* rewriter_clause.c - clauses of a SELECT that SQLite has in another form, or
 * lacks. */
#include "rewriter.h"

#include "arena.h"
#include "errors.h"

/* ---- HAVING without groups: a condition on the selected rows ---- */

int
rewriter_having(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    if (level->select == 0 || level->has_having || level->conditional)
        return rewriter_fail(r);
    level->having = r->sql->size;
    level->has_having = true;
    level->having_parameters = r->parameters;
    level->selects_aggregate = level->has_aggregate;
    rewriter_emit(r, "HAVING");
    return 0;
}

/* Called at the clause behind HAVING.  Without groups and aggregates the
 * condition is removed, and written around the SELECT. */
int
rewriter_having_end(struct rewriter *r)
{
    struct level *level = rewriter_top(r);
    size_t skip = level->having + sizeof(" HAVING") - 1;
    char *copy;

    if (!level->has_having)
        return 0;
    level->has_having = false;
    if (level->has_aggregate && !level->has_group &&
        !level->selects_aggregate) /* SQLite needs a group then */
        rewriter_insert(r, level->having, " GROUP BY NULL");
    if (level->has_group || level->has_aggregate || r->sql->failed ||
        r->sql->size < skip)
        return 0;
    level->condition.size = r->sql->size - skip;
    copy = arena_strndup(r->job->arena, r->sql->data + skip,
                         level->condition.size);
    if (!copy) {
        error_memory(r->err, "the statement");
        return -1;
    }
    level->condition.data = copy;
    level->conditional = true;
    level->condition_has_parameters = r->parameters > level->having_parameters;
    level->having_parameters = r->parameters;
    r->sql->size = level->having;
    r->sql->data[r->sql->size] = '\0';
    return 0;
}

int
rewriter_select_end(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    if (rewriter_having_end(r) != 0)
        return -1;
    /* A ? has no number, so those of the condition cannot move behind
     * others. */
    if (level->conditional && level->condition_has_parameters &&
        level->having_parameters != r->parameters) {
        error_set(r->err, ER_NOT_SUPPORTED,
                  "This version of heapwire doesn't yet support 'a ? in HAVING "
                  "and in ORDER BY of a SELECT without groups'");
        return -1;
    }
    if (level->conditional) {
        buffer_text(r->sql, ") WHERE");
        rewriter_emit_span(r, level->condition);
        rewriter_insert(r, level->select - 1, " SELECT * FROM (");
    }
    level->conditional = false;
    return 0;
}

/* ---- LIMIT ---- */

/* Writes a count, which is no expression.  SQLite would take -1 for all rows;
 * MySQL's manual has LIMIT 5, 18446744073709551615 for that. */
static int
limit_number(struct rewriter *r)
{
    struct span digits;

    rewriter_advance(r);
    digits = r->token.text;
    rewriter_top(r)->is_short =
        digits.size == 1 && (digits.data[0] == '0' || digits.data[0] == '1');
    if (r->token.kind == TOKEN_PARAMETER) {
        rewriter_emit(r, "hw_limit(?)");
        r->parameters++;
        return 0;
    }
    if (r->token.kind != TOKEN_INTEGER)
        return rewriter_fail(r);
    if (digits.size >= sizeof("9223372036854775807") - 1)
        rewriter_emit(r, "9223372036854775807");
    else
        rewriter_emit_span(r, digits);
    return 0;
}

static bool
may_follow_limit(const struct token *token)
{
    static const char *const words[] = {"UNION", "EXCEPT", "INTERSECT",
                                        "FOR",   "LOCK",   "INTO"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (token_is(token, words[i]))
            return true;
    return token->kind == TOKEN_END || token_is_operator(token, ")");
}

int
rewriter_limit(struct rewriter *r)
{
    bool is_short;

    if (rewriter_top(r)->counts || (r->counts && r->depth == 0)) {
        error_set(r->err, ER_NOT_SUPPORTED,
                  "This version of heapwire doesn't yet support "
                  "'SQL_CALC_FOUND_ROWS with LIMIT'; count the rows with "
                  "SELECT COUNT(*)");
        return -1;
    }
    r->result->has_limit = r->result->has_limit || r->depth == 0;
    rewriter_emit(r, "LIMIT");
    if (limit_number(r) != 0)
        return -1;
    is_short = rewriter_top(r)->is_short;
    if (token_is_operator(&r->ahead, ",") || token_is(&r->ahead, "OFFSET")) {
        bool offset = token_is(&r->ahead, "OFFSET");

        rewriter_advance(r);
        rewriter_emit_span(r, r->token.text);
        if (limit_number(r) != 0)
            return -1;
        if (offset)
            rewriter_top(r)->is_short = is_short;
    }
    if (may_follow_limit(&r->ahead))
        return 0;
    rewriter_advance(r);
    return rewriter_fail(r);
}

/* ---- INTO ---- */

/* INTO @a, @b: the only destination that is supported. */
int
rewriter_into(struct rewriter *r)
{
    if (token_is(&r->ahead, "OUTFILE") || token_is(&r->ahead, "DUMPFILE")) {
        error_set(r->err, ER_READ_ONLY,
                  "The heapwire server is running with the --read-only option "
                  "so it cannot write a file");
        return -1;
    }
    if (r->depth > 0 || r->result->into_count > 0 ||
        r->job->form != REWRITE_SELECT)
        return rewriter_fail(r);
    r->result->into =
        arena_alloc(r->job->arena, REWRITE_INTO_MAX * sizeof(*r->result->into));
    if (!r->result->into) {
        error_memory(r->err, "the statement");
        return -1;
    }
    do {
        rewriter_advance(r);
        if (r->token.kind != TOKEN_USER ||
            r->result->into_count == REWRITE_INTO_MAX)
            return rewriter_fail(r);
        if (rewriter_decode(r, &r->token,
                            &r->result->into[r->result->into_count++]) != 0)
            return -1;
        if (!token_is_operator(&r->ahead, ","))
            return 0;
        rewriter_advance(r);
    } while (true);
}

/* ---- clauses without effect here ---- */

/*
 * FOR UPDATE [OF t] [NOWAIT
 *
 * SKIP LOCKED], FOR SHARE, LOCK IN SHARE MODE: dropped, since no statement
 * changes data.
 */
int
rewriter_locking(struct rewriter *r)
{
    static const char *const words[] = {"UPDATE", "SHARE", "OF",
                                        "NOWAIT", "SKIP",  "LOCKED",
                                        "IN",     "MODE",  "WAIT"};
    bool found = false, of = false;

    for (;;) {
        bool word = false;

        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            word = word || token_is(&r->ahead, words[i]);
        if (!word && !(of && (r->ahead.kind == TOKEN_WORD ||
                              r->ahead.kind == TOKEN_QUOTED ||
                              token_is_operator(&r->ahead, ","))))
            break;
        of = of || token_is(&r->ahead, "OF");
        if (of && token_is(&r->ahead, "INTO"))
            break;
        found = true;
        rewriter_advance(r);
    }
    return found ? 0 : rewriter_fail(r);
}

/* USE INDEX [FOR JOIN] (a, b) and its like, up to the parenthesis. */
int
rewriter_index_hint(struct rewriter *r)
{
    while (r->ahead.kind != TOKEN_END && !token_is_operator(&r->token, ")")) {
        rewriter_advance(r);
        if (r->token.kind == TOKEN_PARAMETER)
            return rewriter_fail(r);
    }
    return 0;
}
