/*
 * again.h - the program executed again, with prof:true.
 *
 * Start scripts set jemalloc's variable themselves, and what heapwire-run put
 * there is gone.
 */
#ifndef HW_AGAIN_H
#define HW_AGAIN_H

struct agent_start;
struct jemalloc;

/*
 * On the main thread before main, with its own argv and environment.  Does not
 * return where the same program begins anew, in the same process: once, and
 * only where its jemalloc can profile, is switched off, and AGENT_ENV_PROFILING
 * is given.  Else the jemalloc's note says why that did not help.
 */
void again_execute(const struct agent_start *start, struct jemalloc *jemalloc,
                   char **argv, char **envp);

#endif
