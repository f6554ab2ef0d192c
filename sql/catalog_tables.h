/* catalog_tables.h - every table's definition, by the file that has it. */
#ifndef HW_CATALOG_TABLES_H
#define HW_CATALOG_TABLES_H

#include "catalog.h"

struct sql_session_row;

/* The host's sessions, all of them; the caller frees *out, NULL without
 * memory. */
size_t sessions_list(const struct sql_session *session,
                     struct sql_session_row **out);

/* tables_node.c */
extern const struct catalog_table table_nodes;
extern const struct catalog_table table_profiler;
extern const struct catalog_table table_show_backends;
extern const struct catalog_table table_show_compute_nodes;

/* tables_heap.c */
extern const struct catalog_table table_heap_frames;
extern const struct catalog_table table_heap_functions;
extern const struct catalog_table table_heap_stacks;

/* tables_snapshots.c */
extern const struct catalog_table table_snapshots;

/* tables_malloc.c */
extern const struct catalog_table table_malloc_stats;
extern const struct catalog_table table_malloc_bins;
extern const struct catalog_table table_malloc_arenas;

/* tables_memory.c */
extern const struct catalog_table table_memory;

/* tables_sessions.c */
extern const struct catalog_table table_sessions;
extern const struct catalog_table table_processlist;
extern const struct catalog_table table_show_processlist;

/* tables_schema.c */
extern const struct catalog_table table_schemata;
extern const struct catalog_table table_schema_tables;
extern const struct catalog_table table_schema_columns;

/* tables_show.c */
extern const struct catalog_table table_show_databases;
extern const struct catalog_table table_show_tables;
extern const struct catalog_table table_show_full_tables;
extern const struct catalog_table table_show_variables;
extern const struct catalog_table table_show_status;
extern const struct catalog_table table_show_warnings;

#endif
