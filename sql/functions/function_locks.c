/* function_locks.c - GET_LOCK() and its like, with which clients exclude each
 * other. */
#include <string.h>

#include "await.h"
#include "clock.h"
#include "errors.h"
#include "function.h"
#include "function_lists.h"
#include "handle.h"
#include "sql_session.h"
#include "user_locks.h"

static uint32_t
caller(sqlite3_context *c)
{
    return function_handle(c)->scope.session->connection_id;
}

static void
fail(sqlite3_context *c, const struct error *err)
{
    struct handle *handle = function_handle(c);

    handle->failure = *err;
    handle->failed = true;
    sqlite3_result_error(c, err->text, -1);
}

/* Checks the name.  False: the statement fails with the reason. */
static bool
take_name(sqlite3_context *c, sqlite3_value *value, struct span *out)
{
    struct error err;

    *out = function_argument(value);
    if (out->size > 0 && out->size <= USER_LOCK_NAME_MAX &&
        !memchr(out->data, 0, out->size))
        return true;
    error_set(&err, ER_USER_LOCK_WRONG_NAME,
              "Incorrect user-level lock name '%.*s': 1 to %d bytes are one",
              out->size < USER_LOCK_NAME_MAX ? (int)out->size
                                             : USER_LOCK_NAME_MAX,
              out->data, USER_LOCK_NAME_MAX);
    fail(c, &err);
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
    if (!take_name(c, argv[0], &name))
        return;
    if (seconds >= 0 && seconds * 1000 < FUNCTION_WAIT_MAX_MS)
        wait = (uint64_t)(seconds * 1000);
    if (function_handle(c)->await)
        user_locks_watch(&watch, await_waker(function_handle(c)->await));
    do {
        got = user_lock_take(name, caller(c));
    } while (got == USER_LOCK_BUSY &&
             function_wait(c, "User lock", start + wait));
    user_locks_unwatch(&watch);
    if (got == USER_LOCK_NONE) {
        error_set(&err, ER_OUT_OF_RESOURCES,
                  "Out of resources: %d user-level locks are held; release "
                  "some",
                  USER_LOCKS_MAX);
        fail(c, &err);
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
    if (!take_name(c, argv[0], &name))
        return;
    released = user_lock_release(name, caller(c));
    if (released != USER_LOCK_NONE)
        sqlite3_result_int(c, released == USER_LOCK_DONE);
}

static void
call_release_all(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int64(c, user_locks_release(caller(c)));
}

static void
call_is_free(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span name;

    (void)argc;
    if (take_name(c, argv[0], &name))
        sqlite3_result_int(c, user_lock_owner(name) == 0);
}

static void
call_is_used(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    struct span name;
    uint32_t owner;

    (void)argc;
    if (!take_name(c, argv[0], &name))
        return;
    owner = user_lock_owner(name);
    if (owner)
        sqlite3_result_int64(c, owner);
}

const struct function lock_functions[] = {
    {"get_lock", 2, 2, call_get_lock, RETURNS_BIGINT},
    {"release_lock", 1, 1, call_release_lock, RETURNS_BIGINT},
    {"release_all_locks", 0, 0, call_release_all, RETURNS_BIGINT},
    {"is_free_lock", 1, 1, call_is_free, RETURNS_BIGINT},
    {"is_used_lock", 1, 1, call_is_used, RETURNS_BIGINT},
    {NULL},
};
