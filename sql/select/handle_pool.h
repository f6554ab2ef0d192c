/*
 * handle_pool.h - handles (handle.h) that are borrowed, and the statements that
 * they keep prepared.  From any thread.
 */
#ifndef HW_HANDLE_POOL_H
#define HW_HANDLE_POOL_H

#include <stddef.h>

#include <sqlite3.h>

struct catalog_scope;
struct error;
struct handle;

/* 1105 when too many are taken, by all or by the scope's user. */
struct handle *handle_acquire(const struct catalog_scope *scope,
                              struct error *err);
/* After its statements were put back.  NULL is fine. */
void handle_release(struct handle *handle);

/*
 * The statement of sql, prepared now or kept since an earlier one read so.
 * It serves any session: it has nothing of one in it, and what it
 * may read is looked up each time it runs, in handle->readable.  Returns
 * SQLite's code.
 */
int handle_prepare(struct handle *handle, const char *sql, size_t size,
                   sqlite3_stmt **out);
void handle_put(struct handle *handle,
                sqlite3_stmt *statement); /* NULL: fine */

/* Forgets what idle handles have kept. */
void handle_forget(void);

#endif
