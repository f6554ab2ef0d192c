/*
 * select_cursor.c - a SELECT as a cursor: opens it, describes its columns,
 * steps it, and frees all that it used.
 *
 * It begins under the event loop's lock, as most SELECTs take less time than
 * handing them to another thread; once SQLite has taken so many operations
 * that it would hold up others, it leaves the loop (handle.h).  A step gives
 * rows up to a number and a size, so that a client that reads slowly makes the
 * statement wait and not the memory grow.  When the last row is out, the
 * handle goes back to the pool at once, not when the client closes the cursor.
 */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "arena.h"
#include "cluster_ask.h"
#include "errors.h"
#include "fetch.h"
#include "function_views.h"
#include "memory.h"
#include "select_sources.h"
#include "select_query.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "types.h"
#include "variables.h"

enum {
    BATCH_BYTES = 256 * 1024, /* bytes after which a step ends */
    BATCH_BYTES_MAX = BATCH_BYTES + CURSOR_COLUMNS_MAX * SELECT_VALUE_MAX
};

static _Atomic uint64_t selects; /* SELECTs opened so far */

uint64_t
select_count(void)
{
    return atomic_load(&selects);
}

struct select_cursor {
    struct sql_cursor cursor;
    struct query query;
    struct select_plan *plan; /* has the columns; NULL: columns has them */
    struct arena *arena;      /* holds labels and the deparse's names */
    struct arena *batch;      /* holds values of the last step */
    uint64_t rows_left;       /* what sql_select_limit leaves */
    struct fetch fetch;
    struct select_sources sources;
    struct function_views views;
    struct sql_session *session; /* gets FOUND_ROWS(); or NULL */
    uint64_t given;              /* rows returned */
    struct column columns[];
};

static int
add_result_row(struct select_cursor *c, struct rows *out, struct error *err)
{
    size_t columns = c->cursor.base.column_count;
    struct value *row = out->values + columns * out->count;
    /* A batch outlives SQLite's step, so its values are copied; a single row
     * goes out before the next step. */
    bool borrowed = out->capacity == 1;

    for (size_t i = 0; i < columns; i++)
        if (select_value(c->query.statement, (int)i, &c->cursor.base.columns[i],
                         c->batch, &row[i], err) != 0 ||
            (!borrowed && select_value_keep(c->batch, &row[i], err) != 0))
            return -1;
    out->count++;
    return 0;
}

static enum step
fill_row_batch(struct select_cursor *c, struct rows *out, struct error *err)
{
    struct select_memory *memory = &c->query.handle->memory;

    while (c->rows_left > 0 && out->count < out->capacity &&
           arena_used(c->batch) < BATCH_BYTES) {
        int rc = select_memory_step(memory, c->query.statement);

        if (rc == SQLITE_DONE)
            return STEP_DONE;
        if (rc != SQLITE_ROW) {
            query_fail(&c->query, rc, err);
            return STEP_FAIL;
        }
        if (add_result_row(c, out, err) != 0)
            return STEP_FAIL;
        c->given++;
        c->rows_left--;
    }
    /* Not yet: a row that is borrowed uncopied would end with the statement. */
    return c->rows_left == 0 && (out->capacity > 1 || out->count == 0)
               ? STEP_DONE
               : STEP_MORE;
}

/* The order matters: the statement may borrow views and snapshots, and sources
 * borrow the sums that the cluster's questions own. */
static void
end_select_query(struct select_cursor *c)
{
    query_close(&c->query);
    function_views_fini(&c->views);
    select_sources_fini(&c->sources);
    while (c->fetch.asks) {
        struct cluster_ask *ask = c->fetch.asks;

        c->fetch.asks = ask->next;
        cluster_ask_free(ask);
    }
    fetch_fini(&c->fetch);
}

/* Gives the next rows.  At the end, or at an error, the handle and all that
 * was fetched are released. */
static enum step
select_step(struct cursor *base, struct rows *out, struct error *err)
{
    struct select_cursor *c = (struct select_cursor *)base;
    enum step step;

    out->count = 0;
    if (sql_cursor_check(&c->cursor, err) != 0)
        return STEP_FAIL;
    if (c->batch)
        arena_clear(c->batch);
    else
        c->batch = arena_new(BATCH_BYTES_MAX);
    if (!c->batch) {
        error_memory(err, "a row");
        return STEP_FAIL;
    }
    step = fill_row_batch(c, out, err);
    if (c->session)
        c->session->found_rows = c->given;
    if (step != STEP_MORE)
        end_select_query(c);
    return step;
}

static void
select_free(struct cursor *base)
{
    struct select_cursor *c = (struct select_cursor *)base;

    end_select_query(c);
    arena_free(c->batch);
    arena_free(c->arena);
    select_plan_unref(c->plan);
    mem_free(c);
}

static const struct cursor_ops select_ops = {select_step, select_free};

static const char *
copy_result_text(struct select_cursor *c, const char *text)
{
    return text ? arena_strndup(c->arena, text, strlen(text)) : "";
}

/* The type of a result's column that is a table's own column; else NULL. */
static const struct catalog_type *
origin_column_type(sqlite3_stmt *statement, int i)
{
    const char *database = sqlite3_column_database_name(statement, i);
    const char *name = sqlite3_column_table_name(statement, i);
    const char *column = sqlite3_column_origin_name(statement, i);
    const struct catalog_table *table;
    struct span span = {name, name ? strlen(name) : 0};
    struct error unlikely;

    table = database && name && column
                ? catalog_table(database, span, &unlikely)
                : NULL;
    for (size_t c = 0; table && c < table->column_count; c++)
        if (strcasecmp(table->columns[c].name, column) == 0)
            return table->columns[c].type;
    return NULL;
}

static void
set_type(struct column *out, const struct result_type *found,
         const struct catalog_type *origin)
{
    out->type = found->type;
    out->width = found->width;
    out->flags = found->flags;
    out->decimals = found->decimals;
    if (!found->unknown || !origin)
        return;
    out->type = origin->type;
    out->width = origin->width;
    out->flags = origin->flags;
}

static int
describe_result_column(struct select_cursor *c, int i,
                       const struct result_type *type)
{
    sqlite3_stmt *statement = c->query.statement;
    struct column *out = &c->columns[i];

    set_type(out, type,
             type->unknown ? origin_column_type(statement, i) : NULL);
    out->name = copy_result_text(c, sqlite3_column_name(statement, i));
    out->table = copy_result_text(c, sqlite3_column_table_name(statement, i));
    out->database =
        copy_result_text(c, sqlite3_column_database_name(statement, i));
    if (!out->name || !out->table || !out->database)
        return -1;
    /* NOT NULL and keys are known only of a table's own column. */
    if (!*out->table || c->query.deparsed.may_null)
        out->flags &= (uint16_t) ~(CATALOG_KEY);
    if (strcmp(out->database, CATALOG_HIDDEN) == 0)
        out->table = out->database = "";
    if (!*out->table)
        return 0;
    out->origin = copy_result_text(c, sqlite3_column_origin_name(statement, i));
    return out->origin ? 0 : -1;
}

static int
find_types(struct select_cursor *c, struct result_type *out)
{
    const char *names[CURSOR_COLUMNS_MAX];
    size_t count = c->cursor.base.column_count;

    for (size_t i = 0; i < count; i++) {
        names[i] = sqlite3_column_name(c->query.statement, (int)i);
        if (!names[i])
            return -1;
    }
    types_find(c->query.deparse.tree, names, count, out);
    return 0;
}

static int
describe_all(struct select_cursor *c, struct error *err)
{
    struct result_type types[CURSOR_COLUMNS_MAX];
    int rc = find_types(c, types);

    for (size_t i = 0; rc == 0 && i < c->cursor.base.column_count; i++)
        rc = describe_result_column(c, (int)i, &types[i]);
    if (rc != 0)
        error_memory(err, "a SELECT");
    return rc;
}

/* Applies sql_select_limit to a SELECT that has no LIMIT of its own. */
static uint64_t
row_limit(const struct query *query)
{
    struct span name = {"sql_select_limit", 16};
    const struct variable *variable;
    char room[VARIABLE_BYTES];
    struct value value;

    /* The usual case: nothing was SET, so no variable need be looked up. */
    if (query->has_limit || !query->deparse.session->values)
        return UINT64_MAX;
    variable = variable_find(name, NULL);
    variable_get(query->deparse.session, variable, SCOPE_SESSION, room, &value);
    return value.type == VALUE_INT && value.integer >= 0
               ? (uint64_t)value.integer
               : UINT64_MAX;
}

static bool
is_constant_select(const struct tree *tree)
{
    return tree->table_count == 0 && !tree->assigns;
}

static enum tree_form
query_tree_form(const struct query *query)
{
    return query->deparse.tree ? query->deparse.tree->form
                               : TREE_QUERY; /* of a plan */
}

/* Allocates a cursor with room for the columns.  It takes query, also on
 * failure. */
static struct select_cursor *
cursor_new(const struct opening *o, struct query *query, size_t columns,
           struct error *err)
{
    struct select_cursor *c =
        mem_zalloc(1, sizeof(*c) + columns * sizeof(c->columns[0]));

    if (!c) {
        query_close(query);
        error_memory(err, "a SELECT");
        return NULL;
    }
    if (!o->describing && query_tree_form(query) == TREE_QUERY)
        atomic_fetch_add(&selects, 1);
    sql_cursor_init(&c->cursor, &select_ops, o->await);
    c->cursor.base.columns = c->columns;
    c->cursor.base.column_count = columns;
    c->cursor.base.timed = query_tree_form(query) == TREE_QUERY;
    c->query = *query;
    c->views.cache = o->session->node->views;
    c->fetch = (struct fetch){.controller = o->session->node->controller,
                              .await = o->await,
                              .sources = &c->sources,
                              .views = &c->views};
    /* Only now can the statement wait: what is evaluated without a cursor
     * (SET) must not. */
    c->query.handle->fetch = &c->fetch;
    c->rows_left = row_limit(query);
    if (query_tree_form(query) != TREE_EXPRESSIONS)
        c->session = o->session;
    return c;
}

/* Takes query, also on failure. */
static struct cursor *
cursor_over(struct opening *o, struct query *query, struct error *err)
{
    size_t columns = (size_t)sqlite3_column_count(query->statement);
    struct select_cursor *c = cursor_new(o, query, columns, err);

    if (!c)
        return NULL;
    c->arena = o->arena;
    o->arena = NULL;
    c->query.deparse.arena = c->arena;
    if (describe_all(c, err) != 0) {
        select_free(&c->cursor.base);
        return NULL;
    }
    if (query_tree_form(&c->query) == TREE_QUERY && !o->describing &&
        o->statement->timeout_s == 0 && o->statement->parallel == 0)
        select_plan_keep(&c->query, &c->cursor.base, o->parameters);
    c->query.deparse.tree = NULL; /* the tree lies in the statement's arena,
                                   * but types are known now */
    return &c->cursor.base;
}

struct cursor *
select_open(struct opening *o, struct error *err)
{
    const struct tree *tree = o->statement->select;
    struct catalog_scope scope = {.session = o->session,
                                  .timeout_s = o->statement->timeout_s,
                                  .parallel = o->statement->parallel};
    struct query query;
    struct cursor *cursor;

    if (query_open(&query, o, tree, &scope, NULL, err) != 0)
        return NULL;
    o->constant = is_constant_select(tree);
    cursor = cursor_over(o, &query, err);
    if (!cursor || tree->into_count == 0)
        return cursor;
    return select_into(o, cursor, tree->into, tree->into_count, err);
}

struct cursor *
select_open_plan(const struct opening *o, struct select_plan *plan,
                 struct error *err)
{
    struct query query;
    struct select_cursor *c = NULL;

    if (query_open_plan(&query, plan, o, err) == 0)
        c = cursor_new(o, &query, 0, err);
    if (!c) {
        select_plan_unref(plan);
        return NULL;
    }
    c->plan = plan;
    c->cursor.base.columns = plan->columns;
    c->cursor.base.column_count = plan->column_count;
    return &c->cursor.base;
}

struct cursor *
select_open_where(struct opening *o, const struct catalog_table *table,
                  const struct catalog_scope *scope, struct error *err)
{
    struct query query;

    if (query_open(&query, o, o->statement->show.where, scope, table, err) != 0)
        return NULL;
    return cursor_over(o, &query, err);
}

struct cursor *
do_open(struct opening *o, struct error *err)
{
    struct catalog_scope scope = {.session = o->session};
    struct cursor *cursor;
    struct query query;

    if (query_open(&query, o, o->statement->select, &scope, NULL, err) != 0)
        return NULL;
    cursor = cursor_over(o, &query, err);
    return cursor ? select_into_nothing(cursor, err) : NULL;
}
