/* catalog_tables.h - every table's definition, by the file that has it. */
#ifndef HW_CATALOG_TABLES_H
#define HW_CATALOG_TABLES_H

#include "catalog.h"

struct sql_session_row;

/* tables_accounts.c */
extern const struct catalog_table table_audit_log;
extern const struct catalog_table table_settings;
extern const struct catalog_table table_users;
/* Finds an account of the configuration file; -1 with 1141. */
int grantee_find(const struct sql_session *session, struct span name,
                 struct sql_identity *out, struct error *err);

/* tables_allocators.c */
extern const struct catalog_table table_allocators;
extern const struct catalog_table table_cluster_allocators;

/* tables_deaths.c */
extern const struct catalog_table table_deaths;

/* tables_diff.c */
extern const struct catalog_table table_heap_diff;

/* tables_heap.c */
extern const struct catalog_table table_cluster_heap_functions;
extern const struct catalog_table table_heap_frames;
extern const struct catalog_table table_heap_functions;
extern const struct catalog_table table_heap_stacks;

/* tables_history.c */
extern const struct catalog_table table_memory_history;

/* tables_malloc.c */
extern const struct catalog_table table_cluster_malloc_stats;
extern const struct catalog_table table_malloc_arenas;
extern const struct catalog_table table_malloc_bins;
extern const struct catalog_table table_malloc_stats;

/* tables_mappings.c */
extern const struct catalog_table table_mappings;

/* tables_memory.c */
extern const struct catalog_table table_cluster_memory;
extern const struct catalog_table table_memory;

/* tables_node.c */
extern const struct catalog_table table_cluster_profiler;
extern const struct catalog_table table_profiler;

/* tables_nodes.c */
extern const struct catalog_table table_nodes;
extern const struct catalog_table table_show_backends;
extern const struct catalog_table table_show_compute_nodes;

/* tables_sessions.c */
extern const struct catalog_table table_processlist;
extern const struct catalog_table table_sessions;
extern const struct catalog_table table_show_processlist;
/* Lists all sessions of the host; the caller frees *out, which is NULL without
 * memory. */
size_t sessions_list(const struct sql_session *session,
                     struct sql_session_row **out);

/* tables_snapshots.c */
extern const struct catalog_table table_cluster_snapshots;
extern const struct catalog_table table_snapshots;

/* tables_symbols.c */
extern const struct catalog_table table_symbol_indexes;

/* mysql/tables_charset.c */
extern const struct catalog_table table_applicability;
extern const struct catalog_table table_charsets;
extern const struct catalog_table table_collations;
extern const struct catalog_table table_show_charsets;
extern const struct catalog_table table_show_collations;

/* mysql/tables_columns.c */
extern const struct catalog_table table_schema_columns;
extern const struct catalog_table table_show_columns;
extern const struct catalog_table table_show_full_columns;

/* mysql/tables_empty.c */
extern const struct catalog_table *const empty_tables[];
extern const size_t empty_table_count;

/* mysql/tables_engines.c */
extern const struct catalog_table table_engines;
extern const struct catalog_table table_plugins;
extern const struct catalog_table table_show_engines;
extern const struct catalog_table table_show_plugins;

/* mysql/tables_help.c */
extern const struct catalog_table table_show_help_topic;

/* mysql/tables_keys.c */
extern const struct catalog_table table_key_column_usage;
extern const struct catalog_table table_show_index;
extern const struct catalog_table table_statistics;
extern const struct catalog_table table_table_constraints;

/* mysql/tables_keywords.c */
extern const struct catalog_table table_keywords;

/* mysql/tables_mysql.c */
extern const struct catalog_table table_mysql_user;

/* mysql/tables_privileges.c */
extern const struct catalog_table table_schema_privileges;
extern const struct catalog_table table_show_grants;
extern const struct catalog_table table_show_privileges;
extern const struct catalog_table table_user_privileges;

/* mysql/tables_routines.c */
extern const struct catalog_table table_parameters;
extern const struct catalog_table table_routines;
extern const struct catalog_table table_show_create_function;
extern const struct catalog_table table_show_create_procedure;
extern const struct catalog_table table_show_functions;
extern const struct catalog_table table_show_procedures;
/* Finds a routine; returns its name, or NULL. */
const char *routine_find(const char *database, struct span name,
                         bool procedure);

/* mysql/tables_schema.c */
extern const struct catalog_table table_schema_tables;
extern const struct catalog_table table_schemata;
extern const struct catalog_table table_schemata_extensions;
extern const struct catalog_table table_show_databases;
extern const struct catalog_table table_show_full_tables;
extern const struct catalog_table table_show_table_status;
extern const struct catalog_table table_show_tables;

/* mysql/tables_show.c */
extern const struct catalog_table table_performance_global_status;
extern const struct catalog_table table_performance_global_variables;
extern const struct catalog_table table_performance_status;
extern const struct catalog_table table_performance_variables;
extern const struct catalog_table table_show_error_count;
extern const struct catalog_table table_show_errors;
extern const struct catalog_table table_show_status;
extern const struct catalog_table table_show_variables;
extern const struct catalog_table table_show_warning_count;
extern const struct catalog_table table_show_warnings;

/* mysql/tables_show_create.c */
extern const struct catalog_table table_show_create_database;
extern const struct catalog_table table_show_create_table;

#endif
