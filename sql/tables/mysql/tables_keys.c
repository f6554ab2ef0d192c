/*
 * tables_keys.c - primary keys, read from the catalog: STATISTICS and SHOW
 * INDEX, KEY_COLUMN_USAGE, TABLE_CONSTRAINTS.  There are no other keys.
 */
#include "catalog_tables.h"
#include "rowset.h"

/* Calls add for each column of a key; n counts them from 1. */
static void
each_column(const struct catalog_table *table, struct rowset *out,
            void (*add)(const struct catalog_table *table, const char *column,
                        int64_t n, struct rowset *out))
{
    int64_t n = 0;

    for (size_t i = 0; i < table->column_count; i++)
        if (catalog_flags(table, i) & COLUMN_PRI_KEY)
            add(table, table->columns[i].name, ++n, out);
}

static void
each_visible(const struct catalog_scope *scope, struct rowset *out,
             void (*add)(const struct catalog_table *table, const char *column,
                         int64_t n, struct rowset *out))
{
    for (size_t i = 0; i < catalog_count(); i++)
        if (catalog_visible(scope->session, catalog_at(i)))
            each_column(catalog_at(i), out, add);
}

/* The columns from Collation to Expression, which STATISTICS and SHOW INDEX
 * share. */
static void
add_facts(struct rowset *out)
{
    rowset_text(out, "A");
    /* unknown, since counting would mean producing the table */
    rowset_nulls(out, 3);
    ROWSET_TEXTS(out, "", "BTREE", "", "", "YES", NULL);
}

static void
add_statistic(const struct catalog_table *table, const char *column, int64_t n,
              struct rowset *out)
{
    ROWSET_TEXTS(out, "def", table->database, table->name);
    rowset_int(out, 0);
    ROWSET_TEXTS(out, table->database, "PRIMARY");
    rowset_int(out, n);
    rowset_text(out, column);
    add_facts(out);
}

static void
produce_statistics(const struct catalog_scope *scope, struct rowset *out)
{
    each_visible(scope, out, add_statistic);
}

static const struct catalog_column statistics[] = {
    {"TABLE_CATALOG", &type_name},   {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},      {"NON_UNIQUE", &type_int_nn},
    {"INDEX_SCHEMA", &type_name},    {"INDEX_NAME", &type_name},
    {"SEQ_IN_INDEX", &type_uint_nn}, {"COLUMN_NAME", &type_name},
    {"COLLATION", &type_name},       {"CARDINALITY", &type_bigint},
    {"SUB_PART", &type_bigint},      {"PACKED", &type_name},
    {"NULLABLE", &type_yes_no_nn},   {"INDEX_TYPE", &type_name_nn},
    {"COMMENT", &type_name_nn},      {"INDEX_COMMENT", &type_2048_nn},
    {"IS_VISIBLE", &type_yes_no_nn}, {"EXPRESSION", &type_longtext},
};

static void
add_usage(const struct catalog_table *table, const char *column, int64_t n,
          struct rowset *out)
{
    ROWSET_TEXTS(out, "def", table->database, "PRIMARY", "def", table->database,
                 table->name, column);
    rowset_int(out, n);
    rowset_nulls(out, 4);
}

static void
produce_usage(const struct catalog_scope *scope, struct rowset *out)
{
    each_visible(scope, out, add_usage);
}

static const struct catalog_column key_column_usage[] = {
    {"CONSTRAINT_CATALOG", &type_name},
    {"CONSTRAINT_SCHEMA", &type_name},
    {"CONSTRAINT_NAME", &type_name},
    {"TABLE_CATALOG", &type_name},
    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},
    {"COLUMN_NAME", &type_name},
    {"ORDINAL_POSITION", &type_uint_nn},
    {"POSITION_IN_UNIQUE_CONSTRAINT", &type_uint},
    {"REFERENCED_TABLE_SCHEMA", &type_name},
    {"REFERENCED_TABLE_NAME", &type_name},
    {"REFERENCED_COLUMN_NAME", &type_name},
};

static void
add_constraint(const struct catalog_table *table, const char *column, int64_t n,
               struct rowset *out)
{
    (void)column;
    if (n > 1)
        return;
    ROWSET_TEXTS(out, "def", table->database, "PRIMARY", table->database,
                 table->name, "PRIMARY KEY", "YES");
}

static void
produce_constraints(const struct catalog_scope *scope, struct rowset *out)
{
    each_visible(scope, out, add_constraint);
}

static const struct catalog_column table_constraints[] = {
    {"CONSTRAINT_CATALOG", &type_name}, {"CONSTRAINT_SCHEMA", &type_name},
    {"CONSTRAINT_NAME", &type_name},    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},         {"CONSTRAINT_TYPE", &type_name_nn},
    {"ENFORCED", &type_yes_no_nn},
};

static void
add_index(const struct catalog_table *table, const char *column, int64_t n,
          struct rowset *out)
{
    rowset_text(out, table->name);
    rowset_int(out, 0);
    rowset_text(out, "PRIMARY");
    rowset_int(out, n);
    rowset_text(out, column);
    add_facts(out);
}

static void
produce_show(const struct catalog_scope *scope, struct rowset *out)
{
    each_column(scope->table, out, add_index);
}

static const struct catalog_column show_index[] = {
    {"Table", &type_name_nn},         {"Non_unique", &type_int_nn},
    {"Key_name", &type_name_nn},      {"Seq_in_index", &type_uint_nn},
    {"Column_name", &type_name},      {"Collation", &type_name},
    {"Cardinality", &type_bigint},    {"Sub_part", &type_bigint},
    {"Packed", &type_name},           {"Null", &type_yes_no_nn},
    {"Index_type", &type_name_nn},    {"Comment", &type_name_nn},
    {"Index_comment", &type_2048_nn}, {"Visible", &type_yes_no_nn},
    {"Expression", &type_longtext},
};

const struct catalog_table tables_keys[] = {
    {"information_schema", "STATISTICS", CATALOG_COLUMNS(statistics),
     produce_statistics},
    {"information_schema", "KEY_COLUMN_USAGE",
     CATALOG_COLUMNS(key_column_usage), produce_usage},
    {"information_schema", "TABLE_CONSTRAINTS",
     CATALOG_COLUMNS(table_constraints), produce_constraints},
    {CATALOG_HIDDEN, "index", CATALOG_COLUMNS(show_index), produce_show},
    {NULL},
};
