/*
 * short_statement.c - finds statements that end at once, by their words alone.
 *
 * They run where a user has no slot for others any more, so that its clients
 * can still say SELECT 1, look at SHOW PROCESSLIST, and KILL.
 */
#include "sql.h"

#include "arena.h"
#include "commands.h"
#include "errors.h"
#include "parse_statement.h"
#include "select_tree.h"
#include "sql_statement.h"

enum { SHORT_STATEMENT_BYTES = 4096 };

/* Values that are short, and what computes with them in no time.  A pattern, a
 * text that grows and a user's variable, which may be long, could take long. */
static bool
is_quick(const struct node *node)
{
    static const char calls[] =
        "CONNECTION_ID CURRENT_USER DATABASE FOUND_ROWS IS_FREE_LOCK "
        "IS_USED_LOCK LAST_INSERT_ID NOW RELEASE_ALL_LOCKS RELEASE_LOCK "
        "ROW_COUNT SCHEMA SESSION_USER SYSTEM_USER USER VERSION";

    switch (node->kind) {
    case NODE_NULL:
    case NODE_TRUE:
    case NODE_FALSE:
    case NODE_INTEGER:
    case NODE_DECIMAL:
    case NODE_STRING:
    case NODE_PARAMETER:
    case NODE_SYSTEM:
    case NODE_PREFIX:
        break;
    case NODE_BINARY:
        if (node->op == OP_CONCAT || node->op == OP_ARROW ||
            node->op == OP_ARROW_TEXT)
            return false;
        break;
    case NODE_CALL:
        if (!span_is_any(node->name, calls))
            return false;
        break;
    default:
        return false;
    }
    for (node = node->first; node; node = node->next)
        if (!is_quick(node))
            return false;
    return true;
}

static bool
are_quick(const struct tree_item *item)
{
    while (item && is_quick(item->value))
        item = item->next;
    return !item;
}

/* One row of such values. */
static bool
is_one_row(const struct tree *tree)
{
    const struct tree_query *query = tree->query;
    const struct tree_select *select = query ? query->arms->select : NULL;

    if (!query)
        return are_quick(tree->items);
    return select && !query->arms->next && !query->ctes && !query->order &&
           tree->into_count == 0 && !select->rows && !select->from &&
           !select->where && !select->group && !select->having &&
           are_quick(select->items);
}

static bool
sets_values(const struct assignment *a)
{
    while (a && (a->kind != VALUE_IS_EXPRESSION || is_one_row(a->expression)))
        a = a->next;
    return !a;
}

static bool
is_short_sql_statement(const struct sql_statement *statement)
{
    switch (statement->kind) {
    case STATEMENT_SELECT:
    case STATEMENT_DO:
        return is_one_row(statement->select);
    case STATEMENT_SET:
        return sets_values(statement->set);
    case STATEMENT_KILL:
        return !statement->kill.expression;
    case STATEMENT_SHOW:
        return show_is_short_statement(&statement->show);
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
sql_is_short_statement(struct sql_session *session, struct span text)
{
    struct parsing how = {.use = PARAMETERS_ABSENT, .session = session};
    struct sql_statement statement;
    struct error ignored;
    bool is_short = false;

    if (text.size > SHORT_STATEMENT_BYTES)
        return false;
    how.arena = arena_new(STATEMENT_BYTES_MAX);
    if (how.arena)
        is_short = statement_parse(text, &how, &statement, &ignored) != 0 ||
                   is_short_sql_statement(&statement);
    arena_free(how.arena);
    return is_short;
}
