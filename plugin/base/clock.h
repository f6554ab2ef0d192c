/* clock.h - time: monotonic for deadlines, wall for people. */
#ifndef HW_CLOCK_H
#define HW_CLOCK_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

uint64_t clock_ms(void);     /* monotonic milliseconds */
int64_t clock_wall_ms(void); /* milliseconds since 1970, UTC */

/* Initialises a condition whose waits are timed by clock_ms. */
void clock_cond_init(pthread_cond_t *condition);
/* As pthread_cond_timedwait: 0 or ETIMEDOUT. */
int clock_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock,
                    uint64_t until_ms);

/* "2026-11-21 02:31:07" in UTC; size at least CLOCK_TEXT. */
enum { CLOCK_TEXT = 24 };
void clock_text(int64_t wall_ms, char *out, size_t size);

#endif
