/*
 * function_session.c - functions of the session and of the server: variables,
 * user locks, USER(), SLEEP(), LAST_INSERT_ID().
 *
 * Those that wait (SLEEP, GET_LOCK) block the statement's thread in its await,
 * off the event loop, so a kill or the time limit ends them.  Those that
 * change the session (@x := y, LAST_INSERT_ID(x)) do so at once, since the
 * next row may read it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "await.h"
#include "clock.h"
#include "errors.h"
#include "function.h"
#include "function_table.h"
#include "handle.h"
#include "kind.h"
#include "sql_session.h"
#include "variables.h"

static struct handle *
handle_of(sqlite3_context *c)
{
    return function_handle(c);
}

static const struct sql_session *
session_of(sqlite3_context *c)
{
    return handle_of(c)->scope.session;
}

/* Checks the name.  False: the statement fails with the reason. */
static bool
read_user_lock_name(sqlite3_context *c, sqlite3_value *value, struct span *out)
{
    struct error err;

    *out = function_argument(value);
    if (out->size > 0 && out->size <= USER_LOCK_NAME_MAX &&
        !memchr(out->data, 0, out->size))
        return true;
    error_set(&err, ER_USER_LOCK_WRONG_NAME,
              "Incorrect user-level lock name '%.*s': a name has 1 to %d bytes",
              out->size < USER_LOCK_NAME_MAX ? (int)out->size
                                             : USER_LOCK_NAME_MAX,
              out->data, USER_LOCK_NAME_MAX);
    function_fail(c, &err);
    return false;
}

/* GET_LOCK(name, seconds): 1, or 0 if another session holds the lock for so
 * long.  A negative number waits until the statement's own time ends. */
static void
call_get_lock(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double seconds = function_real(argv[1]);
    uint64_t start = clock_ms(), wait = FUNCTION_WAIT_MAX_MS;
    struct user_lock_watch watch = {.next = NULL};
    enum user_lock got;
    struct span name;
    struct error err;

    (void)argc;
    if (!read_user_lock_name(c, argv[0], &name))
        return;
    if (seconds >= 0 && seconds * 1000 < FUNCTION_WAIT_MAX_MS)
        wait = (uint64_t)(seconds * 1000);
    if (function_handle(c)->await)
        user_locks_watch(&watch, await_waker(function_handle(c)->await));
    /* The watch is registered first: a lock that is released between the
     * attempt and the wait still wakes it. */
    do {
        got = user_lock_take(name, session_of(c));
    } while (got == USER_LOCK_BUSY &&
             function_wait(c, "User lock", start + wait));
    user_locks_unwatch(&watch);
    if (got == USER_LOCK_NONE) {
        error_set(&err, ER_OUT_OF_RESOURCES,
                  "Out of resources: %d user-level locks are held; release "
                  "some",
                  USER_LOCKS_MAX);
        function_fail(c, &err);
    } else if (got == USER_LOCK_DONE || !function_stopped(c)) {
        sqlite3_result_int(c, got == USER_LOCK_DONE);
    }
}

static void
call_release_lock(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    enum user_lock released;
    struct span name;

    (void)argc;
    if (!read_user_lock_name(c, argv[0], &name))
        return;
    released = user_lock_release(name, session_of(c));
    /* NULL if nobody holds it. */
    if (released != USER_LOCK_NONE)
        sqlite3_result_int(c, released == USER_LOCK_DONE);
}

static void
call_release_all(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int64(c, user_locks_release(session_of(c)));
}

static void
call_is_free(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span name;

    (void)argc;
    if (read_user_lock_name(c, argv[0], &name))
        sqlite3_result_int(c, user_lock_owner(name) == 0);
}

static void
call_is_used(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span name;
    uint32_t owner;

    (void)argc;
    if (!read_user_lock_name(c, argv[0], &name))
        return;
    owner = user_lock_owner(name);
    if (owner)
        sqlite3_result_int64(c, owner);
}

static void
return_value(sqlite3_context *c, const struct value *value)
{
    struct decimal d;
    size_t used;

    if (value->kind >= KIND_EXACT && value->type == VALUE_TEXT &&
        decimal_read((struct span){value->data, value->size}, &d, &used)) {
        kind_result_exact(c, d, value->kind - KIND_EXACT);
        return;
    }
    switch (value->type) {
    case VALUE_NULL:
        sqlite3_result_null(c);
        break;
    case VALUE_INT:
        sqlite3_result_int64(c, value->integer);
        break;
    case VALUE_DOUBLE:
        sqlite3_result_double(c, value->real);
        break;
    case VALUE_TEXT:
        function_text(c, value->data, value->size);
        break;
    case VALUE_BLOB:
        function_bytes(c, value->data, value->size);
        break;
    }
    if (value->kind)
        sqlite3_result_subtype(c, value->kind);
}

static void
call_version(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    function_text(c, SQL_SERVER_VERSION, strlen(SQL_SERVER_VERSION));
}

static void
call_user(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct sql_identity *who = &session_of(c)->who;
    char text[sizeof(who->user) + sizeof(who->host) + 1];
    int size = snprintf(text, sizeof(text), "%s@%s", who->user, who->host);

    (void)argc;
    (void)argv;
    function_text(c, text, (size_t)size);
}

static void
call_role(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    function_text(c, "NONE", 4);
}

static void
call_database(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const char *database = session_of(c)->database;

    (void)argc;
    (void)argv;
    if (*database)
        function_text(c, database, strlen(database));
}

static void
call_connection_id(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int64(c, session_of(c)->connection_id);
}

static void
call_zero(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int(c, 0);
}

/* LAST_INSERT_ID(x) sets what LAST_INSERT_ID() gives. */
static void
call_last_insert_id(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct sql_session *session = handle_of(c)->session;

    if (argc > 0)
        session->last_insert_id = function_natural(argv[0]);
    if (!function_any_null(argc, argv))
        function_unsigned(c, session->last_insert_id);
}

static void
call_found_rows(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int64(c, (int64_t)handle_of(c)->found_rows);
}

/* hw_variable(index in the table, scope): @@x */
static void
call_variable(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    size_t index = (size_t)sqlite3_value_int64(argv[0]);
    char room[VARIABLE_BYTES];
    struct value value;

    (void)argc;
    if (index >= variable_count || variables[index].same_as)
        return;
    variable_get(session_of(c), &variables[index],
                 (enum variable_scope)sqlite3_value_int(argv[1]), room, &value);
    return_value(c, &value);
}

/* hw_user_variable('x'): @x; NULL if it is not set */
static void
call_user_variable(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct session_value *setting =
        session_value_find(session_of(c), NULL, function_argument(argv[0]));

    (void)argc;
    if (setting)
        return_value(c, &setting->value);
}

/* hw_assign('x', y): @x := y, which takes effect at once */
static void
call_assign(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct handle *handle = handle_of(c);
    struct value value = kind_value(argv[1]);
    struct session_value *setting;

    (void)argc;
    setting = session_value_new(NULL, function_argument(argv[0]), &value,
                                &handle->failure);
    if (setting &&
        session_value_apply(handle->session, setting, &handle->failure) == 0) {
        sqlite3_result_value(c, argv[1]);
        return;
    }
    handle->failed = true;
    sqlite3_result_error(c, handle->failure.text, -1);
}

static int64_t
most_recursions(sqlite3_context *c)
{
    static const struct span name = {"cte_max_recursion_depth", 23};
    char room[VARIABLE_BYTES];
    struct value value;

    variable_get(session_of(c), variable_find(name, NULL), SCOPE_SESSION, room,
                 &value);
    return value.integer;
}

/* hw_recursed(): gives 1 once for each row that a recursive query reads of
 * itself; past cte_max_recursion_depth the statement fails.  SQLite itself
 * would go on for ever. */
static void
call_recursed(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    int64_t *left = &handle_of(c)->recursion_left;
    struct error err;

    (void)argc;
    (void)argv;
    /* The session is asked once per statement, at the first such row. */
    if (*left < 0)
        *left = most_recursions(c);
    if ((*left)-- > 0) {
        sqlite3_result_int(c, 1);
        return;
    }
    error_set(&err, ER_CTE_MAX_RECURSION_DEPTH,
              "Recursive query aborted after %lld rows. Try increasing "
              "@@cte_max_recursion_depth to a larger value.",
              (long long)most_recursions(c));
    function_fail(c, &err);
}

/* ---- waiting ---- */

static void
call_sleep(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    double seconds = function_real(argv[0]);
    uint64_t start = clock_ms(), wait = FUNCTION_WAIT_MAX_MS;

    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || seconds < 0) {
        sqlite3_result_error(c, "Incorrect arguments to sleep", -1);
        return;
    }
    if (seconds * 1000 < FUNCTION_WAIT_MAX_MS)
        wait = (uint64_t)(seconds * 1000);
    /* Another notification may end a wait before its time. */
    while (function_wait(c, "User sleep", start + wait))
        ;
    if (!function_stopped(c))
        sqlite3_result_int(c, 0);
}

static void
call_any(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3_result_value(c, argv[0]);
}

const struct function session_functions[] = {
    {"hw_variable", 2, 2, call_variable, RETURNS_TEXT},
    {"hw_user_variable", 1, 1, call_user_variable, RETURNS_TEXT},
    {"hw_assign", 2, 2, call_assign, RETURNS_TEXT},
    {"version", 0, 0, call_version, RETURNS_TEXT},
    {"user", 0, 0, call_user, RETURNS_TEXT},
    {"current_user", 0, 0, call_user, RETURNS_TEXT},
    {"session_user", 0, 0, call_user, RETURNS_TEXT},
    {"system_user", 0, 0, call_user, RETURNS_TEXT},
    {"current_role", 0, 0, call_role, RETURNS_TEXT},
    {"database", 0, 0, call_database, RETURNS_TEXT},
    {"schema", 0, 0, call_database, RETURNS_TEXT},
    {"connection_id", 0, 0, call_connection_id, RETURNS_BIGINT},
    {"found_rows", 0, 0, call_found_rows, RETURNS_BIGINT},
    {"last_insert_id", 0, 1, call_last_insert_id, RETURNS_UNSIGNED},
    {"row_count", 0, 0, call_zero, RETURNS_BIGINT},
    {"hw_recursed", 0, 0, call_recursed, RETURNS_BIGINT},
    {"sleep", 1, 1, call_sleep, RETURNS_BIGINT},
    {"any_value", 1, 1, call_any, RETURNS_FIRST},
    {"get_lock", 2, 2, call_get_lock, RETURNS_BIGINT},
    {"release_lock", 1, 1, call_release_lock, RETURNS_BIGINT},
    {"release_all_locks", 0, 0, call_release_all, RETURNS_BIGINT},
    {"is_free_lock", 1, 1, call_is_free, RETURNS_BIGINT},
    {"is_used_lock", 1, 1, call_is_used, RETURNS_BIGINT},
    {NULL},
};
