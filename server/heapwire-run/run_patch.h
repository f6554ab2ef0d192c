/* run_patch.h - profiling_source = patched: the plan for a program's malloc. */
#ifndef HW_RUN_PATCH_H
#define HW_RUN_PATCH_H

#include <stdbool.h>

struct run;
struct error;

/* Whether that is asked for. */
bool run_wants_patch(const struct run *run);
/* Whether the program has a jemalloc of its own, for which it may help. */
bool run_may_patch(const struct run *run);
/* Plans the jumps into run->patch.  -1: *err says of the program why not. */
int run_plan_patch(struct run *run, struct error *err);

#endif
