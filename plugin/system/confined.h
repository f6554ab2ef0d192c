/*
 * confined.h - system calls that a filter (seccomp) may forbid, even by killing
 * the process: so a process cannot simply try one.
 *
 * heapwire-run tries them in children of its own, and gives the agent the list
 * of what may be called.  The agent calls only those, and only under the same
 * filters as heapwire-run's.  Shared by both; libc only.
 */
#ifndef HW_CONFINED_H
#define HW_CONFINED_H

#include <spawn.h>
#include <stdbool.h>

enum confined_call {
    CONFINED_CLOSE_RANGE = 1, /* with CLOSE_RANGE_UNSHARE */
    CONFINED_UNSHARE = 2,     /* CLONE_FILES */
    CONFINED_MEMFD = 4,
    CONFINED_SIGNALFD = 8,
    CONFINED_IDS = 16,          /* setgroups, setresgid, setresuid */
    CONFINED_CAPABILITIES = 32, /* capset, prctl */
    CONFINED_ALL = 63
};

enum { CONFINED_TEXT = 32 };

/* Number of a thread's seccomp filters; -1: there are some, or the number
 * cannot be known. */
int confined_filters(void);

/* AGENT_ENV_FILTERS: "FILTERS,CALLS". */
void confined_write(int filters, unsigned calls, char *out);
/* The calls that the text (or NULL) allows under so many filters. */
unsigned confined_read(int filters, const char *text);

/* posix_spawn_file_actions_addclosefrom_np, which is close_range: not under
 * filters.  Then close-on-exec has to do. */
int confined_add_closefrom(posix_spawn_file_actions_t *actions, int from);

/* Makes one of the calls, which may end this process.  True if it does what it
 * is for; ids and capabilities: if the process lives. */
bool confined_try(enum confined_call call);

#endif
