/* tables_show_create.c - SHOW CREATE TABLE, DATABASE: the catalog as SQL. */
#include "buffer.h"
#include "catalog_tables.h"
#include "rowset.h"

enum { TEXT_MAX = 64 * 1024 };

/* COMMENT 'text', or nothing. */
static void
add_comment(struct buffer *sql, const char *before, const char *comment)
{
    if (!comment || !*comment)
        return;
    buffer_text(sql, before);
    for (; *comment; comment++) {
        if (*comment == '\'')
            buffer_char(sql, '\'');
        buffer_char(sql, *comment);
    }
    buffer_char(sql, '\'');
}

static void
add_column(struct buffer *sql, const struct catalog_table *table, size_t i)
{
    const struct catalog_column *column = &table->columns[i];
    bool nullable = !(catalog_flags(table, i) & COLUMN_NOT_NULL);
    bool has_default = column->type->type != COLUMN_LONGTEXT;

    buffer_format(sql, "  `%s` %s%s", column->name, column->type->name,
                  !nullable     ? " NOT NULL"
                  : has_default ? " DEFAULT NULL"
                                : "");
    add_comment(sql, " COMMENT '", column->comment);
}

static void
add_key(struct buffer *sql, const struct catalog_table *table)
{
    const char *before = ",\n  PRIMARY KEY (";

    for (size_t i = 0; i < table->column_count; i++)
        if (catalog_flags(table, i) & COLUMN_PRI_KEY) {
            buffer_format(sql, "%s`%s`", before, table->columns[i].name);
            before = ",";
        }
    buffer_text(sql, catalog_has_key(table) ? ")" : "");
}

/* In MySQL's layout, since clients read it line by line. */
static void
produce_table(const struct catalog_scope *scope, struct rowset *out)
{
    const struct catalog_table *table = scope->table;
    struct buffer sql;

    buffer_init(&sql, TEXT_MAX);
    buffer_format(&sql, "CREATE TABLE `%s` (", table->name);
    for (size_t i = 0; i < table->column_count; i++) {
        buffer_text(&sql, i ? ",\n" : "\n");
        add_column(&sql, table, i);
    }
    add_key(&sql, table);
    buffer_text(&sql,
                "\n) ENGINE=" CATALOG_ENGINE " DEFAULT CHARSET=" CATALOG_CHARSET
                " COLLATE=" CATALOG_COLLATION);
    add_comment(&sql, " COMMENT='", table->comment);
    rowset_text(out, table->name);
    if (sql.failed)
        out->failed = true;
    else
        rowset_bytes(out, sql.data, sql.size);
    buffer_fini(&sql);
}

static const struct catalog_column tables[] = {
    {"Table", &type_name_nn}, {"Create Table", &type_plain_text_nn}};

static void
produce_database(const struct catalog_scope *scope, struct rowset *out)
{
    struct buffer sql;

    buffer_init(&sql, TEXT_MAX);
    buffer_format(
        &sql,
        "CREATE DATABASE `%s` /*!40100 DEFAULT CHARACTER SET " CATALOG_CHARSET
        " COLLATE " CATALOG_COLLATION " */ /*!80016 DEFAULT ENCRYPTION='N' */",
        scope->database);
    rowset_text(out, scope->database);
    if (sql.failed)
        out->failed = true;
    else
        rowset_bytes(out, sql.data, sql.size);
    buffer_fini(&sql);
}

static const struct catalog_column databases[] = {
    {"Database", &type_name_nn}, {"Create Database", &type_plain_text_nn}};

const struct catalog_table tables_show_create[] = {
    {CATALOG_HIDDEN, "create_table", CATALOG_COLUMNS(tables), produce_table},
    {CATALOG_HIDDEN, "create_database", CATALOG_COLUMNS(databases),
     produce_database},
    {NULL},
};
