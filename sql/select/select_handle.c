/* select_handle.c - see select_handle.h.  pool.lock guards pool alone. */
#include "select_handle.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "rewrite.h"
#include "sql_session.h"
#include "sql.h"

enum {
    PROGRESS_OPS = 64, /* of SQLite's machine between two looks */
    LOOK_BYTES = 64    /* that a function works on in their time */
};

static struct {
    pthread_mutex_t lock;
    struct handle *idle;
    size_t idle_count;
    const char *users[HANDLES_MAX +
                      HANDLES_SPARE]; /* of those that are taken; NULL: free */
    size_t places; /* of users, that were ever taken at once */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

void
handle_allow(struct handle *handle, uint64_t operations)
{
    handle->looks = operations / PROGRESS_OPS;
    handle->exhausted = false;
    sqlite3_limit(handle->db, SQLITE_LIMIT_LENGTH,
                  operations > 0 ? SELECT_SHORT_MAX : SELECT_VALUE_MAX);
}

bool
handle_leave_loop(struct handle *handle)
{
    if (handle->looks > 0)
        handle->exhausted = true;
    return handle->exhausted;
}

bool
handle_is_cancelled(const struct handle *handle)
{
    return handle->cancelled &&
           atomic_load_explicit(handle->cancelled, memory_order_relaxed);
}

bool
handle_charge(struct handle *handle, size_t bytes)
{
    uint64_t looks = bytes / LOOK_BYTES;

    if (handle->looks > 0 && looks >= handle->looks)
        handle->exhausted = true;
    else if (handle->looks > 0)
        handle->looks -= looks;
    return handle->exhausted || handle_is_cancelled(handle);
}

/* Non-zero stops the statement.  Only this statement: sqlite3_interrupt from
 * the cancelling thread could meet the handle's next one. */
static int
progress(void *arg)
{
    struct handle *handle = arg;

    if (handle->looks > 0 && --handle->looks == 0)
        handle->exhausted = true;
    return handle->exhausted || handle_is_cancelled(handle);
}

/* Reading tables of ours and calling functions of the list: nothing else. */
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
    case SQLITE_READ: /* main has SQLite's own alone; NULL: no table */
        return database && (strcmp(database, "main") == 0 ||
                            strcmp(database, "temp") == 0)
                   ? SQLITE_DENY
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
    if (sqlite3_exec(db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL) !=
        SQLITE_OK)
        return -1;
    limit(db);
    sqlite3_progress_handler(db, PROGRESS_OPS, progress, handle);
    return handle_lock(handle, true);
}

/* ---- statements ---- */

static sqlite3_stmt *
take_kept(struct handle *handle, const char *sql, size_t size)
{
    for (size_t i = 0; i < STATEMENTS_KEPT; i++) {
        struct kept_statement *kept = &handle->kept[i];

        if (kept->statement && kept->size == size &&
            memcmp(sqlite3_sql(kept->statement), sql, size) == 0) {
            kept->used = ++handle->uses;
            return kept->statement;
        }
    }
    return NULL;
}

int
handle_prepare(struct handle *handle, const char *sql, size_t size,
               sqlite3_stmt **out)
{
    unsigned flags = size <= STATEMENT_TEXT_MAX ? SQLITE_PREPARE_PERSISTENT : 0;

    *out = take_kept(handle, sql, size);
    if (*out)
        return SQLITE_OK;
    handle->memory.cancelled = handle->cancelled;
    return select_memory_prepare(&handle->memory, handle->db, sql, size, flags,
                                 out);
}

static struct kept_statement *
place_for(struct handle *handle, const sqlite3_stmt *statement)
{
    struct kept_statement *oldest = &handle->kept[0];

    for (size_t i = 0; i < STATEMENTS_KEPT; i++) {
        struct kept_statement *kept = &handle->kept[i];

        if (kept->statement == statement)
            return kept;
        if (kept->used < oldest->used)
            oldest = kept;
    }
    return oldest;
}

void
handle_put(struct handle *handle, sqlite3_stmt *statement)
{
    struct kept_statement *place;
    bool sound = sqlite3_reset(statement) == SQLITE_OK; /* the last step was */
    size_t size;

    if (!statement)
        return;
    place = place_for(handle, statement);
    sqlite3_clear_bindings(statement);
    if (place->statement == statement && sound)
        return;
    size = strlen(sqlite3_sql(statement));
    if (sound && size <= STATEMENT_TEXT_MAX &&
        sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_MEMUSED, 0) <=
            STATEMENT_MEMORY_MAX) {
        sqlite3_finalize(place->statement);
        place->statement = statement;
        place->size = size;
        place->used = ++handle->uses;
        return;
    }
    if (place->statement == statement)
        memset(place, 0, sizeof(*place));
    sqlite3_finalize(statement);
}

static void
forget(struct handle *handle)
{
    for (size_t i = 0; i < STATEMENTS_KEPT; i++)
        sqlite3_finalize(handle->kept[i].statement);
    memset(handle->kept, 0, sizeof(handle->kept));
}

void
handle_forget(void)
{
    pthread_mutex_lock(&pool.lock);
    for (struct handle *h = pool.idle; h; h = h->next)
        forget(h);
    pthread_mutex_unlock(&pool.lock);
}

/* ---- the pool ---- */

static void
handle_free(struct handle *handle)
{
    forget(handle);
    sqlite3_close(handle->db);
    mem_free(handle->functions);
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
        handle_add_functions(handle) == 0 &&
        handle_add_databases(handle) == 0 && lock_down(handle) == 0)
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

/* A place among users for one more, or NULL with *err. */
static const char **
find_place(const struct sql_identity *who, struct error *err)
{
    size_t max = HANDLES_MAX + (who->trusted ? HANDLES_SPARE : 0);
    size_t theirs = 0, taken = 0;
    const char **place = NULL;

    for (size_t i = 0; i < pool.places; i++) {
        if (!pool.users[i])
            place = &pool.users[i];
        else if (strcmp(pool.users[i], who->user) == 0)
            theirs++;
        taken += pool.users[i] != NULL;
    }
    if (taken >= max)
        place = NULL;
    else if (!place)
        place = &pool.users[pool.places++];
    if (!place)
        error_set(err, ER_UNKNOWN,
                  "%d SELECTs are being answered already; try again later",
                  HANDLES_MAX);
    else if (theirs >= HANDLES_USER_MAX)
        error_set(err, ER_UNKNOWN,
                  "user '%s' has %d SELECTs open already, as many as one user "
                  "may; read one to its end or close it",
                  who->user, HANDLES_USER_MAX);
    return theirs < HANDLES_USER_MAX ? place : NULL;
}

/* Takes a place, and an idle handle if there is one. */
static int
take(const struct sql_identity *who, struct handle **out, const char ***place,
     struct error *err)
{
    struct handle *handle;

    pthread_mutex_lock(&pool.lock);
    *place = find_place(who, err);
    handle = *place ? pool.idle : NULL;
    if (*place)
        **place = who->user;
    if (handle) {
        pool.idle = handle->next;
        pool.idle_count--;
    }
    pthread_mutex_unlock(&pool.lock);
    *out = handle;
    return *place ? 0 : -1;
}

/* True when the pool keeps it. */
static bool
put(struct handle *handle, const char **place)
{
    bool keep;

    pthread_mutex_lock(&pool.lock);
    *place = NULL;
    keep = handle && pool.idle_count < HANDLES_IDLE;
    if (keep) {
        handle->next = pool.idle;
        pool.idle = handle;
        pool.idle_count++;
    }
    pthread_mutex_unlock(&pool.lock);
    return keep;
}

struct handle *
handle_acquire(const struct catalog_scope *scope, struct error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct handle *handle;
    const char **place;

    pthread_once(&once, set_heap_limit);
    if (take(&scope->session->who, &handle, &place, err) != 0)
        return NULL;
    if (!handle)
        handle = handle_new(err);
    if (!handle) {
        put(NULL, place);
        return NULL;
    }
    handle->place = place;
    handle->scope = *scope;
    handle->cancelled = &scope->session->interrupted;
    handle->found_rows = scope->session->found_rows;
    handle->now_ms = clock_wall_ms();
    return handle;
}

static void
forget_tables(struct handle *handle)
{
    static const struct table_set none;

    if (table_set_has_all(&none, &handle->produced))
        return;
    for (size_t i = 0; i < catalog_count(); i++)
        if (table_set_has(&handle->produced, i))
            rowset_fini(&handle->tables[i]);
    handle->produced = none;
}

void
handle_release(struct handle *handle)
{
    if (!handle)
        return;
    forget_tables(handle);
    slots_free(&handle->slots);
    memset(&handle->scope, 0, sizeof(handle->scope));
    handle->session = NULL;
    handle->cancelled = NULL;
    handle->wait = NULL;
    handle->failed = handle->acted = false;
    select_memory_forget(&handle->memory);
    memset(&handle->readable, 0, sizeof(handle->readable));
    handle_allow(handle, 0);
    if (!put(handle, handle->place))
        handle_free(handle);
}
