/*
 * again.h - the program executed again, with prof:true.
 *
 * Needed because a start script that sets jemalloc's variable replaces
 * heapwire-run's value.
 */
#ifndef HW_AGAIN_H
#define HW_AGAIN_H

struct agent_start;
struct jemalloc;

/*
 * On the main thread before main, with its own argv and environment.  Does not
 * return when it executes the program again, in the same process: once, and
 * only where its jemalloc can profile, opt.prof is false, and
 * AGENT_ENV_PROFILING is given.  Otherwise the jemalloc's note has the reason.
 */
void again_execute(const struct agent_start *start, struct jemalloc *jemalloc,
                   char **argv, char **envp);

#endif
