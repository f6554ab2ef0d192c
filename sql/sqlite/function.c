/* function.c - see function.h. */
#include "function.h"

#include "await.h"
#include "clock.h"
#include "handle.h"

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
function_compute(sqlite3_context *c)
{
    if (!handle_compute(function_handle(c)))
        return false;
    sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    return true;
}

bool
function_stopped(sqlite3_context *c)
{
    const struct handle *handle = function_handle(c);

    return !handle->await || await_is_over(handle->await);
}

bool
function_wait(sqlite3_context *c, const char *what, uint64_t until_ms)
{
    struct error unsaid;

    if (clock_ms() >= until_ms)
        return false;
    if (!function_stopped(c) &&
        await_until(function_handle(c)->await, what, until_ms, &unsaid) == 0)
        return true;
    sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    return false;
}
