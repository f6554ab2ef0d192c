/*
 * select_vtab.c - the catalog's tables as SQLite's virtual tables.
 *
 * One module for all: its argument is the table's place in the catalog.  A
 * table is produced once per statement, so all its readers see one moment.
 */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "memory.h"
#include "select_handle.h"

enum { DECLARATION_MAX = 8192 };

struct vtab {
    sqlite3_vtab base; /* first */
    struct handle *handle;
    size_t index; /* in the catalog */
};

struct vtab_cursor {
    sqlite3_vtab_cursor base; /* first */
    const struct rowset *rows;
    size_t row;
};

/* Texts compare without case, as MySQL's default collation does. */
static const char *
affinity(enum column_type type)
{
    switch (type) {
    case COLUMN_INT:
    case COLUMN_BIGINT:
        return "INTEGER";
    case COLUMN_DOUBLE:
    case COLUMN_DECIMAL:
        return "REAL";
    default:
        return "TEXT COLLATE NOCASE";
    }
}

static int
declare(sqlite3 *db, const struct catalog_table *table)
{
    struct buffer sql;
    int rc;

    buffer_init(&sql, DECLARATION_MAX);
    buffer_text(&sql, "CREATE TABLE x(");
    for (size_t i = 0; i < table->column_count; i++)
        buffer_format(&sql, "%s\"%s\" %s", i ? "," : "", table->columns[i].name,
                      affinity(table->columns[i].type->type));
    buffer_char(&sql, ')');
    rc = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.data);
    buffer_fini(&sql);
    return rc;
}

/* argv[3] is the index, as handle_add_tables wrote it. */
static int
vtab_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
             sqlite3_vtab **out, char **message)
{
    size_t index = argc > 3 ? strtoul(argv[3], NULL, 10) : SIZE_MAX;
    struct vtab *vtab;
    int rc;

    (void)message;
    if (index >= catalog_table_count)
        return SQLITE_ERROR;
    rc = declare(db, catalog_tables[index]);
    if (rc != SQLITE_OK)
        return rc;
    vtab = mem_zalloc(1, sizeof(*vtab));
    if (!vtab)
        return SQLITE_NOMEM;
    vtab->handle = arg;
    vtab->index = index;
    *out = &vtab->base;
    return SQLITE_OK;
}

static int
vtab_disconnect(sqlite3_vtab *base)
{
    mem_free(base);
    return SQLITE_OK;
}

static int
vtab_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    info->estimatedCost = 100;
    info->estimatedRows = 100;
    return SQLITE_OK;
}

static int
vtab_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct vtab_cursor *cursor = mem_zalloc(1, sizeof(*cursor));

    (void)base;
    if (!cursor)
        return SQLITE_NOMEM;
    *out = &cursor->base;
    return SQLITE_OK;
}

static int
vtab_close(sqlite3_vtab_cursor *base)
{
    mem_free(base);
    return SQLITE_OK;
}

static int
vtab_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
            sqlite3_value **argv)
{
    struct vtab_cursor *cursor = (struct vtab_cursor *)base;
    const struct vtab *vtab = (const struct vtab *)base->pVtab;
    const struct catalog_table *table = catalog_tables[vtab->index];
    struct handle *handle = vtab->handle;
    struct rowset *rows = &handle->tables[vtab->index];

    (void)number;
    (void)text;
    (void)argc;
    (void)argv;
    /* However SQLite came by its name: what nobody looked up, with its
     * privilege, is not read. */
    if (!table_set_has(&handle->readable, vtab->index))
        return SQLITE_AUTH;
    if (!handle->produced[vtab->index]) {
        rowset_init(rows, table->column_count);
        table->produce(&handle->scope, rows);
        handle->produced[vtab->index] = true;
    }
    if (rowset_done(rows, NULL) != 0)
        return SQLITE_NOMEM;
    cursor->rows = rows;
    cursor->row = 0;
    return SQLITE_OK;
}

static int
vtab_next(sqlite3_vtab_cursor *base)
{
    ((struct vtab_cursor *)base)->row++;
    return SQLITE_OK;
}

static int
vtab_eof(sqlite3_vtab_cursor *base)
{
    const struct vtab_cursor *cursor = (const struct vtab_cursor *)base;

    return cursor->row >= rowset_rows(cursor->rows);
}

static int
vtab_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct vtab_cursor *cursor = (const struct vtab_cursor *)base;
    const struct value *value = rowset_row(cursor->rows, cursor->row) + column;

    if (value->type == VALUE_INT)
        sqlite3_result_int64(context, value->integer);
    else if (value->type == VALUE_DOUBLE)
        sqlite3_result_double(context, value->real);
    else if (value->type == VALUE_TEXT) /* it outlives the statement */
        sqlite3_result_text64(context, value->data, value->size, SQLITE_STATIC,
                              SQLITE_UTF8);
    return SQLITE_OK;
}

static int
vtab_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)((const struct vtab_cursor *)base)->row;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xCreate = vtab_connect,
    .xConnect = vtab_connect,
    .xBestIndex = vtab_best_index,
    .xDisconnect = vtab_disconnect,
    .xDestroy = vtab_disconnect,
    .xOpen = vtab_open,
    .xClose = vtab_close,
    .xFilter = vtab_filter,
    .xNext = vtab_next,
    .xEof = vtab_eof,
    .xColumn = vtab_column,
    .xRowid = vtab_rowid,
};

static int
execute(sqlite3 *db, struct buffer *sql)
{
    int rc = sql->failed ? SQLITE_NOMEM
                         : sqlite3_exec(db, sql->data, NULL, NULL, NULL);

    buffer_clear(sql);
    return rc == SQLITE_OK ? 0 : -1;
}

int
handle_add_databases(struct handle *handle)
{
    struct buffer sql;
    const char *database;
    int rc = -1;

    buffer_init(&sql, DECLARATION_MAX);
    if (catalog_table_count > CATALOG_TABLES_MAX ||
        sqlite3_create_module_v2(handle->db, "hw_table", &module, handle,
                                 NULL) != SQLITE_OK)
        goto out;
    for (size_t i = 0; (database = catalog_database_at(i, true)) != NULL; i++) {
        buffer_format(&sql, "ATTACH ':memory:' AS \"%s\"", database);
        if (execute(handle->db, &sql) != 0)
            goto out;
    }
    rc = 0;
out:
    buffer_fini(&sql);
    return rc;
}

static int
add_table(struct handle *handle, size_t index)
{
    struct buffer sql;
    int rc;

    buffer_init(&sql, DECLARATION_MAX);
    buffer_format(
        &sql, "CREATE VIRTUAL TABLE \"%s\".\"%s\" USING hw_table(%zu)",
        catalog_tables[index]->database, catalog_tables[index]->name, index);
    rc = execute(handle->db, &sql);
    buffer_fini(&sql);
    return rc;
}

int
handle_add_tables(struct handle *handle)
{
    bool open = false;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < catalog_table_count; i++) {
        if (!table_set_has(&handle->readable, i) ||
            table_set_has(&handle->created, i))
            continue;
        if (!open)
            rc = handle_lock(handle, false);
        open = true;
        if (rc == 0)
            rc = add_table(handle, i);
        if (rc == 0)
            table_set_add(&handle->created, i);
    }
    if (open && handle_lock(handle, true) != 0)
        rc = -1;
    return rc;
}
