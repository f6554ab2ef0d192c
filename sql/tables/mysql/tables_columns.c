/*
 * tables_columns.c - information_schema.COLUMNS and SHOW COLUMNS, read from
 * the catalog's definitions.  A table that a session may not read has none.
 */
#include <string.h>

#include "catalog_tables.h"
#include "rowset.h"

/* Whether the type is a text, which has a length and a collation. */
static bool
is_text(const struct catalog_type *type)
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
add_facts(struct rowset *out, const struct catalog_type *type)
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
    } else if (is_text(type)) {
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
add_column(struct rowset *out, const struct catalog_table *table, size_t at)
{
    const struct catalog_column *column = &table->columns[at];
    const struct catalog_type *type = column->type;
    uint16_t flags = catalog_flags(table, at);

    ROWSET_TEXTS(out, "def", table->database, table->name, column->name);
    rowset_int(out, (int64_t)at + 1);
    rowset_null(out);
    rowset_text(out, null_word(flags));
    rowset_bytes(out, type->name, strcspn(type->name, "( "));
    add_facts(out, type);
    ROWSET_TEXTS(out, is_text(type) ? CATALOG_CHARSET : NULL,
                 is_text(type) ? CATALOG_COLLATION : NULL, type->name,
                 key_word(flags), "", "select",
                 column->comment ? column->comment : "", "", NULL);
}

static void
produce_columns(const struct catalog_scope *scope, struct rowset *out)
{
    for (size_t i = 0; i < catalog_count(); i++)
        for (size_t c = 0; catalog_visible(scope->session, catalog_at(i)) &&
                           c < catalog_at(i)->column_count;
             c++)
            add_column(out, catalog_at(i), c);
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
produce_show(const struct catalog_scope *scope, struct rowset *out)
{
    const struct catalog_table *table = scope->table;

    for (size_t i = 0; i < table->column_count; i++) {
        const struct catalog_column *column = &table->columns[i];
        uint16_t flags = catalog_flags(table, i);

        rowset_text(out, column->name);
        rowset_text(out, column->type->name);
        if (scope->full)
            rowset_text(out, is_text(column->type) ? CATALOG_COLLATION : NULL);
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
    {CATALOG_HIDDEN, "columns", CATALOG_COLUMNS(show_columns), produce_show},
    {CATALOG_HIDDEN, "full_columns", CATALOG_COLUMNS(show_full_columns),
     produce_show},
    {NULL},
};
