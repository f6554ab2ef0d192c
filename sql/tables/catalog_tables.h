/*
 * catalog_tables.h - the definitions of all tables, a list for each file of the
 * same name.  A table without a database ends it.
 */
#ifndef HW_CATALOG_TABLES_H
#define HW_CATALOG_TABLES_H

#include "catalog.h"
#include "controller.h"

struct error;
struct heap_position;
struct sql_session_row;
struct value;

/* Those of mysql/ are the last six. */
#define CATALOG_LISTS(LIST)                                                    \
    LIST(tables_accounts)                                                      \
    LIST(tables_budgets)                                                       \
    LIST(tables_cpu)                                                           \
    LIST(tables_diagnosis)                                                     \
    LIST(tables_heap)                                                          \
    LIST(tables_levers)                                                        \
    LIST(tables_malloc)                                                        \
    LIST(tables_mappings)                                                      \
    LIST(tables_memory)                                                        \
    LIST(tables_node)                                                          \
    LIST(tables_nodes)                                                         \
    LIST(tables_samples)                                                       \
    LIST(tables_snapshots)                                                     \
    LIST(tables_symbols)                                                       \
    LIST(tables_threads)                                                       \
    LIST(tables_trend)                                                         \
    LIST(tables_waste)                                                         \
    LIST(tables_constant)                                                      \
    LIST(tables_columns)                                                       \
    LIST(tables_privileges)                                                    \
    LIST(tables_routines)                                                      \
    LIST(tables_schema)                                                        \
    LIST(tables_show)

#define CATALOG_LIST(list) extern const struct catalog_table list[];
CATALOG_LISTS(CATALOG_LIST)
#undef CATALOG_LIST

/* tables_heap.c: the cells of heap_functions and heap_stacks. */
void heap_functions_cell(struct heap_position *position, size_t column,
                         struct value *out);
void heap_stacks_cell(struct heap_position *position, size_t column,
                      struct value *out);

/* tables_accounts.c: finds an account of the configuration file; -1 with
 * 1141. */
int grantee_find(const struct sql_session *session, struct span name,
                 struct sql_identity *out, struct error *err);
/* tables_accounts.c: lists all sessions of the host; the caller frees *out,
 * which is NULL without memory. */
size_t sessions_list(const struct sql_session *session,
                     struct sql_session_row **out);
/* tables_routines.c: finds a routine; returns its name, or NULL. */
const char *routine_find(const char *database, struct span name,
                         bool procedure);

/* "connected", ... */
const char *node_state_name(enum node_state state);
/* Explains in *why what keeps profiling from being switched on; "": nothing
 * does. */
const char *node_explain(const struct node_status *status, struct error *why);

#endif
