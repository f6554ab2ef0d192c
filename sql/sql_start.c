/*
 * sql_start.c - registers all tables with the catalog, which lies below them.
 */
#include "sql.h"

#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "catalog_tables.h"

static const struct catalog_table *const listed[] = {
    &table_allocators,
    &table_audit_log,
    &table_cluster_allocators,
    &table_cluster_heap_functions,
    &table_cluster_malloc_stats,
    &table_cluster_memory,
    &table_cluster_profiler,
    &table_cluster_snapshots,
    &table_deaths,
    &table_heap_diff,
    &table_heap_frames,
    &table_heap_functions,
    &table_heap_stacks,
    &table_malloc_arenas,
    &table_malloc_bins,
    &table_malloc_stats,
    &table_mappings,
    &table_memory,
    &table_memory_history,
    &table_nodes,
    &table_profiler,
    &table_sessions,
    &table_settings,
    &table_snapshots,
    &table_symbol_indexes,
    &table_users,
    &table_charsets,
    &table_collations,
    &table_applicability,
    &table_schema_columns,
    &table_engines,
    &table_keywords,
    &table_key_column_usage,
    &table_parameters,
    &table_plugins,
    &table_processlist,
    &table_routines,
    &table_schemata,
    &table_schemata_extensions,
    &table_schema_privileges,
    &table_statistics,
    &table_schema_tables,
    &table_table_constraints,
    &table_user_privileges,
    &table_mysql_user,
    &table_performance_global_status,
    &table_performance_global_variables,
    &table_performance_status,
    &table_performance_variables,
    &table_show_backends,
    &table_show_charsets,
    &table_show_collations,
    &table_show_columns,
    &table_show_compute_nodes,
    &table_show_create_database,
    &table_show_create_function,
    &table_show_create_procedure,
    &table_show_create_table,
    &table_show_databases,
    &table_show_engines,
    &table_show_error_count,
    &table_show_errors,
    &table_show_full_columns,
    &table_show_full_tables,
    &table_show_functions,
    &table_show_grants,
    &table_show_help_topic,
    &table_show_index,
    &table_show_plugins,
    &table_show_privileges,
    &table_show_procedures,
    &table_show_processlist,
    &table_show_status,
    &table_show_table_status,
    &table_show_tables,
    &table_show_variables,
    &table_show_warning_count,
    &table_show_warnings,
};

static const struct catalog_table *tables[CATALOG_TABLES_MAX];

/* By name within each database, as SHOW TABLES lists them. */
static int
by_name(const void *left, const void *right)
{
    const struct catalog_table *a = *(const struct catalog_table *const *)left;
    const struct catalog_table *b = *(const struct catalog_table *const *)right;
    int order = strcmp(a->database, b->database);

    return order ? order : strcmp(a->name, b->name);
}

void
sql_start(void)
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
        tables[count++] = listed[i];
    for (size_t i = 0; i < empty_table_count; i++)
        tables[count++] = empty_tables[i];
    qsort(tables, count, sizeof(tables[0]), by_name);
    catalog_start(tables, count);
}
