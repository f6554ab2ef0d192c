/*
 * agent_word.h - why an agent has left a process that lives on: what it, or
 * heapwire-run, wrote into its lock (AGENT_WORD), which outlives both it and
 * heapwired.
 */
#ifndef HW_AGENT_WORD_H
#define HW_AGENT_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* greeted: the pid of the latest greeting, and peer the same process as we see
 * it; 0: unknown.  False, and out is "": no process lives on without its
 * agent. */
bool agent_word_read(const char *state_dir, pid_t greeted, pid_t peer,
                     char *out, size_t size);

/* Whether an agent serves in the directory: it holds the lock as long as its
 * process lives.  *holder, if not NULL and there is one: that process; 0: of
 * another pid namespace. */
bool agent_word_is_held(const char *state_dir, pid_t *holder);

/* Leaves that word for this process, unless an agent serves in the directory.
 */
void agent_word_leave(const char *state_dir, pid_t pid, const char *why);

#endif
