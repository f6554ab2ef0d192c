/*
 * tables_schema.c - databases and tables as MySQL lists them (SCHEMATA,
 * TABLES, SHOW DATABASES, TABLES, TABLE STATUS), read from the catalog.  A
 * session sees the tables that it may read.
 */
#include <string.h>

#include "catalog_tables.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "variables.h"

/* ---- databases ---- */

static void
produce_schemata(const struct catalog_scope *scope, struct rowset *out)
{
    const char *name;

    (void)scope;
    for (size_t i = 0; (name = catalog_database_at(i, false)) != NULL; i++) {
        ROWSET_TEXTS(out, "def", name, CATALOG_CHARSET, CATALOG_COLLATION, NULL,
                     "NO");
    }
}

static const struct catalog_column schemata[] = {
    {"CATALOG_NAME", &type_name},
    {"SCHEMA_NAME", &type_name},
    {"DEFAULT_CHARACTER_SET_NAME", &type_name_nn},
    {"DEFAULT_COLLATION_NAME", &type_name_nn},
    {"SQL_PATH", &type_name},
    {"DEFAULT_ENCRYPTION", &type_yes_no_nn},
};

static void
produce_schema_extensions(const struct catalog_scope *scope, struct rowset *out)
{
    const char *name;

    (void)scope;
    for (size_t i = 0; (name = catalog_database_at(i, false)) != NULL; i++) {
        ROWSET_TEXTS(out, "def", name, "READ ONLY=1");
    }
}

static const struct catalog_column schema_extensions[] = {
    {"CATALOG_NAME", &type_name},
    {"SCHEMA_NAME", &type_name},
    {"OPTIONS", &type_256},
};

static void
produce_databases(const struct catalog_scope *scope, struct rowset *out)
{
    const char *name;

    (void)scope;
    for (size_t i = 0; (name = catalog_database_at(i, false)) != NULL; i++)
        rowset_text(out, name);
}

static const struct catalog_column databases[] = {{"Database", &type_name}};

/* ---- tables ---- */

static bool
is_base(const struct catalog_table *table)
{
    return strcmp(table->database, "heapwire") == 0;
}

/* heapwire's tables are base tables, since tools show users no others. */
static const char *
type_of(const struct catalog_table *table)
{
    return is_base(table) ? "BASE TABLE" : "SYSTEM VIEW";
}

/* The columns from the engine to the collation, which TABLES and TABLE STATUS
 * share.  Nothing is stored, so tools that add up sizes find 0; how many rows
 * there are is unknown until a table is produced. */
static void
add_storage_columns(const struct catalog_scope *scope,
                    const struct catalog_table *table, struct rowset *out)
{
    rowset_text(out, is_base(table) ? variable_engine(scope->session) : NULL);
    rowset_int(out, 10);
    rowset_text(out, is_base(table) ? "Dynamic" : NULL);
    for (int i = 0; i < 6; i++)
        rowset_int(out, 0); /* rows, lengths */
    rowset_null(out);       /* AUTO_INCREMENT */
    rowset_time(out, scope->session->node->started_ms);
    rowset_nulls(out, 2);
    ROWSET_TEXTS(out, CATALOG_COLLATION, NULL, "",
                 table->comment ? table->comment : "");
}

static void
produce_tables(const struct catalog_scope *scope, struct rowset *out)
{
    for (size_t i = 0; i < catalog_count(); i++) {
        const struct catalog_table *table = catalog_at(i);

        if (!catalog_visible(scope->session, table))
            continue;
        ROWSET_TEXTS(out, "def", table->database, table->name, type_of(table));
        add_storage_columns(scope, table, out);
    }
}

static const struct catalog_column tables[] = {
    {"TABLE_CATALOG", &type_name},
    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},
    {"TABLE_TYPE", &type_name_nn},
    {"ENGINE", &type_name},
    {"VERSION", &type_int},
    {"ROW_FORMAT", &type_name},
    {"TABLE_ROWS", &type_ubigint},
    {"AVG_ROW_LENGTH", &type_ubigint},
    {"DATA_LENGTH", &type_ubigint},
    {"MAX_DATA_LENGTH", &type_ubigint},
    {"INDEX_LENGTH", &type_ubigint},
    {"DATA_FREE", &type_ubigint},
    {"AUTO_INCREMENT", &type_ubigint},
    {"CREATE_TIME", &type_timestamp_nn},
    {"UPDATE_TIME", &type_time},
    {"CHECK_TIME", &type_time},
    {"TABLE_COLLATION", &type_name},
    {"CHECKSUM", &type_bigint},
    {"CREATE_OPTIONS", &type_256},
    {"TABLE_COMMENT", &type_plain_text},
};

/* Lists the tables of the scope's database. */
static bool
is_shown(const struct catalog_scope *scope, const struct catalog_table *table)
{
    return strcmp(table->database, scope->database) == 0 &&
           catalog_visible(scope->session, table);
}

static void
produce_show_tables(const struct catalog_scope *scope, struct rowset *out)
{
    for (size_t i = 0; i < catalog_count(); i++) {
        if (!is_shown(scope, catalog_at(i)))
            continue;
        rowset_text(out, catalog_at(i)->name);
        if (scope->full)
            rowset_text(out, type_of(catalog_at(i)));
    }
}

/* The label of the first column ends with the database's name. */
static const struct catalog_column show_tables[] = {{"Tables_in", &type_name},
                                                    {"Table_type", &type_name}};

static void
produce_table_status(const struct catalog_scope *scope, struct rowset *out)
{
    for (size_t i = 0; i < catalog_count(); i++)
        if (is_shown(scope, catalog_at(i))) {
            rowset_text(out, catalog_at(i)->name);
            add_storage_columns(scope, catalog_at(i), out);
        }
}

static const struct catalog_column status[] = {
    {"Name", &type_name},
    {"Engine", &type_name},
    {"Version", &type_int},
    {"Row_format", &type_name},
    {"Rows", &type_ubigint},
    {"Avg_row_length", &type_ubigint},
    {"Data_length", &type_ubigint},
    {"Max_data_length", &type_ubigint},
    {"Index_length", &type_ubigint},
    {"Data_free", &type_ubigint},
    {"Auto_increment", &type_ubigint},
    {"Create_time", &type_timestamp_nn},
    {"Update_time", &type_time},
    {"Check_time", &type_time},
    {"Collation", &type_name},
    {"Checksum", &type_bigint},
    {"Create_options", &type_256},
    {"Comment", &type_plain_text},
};

const struct catalog_table tables_schema[] = {
    {"information_schema", "SCHEMATA", CATALOG_COLUMNS(schemata),
     produce_schemata},
    {"information_schema", "SCHEMATA_EXTENSIONS",
     CATALOG_COLUMNS(schema_extensions), produce_schema_extensions},
    {CATALOG_HIDDEN, "databases", CATALOG_COLUMNS(databases),
     produce_databases},
    {"information_schema", "TABLES", CATALOG_COLUMNS(tables), produce_tables},
    {CATALOG_HIDDEN, "tables", show_tables, 1, produce_show_tables},
    {CATALOG_HIDDEN, "full_tables", show_tables, 2, produce_show_tables},
    {CATALOG_HIDDEN, "table_status", CATALOG_COLUMNS(status),
     produce_table_status},
    {NULL},
};
