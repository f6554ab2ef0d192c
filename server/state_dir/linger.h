/*
 * linger.h - how a heapwired that outlives its database gives way to a
 * successor.
 *
 * A heapwire-run that lingers holds a lock on the file "linger" in the state
 * directory.  Another one for the same directory, in any container, writes into
 * that file: the first then ends heapwired and gives way.
 */
#ifndef HW_LINGER_H
#define HW_LINGER_H

#include <stdbool.h>

/* The lock's descriptor; close it when heapwired has ended.  -1 with errno;
 * EWOULDBLOCK: another process has it. */
int linger_begin(const char *state_dir);
/* Whether a successor has come. */
bool linger_is_over(int lock);
/* Whether none finds it: somebody deleted the file. */
bool linger_is_lost(int lock);

/* Whether one lingers there. */
bool linger_is_held(const char *state_dir);
/* The same, and asks it to end. */
bool linger_end_of(const char *state_dir);

#endif
