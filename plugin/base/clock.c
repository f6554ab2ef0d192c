/* clock.c - see clock.h. */
#include "clock.h"

#include <time.h>

static int64_t
milliseconds(clockid_t which)
{
    struct timespec now;

    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t
clock_ms(void)
{
    return (uint64_t)milliseconds(CLOCK_MONOTONIC);
}

int64_t
clock_wall_ms(void)
{
    return milliseconds(CLOCK_REALTIME);
}

void
clock_text(int64_t wall_ms, char *out, size_t size)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;

    if (!gmtime_r(&seconds, &tm) ||
        strftime(out, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        out[0] = '\0';
}
