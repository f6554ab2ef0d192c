/*
 * handle_pool.c - keeps what the next SELECT can use again: plans
 * (select_query.h), and SQLite's handles with their prepared statements.
 *
 * Opening a connection of SQLite and registering all functions takes longer
 * than most SELECTs run, and so does preparing a text.  So a few idle handles
 * stay, each with the statements that it prepared last.  A statement depends
 * on its text alone: it holds no values and no rights, as tables check
 * handle->readable when they are read.  The number of handles in use is
 * bounded and shared between users, since each may hold megabytes.
 *
 * Any thread may call these. store.lock guards the plans, and pool.lock the
 * idle handles and the users' slots; neither is held while a statement is
 * prepared or runs.
 */
#include "handle_pool.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "arena.h"
#include "await.h"
#include "clock.h"
#include "errors.h"
#include "function_table.h"
#include "handle.h"
#include "memory.h"
#include "select_query.h"
#include "user_quota.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"

/* ---- plans ---- */

/* Each text has one slot, which the newest plan takes. */
static struct {
    pthread_mutex_t lock;
    struct select_plan *plans[PLANS_KEPT];
} store = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* FNV-1a; a text has one place, so no chain has to be searched. */
static size_t
hash_plan_text(struct span text)
{
    uint32_t hash = 2166136261;

    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 16777619;
    return hash % PLANS_KEPT;
}

static size_t
given_parameter_count(const struct sql_parameters *parameters)
{
    return parameters ? parameters->count : 0;
}

/* May a plan of this text be shared?  A hint, or a variable that the session
 * has set, would change what it means: values and types of variables (@), and
 * the parts of sql_mode about " and ||. */
static bool
is_cacheable_text(const struct sql_session *session, struct span text)
{
    if (text.size > PLAN_TEXT_MAX || memmem(text.data, text.size, "/*+", 3))
        return false;
    for (size_t i = 0; session->values && i < text.size; i++)
        if (strchr("@\"|", text.data[i]))
            return false;
    return true;
}

static bool
can_reuse_plan(const struct select_plan *plan, struct span text,
               const struct sql_parameters *parameters)
{
    if (plan->text.size != text.size ||
        plan->parameter_count != given_parameter_count(parameters) ||
        memcmp(plan->text.data, text.data, text.size) != 0)
        return false;
    for (size_t i = 0; i < plan->parameter_count; i++)
        if (parameters->values[i].type != plan->types[i] ||
            parameters->values[i].kind != 0 ||
            parameters->values[i].size > PLAN_VALUE_MAX)
            return false;
    return true;
}

struct select_plan *
select_plan_find(const struct sql_session *session, struct span text,
                 const struct sql_parameters *parameters)
{
    struct select_plan *plan;

    if (!is_cacheable_text(session, text))
        return NULL;
    pthread_mutex_lock(&store.lock);
    plan = store.plans[hash_plan_text(text)];
    /* The reference is taken under the lock, so that put_plan() cannot free
     * the plan in between. */
    if (plan && can_reuse_plan(plan, text, parameters))
        atomic_fetch_add(&plan->references, 1);
    else
        plan = NULL;
    pthread_mutex_unlock(&store.lock);
    return plan;
}

void
select_plan_unref(struct select_plan *plan)
{
    if (plan && atomic_fetch_sub(&plan->references, 1) == 1)
        arena_free(plan->arena);
}

static struct span
copy_plan_text(struct arena *arena, const char *data, size_t size)
{
    return (struct span){arena_strndup(arena, data, size), size};
}

static const enum value_type *
copy_types(struct arena *arena, const struct sql_parameters *parameters)
{
    size_t count = given_parameter_count(parameters);
    enum value_type *types = arena_alloc(arena, count * sizeof(*types));

    for (size_t i = 0; types && i < count; i++)
        types[i] = parameters->values[i].type;
    return types;
}

/* A plan with one reference; NULL: too large, or out of memory. */
static struct select_plan *
plan_new(const struct query *query, const struct cursor *cursor,
         const struct sql_parameters *parameters)
{
    struct span text = query->deparse.source;
    struct arena *arena = arena_new(PLAN_BYTES_MAX);
    struct select_plan *plan = arena ? arena_alloc(arena, sizeof(*plan)) : NULL;

    if (plan) {
        plan->text = copy_plan_text(arena, text.data, text.size);
        plan->types = copy_types(arena, parameters);
        plan->parameter_count = given_parameter_count(parameters);
        plan->sql = copy_plan_text(arena, query->sql.data, query->sql.size);
        plan->columns = sql_cursor_copy_columns(cursor, arena);
        plan->column_count = cursor->column_count;
        plan->has_limit = query->has_limit;
    }
    if (!plan || !plan->text.data || !plan->types || !plan->sql.data ||
        !plan->columns) {
        arena_free(arena);
        return NULL;
    }
    plan->arena = arena;
    atomic_init(&plan->references, 1);
    return plan;
}

/* Stores plan (or NULL) in its place, and takes it. */
static void
put_plan(size_t place, struct select_plan *plan)
{
    struct select_plan *old;

    pthread_mutex_lock(&store.lock);
    old = store.plans[place];
    store.plans[place] = plan;
    pthread_mutex_unlock(&store.lock);
    select_plan_unref(old);
}

void
select_plan_keep(const struct query *query, const struct cursor *cursor,
                 const struct sql_parameters *parameters)
{
    static const struct table_set none;
    const struct deparsed *deparsed = &query->deparsed;
    const struct tree *tree = query->deparse.tree;
    struct select_plan *plan;

    if (!is_cacheable_text(query->deparse.session, query->deparse.source) ||
        tree->table_count > 0 || tree->assigns || tree->into_count > 0 ||
        deparsed->reordered || deparsed->reads_values ||
        !table_set_has_all(&none, &deparsed->tables))
        return;
    for (size_t i = 0; i < given_parameter_count(parameters); i++)
        if (parameters->values[i].size > PLAN_VALUE_MAX ||
            parameters->values[i].kind != 0)
            return;
    plan = plan_new(query, cursor, parameters);
    if (plan)
        put_plan(hash_plan_text(query->deparse.source), plan);
}

void
select_plan_clear(void)
{
    for (size_t i = 0; i < PLANS_KEPT; i++)
        put_plan(i, NULL);
}

static struct {
    pthread_mutex_t lock;
    struct handle *idle;
    size_t idle_count;
    const char *users[HANDLES_MAX + HANDLES_SPARE]; /* user of each handle in
                                                       use; NULL: free */
    size_t in_use;
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
            handle->needs_node = kept->needs_node;
            return kept->statement;
        }
    }
    return NULL;
}

int
handle_prepare(struct handle *handle, const char *sql, size_t size,
               sqlite3_stmt **out)
{
    /* PERSISTENT tells SQLite that the statement is kept, so that it leaves
     * the lookaside memory to others. */
    unsigned flags = size <= STATEMENT_TEXT_MAX ? SQLITE_PREPARE_PERSISTENT : 0;

    *out = take_kept(handle, sql, size);
    if (*out)
        return SQLITE_OK;
    memset(&handle->needs_node, 0, sizeof(handle->needs_node));
    return select_memory_prepare(&handle->memory, handle->db, sql, size, flags,
                                 out);
}

static struct kept_statement *
find_statement_slot(struct handle *handle, const sqlite3_stmt *statement)
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
    bool sound = sqlite3_reset(statement) == SQLITE_OK; /* SQLite repeats the
                                                         * last step's error
                                                         * here */
    size_t size;

    if (!statement)
        return;
    place = find_statement_slot(handle, statement);
    /* A client's values must not stay behind in memory that another one's
     * statement uses. */
    sqlite3_clear_bindings(statement);
    /* It was kept before, and stays. */
    if (place->statement == statement && sound)
        return;
    size = strlen(sqlite3_sql(statement));
    if (sound && size <= STATEMENT_TEXT_MAX &&
        sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_MEMUSED, 0) <=
            STATEMENT_MEMORY_MAX) {
        /* The one that was used longest ago makes room, or an empty place is
         * taken. */
        sqlite3_finalize(place->statement);
        place->statement = statement;
        place->size = size;
        place->used = ++handle->uses;
        place->needs_node = handle->needs_node;
        return;
    }
    if (place->statement == statement)
        memset(place, 0, sizeof(*place));
    sqlite3_finalize(statement);
}

static void
finalize_cached_statements(struct handle *handle)
{
    for (size_t i = 0; i < STATEMENTS_KEPT; i++)
        sqlite3_finalize(handle->kept[i].statement);
    memset(handle->kept, 0, sizeof(handle->kept));
}

void
handle_drop_statements(void)
{
    pthread_mutex_lock(&pool.lock);
    for (struct handle *h = pool.idle; h; h = h->next)
        finalize_cached_statements(h);
    pthread_mutex_unlock(&pool.lock);
}

/* ---- the pool ---- */

static void
handle_free(struct handle *handle)
{
    finalize_cached_statements(handle);
    sqlite3_close(handle->db);
    mem_free(handle->functions);
    mem_free(handle);
}

static struct handle *
handle_new(struct error *err)
{
    struct handle *handle = mem_zalloc(1, sizeof(*handle));
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                /* NOMUTEX: one thread at a time uses a handle. */
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
    select_memory_install();
    sqlite3_hard_heap_limit64(SELECT_HEAP_MAX);
}

/* Takes a slot for the user, and an idle handle if there is one.  A trusted
 * user finds a slot even when all others are taken, to look at what holds
 * them. */
static int
take_idle_handle(const struct sql_identity *who, struct handle **out,
                 const char ***slot, struct error *err)
{
    size_t max = HANDLES_MAX + (who->trusted ? HANDLES_SPARE : 0);
    struct handle *handle;

    pthread_mutex_lock(&pool.lock);
    *slot =
        user_quota_take(pool.users, &pool.in_use, max, who->user,
                        "open SELECTs", "read one to its end or close it", err);
    handle = *slot ? pool.idle : NULL;
    if (handle) {
        pool.idle = handle->next;
        pool.idle_count--;
    }
    pthread_mutex_unlock(&pool.lock);
    *out = handle;
    return *slot ? 0 : -1;
}

/* Gives the slot back; true: the pool keeps the handle. */
static bool
put_idle_handle(struct handle *handle, const char **slot)
{
    bool keep;

    pthread_mutex_lock(&pool.lock);
    user_quota_release(slot, &pool.in_use);
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
    const char **slot;

    pthread_once(&once, set_heap_limit);
    if (take_idle_handle(&scope->session->who, &handle, &slot, err) != 0)
        return NULL;
    if (!handle)
        handle = handle_new(err);
    if (!handle) {
        put_idle_handle(NULL, slot);
        return NULL;
    }
    handle->user_slot = slot;
    handle->scope = *scope;
    handle->memory.owner = scope->session->who.user;
    handle->await = await;
    handle->memory.cancelled = await ? &await->cancelled : NULL;
    /* FOUND_ROWS() in this SELECT is that of the statement before. */
    handle->found_rows = scope->session->found_rows;
    handle->now_ms = clock_wall_ms();
    handle->charged = 0;
    handle->recursion_left = -1;
    return handle;
}

static void
reset_produced_tables(struct handle *handle)
{
    static const struct table_set none;

    handle->bounded = none;
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
    /* First of all: the statement may borrow the tables' rows and the slots'
     * values. */
    put_statement(handle, statement);
    reset_produced_tables(handle);
    slots_fini(&handle->slots);
    memset(&handle->scope, 0, sizeof(handle->scope));
    handle->session = NULL;
    handle->await = NULL;
    handle->fetch = NULL;
    handle->failed = false;
    select_memory_reset(&handle->memory);
    memset(&handle->readable, 0, sizeof(handle->readable));
    if (!put_idle_handle(handle, handle->user_slot))
        handle_free(handle);
}
