/*
 * catalog.c - the list of all tables, and the lookup of databases, tables and
 * column types by name.
 *
 * sql_start() sets the list once, before any thread starts, and nothing
 * changes it afterwards: all threads read it without a lock.  A lookup is a
 * linear scan of at most CATALOG_TABLES_MAX tables, which costs less than
 * parsing the statement that names one.  The types are shared constants, so
 * that a table's definition names one and cannot get its width or flags wrong.
 */
#include "catalog.h"

#include <string.h>

#include "errors.h"
#include "sql_session.h"

/* clang-format off: a line each */
#define TYPE(id, name, type, width, flags)                                     \
    const struct catalog_type type_##id = {name, type, width, flags};          \
    const struct catalog_type type_##id##_nn = {name, type, width,             \
                                                (flags) | COLUMN_NOT_NULL}

TYPE(bigint, "bigint", COLUMN_BIGINT, 20, 0);
TYPE(ubigint, "bigint unsigned", COLUMN_BIGINT, 20, COLUMN_UNSIGNED);
TYPE(int, "int", COLUMN_INT, 11, 0);
TYPE(uint, "int unsigned", COLUMN_INT, 10, COLUMN_UNSIGNED);
TYPE(boolean, "tinyint(1)", COLUMN_TINYINT, 1, 0);
TYPE(double, "double", COLUMN_DOUBLE, 22, 0);
TYPE(decimal, "decimal(9,6)", COLUMN_DECIMAL, 11, 0);
TYPE(percent, "decimal(5,2)", COLUMN_DECIMAL, 7, 0);
TYPE(yes_no, "varchar(3)", COLUMN_TEXT, 3, 0);
TYPE(word, "varchar(10)", COLUMN_TEXT, 10, 0);
TYPE(version, "varchar(20)", COLUMN_TEXT, 20, 0);
TYPE(name, "varchar(64)", COLUMN_TEXT, 64, 0);
TYPE(short, "varchar(80)", COLUMN_TEXT, 80, 0);
TYPE(256, "varchar(256)", COLUMN_TEXT, 256, 0);
TYPE(grantee, "varchar(292)", COLUMN_TEXT, 292, 0);
TYPE(512, "varchar(512)", COLUMN_TEXT, 512, 0);
TYPE(text, "varchar(1024)", COLUMN_TEXT, 1024, 0);
TYPE(2048, "varchar(2048)", COLUMN_TEXT, 2048, 0);
TYPE(plain_text, "text", COLUMN_LONGTEXT, 16383, 0);
TYPE(mediumtext, "mediumtext", COLUMN_LONGTEXT, 65535, 0);
TYPE(longtext, "longtext", COLUMN_LONGTEXT, 65535, 0);
TYPE(time, "datetime", COLUMN_DATETIME, 19, 0);
TYPE(timestamp, "timestamp", COLUMN_TIMESTAMP, 19, 0);
/* clang-format on */

/* The databases that SHOW DATABASES lists come first; the last HIDDEN ones may
 * be named (or, the last of all, only be read by SHOW), but are never
 * listed. */
static const char *const databases[] = {"heapwire",    "information_schema",
                                        CATALOG_MYSQL, CATALOG_PERFORMANCE,
                                        CATALOG_SYS,   CATALOG_HIDDEN};

enum { DATABASES = sizeof(databases) / sizeof(databases[0]), HIDDEN = 4 };

static const struct catalog_table *const *tables;
static size_t table_count;

void
catalog_start(const struct catalog_table *const *all, size_t count)
{
    tables = all;
    table_count = count;
}

size_t
catalog_count(void)
{
    return table_count;
}

const struct catalog_table *
catalog_at(size_t i)
{
    return tables[i];
}

uint16_t
catalog_flags(const struct catalog_table *table, size_t i)
{
    const struct catalog_column *column = &table->columns[i];
    uint16_t flags = column->type->flags | column->flags;

    /* A row of another node may hold NULLs, duplicates or texts where this
     * version promises none: NOT NULL and keys would make SQLite and clients
     * rely on it. */
    return table->of && i > 0 ? flags & COLUMN_UNSIGNED : flags;
}

unsigned
catalog_needs(const struct catalog_table *table, uint64_t columns)
{
    /* SQLite's colUsed has 64 bits; its last one stands for column 63 and all
     * behind it. */
    enum { LAST = 63 };
    unsigned needs = 0;

    for (size_t i = 0; i < table->column_count; i++)
        if (columns >> (i < LAST ? i : LAST) & 1)
            needs |= table->columns[i].needs;
    return needs;
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

    while (tables[i] != table)
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
    for (size_t i = DATABASES - HIDDEN; i < DATABASES - 1; i++)
        if (strcmp(database, databases[i]) == 0)
            return true;
    return false;
}

/* A missing privilege hides a table from lists; naming it in a SELECT gives
 * the error that says which privilege is missing. */
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

int
catalog_unknown_database(struct span name, struct error *err)
{
    error_set(err, ER_BAD_DB, "Unknown database '%.*s'", span_shown(name),
              name.data);
    return -1;
}

const struct catalog_table *
catalog_table(const char *database, struct span name, struct error *err)
{
    for (size_t i = 0; i < table_count; i++)
        if (strcmp(tables[i]->database, database) == 0 &&
            span_is_nocase(name, tables[i]->name))
            return tables[i];
    error_set(err, ER_NO_SUCH_TABLE, "Table '%s.%.*s' doesn't exist", database,
              span_shown(name), name.data);
    return NULL;
}

/* Finds a database that a statement may name: all but CATALOG_HIDDEN, which is
 * the last one. */
static const char *
find_database_by_name(struct span name)
{
    for (size_t i = 0; i < DATABASES - 1; i++)
        if (span_is_nocase(name, databases[i]))
            return databases[i];
    return NULL;
}

const struct catalog_table *
catalog_resolve(const struct sql_session *session, const struct span *database,
                struct span name, struct error *err)
{
    const char *in = session->database;

    if (database) {
        in = find_database_by_name(*database);
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
