/* brief.c - see brief.h. */
#include "brief.h"

#include "arena.h"
#include "errors.h"
#include "parse_statement.h"
#include "select_plan.h"
#include "select_tree.h"
#include "sql.h"
#include "tree_words.h"

static const struct tree_item *
last_of(const struct tree_item *item)
{
    while (item && item->next)
        item = item->next;
    return item;
}

/* Whether all that is locked or released is what the statement does last, and
 * known at once.  What follows could make it begin anew, on a worker. */
static bool
locks_last(const struct tree *tree)
{
    const struct tree_select *select =
        tree->query ? tree->query->arms->select : NULL;
    const struct tree_item *last =
        last_of(tree->query && select ? select->items : tree->items);

    if (tree->locks > 1 || !last || last->value->kind != NODE_CALL ||
        !tree_word_locks(last->value->name) || last->value->depth > 2)
        return false;
    return !select || (!select->where && !select->group && !select->having &&
                       !tree->query->order && !tree->query->limit);
}

/* Whether it is one row of a few expressions, with that many SELECTs.  A loop,
 * or a text that SQLite compiles to much more than its size, needs one of these
 * parts, or one SELECT more.  A lock must be taken or released once only, and
 * on the loop: all workers may be waiting for it. */
static bool
is_one_row(const struct tree *tree, size_t selects)
{
    return tree->selects <= selects && !tree->has_tables && !tree->has_with &&
           !tree->has_over && !tree->has_rows && tree->into_count == 0 &&
           (tree->locks == 0 || locks_last(tree));
}

/* A literal or a variable, optionally with a sign. */
static bool
is_value(const struct tree *tree)
{
    const struct node *node = tree->items->value;

    if (node->kind == NODE_PREFIX)
        node = node->first;
    return node->depth == 1 && node->kind != NODE_CALL;
}

static bool
has_expression(const struct assignment *a)
{
    while (a && (a->kind != VALUE_IS_EXPRESSION || is_value(a->expression)))
        a = a->next;
    return a != NULL;
}

bool
brief_statement(const struct sql_statement *statement)
{
    switch (statement->kind) {
    case STATEMENT_SELECT:
        return is_one_row(statement->select, 1);
    case STATEMENT_DO:
        return is_one_row(statement->select, 0);
    case STATEMENT_SET:
        return !has_expression(statement->set);
    case STATEMENT_KILL:
        return !statement->kill.expression;
    case STATEMENT_SHOW:
        return !statement->show.where;
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
sql_is_brief(const struct sql_session *session, struct span text)
{
    struct parsing how = {.use = PARAMETERS_ABSENT};
    struct select_plan *plan;
    struct sql_statement statement;
    struct error refused; /* opening the statement reports it again */
    bool brief = false;

    if (text.size > SQL_BRIEF_MAX)
        return false;
    plan = select_plan_find(session, text, NULL);
    if (plan) {
        brief = plan->brief;
        select_plan_unref(plan);
        return brief;
    }
    how.arena = arena_new(STATEMENT_BYTES_MAX);
    if (how.arena)
        brief = statement_parse(text, &how, &statement, &refused) != 0 ||
                brief_statement(&statement);
    arena_free(how.arena);
    return brief;
}
