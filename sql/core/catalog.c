/* catalog.c - see catalog.h. */
#include "catalog.h"

#include <string.h>

#include "catalog_tables.h"
#include "errors.h"
#include "sql_session.h"

enum { SHOWN = 64 }; /* bytes of an unknown name in its error */

const struct catalog_type type_bigint = {"bigint", COLUMN_BIGINT, 20, 0};
const struct catalog_type type_ubigint = {"bigint unsigned", COLUMN_BIGINT, 20,
                                          COLUMN_UNSIGNED};
const struct catalog_type type_int = {"int", COLUMN_INT, 11, 0};
const struct catalog_type type_uint = {"int unsigned", COLUMN_INT, 10,
                                       COLUMN_UNSIGNED};
const struct catalog_type type_double = {"double", COLUMN_DOUBLE, 22, 0};
const struct catalog_type type_name = {"varchar(64)", COLUMN_TEXT, 64, 0};
const struct catalog_type type_text = {"varchar(1024)", COLUMN_TEXT, 1024, 0};
const struct catalog_type type_longtext = {"longtext", COLUMN_LONGTEXT, 65535,
                                           0};
const struct catalog_type type_time = {"datetime", COLUMN_DATETIME, 19, 0};
const struct catalog_type type_boolean = {"tinyint(1)", COLUMN_TINYINT, 1, 0};

static const char *const databases[] = {"heapwire", "information_schema",
                                        CATALOG_MYSQL, CATALOG_PERFORMANCE,
                                        CATALOG_HIDDEN};

enum { DATABASES = sizeof(databases) / sizeof(databases[0]), HIDDEN = 3 };

const struct catalog_table *const catalog_tables[] = {
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
    /* information_schema, by name */
    &table_administrable_roles,
    &table_applicable_roles,
    &table_charsets,
    &table_check_constraints,
    &table_collations,
    &table_applicability,
    &table_schema_columns,
    &table_columns_extensions,
    &table_column_privileges,
    &table_column_statistics,
    &table_enabled_roles,
    &table_engines,
    &table_events,
    &table_files,
    &table_innodb_cmp,
    &table_innodb_cmpmem,
    &table_innodb_metrics,
    &table_innodb_tables,
    &table_innodb_trx,
    &table_keywords,
    &table_key_column_usage,
    &table_optimizer_trace,
    &table_parameters,
    &table_partitions,
    &table_plugins,
    &table_processlist,
    &table_profiling,
    &table_referential_constraints,
    &table_resource_groups,
    &table_routines,
    &table_schemata,
    &table_schemata_extensions,
    &table_schema_privileges,
    &table_statistics,
    &table_geometry_columns,
    &table_schema_tables,
    &table_tablespaces,
    &table_tables_extensions,
    &table_table_constraints,
    &table_table_privileges,
    &table_triggers,
    &table_user_attributes,
    &table_user_privileges,
    &table_views,
    &table_view_routine_usage,
    &table_view_table_usage,
    /* mysql */
    &table_columns_priv,
    &table_mysql_db,
    &table_tables_priv,
    &table_mysql_user,
    /* of SHOW */
    &table_performance_appliers,
    &table_performance_digests,
    &table_performance_file_events,
    &table_performance_files,
    &table_performance_global_status,
    &table_performance_global_variables,
    &table_performance_index_io,
    &table_performance_locks,
    &table_performance_member_stats,
    &table_performance_members,
    &table_performance_memory,
    &table_performance_status,
    &table_performance_table_io,
    &table_performance_variables,
    &table_performance_waits,
    &table_show_backends,
    &table_show_binary_logs,
    &table_show_charsets,
    &table_show_collations,
    &table_show_columns,
    &table_show_compute_nodes,
    &table_show_create_database,
    &table_show_create_function,
    &table_show_create_procedure,
    &table_show_create_table,
    &table_show_create_view,
    &table_show_databases,
    &table_show_engine_status,
    &table_show_engines,
    &table_show_error_count,
    &table_show_errors,
    &table_show_events,
    &table_show_explain,
    &table_show_explain_text,
    &table_show_full_columns,
    &table_show_full_tables,
    &table_show_functions,
    &table_show_grants,
    &table_show_help,
    &table_show_help_topic,
    &table_show_index,
    &table_show_maintenance,
    &table_show_master_status,
    &table_show_open_tables,
    &table_show_plugins,
    &table_show_privileges,
    &table_show_procedures,
    &table_show_processlist,
    &table_show_profiles,
    &table_show_replica_status,
    &table_show_replicas,
    &table_show_slave_status,
    &table_show_status,
    &table_show_table_status,
    &table_show_tables,
    &table_show_triggers,
    &table_show_variables,
    &table_show_warning_count,
    &table_show_warnings,
};

const size_t catalog_table_count =
    sizeof(catalog_tables) / sizeof(catalog_tables[0]);

uint16_t
catalog_flags(const struct catalog_table *table, size_t i)
{
    const struct catalog_column *column = &table->columns[i];
    uint16_t own = table->of && i > 0 ? 0 : column->flags;

    return column->type->flags | own;
}

bool
catalog_has_key(const struct catalog_table *table)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (catalog_flags(table, i) & COLUMN_PRI_KEY)
            return true;
    return false;
}

size_t
catalog_index(const struct catalog_table *table)
{
    size_t i = 0;

    while (catalog_tables[i] != table)
        i++;
    return i;
}

void
table_set_add(struct table_set *set, size_t index)
{
    set->bits[index / 64] |= UINT64_C(1) << index % 64;
}

bool
table_set_has(const struct table_set *set, size_t index)
{
    return set->bits[index / 64] >> index % 64 & 1;
}

bool
table_set_has_all(const struct table_set *set, const struct table_set *of)
{
    for (size_t i = 0; i < sizeof(set->bits) / sizeof(set->bits[0]); i++)
        if (of->bits[i] & ~set->bits[i])
            return false;
    return true;
}

const char *
catalog_database_at(size_t i, bool hidden)
{
    return i < (size_t)(hidden ? DATABASES : DATABASES - HIDDEN) ? databases[i]
                                                                 : NULL;
}

const char *
catalog_database(struct span name)
{
    for (size_t i = 0; catalog_database_at(i, false); i++)
        if (span_is_nocase(name, databases[i]))
            return databases[i];
    return NULL;
}

bool
catalog_unlisted(const char *database)
{
    return strcmp(database, CATALOG_MYSQL) == 0 ||
           strcmp(database, CATALOG_PERFORMANCE) == 0;
}

bool
catalog_visible(const struct sql_session *session,
                const struct catalog_table *table)
{
    return strcmp(table->database, CATALOG_HIDDEN) != 0 &&
           !catalog_unlisted(table->database) &&
           (table->privilege & ~session->who.privileges) == 0;
}

void
catalog_nothing(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    (void)out;
}

static int
shown(struct span name)
{
    return (int)(name.size < SHOWN ? name.size : SHOWN);
}

int
catalog_unknown_database(struct span name, struct error *err)
{
    error_set(err, ER_BAD_DB, "Unknown database '%.*s'", shown(name),
              name.data);
    return -1;
}

const struct catalog_table *
catalog_table(const char *database, struct span name, struct error *err)
{
    for (size_t i = 0; i < catalog_table_count; i++)
        if (strcmp(catalog_tables[i]->database, database) == 0 &&
            span_is_nocase(name, catalog_tables[i]->name))
            return catalog_tables[i];
    error_set(err, ER_NO_SUCH_TABLE, "Table '%s.%.*s' doesn't exist", database,
              shown(name), name.data);
    return NULL;
}

/* Those that are listed nowhere, too. */
static const char *
find_named(struct span name)
{
    if (span_is_nocase(name, CATALOG_MYSQL))
        return CATALOG_MYSQL;
    if (span_is_nocase(name, CATALOG_PERFORMANCE))
        return CATALOG_PERFORMANCE;
    return catalog_database(name);
}

const struct catalog_table *
catalog_resolve(const struct sql_session *session, const struct span *database,
                struct span name, struct error *err)
{
    const char *in = session->database;

    if (database) {
        in = find_named(*database);
        if (!in) {
            catalog_unknown_database(*database, err);
            return NULL;
        }
    } else if (!*in) {
        error_set(err, ER_NO_DB, "No database selected");
        return NULL;
    }
    return catalog_table(in, name, err);
}
