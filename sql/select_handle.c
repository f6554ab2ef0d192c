/* select_handle.c - see select_handle.h.  pool.lock guards pool alone. */
#include "select_handle.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "rewrite.h"
#include "sql.h"

enum { PROGRESS_OPS = 64 /* of SQLite's machine between two looks */ };

static struct {
    pthread_mutex_t lock;
    struct handle *idle;
    size_t idle_count, count;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

void
handle_allow(struct handle *handle, uint64_t operations)
{
    handle->looks = operations / PROGRESS_OPS;
    handle->exhausted = false;
    sqlite3_limit(handle->db, SQLITE_LIMIT_LENGTH,
                  operations > 0 ? SELECT_SHORT_MAX : SELECT_VALUE_MAX);
}

/* Non-zero stops the statement.  Only this statement: sqlite3_interrupt from
 * the cancelling thread could meet the handle's next one. */
static int
progress(void *arg)
{
    struct handle *handle = arg;

    if (handle->looks > 0 && --handle->looks == 0)
        handle->exhausted = true;
    return handle->exhausted ||
           (handle->cancelled && atomic_load(handle->cancelled));
}

/* Reading tables of ours and calling functions of the list: nothing else. */
static int
authorize(void *arg, int action, const char *first, const char *second,
          const char *database, const char *trigger)
{
    (void)arg;
    (void)database;
    (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_READ:
        return first && strncasecmp(first, "sqlite_", 7) == 0 ? SQLITE_DENY
                                                              : SQLITE_OK;
    case SQLITE_FUNCTION:
        return handle_allows_function(second) ? SQLITE_OK : SQLITE_DENY;
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
        {SQLITE_LIMIT_SQL_LENGTH, REWRITE_OUTPUT_MAX},
        {SQLITE_LIMIT_COLUMN, CURSOR_COLUMNS_MAX},
        {SQLITE_LIMIT_EXPR_DEPTH, SELECT_DEPTH_MAX},
        {SQLITE_LIMIT_COMPOUND_SELECT, SELECT_COMPOUNDS_MAX},
        {SQLITE_LIMIT_VARIABLE_NUMBER, SQL_PARAMETERS_MAX},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        sqlite3_limit(db, limits[i].id, limits[i].value);
}

/* Temporary tables in memory, nothing written, no extensions, and a name in
 * double quotes is never a string. */
static int
lock_down(struct handle *handle)
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
    if (sqlite3_exec(db, "PRAGMA temp_store=MEMORY; PRAGMA query_only=ON", NULL,
                     NULL, NULL) != SQLITE_OK)
        return -1;
    limit(db);
    sqlite3_set_authorizer(db, authorize, handle);
    sqlite3_progress_handler(db, PROGRESS_OPS, progress, handle);
    return 0;
}

static void
handle_free(struct handle *handle)
{
    sqlite3_close(handle->db);
    mem_free(handle);
}

static struct handle *
handle_new(struct error *err)
{
    struct handle *handle = mem_zalloc(1, sizeof(*handle));
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;

    if (!handle) {
        error_memory(err, "a SELECT");
        return NULL;
    }
    if (sqlite3_open_v2(":memory:", &handle->db, flags, NULL) == SQLITE_OK &&
        handle_add_functions(handle) == 0 && handle_add_tables(handle) == 0 &&
        lock_down(handle) == 0)
        return handle;
    if (!handle->db || sqlite3_errcode(handle->db) == SQLITE_NOMEM)
        error_memory(err, "a SELECT");
    else
        error_set(err, ER_UNKNOWN, "cannot prepare SQLite: %s",
                  sqlite3_errmsg(handle->db));
    handle_free(handle);
    return NULL;
}

static void
set_heap_limit(void)
{
    select_memory_count();
    sqlite3_hard_heap_limit64(SELECT_HEAP_MAX);
}

/* An idle handle, or room for one more (NULL, *full false). */
static struct handle *
take(bool *full)
{
    struct handle *handle;

    pthread_mutex_lock(&pool.lock);
    handle = pool.idle;
    *full = !handle && pool.count == HANDLES_MAX;
    if (handle) {
        pool.idle = handle->next;
        pool.idle_count--;
    } else if (!*full) {
        pool.count++;
    }
    pthread_mutex_unlock(&pool.lock);
    return handle;
}

/* True when the pool keeps it. */
static bool
put(struct handle *handle)
{
    bool keep;

    pthread_mutex_lock(&pool.lock);
    keep = handle && pool.idle_count < HANDLES_IDLE;
    if (keep) {
        handle->next = pool.idle;
        pool.idle = handle;
        pool.idle_count++;
    } else {
        pool.count--;
    }
    pthread_mutex_unlock(&pool.lock);
    return keep;
}

struct handle *
handle_acquire(const struct catalog_scope *scope, struct error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct handle *handle;
    bool full;

    pthread_once(&once, set_heap_limit);
    handle = take(&full);
    if (full) {
        error_set(err, ER_UNKNOWN,
                  "%d SELECTs are being answered already; try again later",
                  HANDLES_MAX);
        return NULL;
    }
    if (!handle) {
        handle = handle_new(err);
        if (!handle) {
            put(NULL);
            return NULL;
        }
    }
    handle->scope = *scope;
    handle->now_ms = clock_wall_ms();
    return handle;
}

void
handle_release(struct handle *handle)
{
    if (!handle)
        return;
    for (size_t i = 0; i < catalog_table_count; i++)
        rowset_fini(&handle->tables[i]);
    memset(handle->produced, 0, sizeof(handle->produced));
    memset(&handle->scope, 0, sizeof(handle->scope));
    handle->cancelled = NULL;
    handle->wait = NULL;
    handle->failed = false;
    select_memory_forget(&handle->memory);
    memset(&handle->readable, 0, sizeof(handle->readable));
    handle_allow(handle, 0);
    if (!put(handle))
        handle_free(handle);
}
