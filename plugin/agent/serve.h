/* serve.h - the agent's thread. */
#ifndef HW_SERVE_H
#define HW_SERVE_H

struct agent_start;

/* Serves until phase_stopping().  0, or an errno: why it could not serve. */
int serve_run(const struct agent_start *start);

/* Where a thread has stepped aside and none can follow: profiling that it has
 * switched on ends, and what it left is forgotten.  The host's thread's. */
void serve_nobody(void);
/* On the host's thread, before a filter comes: no child is served. */
void serve_unfit(const struct agent_start *start);

#endif
