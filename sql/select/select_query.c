/*
 * select_query.c - prepares a SELECT: writes its text, takes a handle, makes
 * its tables known, prepares, binds values; and words SQLite's errors as MySQL
 * does.
 *
 * Clients and ORMs look at MySQL's error codes, so SQLite's messages are
 * recognized by their words and get MySQL's code and text; SQLite's own
 * wording is a fallback.  The place of a fault is found by deparse_locate().
 * Runs on the statement's thread; what takes long to prepare first leaves the
 * event loop.
 */
#include "select_query.h"

#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "cursor.h"
#include "errors.h"
#include "handle_pool.h"
#include "kind.h"
#include "sql_cursor.h"
#include "sql_session.h"

enum { TABLES_FEW = 2 /* SQLite plans a join of two in no time */ };

/* Writes a name in SQLite's quotes. */
static void
append_sqlite_identifier(struct buffer *sql, const char *name)
{
    buffer_char(sql, '"');
    for (; *name; name++) {
        if (*name == '"')
            buffer_char(sql, '"');
        buffer_char(sql, *name);
    }
    buffer_char(sql, '"');
}

/* Begins SHOW ... WHERE; label is the first column's name in the condition,
 * too; NULL: the column's own. */
static void
select_from(struct buffer *sql, const struct catalog_table *table,
            const char *label)
{
    buffer_text(sql, "SELECT * FROM (SELECT ");
    for (size_t i = 0; i < table->column_count; i++) {
        const char *name = table->columns[i].name;

        buffer_text(sql, i ? ", " : "");
        append_sqlite_identifier(sql, name);
        buffer_text(sql, " AS ");
        append_sqlite_identifier(sql, i == 0 && label ? label : name);
    }
    buffer_format(sql, " FROM \"%s\".\"%s\") WHERE", table->database,
                  table->name);
}

static int
bind_value(sqlite3_stmt *statement, int position, const struct value *value)
{
    switch (value->type) {
    case VALUE_NULL:
        return sqlite3_bind_null(statement, position);
    case VALUE_INT:
        return sqlite3_bind_int64(statement, position, value->integer);
    case VALUE_DOUBLE:
        return sqlite3_bind_double(statement, position, value->real);
    case VALUE_TEXT:
        /* SQLite copies the value: it lies in the client's packet, which is
         * gone before the last row. */
        return sqlite3_bind_text64(statement, position, value->data,
                                   value->size, SQLITE_TRANSIENT, SQLITE_UTF8);
    case VALUE_BLOB:
        break;
    }
    return sqlite3_bind_blob64(statement, position, value->data, value->size,
                               SQLITE_TRANSIENT);
}

/* Binds the values. positions: which value each ? has; NULL: they are in
 * order. */
static int
bind_query_values(struct query *query, const struct value *values,
                  const size_t *positions, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct value *value = &values[positions ? positions[i] : i];
        int rc = bind_value(query->statement, (int)i + 1, value);

        if (rc == SQLITE_OK)
            continue;
        if (rc == SQLITE_TOOBIG)
            error_set(err, ER_WRONG_ARGUMENTS,
                      "Incorrect arguments to EXECUTE: a SELECT's value has "
                      "at most %d bytes, this one has %zu",
                      SELECT_VALUE_MAX, value->size);
        else
            query_fail(query, rc, err);
        return -1;
    }
    return 0;
}

static int
prepare_query_statement(struct query *query, const char *sql, size_t size,
                        struct error *err)
{
    int rc = handle_prepare(query->handle, sql, size, &query->statement);

    if (rc == SQLITE_OK && query->statement)
        return 0;
    return query_fail(query, rc, err);
}

/* Does SQLite compile it to much more than its size?  Then it is prepared off
 * the event loop. */
static bool
is_heavy(const struct tree *tree)
{
    return tree->selects > 1 || tree->table_count > TABLES_FEW ||
           tree->has_with || tree->has_over || tree->has_rows;
}

int
query_open(struct query *query, const struct opening *o,
           const struct tree *tree, const struct catalog_scope *scope,
           const struct catalog_table *table, struct error *err)
{
    const struct value *values = opening_parameters(o);

    memset(query, 0, sizeof(*query));
    query->deparse = (struct deparse){
        o->session, o->statement->source, tree, o->arena, values, table};
    query->has_limit = tree->query && tree->query->limit;
    buffer_init(&query->sql, DEPARSE_OUTPUT_MAX);
    if (is_heavy(tree) && opening_compute(o, err) != 0)
        goto fail;
    if (table)
        select_from(&query->sql, table, scope->label);
    query->prefix = query->sql.size;
    if (deparse_run(&query->deparse, &query->sql, &query->deparsed, err) != 0)
        goto fail;
    /* Only now: a statement with an error takes no handle. */
    query->handle = handle_acquire(scope, o->await, err);
    if (!query->handle)
        goto fail;
    query->handle->session = o->session;
    query->handle->readable = query->deparsed.tables;
    query->handle->names_snapshot = query->deparsed.names_snapshot;
    query->handle->names_now = query->deparsed.names_now;
    if (table)
        table_set_add(&query->handle->readable, catalog_index(table));
    if (select_vtab_create(query->handle) != 0) {
        error_memory(err, "a SELECT");
        goto fail;
    }
    if (prepare_query_statement(query, query->sql.data, query->sql.size, err) ==
            0 &&
        (!values || bind_query_values(query, values, query->deparsed.positions,
                                      tree->parameters, err) == 0))
        return 0;
fail:
    query_close(query);
    return -1;
}

int
query_open_plan(struct query *query, const struct select_plan *plan,
                const struct opening *o, struct error *err)
{
    struct catalog_scope scope = {.session = o->session};

    memset(query, 0, sizeof(*query));
    query->deparse.session = o->session;
    query->has_limit = plan->has_limit;
    query->handle = handle_acquire(&scope, o->await, err);
    if (query->handle)
        query->handle->session = o->session;
    if (query->handle &&
        prepare_query_statement(query, plan->sql.data, plan->sql.size, err) ==
            0 &&
        bind_query_values(query, opening_parameters(o), NULL,
                          plan->parameter_count, err) == 0)
        return 0;
    query_close(query);
    return -1;
}

void
query_close(struct query *query)
{
    handle_release(query->handle, query->statement);
    buffer_fini(&query->sql);
    query->statement = NULL;
    query->handle = NULL;
}

/* The start of SQLite's message, and MySQL's words around the name, which
 * follows in quotes or before more words. */
static const struct {
    const char *start;
    enum error_code code;
    const char *before, *after; /* %s is the clause's name */
} messages[] = {
    {"no such column: ", ER_BAD_FIELD, "Unknown column '", "' in '%s'"},
    {"no such function: ", ER_FUNCTION_UNKNOWN, "FUNCTION ", " does not exist"},
    {"not authorized to use function: ", ER_FUNCTION_UNKNOWN, "FUNCTION ",
     " does not exist"},
    {"no such table: ", ER_NO_SUCH_TABLE, "Table '", "' doesn't exist"},
    {"duplicate WITH table name: ", ER_NONUNIQ_TABLE,
     "Not unique table/alias: '", "'"},
    {"no tables specified", ER_NO_TABLES_USED, "No tables used", ""},
    {"ambiguous column name: ", ER_AMBIGUOUS_FIELD, "Column '",
     "' in %s is ambiguous"},
    {"wrong number of arguments to function ", ER_PARAMETER_COUNT,
     "Incorrect parameter count in the call to native function '", "'"},
};

/* Words anywhere in SQLite's message, and MySQL's text; NULL: the message is
 * heapwire's already. */
static const struct {
    const char *words;
    enum error_code code;
    const char *text;
} others[] = {
    {"misuse of aggregate", ER_GROUP_FUNCTION, "Invalid use of group function"},
    {"aggregate functions are not allowed", ER_GROUP_FUNCTION,
     "Invalid use of group function"},
    {"sub-select returns", ER_OPERAND_COLUMNS,
     "Operand should contain 1 column(s)"},
    {"table hw_rows has", ER_OPERAND_COLUMNS,
     "Operand should contain 1 column(s)"},
    {" values for ", ER_WRONG_NAME_LIST,
     "In definition of view, derived table or common table expression, SELECT "
     "list and column names list have different column counts"},
    {"json_object() requires an even number", ER_PARAMETER_COUNT,
     "Incorrect parameter count in the call to native function 'json_object'"},
    {"Subquery returns more than 1 row", ER_SUBQUERY_ROWS, NULL},
    {"row value misused", ER_OPERAND_COLUMNS,
     "Operand should contain 1 column(s)"},
    {"do not have the same number of result columns", ER_COLUMN_COUNT,
     "The used SELECT statements have a different number of columns"},
    {"all VALUES must have the same number", ER_COLUMN_COUNT,
     "The used SELECT statements have a different number of columns"},
    {"ORDER BY term out of range", ER_BAD_FIELD,
     "Unknown column in 'order clause': its position is past the last one"},
    {"GROUP BY term out of range", ER_BAD_FIELD,
     "Unknown column in 'group statement': its position is past the last one"},
    {"parser stack overflow", ER_STACK_OVERRUN, STATEMENT_TOO_DEEP},
    {"Expression tree is too large", ER_STACK_OVERRUN, STATEMENT_TOO_DEEP},
    {"Regex error", ER_REGEX, NULL},
    {"Incorrect arguments to", ER_WRONG_ARGUMENTS, NULL},
    {"value is out of range", ER_DATA_OUT_OF_RANGE, NULL},
    {"integer overflow", ER_DATA_OUT_OF_RANGE, "BIGINT value is out of range"},
};

/* Words in SQLite's message, and the limit that is passed. */
static const struct {
    const char *words, *what, *where;
    int most;
    enum error_code code;
} limits[] = {
    {"too many arguments", "arguments",
     "a function's call; CHAR and GROUP_CONCAT take fewer",
     SELECT_ARGUMENTS_MAX, ER_NOT_SUPPORTED},
    {"too many terms in compound", "SELECTs",
     "a UNION; select from fewer at once", SELECT_COMPOUNDS_MAX,
     ER_NOT_SUPPORTED},
    {"too many columns", "columns", "a SELECT", CURSOR_COLUMNS_MAX,
     ER_TOO_MANY_FIELDS},
    {"too many terms", "columns", "a GROUP BY, an ORDER BY or a PARTITION BY",
     CURSOR_COLUMNS_MAX, ER_TOO_MANY_FIELDS},
    {"tables in a join", "tables", "a join", SELECT_TABLES_MAX,
     ER_TOO_MANY_TABLES},
    {"too many FROM clause terms", "tables", "a join", SELECT_TABLES_MAX,
     ER_TOO_MANY_TABLES},
};

static bool
translate_sqlite_error(const char *message, const char *where,
                       struct error *err)
{
    char after[64];

    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        size_t skip = strlen(messages[i].start);
        const char *name = message + skip, *slot;

        if (strncmp(message, messages[i].start, skip) != 0)
            continue;
        name += *name == '"';
        slot = strstr(messages[i].after, "%s");
        snprintf(after, sizeof(after), "%.*s%s%s",
                 (int)(slot ? slot - messages[i].after : 0), messages[i].after,
                 slot ? where : messages[i].after, slot ? slot + 2 : "");
        error_set(err, messages[i].code, "%s%.*s%s", messages[i].before,
                  (int)strcspn(name, "\" ()"), name, after);
        return true;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strstr(message, others[i].words)) {
            error_set(err, others[i].code, "%s",
                      others[i].text ? others[i].text : message);
            return true;
        }
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (strstr(message, limits[i].words)) {
            error_set(err, limits[i].code, STATEMENT_TOO_MANY, limits[i].what,
                      limits[i].most, limits[i].where);
            return true;
        }
    return false;
}

int
query_fail(const struct query *query, int rc, struct error *err)
{
    const struct handle *handle = query->handle;
    const char *message = sqlite3_errmsg(handle->db);
    int offset = sqlite3_error_offset(handle->db);
    const char *at = NULL, *where = "field list";
    bool incomplete;

    /* A function or a table has failed; SQLite's message is only its echo. */
    if (handle->failed) {
        *err = handle->failure;
        return -1;
    }
    /* The low byte is the code; the rest says more (SQLITE_IOERR_...). */
    switch (rc & 0xff) {
    case SQLITE_INTERRUPT:
        error_set(err, ER_QUERY_INTERRUPTED, "Query execution was interrupted");
        return -1;
    case SQLITE_NOMEM:
        if (handle->memory.refused)
            memory_budget_explain(err, "a SELECT");
        /* No statement yet, so the memory gave out while it was prepared. */
        else if (handle->memory.exceeded && !query->statement)
            error_set(err, ER_NOT_SUPPORTED,
                      "This version of heapwire doesn't yet support 'SELECT of "
                      "so many parts': to prepare this one takes more than %d "
                      "MB or %d blocks of memory",
                      PREPARE_MEMORY_MAX >> 20, PREPARE_BLOCKS_MAX);
        else if (handle->memory.exceeded)
            error_set(err, ER_OUT_OF_SORT_MEMORY,
                      "Out of sort memory: this SELECT needs more than the %d "
                      "MB that one may take to sort, group and join; select "
                      "less, or fewer columns",
                      SELECT_MEMORY_MAX >> 20);
        else
            error_memory(err, "a SELECT");
        return -1;
    case SQLITE_TOOBIG:
        error_set(err, ER_NOT_SUPPORTED,
                  "A value of this SELECT is too long: one has at most %d "
                  "bytes; select a part of it, or fewer rows into it",
                  SELECT_VALUE_MAX);
        return -1;
    default:
        break;
    }
    /* SQLite gives no offset where the text ends too soon: that is a fault at
     * its end. */
    incomplete = strcmp(message, "incomplete input") == 0;
    if (query->deparse.tree)
        at = deparse_locate(&query->deparse, query->prefix,
                            offset >= 0 ? (size_t)offset : query->sql.size,
                            &where);
    if (translate_sqlite_error(message, where, err))
        return -1;
    if (at && (offset >= 0 || incomplete))
        return syntax_error(query->deparse.source, at, err);
    error_set(err, at ? ER_PARSE : ER_UNKNOWN,
              "This SELECT cannot be answered: %s", message);
    return -1;
}

static int
copy_statement_value(sqlite3_stmt *statement, struct arena *arena,
                     struct value *out, struct error *err)
{
    *out = kind_value(sqlite3_column_value(statement, 0));
    if (!out->data)
        return 0;
    out->type = VALUE_TEXT;
    out->data = arena_strndup(arena, out->data, out->size);
    if (out->data)
        return 0;
    error_memory(err, "a value");
    return -1;
}

int
select_check(const struct opening *o, const struct tree *tree,
             struct error *err)
{
    struct catalog_scope scope = {.session = o->session};
    struct query query;

    if (query_open(&query, o, tree, &scope, NULL, err) != 0)
        return -1;
    query_close(&query);
    return 0;
}

int
select_evaluate(const struct opening *o, const struct tree *tree,
                struct value *out, struct error *err)
{
    struct catalog_scope scope = {.session = o->session};
    struct query query;
    int rc, result = -1;

    if (query_open(&query, o, tree, &scope, NULL, err) != 0)
        return -1;
    rc = select_memory_step(&query.handle->memory, query.statement);
    if (rc == SQLITE_ROW)
        result = copy_statement_value(query.statement, o->arena, out, err);
    else if (rc == SQLITE_DONE) /* SET x = (SELECT ...) without a row: NULL */
        result = 0;
    else
        query_fail(&query, rc, err);
    query_close(&query);
    return result;
}
