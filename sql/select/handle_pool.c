/* handle_pool.c - see handle_pool.h.  pool.lock guards pool alone. */
#include "handle_pool.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "await.h"
#include "clock.h"
#include "errors.h"
#include "function_table.h"
#include "handle.h"
#include "memory.h"
#include "share.h"
#include "sql_session.h"

static struct {
    pthread_mutex_t lock;
    struct handle *idle;
    size_t idle_count;
    const char *users[HANDLES_MAX +
                      HANDLES_SPARE]; /* user of each lent handle; NULL: free */
    size_t lent;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- statements ---- */

static sqlite3_stmt *
take_kept(struct handle *handle, const char *sql, size_t size)
{
    for (size_t i = 0; i < STATEMENTS_KEPT; i++) {
        struct kept_statement *kept = &handle->kept[i];

        if (kept->statement && kept->size == size &&
            memcmp(sqlite3_sql(kept->statement), sql, size) == 0) {
            kept->used = ++handle->uses;
            handle->needy = kept->needy;
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
    memset(&handle->needy, 0, sizeof(handle->needy));
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

static void
put_statement(struct handle *handle, sqlite3_stmt *statement)
{
    struct kept_statement *place;
    bool sound = sqlite3_reset(statement) == SQLITE_OK; /* of the last step */
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
        place->needy = handle->needy;
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
        collation_add(handle->db) == 0 && function_table_add(handle) == 0 &&
        select_vtab_attach(handle) == 0 && handle_lock_down(handle) == 0)
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

/* Takes a place, and an idle handle if there are any. */
static int
take(const struct sql_identity *who, struct handle **out, const char ***place,
     struct error *err)
{
    size_t max = HANDLES_MAX + (who->trusted ? HANDLES_SPARE : 0);
    struct handle *handle;

    pthread_mutex_lock(&pool.lock);
    *place = share_take(pool.users, &pool.lent, max, who->user, "open SELECTs",
                        "read one to its end or close it", err);
    handle = *place ? pool.idle : NULL;
    if (handle) {
        pool.idle = handle->next;
        pool.idle_count--;
    }
    pthread_mutex_unlock(&pool.lock);
    *out = handle;
    return *place ? 0 : -1;
}

/* Whether the pool keeps it. */
static bool
put(struct handle *handle, const char **place)
{
    bool keep;

    pthread_mutex_lock(&pool.lock);
    share_give(place, &pool.lent);
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
handle_acquire(const struct catalog_scope *scope, struct await *await,
               struct error *err)
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
    handle->memory.owner = scope->session->who.user;
    handle->await = await;
    handle->cancelled = await ? &await->cancelled : NULL;
    handle->found_rows = scope->session->found_rows;
    handle->now_ms = clock_wall_ms();
    handle->looks = 0;
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
handle_release(struct handle *handle, sqlite3_stmt *statement)
{
    if (!handle)
        return;
    put_statement(handle, statement);
    forget_tables(handle);
    slots_free(&handle->slots);
    memset(&handle->scope, 0, sizeof(handle->scope));
    handle->session = NULL;
    handle->cancelled = NULL;
    handle->await = NULL;
    handle->fetch = NULL;
    handle->failed = false;
    select_memory_forget(&handle->memory);
    memset(&handle->readable, 0, sizeof(handle->readable));
    if (!put(handle, handle->place))
        handle_free(handle);
}
