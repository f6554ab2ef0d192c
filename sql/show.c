/* show.c - SHOW: a table of the catalog, whole or filtered. */
#include <stdio.h>
#include <string.h>

#include "catalog_tables.h"
#include "errors.h"
#include "execute.h"
#include "like.h"
#include "privileges.h"
#include "rowset.h"
#include "select_query.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

enum { LABEL_MAX = 256 };

static const struct catalog_table *
table_of(const struct show *show)
{
    static const struct catalog_table *const tables[] = {
        [SHOW_BACKENDS] = &table_show_backends,
        [SHOW_COMPUTE_NODES] = &table_show_compute_nodes,
        [SHOW_PROCESSLIST] = &table_show_processlist,
        [SHOW_DATABASES] = &table_show_databases,
        [SHOW_TABLES] = &table_show_tables,
        [SHOW_VARIABLES] = &table_show_variables,
        [SHOW_STATUS] = &table_show_status,
        [SHOW_WARNINGS] = &table_show_warnings,
    };

    if (show->kind == SHOW_TABLES && show->full)
        return &table_show_full_tables;
    return tables[show->kind];
}

/* SHOW TABLES: of the named database, or the current one. */
static int
find_database(const struct show *show, struct catalog_scope *scope,
              struct error *err)
{
    scope->database = scope->session->database;
    if (show->kind != SHOW_TABLES)
        return 0;
    if (show->has_database) {
        scope->database = catalog_database(show->database);
        return scope->database ? 0
                               : catalog_unknown_database(show->database, err);
    }
    if (*scope->database)
        return 0;
    error_set(err, ER_NO_DB, "No database selected");
    return -1;
}

/* Keeps the rows whose first cell, a text, is LIKE pattern. */
static void
filter(struct rowset *rows, struct span pattern)
{
    size_t kept = 0, count = rowset_rows(rows);

    for (size_t i = 0; i < count; i++) {
        struct value *row = rows->values + i * rows->columns;
        struct span name = {row->data, row->size};

        if (like_match(name, pattern, '\\'))
            memmove(rows->values + kept++ * rows->columns, row,
                    rows->columns * sizeof(*row));
    }
    rows->filled = kept * rows->columns;
}

/* "Tables_in_heapwire (pattern)", "Database (pattern)"; NULL: as it is. */
static const char *
label_of(const struct show *show, const struct catalog_scope *scope,
         char out[LABEL_MAX])
{
    size_t used = 0;

    if (show->kind == SHOW_TABLES)
        used =
            (size_t)snprintf(out, LABEL_MAX, "Tables_in_%s", scope->database);
    else if (show->kind == SHOW_DATABASES && show->has_like)
        used = (size_t)snprintf(out, LABEL_MAX, "Database");
    if (used > 0 && show->has_like)
        snprintf(out + used, LABEL_MAX - used, " (%.*s)",
                 show->like.size < SQL_NAME_MAX ? (int)show->like.size
                                                : SQL_NAME_MAX,
                 show->like.data);
    return used > 0 ? out : NULL;
}

struct cursor *
show_open(struct opening *o, struct error *err)
{
    const struct show *show = &o->statement->show;
    const struct catalog_table *table = table_of(show);
    struct catalog_scope scope = {
        .session = o->session, .full = show->full, .global = show->global};
    struct rowset rows;
    char label[LABEL_MAX];

    if (privilege_check(o->session->who.privileges, table->privilege, err) !=
            0 ||
        find_database(show, &scope, err) != 0)
        return NULL;
    if (show->has_where)
        return select_open_where(o, table, &scope, err);
    if (o->describing)
        return sql_cursor_rows(table, NULL, label_of(show, &scope, label), err);
    rowset_init(&rows, table->column_count);
    table->produce(&scope, &rows);
    if (rowset_done(&rows, err) != 0) {
        rowset_fini(&rows);
        return NULL;
    }
    if (show->has_like)
        filter(&rows, show->like);
    return sql_cursor_rows(table, &rows, label_of(show, &scope, label), err);
}
