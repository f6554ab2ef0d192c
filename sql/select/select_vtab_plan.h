/*
 * select_vtab_plan.h - chooses the rows of a table that SQLite asks for.
 *
 * From a statement's terms it takes those that a table answers by itself: names
 * of snapshots, a key, nodes.  SQLite checks them again.
 */
#ifndef HW_SELECT_VTAB_PLAN_H
#define HW_SELECT_VTAB_PLAN_H

#include <sqlite3.h>

struct catalog_table;

/* How xFilter finds its rows; the values arrive in this order. */
enum {
    BY_SNAPSHOT = 1,
    BY_BASE = 2,
    BY_KEY = 4,
    BY_NODE = 8,
    READS_SNAPSHOT =
        16, /* no value: the statement mentions the column of snapshots */
    NAMES_SNAPSHOT = 32 /* no value: a condition on that column gives no name */
};

/* Fills info for xBestIndex. */
void select_vtab_plan(const struct catalog_table *table,
                      sqlite3_index_info *info);

#endif
