/*
 * rewriter_snapshot.c - finds out whether a statement asks for kept snapshots.
 *
 * A heap_* table is the present heap, unless a condition mentions its snapshot.
 * SQLite shows a table few conditions: no OR, no function of a column.  So the
 * rewriter looks for them here, by the column's name.
 */
#include <string.h>
#include <strings.h>

#include "rewriter.h"
#include "snapshot.h"
#include "sql_session.h"

static struct span
name_of(const struct token *token)
{
    struct span text = token->text;

    if (token->kind == TOKEN_QUOTED && text.size > 2)
        text = (struct span){text.data + 1, text.size - 2};
    return rewriter_may_name(token) ? text : (struct span){"", 0};
}

/* Whether it is snapshot's name, or its label in the latest SELECT. */
static bool
is_snapshot(const struct rewriter *r, const struct token *token)
{
    struct span name = name_of(token), alias = r->snapshot_alias;

    return span_is_nocase(name, "snapshot") ||
           (name.size > 0 && name.size == alias.size &&
            strncasecmp(name.data, alias.data, alias.size) == 0);
}

/* Whether [AS] name is ahead. */
static void
note_alias(struct rewriter *r)
{
    struct lexer lexer = r->lexer;
    struct token token = r->ahead;

    if (token_is(&token, "AS"))
        token = lexer_next(&lexer);
    if (token.kind == TOKEN_QUOTED || rewriter_is_name(&token))
        r->snapshot_alias = name_of(&token);
}

/* Whether = t.snapshot is ahead, in any spelling. */
static bool
is_joined(const struct rewriter *r)
{
    struct lexer lexer = r->lexer;
    struct token token;

    if (!token_is_operator(&r->ahead, "=") &&
        !token_is_operator(&r->ahead, "<=>"))
        return false;
    token = lexer_next(&lexer);
    while (rewriter_may_name(&token) && !is_snapshot(r, &token)) {
        token = lexer_next(&lexer);
        if (!token_is_operator(&token, "."))
            return false;
        token = lexer_next(&lexer);
    }
    return is_snapshot(r, &token);
}

/* Whether the column is compared though it is outside of a condition. */
static bool
is_compared(const struct rewriter *r)
{
    static const char *const operators[] = {
        "=", "<=>", "<>", "!=", "<", "<=", ">", ">="};
    static const char *const words[] = {"LIKE",   "IN",    "NOT", "BETWEEN",
                                        "REGEXP", "RLIKE", "IS",  "WHEN"};

    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        if (token_is_operator(&r->ahead, operators[i]))
            return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (token_is(&r->ahead, words[i]))
            return true;
    return false;
}

void
rewriter_snapshot_column(struct rewriter *r)
{
    const char *where = rewriter_where(r);
    bool joined = r->joins_snapshot;

    if (!is_snapshot(r, &r->token) || token_is_operator(&r->ahead, "."))
        return;
    if (rewriter_top(r)->clause == CLAUSE_LIST)
        note_alias(r);
    r->joins_snapshot = !joined && is_joined(r);
    if (joined || r->joins_snapshot || rewriter_top(r)->in_using)
        return;
    if (strcmp(where, "where clause") == 0 || strcmp(where, "on clause") == 0 ||
        strcmp(where, "having clause") == 0 || is_compared(r))
        r->result->names_snapshot = true;
}

void
rewriter_snapshot_value(struct rewriter *r, const struct value *value)
{
    struct span text = {value->data, value->size};

    if (value->type == VALUE_TEXT && span_is_nocase(text, SNAPSHOT_NOW))
        r->result->names_now = true;
}
