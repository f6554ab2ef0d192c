/* run_patch.h - profiling_source = patched: the plan for a program's malloc. */
#ifndef HW_RUN_PATCH_H
#define HW_RUN_PATCH_H

#include <stdbool.h>

struct run;
struct error;

/* Is that asked for? */
bool run_wants_patch(const struct run *run);
/* Has the program its own jemalloc, for which it may help? */
bool run_may_patch(const struct run *run);
/* Plans the jumps into run->patch.  -1: *err says why the program does not
 * allow it. */
int run_plan_patch(struct run *run, struct error *err);

#endif
