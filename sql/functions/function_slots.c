/*
 * function_slots.c - functions that keep a value for later calls of the same
 * statement: CASE x WHEN, and x > ANY or ALL (SELECT ...); handle.h has the
 * idea.
 */
#include <string.h>

#include "function.h"
#include "function_table.h"
#include "handle.h"

static struct slot *
find_value_slot(sqlite3_context *c, sqlite3_value *number)
{
    struct slots *slots = &function_handle(c)->slots;
    /* The deparser numbers the slots from 0 to SLOTS_MAX - 1; the remainder
     * keeps a wrong number inside the array, too. */
    unsigned i = (unsigned)sqlite3_value_int(number) % SLOTS_MAX;

    if (i >= slots->used)
        slots->used = i + 1;
    return &slots->slots[i];
}

static bool
store_slot_value(sqlite3_context *c, sqlite3_value **place,
                 sqlite3_value *value)
{
    sqlite3_value_free(*place);
    *place = sqlite3_value_dup(value);
    if (!*place)
        sqlite3_result_error_nomem(c);
    return *place;
}

/* ---- CASE ---- */

/* hw_case(slot, x): keeps x and gives 1, which hw_when() also gives for an
 * equal value, so that SQLite's own CASE finds the branch and evaluates no
 * other.  NULL for NULL, which equals nothing. */
static void
call_case(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    if (store_slot_value(c, &find_value_slot(c, argv[0])->low, argv[1]) &&
        sqlite3_value_type(argv[1]) != SQLITE_NULL)
        sqlite3_result_int(c, 1);
}

static void
call_when(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    sqlite3_value *x = find_value_slot(c, argv[0])->low;

    (void)argc;
    if (x && sqlite3_value_type(x) != SQLITE_NULL &&
        sqlite3_value_type(argv[1]) != SQLITE_NULL)
        sqlite3_result_int(c, function_compare(x, argv[1], COMPARE_TEXT) == 0);
}

/* hw_kept(slot): the x of hw_case */
static void
call_kept(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    sqlite3_value *x = find_value_slot(c, argv[0])->low;

    (void)argc;
    if (x)
        sqlite3_result_value(c, x);
}

/* ---- ANY and ALL ---- */

struct bounds {
    struct slot *slot; /* NULL: no row so far */
    int number;
};

static void
step_bounds(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct bounds *bounds = sqlite3_aggregate_context(c, sizeof(*bounds));
    struct slot *slot = find_value_slot(c, argv[0]);

    (void)argc;
    if (!bounds) {
        sqlite3_result_error_nomem(c);
        return;
    }
    /* The subquery may run again for another row of the outer query: its first
     * row begins anew. */
    if (!bounds->slot)
        slot_clear(slot);
    bounds->slot = slot;
    bounds->number = sqlite3_value_int(argv[0]);
    if (sqlite3_value_type(argv[1]) == SQLITE_NULL)
        slot->null = true;
    else if ((!slot->low ||
              function_compare(argv[1], slot->low, COMPARE_TEXT) < 0) &&
             !store_slot_value(c, &slot->low, argv[1]))
        return;
    else if (!slot->high ||
             function_compare(argv[1], slot->high, COMPARE_TEXT) > 0)
        store_slot_value(c, &slot->high, argv[1]);
}

/* Gives the slot's number; NULL if there were no rows. */
static void
finish_bounds(sqlite3_context *c)
{
    const struct bounds *bounds = sqlite3_aggregate_context(c, 0);

    if (bounds && bounds->slot)
        sqlite3_result_int(c, bounds->number);
}

/* Does x compare so with all, or with any, of the values between low and high?
 * Given are the orders of x and these two. */
static bool
is_quantified_true(const char *op, bool all, int low, int high)
{
    bool equal = strchr(op, '=');
    int order = (*op == '>') == all ? high : low;

    if (strcmp(op, "=") == 0)
        return low == 0 && high == 0; /* = ALL; = ANY became IN */
    if (strcmp(op, "<>") == 0)
        return low != 0 || high != 0; /* <> ANY; <> ALL became NOT IN */
    if (equal && order == 0)
        return true;
    return *op == '>' ? order > 0 : order < 0;
}

/* hw_quantified(x, bounds, op, all) */
static void
call_quantified(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const char *op = function_argument(argv[2]).data;
    bool all = sqlite3_value_int(argv[3]), is;
    const struct slot *slot;

    (void)argc;
    /* No rows: x is greater than all of them and not greater than any. */
    if (sqlite3_value_type(argv[1]) == SQLITE_NULL) {
        sqlite3_result_int(c, all);
        return;
    }
    slot = find_value_slot(c, argv[1]);
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || !slot->low || !slot->high)
        return;
    is = is_quantified_true(
        op, all, function_compare(argv[0], slot->low, COMPARE_TEXT),
        function_compare(argv[0], slot->high, COMPARE_TEXT));
    /* A NULL among the rows leaves the answer open, unless one known row
     * decides it: a false one for ALL, a true one for ANY. */
    if (is != all || !slot->null)
        sqlite3_result_int(c, is);
}

const struct function slot_functions[] = {
    {"hw_case", 2, 2, call_case, RETURNS_BIGINT},
    {"hw_when", 2, 2, call_when, RETURNS_BIGINT},
    {"hw_kept", 1, 1, call_kept, RETURNS_FIRST},
    {"hw_bounds", 2, 2, step_bounds, RETURNS_BIGINT, finish_bounds},
    {"hw_quantified", 4, 4, call_quantified, RETURNS_BIGINT},
    {NULL},
};
