/* doctor.h - heapwire doctor. */
#ifndef HW_DOCTOR_H
#define HW_DOCTOR_H

#include <stdbool.h>

/* Of the node that given names (client_ask()), or of command, which is not
 * running yet: NULL-terminated, or NULL.  The exit status: 0 all is well, 1 a
 * warning, 2 something stops a feature. */
int doctor_run(const char *const *given, char *const *command);

#endif
