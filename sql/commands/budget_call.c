/*
 * budget_call.c - CALL heapwire.budget('function', '2G' | NULL): sets or
 * removes the budget of a function's memory on this node.
 *
 * Its file is written beside the event loop, before the OK.
 */
#include "commands.h"

#include "budgets.h"
#include "errors.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

static int
change_budget(struct budgets *budgets, const struct budget_call *call,
              struct error *err)
{
    uint64_t limit;

    if (!budgets) {
        error_set(err, ER_UNKNOWN, "this node keeps no budgets");
        return -1;
    }
    if (call->removes)
        return budgets_remove(budgets, call->function, err);
    if (budget_limit_parse(call->limit, &limit, err) != 0)
        return -1;
    return budgets_set(budgets, call->function, limit, err);
}

struct cursor *
budget_open(struct opening *o, struct error *err)
{
    struct cursor *ok = sql_cursor_ok(err);

    if (!ok || o->describing)
        return ok;
    if (opening_compute(o, err) == 0 &&
        change_budget(o->session->node->budgets, &o->statement->budget, err) ==
            0)
        return ok;
    cursor_free(ok);
    return NULL;
}
