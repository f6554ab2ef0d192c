/* rewriter_word.c - handles keywords, each in its place. */
#include "rewriter.h"

#include <string.h>
#include <strings.h>

#include "errors.h"
#include "rewrite_words.h"

/* Ends a list or a FROM. */
static int
clause_end(struct rewriter *r, enum clause next, const char *out)
{
    static const struct {
        const char *word, *where;
    } names[] = {{"FROM", "on clause"},
                 {"WHERE", "where clause"},
                 {"GROUP", "group statement"},
                 {"HAVING", "having clause"},
                 {"ORDER", "order clause"}};
    struct level *level = rewriter_top(r);

    rewriter_expression_end(r);
    if (level->clause == CLAUSE_LIST && rewriter_label_end(r, level) != 0)
        return -1;
    if (rewriter_having_end(r) != 0)
        return -1;
    level->clause = next;
    level->expects_table = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (token_is(&r->token, names[i].word))
            level->where = names[i].where;
    rewriter_emit(r, out);
    return 0;
}

static int
from(struct rewriter *r)
{
    struct level *level = rewriter_top(r);
    bool dual = token_is(&r->ahead, "DUAL");

    if (level->clause != CLAUSE_LIST) {
        rewriter_expression_end(r);
        rewriter_emit(r, "FROM");
        return 0;
    }
    if (clause_end(r, dual ? CLAUSE_REST : CLAUSE_FROM, dual ? "" : "FROM") !=
        0)
        return -1;
    if (dual)
        rewriter_advance(r);
    level->expects_table = level->has_from = !dual;
    return 0;
}

/* Whether a SELECT may stand here: first, behind WITH or UNION, or in the
 * parentheses of a FROM. */
static bool
may_select(const struct level *level)
{
    return level->clause == CLAUSE_NONE || level->clause == CLAUSE_WITH ||
           (level->clause == CLAUSE_FROM && level->derived &&
            level->select == 0);
}

static int
select(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    if (!may_select(level))
        return rewriter_fail(r);
    rewriter_expression_end(r);
    level->clause = CLAUSE_LIST;
    level->expects_table = level->after_union = level->windows = false;
    level->has_group = level->has_aggregate = level->conditional = false;
    level->has_over = level->has_from = level->reads_select = false;
    level->is_query = true;
    level->columns = 1;
    level->count = 0;
    level->select = r->sql->size + 1;
    level->where = "field list";
    rewriter_emit(r, "SELECT");
    return 0;
}

/* A UNION in a FROM whose first part was a SELECT in parentheses. */
static int
compound(struct rewriter *r, const char *out)
{
    struct level *level = rewriter_top(r);

    rewriter_expression_end(r);
    if (level->clause == CLAUSE_FROM && r->depth > 0 &&
        level->content < r->sql->size && level->select == 0)
        rewriter_insert(r, level->content, " SELECT * FROM");
    if (level->clause == CLAUSE_LIST && rewriter_label_end(r, level) != 0)
        return -1;
    if (rewriter_select_end(r) != 0)
        return -1;
    level->after_union = level->is_compound = true;
    r->result->may_null = true;
    level->clause = CLAUSE_NONE;
    level->expects_table = false;
    rewriter_emit(r, out);
    return 0;
}

static int
collate(struct rewriter *r)
{
    struct span name;
    bool listed = rewriter_top(r)->clause == CLAUSE_LIST;

    rewriter_advance(r);
    if (!rewriter_may_name(&r->token) && r->token.kind != TOKEN_STRING)
        return rewriter_fail(r);
    if (listed)
        rewriter_label_note(rewriter_top(r), &r->token);
    if (rewriter_decode(r, &r->token, &name) != 0)
        return -1;
    if (span_is_nocase(name, "binary") ||
        (name.size > 4 &&
         strncasecmp(name.data + name.size - 4, "_bin", 4) == 0))
        rewriter_collate_binary(r);
    return 0;
}

static int
with(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    if (token_is(&r->ahead, "ROLLUP")) {
        error_set(r->err, ER_NOT_SUPPORTED,
                  "This version of heapwire doesn't yet support 'WITH ROLLUP'; "
                  "add the totals with UNION ALL");
        return -1;
    }
    /* not in front, it would be a name to SQLite */
    if (!token_is_operator(&r->previous, "(") &&
        (level->clause != CLAUSE_NONE || r->previous.text.data))
        return rewriter_fail(r);
    level->clause = CLAUSE_WITH;
    level->expects_table = false;
    rewriter_emit(r, "WITH");
    return 0;
}

static int
quantifier(struct rewriter *r, const char *out)
{
    bool after_union = rewriter_top(r)->after_union;

    if (!after_union || strcmp(out, "DISTINCT") != 0)
        rewriter_emit(r, out);
    return 0;
}

static int
limit(struct rewriter *r)
{
    if (clause_end(r, CLAUSE_REST, "") != 0 || rewriter_select_end(r) != 0)
        return -1;
    return rewriter_limit(r);
}

static int
as(struct rewriter *r)
{
    rewriter_expression_end(r);
    if (rewriter_top(r)->clause == CLAUSE_LIST)
        rewriter_top(r)->aliased = true;
    r->window_follows =
        rewriter_top(r)->windows && token_is_operator(&r->ahead, "(");
    rewriter_emit(r, "AS");
    return 0;
}

static int
table(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    if (level->clause != CLAUSE_NONE || !rewriter_wants_operand(r))
        return rewriter_fail(r);
    rewriter_emit(r, "SELECT * FROM");
    level->clause = CLAUSE_FROM;
    level->expects_table = level->has_from = level->is_query = true;
    return 0;
}

static int
values(struct rewriter *r)
{
    if (rewriter_top(r)->clause != CLAUSE_NONE)
        return rewriter_fail(r);
    rewriter_emit(r, "VALUES");
    rewriter_top(r)->clause = CLAUSE_REST;
    rewriter_top(r)->is_query = rewriter_top(r)->has_from = true;
    return 0;
}

static int
niladic(struct rewriter *r)
{
    rewriter_operand(r, OPERAND_OTHER);
    r->call_follows = token_is_operator(&r->ahead, "(");
    rewriter_emit_identifier(r, r->token.text);
    if (!r->call_follows)
        buffer_text(r->sql, "()");
    return 0;
}

/* OVER (...), OVER name */
static int
over(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    level->has_over = true;
    rewriter_emit(r, "OVER");
    r->window_follows = token_is_operator(&r->ahead, "(");
    if (r->window_follows || !rewriter_may_name(&r->ahead))
        return 0;
    rewriter_advance(r);
    if (level->clause == CLAUSE_LIST)
        rewriter_label_note(level, &r->token);
    return rewriter_emit_decoded(r, &r->token);
}

static int
keyword(struct rewriter *r, enum rewrite_word word, const char *out)
{
    struct level *level = rewriter_top(r);

    switch (word) {
    case WORD_SELECT:
        return select(r);
    case WORD_QUANTIFIER:
        return quantifier(r, out);
    case WORD_FROM:
        return from(r);
    case WORD_JOIN:
        rewriter_expression_end(r);
        level->expects_table = level->clause == CLAUSE_FROM;
        rewriter_emit(r, out);
        return 0;
    case WORD_LIMIT:
        return limit(r);
    case WORD_GROUP:
        level->has_group = true;
        return clause_end(r, CLAUSE_REST, out);
    case WORD_HAVING:
        return clause_end(r, CLAUSE_REST, "") != 0 ? -1 : rewriter_having(r);
    case WORD_TAIL:
        return clause_end(r, CLAUSE_REST, out);
    case WORD_UNION:
        return compound(r, out);
    case WORD_AS:
        return as(r);
    case WORD_WITH:
        return with(r);
    case WORD_COLLATE:
        return collate(r);
    case WORD_CASE:
        return rewriter_case(r);
    case WORD_CASE_PART:
        rewriter_case_part(r, out);
        return 0;
    case WORD_END:
        rewriter_case_end(r);
        return 0;
    case WORD_EXISTS:
        rewriter_operand(r, OPERAND_OTHER);
        rewriter_emit(r, out);
        return 0;
    case WORD_OVER:
        return over(r);
    case WORD_WINDOW:
        level->windows = true;
        return clause_end(r, CLAUSE_REST, out);
    case WORD_NILADIC:
        return niladic(r);
    case WORD_TABLE:
        return table(r);
    case WORD_VALUES:
        return values(r);
    case WORD_INTO:
        return clause_end(
                   r, level->clause == CLAUSE_LIST ? CLAUSE_LIST : CLAUSE_REST,
                   "") != 0
                   ? -1
                   : rewriter_into(r);
    case WORD_LOCKING:
        return clause_end(r, CLAUSE_REST, "") != 0 ? -1 : rewriter_locking(r);
    case WORD_HINT:
        return rewriter_index_hint(r);
    case WORD_DROP:
        return 0;
    case WORD_CALC:
        level->counts = r->counts = true;
        return 0;
    case WORD_REFUSE:
        return rewriter_fail(r);
    case WORD_VALUE:
        rewriter_operand(r, span_is_nocase(r->token.text, "NULL")
                                ? OPERAND_OTHER
                                : OPERAND_NUMBER);
        rewriter_emit(r, out);
        return 0;
    default:
        if (token_is(&r->token, "LEFT") || token_is(&r->token, "RIGHT"))
            r->result->may_null = true;
        rewriter_expression_end(r);
        rewriter_emit(r, out);
        return 0;
    }
}

/* ROWS BETWEEN 1 PRECEDING AND CURRENT ROW, in OVER (...). */
static bool
frame_word(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    if (!level->window)
        return false;
    if (!level->frame &&
        (token_is(&r->token, "ROWS") || token_is(&r->token, "RANGE"))) {
        rewriter_expression_end(r);
        level->frame = true;
    }
    if (level->frame)
        rewriter_emit_span(r, r->token.text);
    return level->frame;
}

/* The role of a word here: some are keywords in their own place only. */
static enum rewrite_word
kind_here(struct rewriter *r, enum rewrite_word kind)
{
    bool open = token_is_operator(&r->ahead, "(");
    struct level *level = rewriter_top(r);

    if (token_is_operator(&r->previous, ".") ||
        (token_is(&r->previous, "AS") &&
         (token_is(&r->token, "OFFSET") || token_is(&r->token, "END") ||
          token_is(&r->token, "ESCAPE"))))
        return WORD_NAME;
    switch (kind) {
    case WORD_SIDE:
        return open && rewriter_wants_operand(r) ? WORD_NAME : WORD_PLAIN;
    case WORD_HINT:
        return level->clause == CLAUSE_FROM && !level->expects_table &&
                       (token_is(&r->ahead, "INDEX") ||
                        token_is(&r->ahead, "KEY"))
                   ? WORD_HINT
                   : WORD_NAME;
    case WORD_JOIN: /* SELECT STRAIGHT_JOIN ... */
        return level->clause == CLAUSE_LIST && level->count == 0 &&
                       token_is(&r->token, "STRAIGHT_JOIN")
                   ? WORD_DROP
                   : kind;
    case WORD_WINDOW:
        return (level->clause == CLAUSE_FROM || level->clause == CLAUSE_REST) &&
                       !level->expects_table && rewriter_may_name(&r->ahead)
                   ? kind
                   : WORD_NAME;
    case WORD_TAIL: /* OVER (ORDER BY x) ends no SELECT's clause */
        return level->window ? WORD_PLAIN : kind;
    default:
        return kind;
    }
}

static bool
is_listed(enum rewrite_word kind)
{
    switch (kind) {
    case WORD_SELECT:
    case WORD_QUANTIFIER:
    case WORD_DROP:
    case WORD_CALC:
    case WORD_FROM:
    case WORD_TAIL:
    case WORD_GROUP:
    case WORD_HAVING:
    case WORD_LIMIT:
    case WORD_UNION:
    case WORD_INTO:
    case WORD_LOCKING:
        return false;
    default:
        return true;
    }
}

/* DATE '2026-01-31' */
static bool
at_moment(struct rewriter *r)
{
    return r->ahead.kind == TOKEN_STRING && rewriter_wants_operand(r) &&
           !token_is_operator(&r->previous, ".") &&
           (token_is(&r->token, "DATE") || token_is(&r->token, "TIME") ||
            token_is(&r->token, "TIMESTAMP"));
}

static int
moment(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    rewriter_operand(r, OPERAND_MOMENT);
    if (rewriter_emit_moment(r) != 0)
        return -1;
    if (level->clause == CLAUSE_LIST)
        rewriter_label_note(level, &r->token);
    /* no alias, and the next string does not continue it */
    level->last.kind = r->token.kind = TOKEN_DECIMAL;
    return 0;
}

int
rewriter_word(struct rewriter *r)
{
    const char *out = NULL;
    enum rewrite_word kind = kind_here(r, rewrite_word(r->token.text, &out));
    bool known;

    if (r->token.text.data[0] == '_' &&
        (r->ahead.kind == TOKEN_STRING || r->ahead.kind == TOKEN_HEX))
        return 0; /* _utf8mb4'text': all texts are UTF-8 */
    if (rewriter_top(r)->clause == CLAUSE_LIST && is_listed(kind))
        rewriter_label_note(rewriter_top(r), &r->token);
    if (frame_word(r))
        return 0;
    if (at_moment(r))
        return moment(r);
    if (rewriter_call_token(r, &known) != 0)
        return -1;
    if (known)
        return 0;
    if (!token_is_operator(&r->previous, ".")) {
        if (!rewriter_wants_operand(r) && rewriter_is_unit(&r->token) &&
            rewriter_interval_unit(r, r->token.text)) {
            /* marks the end of an operand, so that no alias follows */
            rewriter_top(r)->last.kind = TOKEN_DECIMAL;
            return 0;
        }
        if (kind == WORD_OPERATOR || kind == WORD_PLAIN) {
            if (rewriter_operator(r, &known) != 0)
                return -1;
            if (known)
                return 0;
        }
        if (token_is(&r->token, "ROW") && token_is_operator(&r->ahead, "("))
            return 0;
    }
    return kind == WORD_NAME ? rewriter_name(r) : keyword(r, kind, out);
}
