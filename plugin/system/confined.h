/*
 * confined.h - system calls that a filter (seccomp) may forbid, even by killing
 * the process: so a process cannot simply try one.
 *
 * heapwire-run tries them in children of its own, and gives the agent the list
 * of the permitted ones.  The agent makes only those calls, and only under the
 * same number of filters as heapwire-run had.  Shared by both; libc only.
 * heapwired tries the calls that it needs itself.
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
    CONFINED_ALL = 63,          /* all of the above: the agent's calls */
    /* heapwired's own: */
    CONFINED_PERF = 64,
    CONFINED_PTRACE = 128,  /* and process_vm_readv, to read the stopped
                             * thread's memory */
    CONFINED_PRIORITY = 256 /* sched_setscheduler */
};

enum { CONFINED_TEXT = 32 };

/* Number of the calling thread's seccomp filters; -1: there are some, or the
 * number cannot be known. */
int confined_filters(void);

/* Writes and reads the value of AGENT_ENV_FILTERS, "FILTERS,CALLS". */
void confined_write(int filters, unsigned calls, char *out);
/* The calls that the text (or NULL) permits under this number of filters. */
unsigned confined_read(int filters, const char *text);

/* posix_spawn_file_actions_addclosefrom_np, unless there are filters, since
 * that calls close_range; then close-on-exec must suffice. */
int confined_add_closefrom(posix_spawn_file_actions_t *actions, int from);

/* Makes one of the calls, which may end this process.  True if it did what it
 * is for; for ids, capabilities and heapwired's own calls: if the process is
 * still alive. */
bool confined_try(enum confined_call call);

/* ---- confined_child.c: not for the agent ---- */

/* The same in a child: 1 or 0.  -1: no child could be started. */
int confined_try_in_child(enum confined_call call);

/* Whether this process may make one of heapwired's own calls without being
 * killed.  From any thread; tried once, for heapwired adds no filters to those
 * that it was started under. */
bool confined_spares(enum confined_call call);

#endif
