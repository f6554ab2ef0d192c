/*
 * tables_columns.c - columns and keys as MySQL lists them (COLUMNS,
 * STATISTICS, KEY_COLUMN_USAGE, SHOW COLUMNS, SHOW INDEX), made from the
 * catalog's definitions.
 *
 * Drivers and ORMs read these to map tables, so types, lengths and keys must
 * have MySQL's form.  A table that a session may not read has no rows here.
 */
#include <string.h>

#include "catalog_tables.h"
#include "sql_cursor.h"

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
add_facts_keys(struct rowset *out)
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
    add_facts_keys(out);
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
add_show_key_row(const struct catalog_table *table, const char *column,
                 int64_t n, struct rowset *out)
{
    rowset_text(out, table->name);
    rowset_int(out, 0);
    rowset_text(out, "PRIMARY");
    rowset_int(out, n);
    rowset_text(out, column);
    add_facts_keys(out);
}

static void
produce_show_keys(const struct catalog_scope *scope, struct rowset *out)
{
    each_column(scope->table, out, add_show_key_row);
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

/* Whether the type is a text, which has a length and a collation. */
static bool
is_text_catalog_type(const struct catalog_type *type)
{
    return type->type == COLUMN_TEXT || type->type == COLUMN_LONGTEXT;
}

static const char *
null_word(uint16_t flags)
{
    return flags & COLUMN_NOT_NULL ? "NO" : "YES";
}

static const char *
key_word(uint16_t flags)
{
    return flags & COLUMN_PRI_KEY ? "PRI" : "";
}

/* MySQL's facts about types, by the words before any parenthesis. */
static const struct {
    const char *name;
    int64_t octets; /* of a text without a length */
    int precision, scale, fraction;
} facts[] = {
    {"tinyint(1)", -1, 3, 0, -1},         {"bigint", -1, 19, 0, -1},
    {"bigint unsigned", -1, 20, 0, -1},   {"int", -1, 10, 0, -1},
    {"int unsigned", -1, 10, 0, -1},      {"double", -1, 22, -1, -1},
    {"datetime", -1, -1, -1, 0},          {"timestamp", -1, -1, -1, 0},
    {"text", 65535, -1, -1, -1},          {"mediumtext", 16777215, -1, -1, -1},
    {"longtext", 4294967295, -1, -1, -1}, {"decimal(9,6)", -1, 9, 6, -1},
    {"decimal(5,2)", -1, 5, 2, -1},
};

static void
add_type_dimensions(struct rowset *out, const struct catalog_type *type)
{
    size_t i = 0;
    int64_t characters = -1, octets = -1;
    int precision = -1, scale = -1, fraction = -1;

    while (i < sizeof(facts) / sizeof(facts[0]) &&
           strcmp(facts[i].name, type->name) != 0)
        i++;
    if (i < sizeof(facts) / sizeof(facts[0])) {
        octets = characters = facts[i].octets;
        precision = facts[i].precision;
        scale = facts[i].scale;
        fraction = facts[i].fraction;
    } else if (is_text_catalog_type(type)) {
        characters = type->width;
        octets = characters * 4;
    }
    rowset_int_if(out, characters >= 0, characters);
    rowset_int_if(out, octets >= 0, octets);
    rowset_int_if(out, precision >= 0, precision);
    rowset_int_if(out, scale >= 0, scale);
    rowset_int_if(out, fraction >= 0, fraction);
}

static void
add_schema_column_row(struct rowset *out, const struct catalog_table *table,
                      size_t at)
{
    const struct catalog_column *column = &table->columns[at];
    const struct catalog_type *type = column->type;
    uint16_t flags = catalog_flags(table, at);

    ROWSET_TEXTS(out, "def", table->database, table->name, column->name);
    rowset_int(out, (int64_t)at + 1);
    rowset_null(out);
    rowset_text(out, null_word(flags));
    rowset_bytes(out, type->name, strcspn(type->name, "( "));
    add_type_dimensions(out, type);
    ROWSET_TEXTS(out, is_text_catalog_type(type) ? CATALOG_CHARSET : NULL,
                 is_text_catalog_type(type) ? CATALOG_COLLATION : NULL,
                 type->name, key_word(flags), "", "select",
                 column->comment ? column->comment : "", "", NULL);
}

static void
produce_columns(const struct catalog_scope *scope, struct rowset *out)
{
    for (size_t i = 0; i < catalog_count(); i++)
        for (size_t c = 0; catalog_visible(scope->session, catalog_at(i)) &&
                           c < catalog_at(i)->column_count;
             c++)
            add_schema_column_row(out, catalog_at(i), c);
}

static const struct catalog_column columns[] = {
    {"TABLE_CATALOG", &type_name},
    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},
    {"COLUMN_NAME", &type_name},
    {"ORDINAL_POSITION", &type_uint_nn},
    {"COLUMN_DEFAULT", &type_mediumtext},
    {"IS_NULLABLE", &type_yes_no_nn},
    {"DATA_TYPE", &type_longtext},
    {"CHARACTER_MAXIMUM_LENGTH", &type_bigint},
    {"CHARACTER_OCTET_LENGTH", &type_bigint},
    {"NUMERIC_PRECISION", &type_ubigint},
    {"NUMERIC_SCALE", &type_ubigint},
    {"DATETIME_PRECISION", &type_uint},
    {"CHARACTER_SET_NAME", &type_name},
    {"COLLATION_NAME", &type_name},
    {"COLUMN_TYPE", &type_mediumtext_nn},
    {"COLUMN_KEY", &type_yes_no_nn},
    {"EXTRA", &type_256},
    {"PRIVILEGES", &type_short},
    {"COLUMN_COMMENT", &type_plain_text_nn},
    {"GENERATION_EXPRESSION", &type_longtext_nn},
    {"SRS_ID", &type_uint},
};

/* ---- SHOW [FULL] COLUMNS, DESCRIBE ---- */

static void
produce_show_columns(const struct catalog_scope *scope, struct rowset *out)
{
    const struct catalog_table *table = scope->table;

    for (size_t i = 0; i < table->column_count; i++) {
        const struct catalog_column *column = &table->columns[i];
        uint16_t flags = catalog_flags(table, i);

        rowset_text(out, column->name);
        rowset_text(out, column->type->name);
        if (scope->full)
            rowset_text(out, is_text_catalog_type(column->type)
                                 ? CATALOG_COLLATION
                                 : NULL);
        ROWSET_TEXTS(out, null_word(flags), key_word(flags), NULL, "");
        if (scope->full)
            ROWSET_TEXTS(out, "select", column->comment ? column->comment : "");
    }
}

static const struct catalog_column show_columns[] = {
    {"Field", &type_name},         {"Type", &type_mediumtext_nn},
    {"Null", &type_yes_no_nn},     {"Key", &type_yes_no_nn},
    {"Default", &type_mediumtext}, {"Extra", &type_256},
};

static const struct catalog_column show_full_columns[] = {
    {"Field", &type_name},
    {"Type", &type_mediumtext_nn},
    {"Collation", &type_name},
    {"Null", &type_yes_no_nn},
    {"Key", &type_yes_no_nn},
    {"Default", &type_mediumtext},
    {"Extra", &type_256},
    {"Privileges", &type_short},
    {"Comment", &type_plain_text_nn},
};

const struct catalog_table tables_columns[] = {
    {"information_schema", "COLUMNS", CATALOG_COLUMNS(columns),
     produce_columns},
    {CATALOG_HIDDEN, "columns", CATALOG_COLUMNS(show_columns),
     produce_show_columns},
    {CATALOG_HIDDEN, "full_columns", CATALOG_COLUMNS(show_full_columns),
     produce_show_columns},
    {"information_schema", "STATISTICS", CATALOG_COLUMNS(statistics),
     produce_statistics},
    {"information_schema", "KEY_COLUMN_USAGE",
     CATALOG_COLUMNS(key_column_usage), produce_usage},
    {"information_schema", "TABLE_CONSTRAINTS",
     CATALOG_COLUMNS(table_constraints), produce_constraints},
    {CATALOG_HIDDEN, "index", CATALOG_COLUMNS(show_index), produce_show_keys},
    {NULL},
};
