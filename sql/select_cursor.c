/*
 * select_cursor.c - a SELECT's rows as a cursor.
 *
 * Opening looks at the first row, within a few milliseconds, for the types of
 * expressions; those that take longer are text.  A SELECT without tables is
 * one short row and runs on the loop, all others on a worker.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "clock.h"
#include "errors.h"
#include "execute.h"
#include "memory.h"
#include "select_query.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "variables.h"

enum {
    BATCH_BYTES = 256 * 1024, /* after which a step is enough */
    BATCH_BYTES_MAX = BATCH_BYTES + CURSOR_COLUMNS_MAX * SELECT_VALUE_MAX,
    TEXT_WIDTH = 1024,
    INT_WIDTH = 20,
    DOUBLE_WIDTH = 22
};

struct select_cursor {
    struct sql_cursor cursor;
    struct query query;
    struct arena *arena; /* of the statement: labels, the rewrite's names */
    struct arena *batch; /* values of the last step */
    bool has_row;        /* the statement stands on a row not sent yet */
    bool done;
    uint64_t rows_left; /* sql_select_limit */
    struct column columns[];
};

static int
add_bytes(struct select_cursor *c, int column, struct value *out)
{
    sqlite3_stmt *statement = c->query.statement;
    const void *data = out->type == VALUE_BLOB
                           ? sqlite3_column_blob(statement, column)
                           : sqlite3_column_text(statement, column);
    size_t size = (size_t)sqlite3_column_bytes(statement, column);

    out->size = size;
    out->data = data || size == 0 ? arena_strndup(c->batch, data, size) : NULL;
    return out->data ? 0 : -1;
}

/* A text column's values are all text; others keep their own type, for in
 * SQLite a column can mix them. */
static int
add_value(struct select_cursor *c, int column, struct value *out)
{
    sqlite3_stmt *statement = c->query.statement;

    memset(out, 0, sizeof(*out));
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        return 0;
    case SQLITE_BLOB:
        out->type = VALUE_BLOB;
        return add_bytes(c, column, out);
    case SQLITE_INTEGER:
        if (c->columns[column].type == VALUE_TEXT)
            break;
        out->type = VALUE_INT;
        out->integer = sqlite3_column_int64(statement, column);
        return 0;
    case SQLITE_FLOAT:
        if (c->columns[column].type == VALUE_TEXT)
            break;
        out->type = VALUE_DOUBLE;
        out->real = sqlite3_column_double(statement, column);
        return 0;
    default:
        break;
    }
    out->type = VALUE_TEXT;
    return add_bytes(c, column, out);
}

static int
add_row(struct select_cursor *c, struct rows *out, struct error *err)
{
    size_t columns = c->cursor.base.column_count;
    struct value *row = out->values + columns * out->count;

    for (size_t i = 0; i < columns; i++)
        if (add_value(c, (int)i, &row[i]) != 0) {
            error_memory(err, "a row");
            return -1;
        }
    out->count++;
    return 0;
}

/* To the next row.  -1 with *err; at the end the handle goes back. */
static int
move(struct select_cursor *c, struct error *err)
{
    int rc = sqlite3_step(c->query.statement);

    c->has_row = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW)
        return 0;
    if (rc != SQLITE_DONE)
        query_fail(&c->query, rc, err);
    c->done = true;
    query_close(&c->query);
    return rc == SQLITE_DONE ? 0 : -1;
}

static enum step
select_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct select_cursor *c = (struct select_cursor *)base;

    out->count = 0;
    if (sql_cursor_check(&c->cursor, err) != 0)
        return STEP_FAIL;
    arena_free(c->batch);
    c->batch = arena_new(BATCH_BYTES_MAX);
    if (!c->batch) {
        error_memory(err, "a row");
        return STEP_FAIL;
    }
    while (!c->done && c->rows_left > 0 && out->count < out->capacity &&
           arena_used(c->batch) < BATCH_BYTES) {
        if (!c->has_row) {
            if (move(c, err) != 0)
                return STEP_FAIL;
            continue;
        }
        if (add_row(c, out, err) != 0)
            return STEP_FAIL;
        c->has_row = false;
        c->rows_left--;
    }
    return c->done || c->rows_left == 0 ? STEP_DONE : STEP_MORE;
}

static void
select_free(struct cursor *base)
{
    struct select_cursor *c = (struct select_cursor *)base;

    query_close(&c->query);
    arena_free(c->batch);
    arena_free(c->arena);
    mem_free(c);
}

static const struct cursor_ops select_ops = {select_step, sql_cursor_cancel,
                                             select_free};

/* Stands the statement on its first row, unless that takes too long. */
static int
probe(struct select_cursor *c, struct error *err)
{
    struct handle *handle = c->query.handle;
    int rc;

    handle->deadline_ms = clock_ms() + SELECT_PROBE_MS;
    rc = sqlite3_step(c->query.statement);
    if (rc == SQLITE_INTERRUPT) {
        sqlite3_reset(c->query.statement); /* the first step begins anew */
        c->cursor.base.instant = false;
        rc = SQLITE_OK;
    }
    handle->deadline_ms = 0;
    c->has_row = rc == SQLITE_ROW;
    c->done = rc == SQLITE_DONE;
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
        return 0;
    return query_fail(&c->query, rc, err);
}

static const char *
copy(struct select_cursor *c, const char *text)
{
    return text ? arena_strndup(c->arena, text, strlen(text)) : "";
}

/* A table's column has its declared type, an expression that of its first
 * value. */
static int
describe(struct select_cursor *c, int i, struct error *err)
{
    sqlite3_stmt *statement = c->query.statement;
    const char *declared = sqlite3_column_decltype(statement, i);
    struct column *out = &c->columns[i];
    int type = c->has_row ? sqlite3_column_type(statement, i) : SQLITE_TEXT;

    if (declared)
        type = strcmp(declared, "INTEGER") == 0 ? SQLITE_INTEGER : SQLITE_TEXT;
    out->type = type == SQLITE_INTEGER ? VALUE_INT
                : type == SQLITE_FLOAT ? VALUE_DOUBLE
                : type == SQLITE_BLOB  ? VALUE_BLOB
                                       : VALUE_TEXT;
    out->width = out->type == VALUE_INT      ? INT_WIDTH
                 : out->type == VALUE_DOUBLE ? DOUBLE_WIDTH
                                             : TEXT_WIDTH;
    out->name = copy(c, sqlite3_column_name(statement, i));
    out->table = copy(c, sqlite3_column_table_name(statement, i));
    out->database = copy(c, sqlite3_column_database_name(statement, i));
    if (out->name && out->table && out->database) {
        if (strcmp(out->database, CATALOG_HIDDEN) == 0)
            out->table = out->database = "";
        return 0;
    }
    error_memory(err, "a SELECT");
    return -1;
}

/* sql_select_limit holds for a SELECT without LIMIT of its own. */
static uint64_t
row_limit(const struct query *query)
{
    struct span name = {"sql_select_limit", 16};
    const struct variable *variable = variable_find(name, NULL);
    char room[VARIABLE_ROOM];
    struct value value;

    if (query->rewritten.has_limit || !query->rewrite.session->values)
        return UINT64_MAX;
    variable_get(query->rewrite.session, variable, SCOPE_SESSION, room, &value);
    return value.type == VALUE_INT && value.integer >= 0
               ? (uint64_t)value.integer
               : UINT64_MAX;
}

/* Takes query, also on failure. */
static struct cursor *
cursor_over(struct opening *o, struct query *query, struct error *err)
{
    int columns = sqlite3_column_count(query->statement);
    struct select_cursor *c =
        mem_zalloc(1, sizeof(*c) + (size_t)columns * sizeof(c->columns[0]));

    if (!c) {
        query_close(query);
        error_memory(err, "a SELECT");
        return NULL;
    }
    sql_cursor_init(&c->cursor, &select_ops, o->waker);
    c->cursor.base.columns = c->columns;
    c->cursor.base.column_count = (size_t)columns;
    c->cursor.base.instant = !query->rewritten.has_tables;
    c->query = *query;
    c->query.handle->cancelled = &c->cursor.cancelled;
    c->rows_left = row_limit(query);
    c->arena = o->arena;
    o->arena = NULL;
    if (probe(c, err) != 0)
        goto fail;
    for (int i = 0; i < columns; i++)
        if (describe(c, i, err) != 0)
            goto fail;
    return &c->cursor.base;
fail:
    select_free(&c->cursor.base);
    return NULL;
}

static struct rewrite
rewrite_of(const struct opening *o, const struct fragment *fragment,
           enum rewrite_form form)
{
    struct rewrite rewrite = {o->session, o->statement->source, fragment, form,
                              o->arena};

    return rewrite;
}

struct cursor *
select_open(struct opening *o, struct error *err)
{
    struct rewrite rewrite =
        rewrite_of(o, &o->statement->select, REWRITE_SELECT);
    struct catalog_scope scope = {.session = o->session};
    struct query query;

    if (query_open(&query, &rewrite, &scope, "", err) != 0)
        return NULL;
    return cursor_over(o, &query, err);
}

struct cursor *
select_open_where(struct opening *o, const struct catalog_table *table,
                  const struct catalog_scope *scope, struct error *err)
{
    struct rewrite rewrite =
        rewrite_of(o, &o->statement->show.where, REWRITE_CONDITION);
    struct buffer prefix;
    struct query query;
    int rc;

    buffer_init(&prefix, 512);
    buffer_format(&prefix, "SELECT * FROM \"%s\".\"%s\" WHERE", table->database,
                  table->name);
    rc = query_open(&query, &rewrite, scope, prefix.failed ? "" : prefix.data,
                    err);
    buffer_fini(&prefix);
    return rc == 0 ? cursor_over(o, &query, err) : NULL;
}

struct cursor *
do_open(struct opening *o, struct error *err)
{
    struct rewrite rewrite =
        rewrite_of(o, &o->statement->select, REWRITE_EXPRESSIONS);
    struct value nobody_wants;

    if (select_evaluate(&rewrite, &nobody_wants, err) != 0)
        return NULL;
    return sql_cursor_ok(err);
}
