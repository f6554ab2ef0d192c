/* select_vtab_plan.c - see select_vtab_plan.h. */
#include "select_vtab_plan.h"

#include <stdbool.h>

#include "catalog.h"
#include "heap_walk.h"

enum {
    ROWS_GUESS = 100, /* of a produced table */
    /* More than any plan that knows the snapshot's name in advance. */
    UNNAMED_COST = 1000000000
};

static bool
is_equality(unsigned op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ ||
           op == SQLITE_INDEX_CONSTRAINT_IS ||
           op == SQLITE_INDEX_CONSTRAINT_FUNCTION;
}

/* Notes that the statement mentions the column of snapshots in another way than
 * =. */
static int
use_of(int column, const sqlite3_index_info *info)
{
    int use = info->colUsed & (sqlite3_uint64)1 << column ? READS_SNAPSHOT : 0;

    for (int i = 0; i < info->nConstraint; i++)
        if (info->aConstraint[i].iColumn == column &&
            info->aConstraint[i].op < SQLITE_INDEX_CONSTRAINT_LIMIT &&
            !is_equality(info->aConstraint[i].op))
            use |= NAMES_SNAPSHOT;
    return use;
}

/*
 * Uses terms on names and the key; SQLite checks them again.  Without a name
 * the fresh snapshot is read, or all of them.  So where any term gives the
 * name, from another table or in each half of an OR, that plan must win.
 */
static void
plan_walk(const struct heap_walk *walk, sqlite3_index_info *info)
{
    static const int plain[] = {BY_SNAPSHOT, BY_KEY},
                     compares[] = {BY_SNAPSHOT, BY_BASE, BY_KEY};
    const int *bits = walk->compares ? compares : plain;
    int columns = walk->compares  ? 3
                  : walk->keyless ? 1
                                  : 2,
        at[3] = {-1, -1, -1}, values = 0;

    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;

        if (info->aConstraint[i].usable && column >= 0 && column < columns &&
            is_equality(info->aConstraint[i].op))
            at[column] = i;
    }
    for (int column = 0; column < columns; column++)
        if (at[column] >= 0) {
            info->aConstraintUsage[at[column]].argvIndex = ++values;
            info->idxNum |= bits[column];
        }
    info->idxNum |= use_of(0, info);
    info->estimatedRows =
        info->idxNum & BY_KEY ? walk->rows_of_key : walk->rows;
    info->estimatedCost = (double)info->estimatedRows + 1;
    for (int column = 0; column < columns; column++)
        if (at[column] < 0 && bits[column] != BY_KEY)
            info->estimatedCost *= UNNAMED_COST;
}

/*
 * Whether the statement itself names the nodes: only then they alone are asked.
 * Nodes from another table's rows would be asked one after the other, and one
 * that does not answer would fail the statement.
 */
static bool
names_nodes(sqlite3_index_info *info, int i)
{
    sqlite3_value *value;

    if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn != 0 ||
        (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ &&
         info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_FUNCTION))
        return false;
    if (sqlite3_vtab_in(info, i, -1)) /* take a whole list at once */
        return sqlite3_vtab_in(info, i, 1) != 0;
    return sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK;
}

/* Chooses the nodes to ask, and the snapshot. */
static void
plan_nodes(const struct catalog_table *of, sqlite3_index_info *info)
{
    int snapshot = -1, node = -1, values = 0;

    for (int i = 0; i < info->nConstraint; i++) {
        if (node < 0 && names_nodes(info, i))
            node = i;
        else if (of->walk && info->aConstraint[i].usable &&
                 info->aConstraint[i].iColumn == 1 &&
                 is_equality(info->aConstraint[i].op))
            snapshot = i;
    }
    info->estimatedRows = ROWS_GUESS;
    info->estimatedCost = ROWS_GUESS;
    info->idxNum = use_of(1, info);
    if (snapshot >= 0) {
        info->aConstraintUsage[snapshot].argvIndex = ++values;
        info->idxNum |= BY_SNAPSHOT;
    } else if (of->walk) {
        info->estimatedCost *= UNNAMED_COST;
    }
    if (node >= 0) {
        info->aConstraintUsage[node].argvIndex = ++values;
        info->idxNum |= BY_NODE;
    } else {
        info->estimatedCost *= ROWS_GUESS;
    }
}

void
select_vtab_plan(const struct catalog_table *table, sqlite3_index_info *info)
{
    if (table->walk) {
        plan_walk(table->walk, info);
    } else if (table->of) {
        plan_nodes(table->of, info);
    } else {
        info->estimatedCost = ROWS_GUESS;
        info->estimatedRows = ROWS_GUESS;
    }
}
