/*
 * linger.h - heapwired after its database's death, and who comes next.
 *
 * A heapwire-run that lingers holds a lock on the file "linger" in the state
 * directory.  Another one for the same directory, in whatever container, writes
 * into that file: the first then ends heapwired and gives way.
 */
#ifndef HW_LINGER_H
#define HW_LINGER_H

#include <stdbool.h>

/* The lock's descriptor, which is to be closed when heapwired has ended.  -1
 * with errno; EWOULDBLOCK: there is another one. */
int linger_begin(const char *state_dir);
/* Whether a successor has come. */
bool linger_is_over(int lock);

/* Whether one lingers there. */
bool linger_is_held(const char *state_dir);
/* The same; it is told to end. */
bool linger_end_of(const char *state_dir);

#endif
