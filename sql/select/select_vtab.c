/*
 * select_vtab.c - the catalog's tables as SQLite's virtual tables (one module,
 * whose argument is a table's index), and the lock on SQLite.
 *
 * A table of few rows is produced once per statement, so that all its readers
 * see one moment; the heap's are walked (heap_walk.c), and those of all nodes
 * ask these (cluster_rows.c).  SQLite runs text that a client influenced, so
 * it can only read these tables and call listed functions: an empty database
 * in memory, query_only, no extensions, an authorizer that allows four
 * actions.  It acts when a statement is prepared; as that outlives its
 * session, the privilege is checked again when a table is read (vtab_filter).
 */
#include "handle_pool.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "buffer.h"
#include "cluster_ask.h"
#include "deparse.h"
#include "errors.h"
#include "fetch.h"
#include "function_table.h"
#include "handle.h"
#include "heap_walk.h"
#include "memory.h"
#include "snapshot.h"
#include "sql.h"

static bool
is_allowed_function(const char *function)
{
    struct span name = {function, strlen(function)};
    enum function_type type;
    uint32_t width;

    return function_table_find(name, &type, &width);
}

/* Allows reading these tables and calling listed functions, nothing else. */
static int
authorize_sqlite_action(void *arg, int action, const char *first,
                        const char *second, const char *database,
                        const char *trigger)
{
    (void)arg;
    (void)first;
    (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_READ: /* main has SQLite's own tables only; NULL: no table */
        return database && (strcmp(database, "main") == 0 ||
                            strcmp(database, "temp") == 0)
                   ? SQLITE_DENY
                   : SQLITE_OK;
    case SQLITE_FUNCTION:
        return is_allowed_function(second) ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static void
set_sqlite_limits(sqlite3 *db)
{
    static const struct {
        int id, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, SELECT_VALUE_MAX},
        {SQLITE_LIMIT_SQL_LENGTH, DEPARSE_OUTPUT_MAX},
        {SQLITE_LIMIT_COLUMN, CURSOR_COLUMNS_MAX},
        {SQLITE_LIMIT_EXPR_DEPTH, SELECT_DEPTH_MAX},
        {SQLITE_LIMIT_COMPOUND_SELECT, SELECT_COMPOUNDS_MAX},
        {SQLITE_LIMIT_FUNCTION_ARG, SELECT_ARGUMENTS_MAX},
        {SQLITE_LIMIT_VARIABLE_NUMBER, SQL_PARAMETERS_MAX},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        sqlite3_limit(db, limits[i].id, limits[i].value);
}

/* Locks the handle, or unlocks it to create tables.  -1 if SQLite refuses. */
static int
handle_lock(struct handle *handle, bool on)
{
    int rc;

    /* The authorizer refuses PRAGMA and CREATE, which this needs. */
    sqlite3_set_authorizer(handle->db, NULL, NULL);
    rc = sqlite3_exec(handle->db,
                      on ? "PRAGMA query_only=ON" : "PRAGMA query_only=OFF",
                      NULL, NULL, NULL);
    if (on)
        sqlite3_set_authorizer(handle->db, authorize_sqlite_action, handle);
    return rc == SQLITE_OK ? 0 : -1;
}

/* Temporary tables stay in memory, nothing is written, extensions are off, and
 * a name in double quotes is never a string. */
int
handle_lock_down(struct handle *handle)
{
    static const struct {
        int id, on;
    } configs[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };
    sqlite3 *db = handle->db;

    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++)
        if (sqlite3_db_config(db, configs[i].id, configs[i].on, NULL) !=
            SQLITE_OK)
            return -1;
    if (sqlite3_exec(db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL) !=
        SQLITE_OK)
        return -1;
    set_sqlite_limits(db);
    handle_watch(handle);
    return handle_lock(handle, true);
}

enum {
    DECLARATION_MAX = 8192,
    NODES_MAX = 1024 /* nodes that a statement names; of more, all are asked */
};

struct vtab {
    sqlite3_vtab base; /* first */
    struct handle *handle;
    size_t index; /* in the catalog, of: */
    const struct catalog_table *table;
};

struct vtab_cursor {
    sqlite3_vtab_cursor base;  /* first */
    const struct rowset *rows; /* NULL: one of the others has them */
    size_t row;
    struct heap_cursor heap;
    struct cluster_position of_nodes; /* for a table of all nodes */
};

static const char *
column_affinity(enum column_type type)
{
    switch (type) {
    case COLUMN_TINYINT:
    case COLUMN_INT:
    case COLUMN_BIGINT:
        return "INTEGER";
    case COLUMN_DOUBLE:
    case COLUMN_DECIMAL:
        /* A DECIMAL of 15 digits is a double for SQLite; see kind.h. */
        return "REAL";
    default:
        return "TEXT COLLATE " COLLATION_TEXT;
    }
}

static int
declare_virtual_table(sqlite3 *db, const struct catalog_table *table)
{
    struct buffer sql;
    int rc;

    buffer_init(&sql, DECLARATION_MAX);
    buffer_text(&sql, "CREATE TABLE x(");
    for (size_t i = 0; i < table->column_count; i++)
        buffer_format(&sql, "%s\"%s\" %s", i ? "," : "", table->columns[i].name,
                      column_affinity(table->columns[i].type->type));
    buffer_char(&sql, ')');
    rc = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.data);
    buffer_fini(&sql);
    return rc;
}

/* argv[3] is the index, as select_vtab_create wrote it. */
static int
vtab_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
             sqlite3_vtab **out, char **message)
{
    size_t index = argc > 3 ? strtoul(argv[3], NULL, 10) : SIZE_MAX;
    struct vtab *vtab;
    int rc;

    (void)message;
    if (index >= catalog_count())
        return SQLITE_ERROR;
    rc = declare_virtual_table(db, catalog_at(index));
    if (rc != SQLITE_OK)
        return rc;
    vtab = mem_zalloc(1, sizeof(*vtab));
    if (!vtab)
        return SQLITE_NOMEM;
    vtab->handle = arg;
    vtab->index = index;
    vtab->table = catalog_at(index);
    *out = &vtab->base;
    return SQLITE_OK;
}

static int
vtab_disconnect(sqlite3_vtab *base)
{
    mem_free(base);
    return SQLITE_OK;
}

/* Lets the planner look x up in hw_eq(column, x), as in an equality. */
static int
vtab_find_function(sqlite3_vtab *base, int argc, const char *name,
                   void (**call)(sqlite3_context *, int, sqlite3_value **),
                   void **arg)
{
    if (argc != 2 || strcmp(name, "hw_eq") != 0 ||
        !function_table_get(((struct vtab *)base)->handle, name, call, arg))
        return 0;
    return SQLITE_INDEX_CONSTRAINT_FUNCTION;
}

static int
vtab_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct vtab *vtab = (const struct vtab *)base;

    /* SQLite plans all readers of a statement before any of them reads. */
    if (catalog_needs(vtab->table, info->colUsed) != 0)
        table_set_add(&vtab->handle->needs_node, vtab->index);
    select_vtab_plan(vtab->table, info);
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
    struct vtab_cursor *cursor = (struct vtab_cursor *)base;

    heap_cursor_fini(&cursor->heap);
    mem_free(base);
    return SQLITE_OK;
}

/* Produces the table, once per statement.  Returns SQLite's codes. */
static int
produce_table_rows(struct handle *handle, size_t index)
{
    const struct catalog_table *table = catalog_at(index);
    struct rowset *rows = &handle->tables[index];
    bool needs = table_set_has(&handle->needs_node, index);
    int rc = fetch_needs(
        handle, table->needs | (needs ? catalog_needs(table, UINT64_MAX) : 0));

    if (rc != SQLITE_OK)
        return rc;
    if (table->needs & NEED_TIME && handle_compute(handle))
        return SQLITE_INTERRUPT;
    /* Once, even if the table is joined with itself. */
    if (!table_set_has(&handle->produced, index)) {
        rowset_init(rows, table->column_count);
        handle->scope.cancelled = handle->memory.cancelled;
        handle->scope.await = handle->fetch ? handle->fetch->await : NULL;
        table->produce(&handle->scope, rows);
        table_set_add(&handle->produced, index);
    }
    if (rowset_done(rows, &handle->failure) == 0)
        return SQLITE_OK;
    handle->failed = true;
    return SQLITE_ERROR;
}

static int
compare_filter_node_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Adds a number that may be a node's.  False: no room. */
static bool
add_filter_node_id(uint64_t ids[NODES_MAX], size_t *count, sqlite3_value *value)
{
    sqlite3_int64 id = sqlite3_value_int64(value);

    if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER || id < 0)
        return true;
    if (*count == NODES_MAX)
        return false;
    ids[(*count)++] = (uint64_t)id;
    return true;
}

/* Reads the list, or the one value; ascending and distinct.  False: too
 * many. */
static bool
read_filter_node_ids(sqlite3_value *from, uint64_t ids[NODES_MAX], size_t *out)
{
    sqlite3_value *value = NULL;
    size_t count = 0, kept = 0;
    int rc = sqlite3_vtab_in_first(from, &value);
    bool fits = true;

    if (rc != SQLITE_OK && rc != SQLITE_DONE)
        fits = add_filter_node_id(ids, &count, from);
    for (; fits && rc == SQLITE_OK; rc = sqlite3_vtab_in_next(from, &value))
        fits = add_filter_node_id(ids, &count, value);
    if (count > 0)
        qsort(ids, count, sizeof(*ids), compare_filter_node_ids);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    *out = kept;
    return fits;
}

/* Reads a lower bound, a time or a day.  False: it compares not as a text. */
static bool
take_since(const struct catalog_column *column, sqlite3_value *value,
           struct cluster_since *out)
{
    static const char form[] = "0000-00-00 00:00:00";
    const char *text = sqlite3_value_type(value) == SQLITE_TEXT
                           ? (const char *)sqlite3_value_text(value)
                           : NULL;
    size_t size = 0;

    while (text && text[size] && form[size] &&
           (form[size] == '0' ? text[size] >= '0' && text[size] <= '9'
                              : text[size] == form[size]))
        size++;
    if (!text || (form[size] && (size != 10 || text[size])) ||
        (text[size] && text[size] != '.'))
        return false;
    out->column = column->name;
    memcpy(out->text, text, size);
    out->text[size] = '\0';
    return true;
}

/* Asks the nodes; no rows if a value cannot be a node or a snapshot. */
static int
find_nodes(struct vtab_cursor *cursor, struct handle *handle,
           const struct catalog_table *table, int number, sqlite3_value **argv)
{
    const struct heap_walk *walk = table->of->walk;
    const struct cluster_rows *rows = NULL;
    const char *snapshot = NULL;
    bool kept, fresh;
    uint64_t ids[NODES_MAX];
    struct cluster_since since;
    bool bounded = false;
    size_t count = 0;
    int rc;

    memset(&cursor->of_nodes, 0, sizeof(cursor->of_nodes));
    if (number & BY_SNAPSHOT) {
        snapshot = (const char *)sqlite3_value_text(*argv++);
        if (!snapshot)
            return SQLITE_OK;
    }
    if ((number & BY_NODE) && !read_filter_node_ids(*argv++, ids, &count))
        count = 0; /* then ask all of them */
    else if ((number & BY_NODE) && count == 0)
        return SQLITE_OK;
    if (number & BY_SINCE)
        bounded =
            take_since(&table->columns[number >> SINCE_SHIFT], *argv, &since);
    /* As heap_filter() decides for this node's own snapshots. */
    kept = walk && !snapshot &&
           (walk->observed || heap_names_kept(handle, number));
    fresh = walk && !walk->observed &&
            (snapshot ? strcasecmp(snapshot, SNAPSHOT_NOW) == 0
                      : !kept || handle->names_now);
    rc = cluster_rows_need(handle, table, ids, count, snapshot, kept, fresh,
                           bounded ? &since : NULL, &rows);
    if (rc == SQLITE_OK)
        cluster_position_first(&cursor->of_nodes, rows);
    return rc;
}

static int
vtab_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
            sqlite3_value **argv)
{
    struct vtab_cursor *cursor = (struct vtab_cursor *)base;
    const struct vtab *vtab = (const struct vtab *)base->pVtab;
    const struct catalog_table *table = vtab->table;
    struct handle *handle = vtab->handle;
    int rc;

    (void)text;
    (void)argc;
    /* A table is read only if this statement looked it up, which checked its
     * privilege. */
    if (!table_set_has(&handle->readable, vtab->index))
        return SQLITE_AUTH;
    if (table->walk)
        return heap_filter(&cursor->heap, handle, table->walk, number, argv);
    if (table->of)
        return find_nodes(cursor, handle, table, number, argv);
    rc = produce_table_rows(handle, vtab->index);
    if (rc != SQLITE_OK)
        return rc;
    cursor->rows = &handle->tables[vtab->index];
    cursor->row = 0;
    return SQLITE_OK;
}

static bool
is_of_nodes(const sqlite3_vtab_cursor *cursor)
{
    const struct vtab *vtab = (const struct vtab *)cursor->pVtab;

    return vtab->table->of != NULL;
}

static int
vtab_next(sqlite3_vtab_cursor *base)
{
    struct vtab_cursor *cursor = (struct vtab_cursor *)base;
    const struct vtab *vtab = (const struct vtab *)base->pVtab;

    if (cursor->rows) {
        cursor->row++;
    } else if (is_of_nodes(base)) {
        cluster_position_next(&cursor->of_nodes);
    } else {
        return heap_next(&cursor->heap, vtab->handle);
    }
    return SQLITE_OK;
}

static int
vtab_eof(sqlite3_vtab_cursor *base)
{
    const struct vtab_cursor *cursor = (const struct vtab_cursor *)base;

    if (is_of_nodes(base))
        return cluster_position_done(&cursor->of_nodes);
    return cursor->rows ? cursor->row >= rowset_rows(cursor->rows)
                        : heap_done(&cursor->heap);
}

static int
vtab_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct vtab_cursor *cursor = (struct vtab_cursor *)base;
    sqlite3_destructor_type borrowed =
        SQLITE_STATIC; /* the rows outlive this call */
    struct value value = {0};
    char text[ROWSET_TEXT];

    if (cursor->rows) {
        rowset_cell(cursor->rows, cursor->row, (size_t)column, &value, text);
        /* text is on this function's stack. */
        if (value.data == text)
            borrowed = SQLITE_TRANSIENT;
    } else if (is_of_nodes(base)) {
        cluster_position_cell(&cursor->of_nodes, (size_t)column, &value);
    } else {
        cursor->heap.position.walk->cell(&cursor->heap.position, (size_t)column,
                                         &value);
        borrowed = SQLITE_TRANSIENT;
    }
    if (value.type == VALUE_INT)
        sqlite3_result_int64(context, value.integer);
    else if (value.type == VALUE_DOUBLE)
        sqlite3_result_double(context, value.real);
    else if (value.type == VALUE_TEXT && value.size > SELECT_VALUE_MAX)
        sqlite3_result_error_toobig(context);
    else if (value.type == VALUE_TEXT)
        sqlite3_result_text64(context, value.data, value.size, borrowed,
                              SQLITE_UTF8);
    return SQLITE_OK;
}

static int
vtab_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const struct vtab_cursor *cursor = (const struct vtab_cursor *)base;

    if (cursor->rows)
        *out = (sqlite3_int64)cursor->row;
    else if (is_of_nodes(base))
        *out = (int64_t)cursor->of_nodes.node << 32 |
               (int64_t)cursor->of_nodes.row;
    else
        *out = heap_row_number(&cursor->heap);
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
    .xFindFunction = vtab_find_function,
    .xRowid = vtab_rowid,
};

static int
execute_buffered_sql(sqlite3 *db, struct buffer *sql)
{
    int rc = sql->failed ? SQLITE_NOMEM
                         : sqlite3_exec(db, sql->data, NULL, NULL, NULL);

    buffer_clear(sql);
    return rc == SQLITE_OK ? 0 : -1;
}

int
select_vtab_attach(struct handle *handle)
{
    struct buffer sql;
    const char *database;
    int rc = -1;

    buffer_init(&sql, DECLARATION_MAX);
    if (sqlite3_create_module_v2(handle->db, "hw_table", &module, handle,
                                 NULL) != SQLITE_OK)
        goto out;
    for (size_t i = 0; (database = catalog_database_at(i, true)) != NULL; i++) {
        buffer_format(&sql, "ATTACH ':memory:' AS \"%s\"", database);
        if (execute_buffered_sql(handle->db, &sql) != 0)
            goto out;
    }
    rc = 0;
out:
    buffer_fini(&sql);
    return rc;
}

static int
create_virtual_table(struct handle *handle, size_t index)
{
    struct buffer sql;
    int rc;

    buffer_init(&sql, DECLARATION_MAX);
    buffer_format(&sql,
                  "CREATE VIRTUAL TABLE \"%s\".\"%s\" USING hw_table(%zu)",
                  catalog_at(index)->database, catalog_at(index)->name, index);
    rc = execute_buffered_sql(handle->db, &sql);
    buffer_fini(&sql);
    return rc;
}

int
select_vtab_create(struct handle *handle)
{
    bool open = false;
    int rc = 0;

    if (table_set_has_all(&handle->created, &handle->readable))
        return 0; /* the usual case */
    for (size_t i = 0; rc == 0 && i < catalog_count(); i++) {
        if (!table_set_has(&handle->readable, i) ||
            table_set_has(&handle->created, i))
            continue;
        if (!open)
            rc = handle_lock(handle, false);
        open = true;
        if (rc == 0)
            rc = create_virtual_table(handle, i);
        if (rc == 0)
            table_set_add(&handle->created, i);
    }
    if (open && handle_lock(handle, true) != 0)
        rc = -1;
    return rc;
}
