/* handle.c - see handle.h. */
#include "handle.h"

#include "await.h"

enum {
    PROGRESS_OPS = 64, /* of SQLite's machine between two looks */
    LOOK_BYTES = 64,   /* bytes that a function handles in that time */
    LOOKS = 160        /* about a quarter of a millisecond: then it steps aside,
                          and looks at the clock as often */
};

bool
handle_is_cancelled(const struct handle *handle)
{
    return handle->cancelled &&
           atomic_load_explicit(handle->cancelled, memory_order_relaxed);
}

bool
handle_compute(struct handle *handle)
{
    handle->looks = 0;
    await_compute(handle->await);
    return handle_is_cancelled(handle);
}

bool
handle_charge(struct handle *handle, size_t bytes)
{
    handle->looks += bytes / LOOK_BYTES;
    return handle->looks >= LOOKS ? handle_compute(handle)
                                  : handle_is_cancelled(handle);
}

/* Non-zero stops this statement. sqlite3_interrupt from the cancelling thread
 * could stop the handle's next one. */
static int
progress(void *arg)
{
    return handle_charge(arg, LOOK_BYTES);
}

void
handle_watch(struct handle *handle)
{
    sqlite3_progress_handler(handle->db, PROGRESS_OPS, progress, handle);
}
