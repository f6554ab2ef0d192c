/*
 * make_plan.h - plans how a program's own malloc is led to the recorder.
 *
 * From the file alone, before the program runs.  All of its malloc is planned,
 * or nothing.
 */
#ifndef HW_MAKE_PLAN_H
#define HW_MAKE_PLAN_H

struct error;
struct patch_plan;

/* prefix is that of its functions, "je_" or "".  -1 with *err: what about the
 * program forbids it, such as "its je_free begins with a call". */
int patch_plan_make(int fd, const char *prefix, struct patch_plan *plan,
                    struct error *err);

#endif
