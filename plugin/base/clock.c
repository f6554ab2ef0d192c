/* clock.c - see clock.h. */
#include "clock.h"

#include <time.h>

static int64_t
read_clock_ms(clockid_t which)
{
    struct timespec now;

    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t
clock_ms(void)
{
    return (uint64_t)read_clock_ms(CLOCK_MONOTONIC);
}

int64_t
clock_wall_ms(void)
{
    return read_clock_ms(CLOCK_REALTIME);
}

/* By default a condition's timeout is wall time, so that setting the machine's
 * clock would lengthen or end every wait. */
void
clock_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

int
clock_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock,
                uint64_t until_ms)
{
    struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
                             .tv_nsec = (long)(until_ms % 1000) * 1000000};

    return pthread_cond_timedwait(condition, lock, &until);
}

void
clock_text(int64_t wall_ms, char *out, size_t size)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;

    /* A year of more than 32 bits cannot be converted: the text is empty
     * then. */
    if (!gmtime_r(&seconds, &tm) ||
        strftime(out, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        out[0] = '\0';
}
