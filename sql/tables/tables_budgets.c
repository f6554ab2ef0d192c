/*
 * tables_budgets.c - heapwire.budgets: the budgets of functions and pools, and
 * what the last look at a profile found.  Reads the list alone, so nobody
 * waits.
 */
#include <string.h>

#include "budgets.h"
#include "catalog_tables.h"
#include "clean_text.h"
#include "memory.h"
#include "sql_cursor.h"
#include "sql_session.h"

static const char *const states[] = {
    [BUDGET_UNSEEN] = "not looked at yet",
    [BUDGET_WITHIN] = "within budget",
    [BUDGET_OVER] = "over budget",
    [BUDGET_OFF] = "profiling is off",
    [BUDGET_ABSENT] = "no database answers",
    [BUDGET_FAILED] = "cannot be looked at: heapwired.log says why",
    [BUDGET_THREADLESS] = "an older heapwire's snapshot has no threads",
};

static void
add_budget(struct rowset *out, const struct budget *budget)
{
    bool known = budget->state == BUDGET_WITHIN || budget->state == BUDGET_OVER;
    size_t size = strlen(budget->name);
    char name[BUDGET_NAME_MAX + 1];

    clean_text((struct span){budget->name, size}, name);
    rowset_bytes(out, name, size);
    rowset_int(out, (int64_t)budget->limit);
    rowset_int_if(out, known, (int64_t)budget->now);
    rowset_int_if(out, known, (int64_t)budget->margin);
    rowset_text(out, states[budget->state]);
    rowset_time(out, budget->crossed_ms);
    rowset_int(out, (int64_t)budget->crossings);
    rowset_text(out, *budget->snapshot ? budget->snapshot : NULL);
    rowset_time(out, budget->checked_ms);
}

static void
produce_budgets(const struct catalog_scope *scope, struct rowset *out)
{
    struct budgets *budgets = scope->session->node->budgets;
    struct budget *list = mem_zalloc(BUDGETS_MAX, sizeof(*list));
    size_t count = 0;

    if (!list)
        out->failed = true;
    else if (budgets)
        count = budgets_list(budgets, list, BUDGETS_MAX);
    for (size_t i = 0; i < count; i++)
        add_budget(out, &list[i]);
    mem_free(list);
}

static const struct catalog_column columns_of_budgets[] = {
    CATALOG_NODE_ID,
    {"name", &type_256,
     "The function whose memory it is, where a * at the end stands for any "
     "ending; or the pool of threads: pool worker-*",
     CATALOG_KEY},
    {"limit_bytes", &type_ubigint_nn, "What it may have in use"},
    {"now_bytes", &type_ubigint,
     "What it had at the last look, a function with all that it called, a "
     "pool what its threads allocated; NULL: state says why that is not known"},
    {"margin", &type_ubigint,
     "Half the width of its 95 % confidence interval, from sampling"},
    {"state", &type_name_nn,
     "within budget, over budget (until it is 10 % below), not looked at yet, "
     "profiling is off, no database answers, cannot be looked at, or an older "
     "heapwire's snapshot has no threads"},
    {"crossed_at", &type_time, "When it was last crossed, UTC; NULL: never"},
    {"crossings", &type_ubigint_nn, "How often, since it was set"},
    {"snapshot", &type_name,
     "Taken at the last crossing; NULL: none was crossed, or none is there "
     "yet"},
    {"looked_at", &type_time,
     "When the profile of the last look was taken, UTC; NULL: not since "
     "heapwired started"},
};

const struct catalog_table tables_budgets[] = {
    {"heapwire", "budgets", CATALOG_OWN_COLUMNS(columns_of_budgets),
     produce_budgets,
     "How much memory functions and pools of threads may have in use, and "
     "which have more",
     PRIVILEGE_STATUS},
    CATALOG_OF_ALL("budgets", columns_of_budgets, PRIVILEGE_STATUS,
                   &tables_budgets[0]),
    {NULL},
};
