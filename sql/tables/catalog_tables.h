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

extern const struct catalog_table tables_accounts[];
extern const struct catalog_table tables_budgets[];
extern const struct catalog_table tables_cpu[];
extern const struct catalog_table tables_diagnosis[];
extern const struct catalog_table tables_heap[];
extern const struct catalog_table tables_levers[];
extern const struct catalog_table tables_malloc[];
extern const struct catalog_table tables_mappings[];
extern const struct catalog_table tables_memory[];
extern const struct catalog_table tables_node[];
extern const struct catalog_table tables_nodes[];
extern const struct catalog_table tables_samples[];
extern const struct catalog_table tables_snapshots[];
extern const struct catalog_table tables_symbols[];
extern const struct catalog_table tables_threads[];
extern const struct catalog_table tables_trend[];
extern const struct catalog_table tables_waste[];

/* mysql/ */
extern const struct catalog_table tables_constant[];
extern const struct catalog_table tables_columns[];
extern const struct catalog_table tables_privileges[];
extern const struct catalog_table tables_routines[];
extern const struct catalog_table tables_schema[];
extern const struct catalog_table tables_show[];

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
