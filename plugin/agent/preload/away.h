/*
 * away.h - out of the way while the host changes what its threads may do.
 */
#ifndef HW_AWAY_H
#define HW_AWAY_H

#include <stdbool.h>

/* Looks up libc's functions, while the host has no threads: dlsym takes the
 * loader's lock. */
void away_find_next(void);
void away_forked(void); /* in a child */

/* Whether a filter is there under which no thread of ours can live. */
bool away_is_shut(void);

#endif
