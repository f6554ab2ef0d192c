/* rewriter_word.c - words: keywords, tables and other names. */
#include "rewriter.h"

#include <strings.h>

#include "catalog.h"
#include "privileges.h"
#include "rewrite_words.h"
#include "sql_session.h"

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

    rewriter_top(r)->expects_table = false;
    r->result->has_tables = true;
    if (rewriter_decode(r, &r->token, &first) != 0)
        return -1;
    if (!qualified && is_cte(r, first)) {
        rewriter_emit_identifier(r, first);
        return 0;
    }
    second = first;
    if (qualified) {
        rewriter_advance(r);
        rewriter_advance(r);
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
    table_set_add(&r->result->tables, catalog_index(table));
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
    rewriter_emit_identifier(r, name);
    return 0;
}

/* ---- words ---- */

int
rewriter_name(struct rewriter *r)
{
    struct level *level = rewriter_top(r);
    bool part = token_is_operator(&r->previous, ".");

    if (level->expects_table)
        return table_reference(r);
    if (level->clause == CLAUSE_WITH && !part)
        return define_cte(r);
    return rewriter_emit_decoded(r, &r->token);
}

static int
from(struct rewriter *r)
{
    struct level *level = rewriter_top(r);

    if (level->clause != CLAUSE_LIST) {
        rewriter_emit(r, "FROM");
        return 0;
    }
    if (rewriter_label_end(r, level) != 0)
        return -1;
    if (token_is(&r->ahead, "DUAL")) {
        rewriter_advance(r);
        level->clause = CLAUSE_REST;
        return 0;
    }
    rewriter_emit(r, "FROM");
    level->clause = CLAUSE_FROM;
    level->expects_table = true;
    return 0;
}

/* What ends a list or a FROM. */
static int
clause_end(struct rewriter *r, enum clause next, const char *out)
{
    struct level *level = rewriter_top(r);

    if (level->clause == CLAUSE_LIST && rewriter_label_end(r, level) != 0)
        return -1;
    level->clause = next;
    level->expects_table = false;
    rewriter_emit(r, out);
    return 0;
}

/* AS: an alias, or the type of a CAST. */
static int
as(struct rewriter *r)
{
    struct level *level = rewriter_top(r);
    const char *type = NULL;

    if (!level->cast) {
        if (level->clause == CLAUSE_LIST)
            level->aliased = true;
        rewriter_emit(r, "AS");
        return 0;
    }
    if (r->ahead.kind == TOKEN_WORD)
        type = rewrite_type(r->ahead.text);
    rewriter_advance(r);
    if (!type)
        return rewriter_fail(r);
    rewriter_emit(r, "AS");
    rewriter_emit(r, type);
    /* CHAR(60), CHAR CHARACTER SET x, SIGNED INTEGER: lengths say nothing */
    while (r->ahead.kind != TOKEN_END && !token_is_operator(&r->ahead, ")")) {
        if (token_is_operator(&r->ahead, "(")) {
            while (r->ahead.kind != TOKEN_END &&
                   !token_is_operator(&r->ahead, ")"))
                rewriter_advance(r);
        }
        rewriter_advance(r);
    }
    return 0;
}

int
rewriter_convert_tail(struct rewriter *r, bool is_using)
{
    struct level *level = rewriter_top(r);

    level->convert = false;
    level->cast = true;
    if (!is_using)
        return as(r);
    rewriter_advance(r);
    rewriter_emit(r, "AS TEXT");
    return 0;
}

static int
keyword(struct rewriter *r, enum rewrite_word word, const char *out)
{
    struct level *level = rewriter_top(r);

    switch (word) {
    case WORD_SELECT:
        level->clause = CLAUSE_LIST;
        level->expects_table = false;
        level->count = 0;
        rewriter_emit(r, out);
        return 0;
    case WORD_FROM:
        return from(r);
    case WORD_JOIN:
        level->expects_table = level->clause == CLAUSE_FROM;
        rewriter_emit(r, out);
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
    case WORD_IN: /* SQLite would take a table's name, too */
        rewriter_emit(r, out);
        if (token_is_operator(&r->ahead, "("))
            return 0;
        rewriter_advance(r);
        return rewriter_fail(r);
    case WORD_WITH: /* not in front, it would be a name to SQLite */
        if (!token_is_operator(&r->previous, "(") &&
            (level->clause != CLAUSE_NONE || r->previous.text.data))
            return rewriter_fail(r);
        level->clause = CLAUSE_WITH;
        level->expects_table = false;
        rewriter_emit(r, out);
        return 0;
    case WORD_COLLATE:
        rewriter_advance(r);
        if (!is_name(&r->token) && r->token.kind != TOKEN_STRING)
            return rewriter_fail(r);
        if (level->clause == CLAUSE_LIST)
            rewriter_label_note(level, &r->token);
        return 0;
    case WORD_CONVERT:
        r->next_is_convert = true;
        rewriter_emit(r, "CAST");
        return 0;
    case WORD_CAST:
        r->next_is_cast = true;
        rewriter_emit(r, out);
        return 0;
    case WORD_NILADIC:
        rewriter_emit_identifier(r, r->token.text);
        if (!token_is_operator(&r->ahead, "("))
            buffer_text(r->sql, "()");
        return 0;
    case WORD_DROP:
        return 0;
    case WORD_REFUSE:
        return rewriter_fail(r);
    default:
        if (level->convert && span_is_nocase(r->token.text, "USING"))
            return rewriter_convert_tail(r, true);
        rewriter_emit(r, out);
        return 0;
    }
}

int
rewriter_word(struct rewriter *r)
{
    const char *out = NULL;
    enum rewrite_word kind = rewrite_word(r->token.text, &out);

    if (r->token.text.data[0] == '_' && r->ahead.kind == TOKEN_STRING)
        return 0; /* _utf8mb4'text': everything here is UTF-8 */
    if (token_is_operator(&r->previous, ".") ||
        (kind == WORD_SIDE && token_is_operator(&r->ahead, "(")))
        kind = WORD_NAME;
    if (rewriter_top(r)->clause == CLAUSE_LIST) {
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
            rewriter_label_note(rewriter_top(r), &r->token);
        }
    }
    return kind == WORD_NAME ? rewriter_name(r) : keyword(r, kind, out);
}
