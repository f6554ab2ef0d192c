/* handle.c - see handle.h. */
#include "handle.h"

enum {
    PROGRESS_OPS = 64, /* of SQLite's machine between two checks */
    LOOK_BYTES = 64    /* bytes that a function handles in that time */
};

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

/* Non-zero stops this statement. sqlite3_interrupt from the cancelling thread
 * could stop the handle's next one. */
static int
progress(void *arg)
{
    struct handle *handle = arg;

    if (handle->looks > 0 && --handle->looks == 0)
        handle->exhausted = true;
    return handle->exhausted || handle_is_cancelled(handle);
}

void
handle_watch(struct handle *handle)
{
    sqlite3_progress_handler(handle->db, PROGRESS_OPS, progress, handle);
}
