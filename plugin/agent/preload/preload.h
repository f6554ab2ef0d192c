/*
 * preload.h - the parts of the preloaded library: executing the program again
 * with prof:true, and living with what the host does to its threads.
 *
 * The first is needed because a start script that sets jemalloc's variable
 * replaces heapwire-run's value.
 */
#ifndef HW_PRELOAD_H
#define HW_PRELOAD_H

#include <stdbool.h>

struct agent_start;
struct jemalloc;
struct sock_fprog;

/*
 * Call it on the main thread before main, with the program's argv and
 * environment.  Does not return when it executes the program again, in the same
 * process: once, and only where its jemalloc can profile, opt.prof is false,
 * and AGENT_ENV_PROFILING is given.  Otherwise the jemalloc's note has the
 * reason.
 */
void reexec_program(const struct agent_start *start, struct jemalloc *jemalloc,
                    char **argv, char **envp);

/* Keeps our thread away while the host changes what its threads may do. */

/* Looks up libc's functions, while the host has no threads: dlsym takes the
 * loader's lock. */
void suspend_find_libc(void);
void suspend_forked(void); /* in a child */

/* Whether a filter is in force under which no thread of ours can live. */
bool suspend_is_final(void);

/* ---- seccomp_filter.c ----
 * Whether our thread can live under a seccomp filter.  The filter is a program,
 * which is read for each call that the thread, libc and jemalloc on it, make.
 * What depends on arguments counts as its worst.  One thread at a time, with
 * little stack. */

/* False if the filter does not allow a call that is needed.  Removes from
 * *calls (enum confined_call) those that it does not allow. */
bool seccomp_filter_allows(const struct sock_fprog *filter, unsigned *calls);

#endif
