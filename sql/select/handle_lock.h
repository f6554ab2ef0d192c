/* handle_lock.h - what SQLite may do: read our tables and call our functions.
 */
#ifndef HW_HANDLE_LOCK_H
#define HW_HANDLE_LOCK_H

#include <stdbool.h>

struct handle;

/* Of a new handle, for good: -1 when SQLite refuses. */
int handle_lock_down(struct handle *handle);
/* Off: tables may be made.  -1 when SQLite refuses. */
int handle_lock(struct handle *handle, bool on);

#endif
