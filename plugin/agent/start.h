/*
 * start.h - the agent of this process, started by the preloaded library.
 *
 * Only for the thread that starts the program and for a fork's child, where no
 * other thread runs; but any thread may call start_may_suspend and what follows
 * it.  All others go through heapwire.h.
 */
#ifndef HW_START_H
#define HW_START_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct agent_start;

/* For a thread that holds one of our locks: no signal handler may run
 * meanwhile, and it may not be cancelled. */
struct signal_guard {
    sigset_t mask;
    int cancel;
};
void signal_guard_begin(struct signal_guard *guard);
void signal_guard_end(const struct signal_guard *guard);

/* Takes the settings from an environment; 0, E2BIG, or EINVAL where they lack a
 * usable state directory. */
int start_take_environment(char *const *envp);

/* Finds the jemalloc of the program that is about to start.  Returns what the
 * thread will start with. */
struct agent_start *start_find_allocator(void);

/* Starts the thread with that jemalloc and the settings, unless they name a
 * child; on_fork is called in forked children. */
int start_early(void (*on_fork)(void));

/* Call first in a forked child: forgets the parent's agent. */
void start_forked(void);

/* True if the settings name a child of the database, not the database itself.
 */
bool start_wants_child(void);

/* In a forked child: starts an agent that serves once no other process does and
 * the two (0: none) have ended. */
int start_in_child(pid_t elder, pid_t younger);

/* False in a process that is to have no agent, nor children with one (also in
 * vfork's child), and on the agent's own thread. */
bool start_may_suspend(void);
/* May the agent's thread do exactly what the calling one may? */
bool start_has_callers_rights(void);
/* Lets the thread set no_new_privs for itself, within a second. */
void start_no_new_privs(void);
/* Ends the thread; false: there was none.  A thread that is dumping is waited
 * for: a moment, where libc may change it together with the calling one; as
 * long as it takes (ten minutes at most), where it may not; ten seconds, once,
 * where only the calling thread changes. */
bool start_suspend_agent(bool alone);
/* Starts the next thread, which has the rights of the calling one.  Where none
 * can be started, or heapwire_stop() was called meanwhile, profiling that the
 * agent has switched on ends.  False: the last one is still on its way out;
 * until this is called again nobody answers, and profiling stays as it was. */
bool start_resume_agent(void);
/* Ends the thread because it cannot live under a coming filter: for good, if
 * the filter does come.  False: there was none. */
bool start_leave(bool all_threads);
/* Later threads must not make these calls (enum confined_call). */
void start_refuse(unsigned calls);

#endif
