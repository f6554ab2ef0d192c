/* function.c - see function.h. */
#include "function.h"

#include <time.h>

#include "await.h"
#include "clock.h"
#include "handle.h"

enum {
    NAP_MS = 20 /* between two checks for cancelling, without an await */
};

struct handle *
function_handle(sqlite3_context *c)
{
    return ((const struct function_use *)sqlite3_user_data(c))->handle;
}

const char *
function_name(sqlite3_context *c)
{
    return ((const struct function_use *)sqlite3_user_data(c))->function->name;
}

bool
function_charge(sqlite3_context *c, size_t bytes)
{
    if (!handle_charge(function_handle(c), bytes))
        return false;
    sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    return true;
}

bool
function_leave_loop(sqlite3_context *c)
{
    if (!handle_leave_loop(function_handle(c)))
        return false;
    sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    return true;
}

bool
function_stopped(sqlite3_context *c)
{
    const struct handle *handle = function_handle(c);

    return handle->exhausted || handle_is_cancelled(handle);
}

static void
nap(struct await *await, uint64_t ms)
{
    struct timespec time = {0, (long)(ms < NAP_MS ? ms : NAP_MS) * 1000000};

    if (await)
        await_time(await, clock_ms() + ms); /* and others compute */
    else
        nanosleep(&time, NULL);
}

/* On a worker only; a statement on the loop begins anew there. */
bool
function_nap(sqlite3_context *c, uint64_t until_ms, uint64_t nap_ms)
{
    uint64_t now = clock_ms(), left = until_ms > now ? until_ms - now : 0;

    if (left == 0)
        return false;
    if (function_leave_loop(c) || function_stopped(c)) {
        sqlite3_result_error_code(c, SQLITE_INTERRUPT);
        return false;
    }
    nap(function_handle(c)->await, left < nap_ms ? left : nap_ms);
    return true;
}
