/*
 * unsampled.h - threads that were born while prof.thread_active_init was false:
 * jemalloc never samples them, whatever is switched on later.
 */
#ifndef HW_UNSAMPLED_H
#define HW_UNSAMPLED_H

#include <stdint.h>

enum { UNSAMPLED_THREADS_MAX = 4096 }; /* looked at */

/* Now, as the kernel counts births. */
uint64_t unsampled_now(void);

/* How many of this process's threads were born by then, but the calling one and
 * jemalloc's own; *all of them that are there. */
unsigned unsampled_count(uint64_t then, unsigned *all);

#endif
