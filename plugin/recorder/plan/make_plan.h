/*
 * make_plan.h - plans how a program's own malloc is led to the recorder.
 *
 * Of the file alone, before the program runs.  All of its malloc, or nothing.
 */
#ifndef HW_MAKE_PLAN_H
#define HW_MAKE_PLAN_H

struct error;
struct patch_plan;

/* prefix: of its functions, "je_" or "".  -1, and *err says of the program what
 * forbids it, as "its je_free begins with a call". */
int patch_plan_make(int fd, const char *prefix, struct patch_plan *plan,
                    struct error *err);

#endif
