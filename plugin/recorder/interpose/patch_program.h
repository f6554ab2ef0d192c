/* patch_program.h - leads a program's own malloc to ours, by patch_plan.h. */
#ifndef HW_PATCH_PROGRAM_H
#define HW_PATCH_PROGRAM_H

/* Call it before main, on the only thread, once the segment is claimed.
 * Carries out all of the plan or nothing; the segment's header says which. */
void patch_program(char *const *envp);

#endif
