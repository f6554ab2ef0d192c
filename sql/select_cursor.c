/*
 * select_cursor.c - a SELECT's rows as a cursor.
 *
 * An expression has the type of its first value.  A SELECT without tables is
 * a short row as a rule: it begins on the loop, and what takes longer begins
 * anew on a worker, where all others run.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
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
    bool typed;          /* the columns have their types */
    uint64_t rows_left;  /* sql_select_limit */
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
        if (c->columns[column].type == COLUMN_TEXT)
            break;
        out->type = VALUE_INT;
        out->integer = sqlite3_column_int64(statement, column);
        return 0;
    case SQLITE_FLOAT:
        if (c->columns[column].type == COLUMN_TEXT)
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

static void
set_type(struct column *column, int sqlite_type)
{
    switch (sqlite_type) {
    case SQLITE_INTEGER:
        column->type = COLUMN_BIGINT;
        column->width = INT_WIDTH;
        break;
    case SQLITE_FLOAT:
        column->type = COLUMN_DOUBLE;
        column->width = DOUBLE_WIDTH;
        break;
    default:
        column->type = sqlite_type == SQLITE_BLOB ? COLUMN_BLOB : COLUMN_TEXT;
        column->width = TEXT_WIDTH;
        break;
    }
}

/* On the first row: the types that no declaration told. */
static void
settle_types(struct select_cursor *c)
{
    sqlite3_stmt *statement = c->query.statement;

    for (int i = 0; i < (int)c->cursor.base.column_count; i++)
        if (!sqlite3_column_decltype(statement, i))
            set_type(&c->columns[i], sqlite3_column_type(statement, i));
    c->typed = true;
}

static int
add_row(struct select_cursor *c, struct rows *out, struct error *err)
{
    size_t columns = c->cursor.base.column_count;
    struct value *row = out->values + columns * out->count;

    if (!c->typed)
        settle_types(c);
    for (size_t i = 0; i < columns; i++)
        if (add_value(c, (int)i, &row[i]) != 0) {
            error_memory(err, "a row");
            return -1;
        }
    out->count++;
    return 0;
}

static enum step
fill(struct select_cursor *c, struct rows *out, struct error *err)
{
    while (c->rows_left > 0 && out->count < out->capacity &&
           arena_used(c->batch) < BATCH_BYTES) {
        int rc = sqlite3_step(c->query.statement);

        if (rc == SQLITE_DONE)
            return STEP_DONE;
        if (rc != SQLITE_ROW) {
            query_fail(&c->query, rc, err);
            return STEP_FAIL;
        }
        if (add_row(c, out, err) != 0)
            return STEP_FAIL;
        c->rows_left--;
    }
    return c->rows_left == 0 ? STEP_DONE : STEP_MORE;
}

/* The first step of a SELECT without tables; no other is taken there.  What
 * takes many operations, or large values, begins anew. */
static enum step
fill_on_loop(struct select_cursor *c, struct rows *out, struct error *err)
{
    uint64_t rows_left = c->rows_left;
    struct error failure;
    enum step step;

    handle_allow(c->query.handle, SELECT_LOOP_OPS);
    step = fill(c, out, &failure);
    handle_allow(c->query.handle, 0);
    c->cursor.base.instant = false;
    if (step != STEP_FAIL)
        return step;
    if (failure.code != ER_QUERY_TIMEOUT && failure.code != ER_OUT_OF_MEMORY) {
        *err = failure;
        return STEP_FAIL;
    }
    sqlite3_reset(c->query.statement);
    c->rows_left = rows_left;
    out->count = 0;
    return STEP_MORE;
}

/* At the end the handle goes back. */
static enum step
select_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct select_cursor *c = (struct select_cursor *)base;
    enum step step;

    out->count = 0;
    if (sql_cursor_check(&c->cursor, err) != 0)
        return STEP_FAIL;
    arena_free(c->batch);
    c->batch = arena_new(BATCH_BYTES_MAX);
    if (!c->batch) {
        error_memory(err, "a row");
        return STEP_FAIL;
    }
    step = base->instant ? fill_on_loop(c, out, err) : fill(c, out, err);
    if (step != STEP_MORE)
        query_close(&c->query);
    return step;
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

static const char *
copy(struct select_cursor *c, const char *text)
{
    return text ? arena_strndup(c->arena, text, strlen(text)) : "";
}

/* A table's column has its declared type; that of an expression is settled by
 * its first value. */
static int
describe(struct select_cursor *c, int i, struct error *err)
{
    sqlite3_stmt *statement = c->query.statement;
    const char *declared = sqlite3_column_decltype(statement, i);
    struct column *out = &c->columns[i];

    set_type(out, declared && strcmp(declared, "INTEGER") == 0 ? SQLITE_INTEGER
                                                               : SQLITE_TEXT);
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
    c->query.rewrite.fragment = NULL; /* it is gone when this one steps */
    for (int i = 0; i < columns; i++)
        if (describe(c, i, err) != 0) {
            select_free(&c->cursor.base);
            return NULL;
        }
    return &c->cursor.base;
}

static struct rewrite
rewrite_of(const struct opening *o, const struct fragment *fragment,
           enum rewrite_form form)
{
    struct rewrite rewrite = {o->session, o->statement->source, fragment, form,
                              o->arena,   opening_parameters(o)};

    return rewrite;
}

struct cursor *
select_open(struct opening *o, struct error *err)
{
    struct rewrite rewrite =
        rewrite_of(o, &o->statement->select, REWRITE_SELECT);
    struct catalog_scope scope = {.session = o->session};
    struct query query;

    if (query_open(&query, &rewrite, &scope, NULL, err) != 0)
        return NULL;
    return cursor_over(o, &query, err);
}

struct cursor *
select_open_where(struct opening *o, const struct catalog_table *table,
                  const struct catalog_scope *scope, struct error *err)
{
    struct rewrite rewrite =
        rewrite_of(o, &o->statement->show.where, REWRITE_CONDITION);
    struct query query;

    if (query_open(&query, &rewrite, scope, table, err) != 0)
        return NULL;
    return cursor_over(o, &query, err);
}

struct cursor *
do_open(struct opening *o, struct error *err)
{
    struct rewrite rewrite =
        rewrite_of(o, &o->statement->select, REWRITE_EXPRESSIONS);
    struct value nobody_wants;

    if ((o->describing ? select_check(&rewrite, err)
                       : select_evaluate(&rewrite, &nobody_wants, err)) != 0)
        return NULL;
    return sql_cursor_ok(err);
}
