/*
 * instant.c - finds statements that end at once, by their words alone.
 *
 * They run where a user has no place for others any more, so that its clients
 * can still say SELECT 1, look at SHOW PROCESSLIST, and KILL.
 */
#include "sql.h"

#include "arena.h"
#include "commands.h"
#include "errors.h"
#include "parse_statement.h"
#include "select_tree.h"
#include "sql_statement.h"

enum { INSTANT_BYTES = 4096 };

/* One row of a few expressions, with that many SELECTs. */
static bool
is_one_row(const struct tree *tree, size_t selects)
{
    return tree->selects <= selects && tree->table_count == 0 &&
           !tree->calls_others && !tree->has_with && !tree->has_over &&
           !tree->has_rows && tree->into_count == 0;
}

static bool
sets_values(const struct assignment *a)
{
    while (a &&
           (a->kind != VALUE_IS_EXPRESSION || is_one_row(a->expression, 0)))
        a = a->next;
    return a == NULL;
}

static bool
is_instant(const struct sql_statement *statement)
{
    switch (statement->kind) {
    case STATEMENT_SELECT:
        return is_one_row(statement->select, 1);
    case STATEMENT_DO:
        return is_one_row(statement->select, 0);
    case STATEMENT_SET:
        return sets_values(statement->set);
    case STATEMENT_KILL:
        return !statement->kill.expression;
    case STATEMENT_SHOW:
        return show_is_instant(&statement->show);
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
sql_is_instant(struct sql_session *session, struct span text)
{
    struct parsing how = {.use = PARAMETERS_ABSENT, .session = session};
    struct sql_statement statement;
    struct error unsaid;
    bool instant = false;

    if (text.size > INSTANT_BYTES)
        return false;
    how.arena = arena_new(STATEMENT_BYTES_MAX);
    if (how.arena)
        instant = statement_parse(text, &how, &statement, &unsaid) != 0 ||
                  is_instant(&statement);
    arena_free(how.arena);
    return instant;
}
