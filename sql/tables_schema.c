/* tables_schema.c - information_schema, told from the catalog itself. */
#include <string.h>

#include "catalog_tables.h"
#include "rowset.h"

static void
produce_schemata(const struct catalog_scope *scope, struct rowset *out)
{
    const char *name;

    (void)scope;
    for (size_t i = 0; (name = catalog_database_at(i, false)) != NULL; i++) {
        rowset_text(out, "def");
        rowset_text(out, name);
        rowset_text(out, "utf8mb4");
        rowset_text(out, "utf8mb4_general_ci");
        rowset_null(out);
        rowset_text(out, "NO");
    }
}

static const struct catalog_column schemata[] = {
    {"CATALOG_NAME", &type_name},
    {"SCHEMA_NAME", &type_name},
    {"DEFAULT_CHARACTER_SET_NAME", &type_name},
    {"DEFAULT_COLLATION_NAME", &type_name},
    {"SQL_PATH", &type_name},
    {"DEFAULT_ENCRYPTION", &type_name},
};

const struct catalog_table table_schemata = {
    "information_schema",      "SCHEMATA", "",
    CATALOG_COLUMNS(schemata), 0,          produce_schemata};

static bool
is_hidden(const struct catalog_table *table)
{
    return strcmp(table->database, CATALOG_HIDDEN) == 0;
}

static void
nulls(struct rowset *out, size_t count)
{
    while (count-- > 0)
        rowset_null(out);
}

static void
produce_tables(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < catalog_table_count; i++) {
        const struct catalog_table *table = catalog_tables[i];

        if (is_hidden(table))
            continue;
        rowset_text(out, "def");
        rowset_text(out, table->database);
        rowset_text(out, table->name);
        rowset_text(out, "SYSTEM VIEW");
        nulls(out, 3);
        rowset_int(out, 0); /* TABLE_ROWS: not known without making them */
        nulls(out, 9);
        rowset_text(out, "utf8mb4_general_ci");
        nulls(out, 1);
        rowset_text(out, "");
        rowset_text(out, table->comment);
    }
}

static const struct catalog_column tables[] = {
    {"TABLE_CATALOG", &type_name},
    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},
    {"TABLE_TYPE", &type_name},
    {"ENGINE", &type_name},
    {"VERSION", &type_bigint},
    {"ROW_FORMAT", &type_name},
    {"TABLE_ROWS", &type_bigint},
    {"AVG_ROW_LENGTH", &type_bigint},
    {"DATA_LENGTH", &type_bigint},
    {"MAX_DATA_LENGTH", &type_bigint},
    {"INDEX_LENGTH", &type_bigint},
    {"DATA_FREE", &type_bigint},
    {"AUTO_INCREMENT", &type_bigint},
    {"CREATE_TIME", &type_time},
    {"UPDATE_TIME", &type_time},
    {"CHECK_TIME", &type_time},
    {"TABLE_COLLATION", &type_name},
    {"CHECKSUM", &type_bigint},
    {"CREATE_OPTIONS", &type_text},
    {"TABLE_COMMENT", &type_text},
};

const struct catalog_table table_schema_tables = {
    "information_schema",    "TABLES", "",
    CATALOG_COLUMNS(tables), 0,        produce_tables};

/* "varchar" of "varchar(64)". */
static void
add_data_type(struct rowset *out, const struct catalog_type *type)
{
    rowset_bytes(out, type->name, strcspn(type->name, "("));
}

static void
add_column(struct rowset *out, const struct catalog_table *table, size_t at)
{
    const struct catalog_column *column = &table->columns[at];
    bool text = strncmp(column->type->name, "varchar", 7) == 0;
    bool number = column->type->type == COLUMN_BIGINT;

    rowset_text(out, "def");
    rowset_text(out, table->database);
    rowset_text(out, table->name);
    rowset_text(out, column->name);
    rowset_int(out, (int64_t)at + 1);
    rowset_null(out);
    rowset_text(out, "YES");
    add_data_type(out, column->type);
    if (text) {
        rowset_int(out, column->type->width);
        rowset_int(out, (int64_t)column->type->width * 4);
    } else {
        nulls(out, 2);
    }
    if (number) {
        rowset_int(out, 19);
        rowset_int(out, 0);
    } else {
        nulls(out, 2);
    }
    nulls(out, 1);
    if (text) {
        rowset_text(out, "utf8mb4");
        rowset_text(out, "utf8mb4_general_ci");
    } else {
        nulls(out, 2);
    }
    rowset_text(out, column->type->name);
    rowset_text(out, "");
    rowset_text(out, "");
    rowset_text(out, "select");
    rowset_text(out, "");
    rowset_text(out, "");
    rowset_null(out);
}

static void
produce_columns(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < catalog_table_count; i++)
        for (size_t c = 0; !is_hidden(catalog_tables[i]) &&
                           c < catalog_tables[i]->column_count;
             c++)
            add_column(out, catalog_tables[i], c);
}

static const struct catalog_column columns[] = {
    {"TABLE_CATALOG", &type_name},
    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},
    {"COLUMN_NAME", &type_name},
    {"ORDINAL_POSITION", &type_bigint},
    {"COLUMN_DEFAULT", &type_text},
    {"IS_NULLABLE", &type_name},
    {"DATA_TYPE", &type_name},
    {"CHARACTER_MAXIMUM_LENGTH", &type_bigint},
    {"CHARACTER_OCTET_LENGTH", &type_bigint},
    {"NUMERIC_PRECISION", &type_bigint},
    {"NUMERIC_SCALE", &type_bigint},
    {"DATETIME_PRECISION", &type_bigint},
    {"CHARACTER_SET_NAME", &type_name},
    {"COLLATION_NAME", &type_name},
    {"COLUMN_TYPE", &type_name},
    {"COLUMN_KEY", &type_name},
    {"EXTRA", &type_name},
    {"PRIVILEGES", &type_name},
    {"COLUMN_COMMENT", &type_text},
    {"GENERATION_EXPRESSION", &type_text},
    {"SRS_ID", &type_bigint},
};

const struct catalog_table table_schema_columns = {
    "information_schema",     "COLUMNS", "",
    CATALOG_COLUMNS(columns), 0,         produce_columns};
