/*
 * handle_pool.h - a pool of handles (handle.h) and of their prepared
 * statements.
 *
 * Any thread may call these.
 */
#ifndef HW_HANDLE_POOL_H
#define HW_HANDLE_POOL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

struct await;
struct catalog_scope;
struct error;
struct handle;

/* Lends a handle; await NULL: the statement never waits, nor is cancelled. NULL
 * with *err: all handles, or the user's quota of them, are taken. */
struct handle *handle_acquire(const struct catalog_scope *scope,
                              struct await *await, struct error *err);
/* Takes it back with the statement that it gave; NULL is fine for each. */
void handle_release(struct handle *handle, sqlite3_stmt *statement);

/*
 * Lends a statement for sql: prepared now, or kept since an equal text was.  It
 * holds nothing of a session, and each run checks handle->readable for the
 * tables that it may read.  Returns SQLite's code.
 */
int handle_prepare(struct handle *handle, const char *sql, size_t size,
                   sqlite3_stmt **out);

/* Drops all statements that idle handles keep. */
void handle_drop_statements(void);

/* Lets a new handle only read: no writes, extensions or triggers.
 * select_vtab_create lifts that while it creates tables.  -1 if SQLite refuses.
 */
int handle_lock_down(struct handle *handle);

/* Attaches the catalog's databases, still empty, to a new handle.  -1 if SQLite
 * refuses. */
int select_vtab_attach(struct handle *handle);
/* Creates the tables of handle->readable that the handle lacks.  -1 if SQLite
 * refuses. */
int select_vtab_create(struct handle *handle);

#endif
