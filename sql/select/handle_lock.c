/* handle_lock.c - see handle_lock.h. */
#include "handle_lock.h"

#include <string.h>

#include "function_table.h"
#include "handle.h"
#include "deparse.h"
#include "sql.h"

static bool
allows(const char *function)
{
    struct span name = {function, strlen(function)};
    enum function_type type;

    return function_table_find(name, &type);
}

/* Allows reading our tables and calling functions of the list, nothing else. */
static int
authorize(void *arg, int action, const char *first, const char *second,
          const char *database, const char *trigger)
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
        return allows(second) ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static void
limit(sqlite3 *db)
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

int
handle_lock(struct handle *handle, bool on)
{
    int rc;

    sqlite3_set_authorizer(handle->db, NULL, NULL);
    rc = sqlite3_exec(handle->db,
                      on ? "PRAGMA query_only=ON" : "PRAGMA query_only=OFF",
                      NULL, NULL, NULL);
    if (on)
        sqlite3_set_authorizer(handle->db, authorize, handle);
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
    limit(db);
    handle_watch(handle);
    return handle_lock(handle, true);
}
