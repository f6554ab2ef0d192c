/*
 * select_vtab_plan.h - which rows of a table SQLite is to ask for.
 *
 * Of the terms of a statement it takes those that a table answers by itself:
 * snapshots' names, a key, nodes.  SQLite checks them again.
 */
#ifndef HW_SELECT_VTAB_PLAN_H
#define HW_SELECT_VTAB_PLAN_H

#include <sqlite3.h>

struct catalog_table;

/* How xFilter finds its rows; the values come in this order. */
enum {
    BY_SNAPSHOT = 1,
    BY_BASE = 2,
    BY_KEY = 4,
    BY_NODE = 8,
    READS_SNAPSHOT =
        16,             /* no value: the statement has to do with its column, */
    NAMES_SNAPSHOT = 32 /* and a condition is about it that gives no name */
};

/* Fills info, as xBestIndex does. */
void select_vtab_plan(const struct catalog_table *table,
                      sqlite3_index_info *info);

#endif
