/*
 * leave_reason.h - why an agent has left a process that runs on: what it, or
 * heapwire-run, wrote into its lock (LEAVE_REASON_TAG), which outlives both it
 * and heapwired.
 */
#ifndef HW_LEAVE_REASON_H
#define HW_LEAVE_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* greeted: the pid of the latest greeting, and peer the same process as we see
 * it; 0: unknown.  False, and out is "": no process lives on without its
 * agent. */
bool leave_reason_read(const char *state_dir, pid_t greeted, pid_t peer,
                       char *out, size_t size);

/* Whether an agent serves in the directory: it holds the lock as long as its
 * process lives.  *holder, if not NULL and there is one: that process; 0: of
 * another pid namespace. */
bool agent_lock_is_held(const char *state_dir, pid_t *holder);

/* Leaves that reason for this process, unless an agent serves in the directory.
 */
void leave_reason_write(const char *state_dir, pid_t pid, const char *why);

#endif
