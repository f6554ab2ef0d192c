/*
 * explain.c - EXPLAIN SELECT, and CHECK, ANALYZE, OPTIMIZE and REPAIR TABLE.
 *
 * EXPLAIN shows the tables in the order in which SQLite reads them, in MySQL's
 * columns, or as one text: JSON, or lines.  Rows and costs are not known and
 * shown as constants; the order is what is worth knowing.  The other four
 * answer each table with MySQL's note that its engine has nothing to do:
 * mysqlcheck names all tables of a database in one statement.
 */
#include <stdio.h>
#include <string.h>

#include "catalog.h"
#include "commands.h"
#include "errors.h"
#include "select_query.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "sql_statement.h"

enum { NAME_MAX = 2 * SQL_NAME_MAX + 2, NOTE_MAX = 80 };

/* ---- CHECK TABLE and its like ---- */

static const struct catalog_column maintained[] = {
    {"Table", &type_name},
    {"Op", &type_name},
    {"Msg_type", &type_name},
    {"Msg_text", &type_mediumtext},
};

static const struct catalog_table maintenance = {CATALOG_HIDDEN, "maintenance",
                                                 CATALOG_COLUMNS(maintained),
                                                 catalog_nothing};

static int
add_maintained(const struct opening *o, const struct named_table *named,
               struct rowset *out, struct error *err)
{
    const char *operation = o->statement->maintain.operation;
    const struct catalog_table *table = catalog_resolve(
        o->session, named->has_database ? &named->database : NULL, named->table,
        err);
    char name[NAME_MAX], note[NOTE_MAX];

    if (!table ||
        privilege_check(o->session->who.privileges, table->privilege, err) != 0)
        return -1;
    snprintf(name, sizeof(name), "%s.%s", table->database, table->name);
    snprintf(note, sizeof(note),
             "The storage engine for the table doesn't support %s", operation);
    ROWSET_TEXTS(out, name, operation, "note", note);
    return 0;
}

struct cursor *
maintain_open(struct opening *o, struct error *err)
{
    struct rowset rows;

    rowset_init(&rows, maintenance.column_count);
    for (const struct named_table *t = o->statement->maintain.tables; t;
         t = t->next)
        if (add_maintained(o, t, &rows, err) != 0)
            goto fail;
    if (rowset_done(&rows, err) == 0)
        return sql_cursor_rows(&maintenance, &rows, NULL, err);
fail:
    rowset_fini(&rows);
    return NULL;
}

/* ---- EXPLAIN ---- */

enum {
    PLAN_MAX = DEPARSE_OUTPUT_MAX + 64,
    ROWS = 100,
    DETAIL_COLUMN = 3, /* in SQLite's plan */
    NAME_COLUMN = 2    /* in the answer */
};

static const struct catalog_column columns[] = {
    {"id", &type_ubigint},       {"select_type", &type_name},
    {"table", &type_name},       {"partitions", &type_mediumtext},
    {"type", &type_name},        {"possible_keys", &type_name},
    {"key", &type_name},         {"key_len", &type_name},
    {"ref", &type_text},         {"rows", &type_ubigint},
    {"filtered", &type_percent}, {"Extra", &type_256},
};

static const struct catalog_table plan_table = {
    CATALOG_HIDDEN, "explain", CATALOG_COLUMNS(columns), catalog_nothing};

static const struct catalog_column text_columns[] = {
    {"EXPLAIN", &type_mediumtext},
};

static const struct catalog_table text_table = {CATALOG_HIDDEN, "explain_text",
                                                CATALOG_COLUMNS(text_columns),
                                                catalog_nothing};

/* Finds the name behind "SCAN " or "SEARCH "; false: neither is there. */
static bool
table_read(const char *detail, struct span *name)
{
    if (strncmp(detail, "SCAN ", 5) == 0)
        name->data = detail + 5;
    else if (strncmp(detail, "SEARCH ", 7) == 0)
        name->data = detail + 7;
    else
        return false;
    name->size = strcspn(name->data, " ");
    /* SQLite's plan of a SELECT without FROM. */
    return strcmp(name->data, "CONSTANT ROW") != 0;
}

static void
add_explain_row(struct rowset *out, struct span name)
{
    rowset_int(out, 1);
    rowset_text(out, "SIMPLE");
    rowset_bytes(out, name.data, name.size);
    rowset_null(out);
    rowset_text(out, "ALL");
    rowset_nulls(out, 4);
    rowset_int(out, ROWS); /* an estimate, as in heap_walk.c */
    rowset_text(out, "100.00");
    rowset_null(out);
}

static void
add_no_table(struct rowset *out)
{
    rowset_int(out, 1);
    rowset_text(out, "SIMPLE");
    rowset_nulls(out, 9);
    rowset_text(out, "No tables used");
}

static int
read_plan(const struct query *query, struct rowset *out, struct error *err)
{
    sqlite3_stmt *plan = NULL;
    struct buffer sql;
    struct span name;
    int rc, result = -1;

    buffer_init(&sql, PLAN_MAX);
    buffer_text(&sql, "EXPLAIN QUERY PLAN ");
    buffer_add(&sql, query->sql.data, query->sql.size);
    if (sql.failed) {
        error_memory(err, "the plan of a SELECT");
        goto out;
    }
    rc = select_memory_prepare(&query->handle->memory, query->handle->db,
                               sql.data, sql.size, 0, &plan);
    if (rc != SQLITE_OK) {
        query_fail(query, rc, err);
        goto out;
    }
    while ((rc = select_memory_step(&query->handle->memory, plan)) ==
           SQLITE_ROW) {
        const char *detail =
            (const char *)sqlite3_column_text(plan, DETAIL_COLUMN);

        if (detail && table_read(detail, &name))
            add_explain_row(out, name);
    }
    if (rc != SQLITE_DONE) {
        query_fail(query, rc, err);
        goto out;
    }
    if (rowset_rows(out) == 0)
        add_no_table(out);
    result = rowset_done(out, err);
out:
    sqlite3_finalize(plan);
    buffer_fini(&sql);
    return result;
}

/* ---- as one text ---- */

/* Quotes a name, which may be the user's alias. */
static void
append_quoted_name(struct buffer *out, const struct value *name)
{
    buffer_char(out, '"');
    for (size_t i = 0; i < name->size; i++) {
        char c = name->data[i];

        if ((unsigned char)c < ' ')
            buffer_format(out, "\\u%04x", (unsigned)c);
        else
            buffer_format(out, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    buffer_char(out, '"');
}

static void
add_json_table(struct buffer *out, const struct value *name)
{
    buffer_text(out, "\"table\": {\"table_name\": ");
    append_quoted_name(out, name);
    buffer_format(out,
                  ", \"access_type\": \"ALL\", "
                  "\"rows_examined_per_scan\": %d, \"filtered\": \"100.00\"}",
                  ROWS);
}

/* Writes one table by itself and several as a list, as MySQL does. */
static void
make_json(const struct rowset *plan, struct buffer *out)
{
    size_t count = rowset_rows(plan);

    buffer_text(out, "{\n  \"query_block\": {\n    \"select_id\": 1,\n    ");
    if (rowset_row(plan, 0)[NAME_COLUMN].type == VALUE_NULL) {
        buffer_text(out, "\"message\": \"No tables used\"");
    } else if (count == 1) {
        add_json_table(out, rowset_row(plan, 0) + NAME_COLUMN);
    } else {
        buffer_text(out, "\"nested_loop\": [");
        for (size_t i = 0; i < count; i++) {
            buffer_text(out, i > 0 ? ",\n      {" : "\n      {");
            add_json_table(out, rowset_row(plan, i) + NAME_COLUMN);
            buffer_char(out, '}');
        }
        buffer_text(out, "\n    ]");
    }
    buffer_text(out, "\n  }\n}");
}

static void
make_tree(const struct rowset *plan, struct buffer *out)
{
    size_t count = rowset_rows(plan);

    if (rowset_row(plan, 0)[NAME_COLUMN].type == VALUE_NULL) {
        buffer_text(out, "-> Rows fetched before execution  (rows=1)\n");
        return;
    }
    if (count > 1)
        buffer_text(out, "-> Nested loop inner join\n");
    for (size_t i = 0; i < count; i++) {
        const struct value *name = rowset_row(plan, i) + NAME_COLUMN;

        buffer_format(out, "%s-> Table scan on %.*s  (rows=%d)\n",
                      count > 1 ? "    " : "", (int)name->size, name->data,
                      ROWS);
    }
}

static struct cursor *
open_text(const struct rowset *plan, enum explain_format format,
          struct error *err)
{
    struct rowset rows;
    struct buffer text;

    buffer_init(&text, PLAN_MAX);
    if (format == EXPLAIN_JSON)
        make_json(plan, &text);
    else
        make_tree(plan, &text);
    rowset_init(&rows, text_table.column_count);
    if (text.failed)
        rows.failed = true;
    else
        rowset_bytes(&rows, text.data, text.size);
    buffer_fini(&text);
    if (rowset_done(&rows, err) == 0)
        return sql_cursor_rows(&text_table, &rows, NULL, err);
    rowset_fini(&rows);
    return NULL;
}

/* Prepares the SELECT, which checks its names and privileges. */
struct cursor *
explain_open(struct opening *o, struct error *err)
{
    struct catalog_scope scope = {.session = o->session};
    enum explain_format format = o->statement->format;
    struct cursor *cursor = NULL;
    struct query query;
    struct rowset rows;
    int rc;

    if (query_open(&query, o, o->statement->select, &scope, NULL, err) != 0)
        return NULL;
    rowset_init(&rows, plan_table.column_count);
    rc = read_plan(&query, &rows, err);
    query_close(&query);
    if (rc == 0 && format == EXPLAIN_TABLE)
        return sql_cursor_rows(&plan_table, &rows, NULL, err);
    if (rc == 0)
        cursor = open_text(&rows, format, err);
    rowset_fini(&rows);
    return cursor;
}
