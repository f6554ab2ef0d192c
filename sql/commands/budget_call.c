/*
 * budget_call.c - CALL heapwire.budget('name', '2G' | NULL): sets or removes
 * the budget of a function's or a pool's memory on this node.
 *
 * A name that does not say which of the two it is, is looked up in a profile,
 * and refused if nothing has it: a budget with a typing error would never
 * warn.  Without a profile, a name that no pool can have is taken for a
 * function's.  The file is written off the event loop, before the OK.
 */
#include "commands.h"

#include <string.h>

#include "await.h"
#include "budgets.h"
#include "controller.h"
#include "errors.h"
#include "node_status.h"
#include "profile_root.h"
#include "snapshot.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

/* Asks for a profile to look the name up in.  NULL with *err, which says why
 * there is none; else the caller owns it. */
static struct snapshot *
take_kind_profile(const struct opening *o, struct error *err)
{
    const struct job_request request = {.kind = JOB_RECENT,
                                        .owner = o->session->who.user};
    struct controller *controller = o->session->node->controller;
    struct job_result result = {0};
    struct node_status status;

    controller_status(controller, &status);
    if (!status.hello.active) {
        if (node_status_check(&status, err) == 0)
            error_set(err, ER_UNKNOWN, "profiling is not active");
        return NULL;
    }
    return controller_wait(controller_submit(controller, &request,
                                             await_waker(o->await), err),
                           o->await, &result, err) == 0
               ? result.snapshot
               : NULL;
}

static int
find_kind(const struct opening *o, struct budget *budget, struct error *err)
{
    struct error why;
    struct snapshot *snapshot = take_kind_profile(o, &why);
    int rc = -1;

    if (snapshot)
        rc = budget_find_kind(snapshot->profile, budget, err);
    else if (await_is_over(o->await))
        *err = why;
    else if (!budget_may_be_pool(budget))
        rc = 0; /* it can only be a function's */
    else
        error_set(err, ER_WRONG_ARGUMENTS,
                  "whether '%.*s' is a function or a pool of threads is not "
                  "known: %.200s; write '" BUDGET_FUNCTION
                  "NAME' or '" PROFILE_POOL "NAME'",
                  BUDGET_SHOWN, budget->name, why.text);
    snapshot_unref(snapshot);
    return rc;
}

static int
set_named_budget(const struct opening *o, struct error *err)
{
    const struct budget_call *call = &o->statement->budget;
    struct span name = budget_plain_name(call->name);
    struct budget budget = {.name = ""};
    uint64_t limit;

    if (budget_limit_parse(call->limit, &limit, err) != 0 ||
        budget_check_name(name, err) != 0)
        return -1;
    memcpy(budget.name, name.data, name.size);
    if (!budget_names_kind(call->name) && find_kind(o, &budget, err) != 0)
        return -1;
    return budgets_set(o->session->node->budgets,
                       (struct span){budget.name, strlen(budget.name)}, limit,
                       err);
}

struct cursor *
budget_open(struct opening *o, struct error *err)
{
    const struct budget_call *call = &o->statement->budget;
    struct budgets *budgets = o->session->node->budgets;
    struct cursor *ok = sql_cursor_ok(err);
    int rc = -1;

    if (!ok || o->describing)
        return ok;
    if (!budgets)
        error_set(err, ER_UNKNOWN, "this node keeps no budgets");
    else if (opening_compute(o, err) == 0)
        rc = call->removes ? budgets_remove(budgets, call->name, err)
                           : set_named_budget(o, err);
    if (rc == 0)
        return ok;
    cursor_free(ok);
    return NULL;
}
