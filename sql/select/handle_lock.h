/* handle_lock.h - limits SQLite to reading our tables and calling our
 * functions. */
#ifndef HW_HANDLE_LOCK_H
#define HW_HANDLE_LOCK_H

#include <stdbool.h>

struct handle;

/* Locks a new handle for good.  -1 if SQLite refuses. */
int handle_lock_down(struct handle *handle);
/* Switches the lock; off: tables may be made.  -1 if SQLite refuses. */
int handle_lock(struct handle *handle, bool on);

#endif
