/* doctor.h - heapwire doctor. */
#ifndef HW_DOCTOR_H
#define HW_DOCTOR_H

#include <stdbool.h>

/* Looks at the node that given names (client_ask()), or at command, a
 * NULL-terminated program with its arguments that does not run yet; command may
 * be NULL. Answers the exit status: 0 if all is well, 1 for a warning, 2 if
 * something stops a feature. */
int doctor_run(const char *const *given, char *const *command);

#endif
