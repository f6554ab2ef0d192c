/*
 * unsampled.h - threads that were born while prof.thread_active_init was false:
 * jemalloc never samples them, whatever is switched on later.
 */
#ifndef HW_UNSAMPLED_H
#define HW_UNSAMPLED_H

#include <stdint.h>

enum { UNSAMPLED_THREADS_MAX = 4096 }; /* that are examined */

/* The time now, in the unit of a thread's start time. */
uint64_t unsampled_now(void);

/* Counts this process's threads born until then, except the calling one and
 * jemalloc's own; *all gets the number of any age. */
unsigned unsampled_count(uint64_t then, unsigned *all);

#endif
