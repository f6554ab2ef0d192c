/* brief.c - see brief.h. */
#include "brief.h"

#include "arena.h"
#include "errors.h"
#include "parse_statement.h"
#include "sql.h"

static bool
is_lock_word(const struct token *token)
{
    return token_is(token, "get_lock") || token_is(token, "release_lock") ||
           token_is(token, "release_all_locks");
}

/* Whether the statement ends with this call; the lexer is behind the
 * function's name.  What follows a call could make the statement begin
 * anew, on a worker. */
static bool
ends_with_call(struct lexer lexer)
{
    struct token token = lexer_next(&lexer);

    if (!token_is_operator(&token, "("))
        return false;
    do {
        token = lexer_next(&lexer);
        if (token.kind == TOKEN_END || token.kind == TOKEN_INVALID ||
            token_is_operator(&token, "("))
            return false;
    } while (!token_is_operator(&token, ")"));
    token = lexer_next(&lexer);
    if (token_is(&token, "as")) {
        lexer_next(&lexer);
        token = lexer_next(&lexer);
    }
    return token.kind == TOKEN_END || token_is_operator(&token, ";");
}

/* Whether it is one row of a few expressions, with that many SELECTs.  A loop,
 * or a text that SQLite compiles to much more than its size, needs one of these
 * words, or one SELECT more.  A lock must be taken or released once only, and
 * on the loop: all workers may be waiting for it. */
static bool
is_one_row(const struct fragment *fragment, size_t selects)
{
    static const char *const words[] = {"from", "with",   "over",
                                        "into", "values", "table"};
    struct lexer lexer = fragment->lexer;

    for (;;) {
        struct token token = lexer_next(&lexer);

        if (token.kind == TOKEN_END || token.kind == TOKEN_INVALID)
            return true;
        if (token_is(&token, "select") && selects-- == 0)
            return false;
        if (is_lock_word(&token) && !ends_with_call(lexer))
            return false;
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            if (token_is(&token, words[i]))
                return false;
    }
}

/* A literal or a variable, optionally with a sign. */
static bool
is_value(const struct fragment *fragment)
{
    struct lexer lexer = fragment->lexer;
    size_t tokens = 0;

    while (tokens <= 2) {
        struct token token = lexer_next(&lexer);

        if (token.kind == TOKEN_END || token.kind == TOKEN_INVALID ||
            token.text.data >= fragment->end)
            return true;
        tokens++;
    }
    return false;
}

static bool
has_expression(const struct assignment *a)
{
    while (a && (a->kind != VALUE_IS_EXPRESSION || is_value(&a->expression)))
        a = a->next;
    return a != NULL;
}

bool
brief_statement(const struct sql_statement *statement)
{
    switch (statement->kind) {
    case STATEMENT_SELECT:
        return is_one_row(&statement->select, 1);
    case STATEMENT_DO:
        return is_one_row(&statement->select, 0);
    case STATEMENT_SET:
        return !has_expression(statement->set);
    case STATEMENT_KILL:
        return !statement->kill.is_expression;
    case STATEMENT_SHOW:
        return !statement->show.has_where;
    case STATEMENT_ADMIN_EXECUTE:
    case STATEMENT_USE:
    case STATEMENT_BEGIN:
    case STATEMENT_END:
    case STATEMENT_NOTHING:
        return true;
    default:
        return false;
    }
}

bool
sql_is_brief(struct span text)
{
    struct parsing how = {.use = PARAMETERS_ABSENT};
    struct sql_statement statement;
    struct error refused; /* opening the statement reports it again */
    bool brief = false;

    if (text.size > SQL_BRIEF_MAX)
        return false;
    how.arena = arena_new(STATEMENT_BYTES_MAX);
    if (how.arena)
        brief = statement_parse(text, &how, &statement, &refused) != 0 ||
                brief_statement(&statement);
    arena_free(how.arena);
    return brief;
}
