/*
 * watchdog.c - see watchdog.h.
 *
 * It measures the thread's processor time, so a busy machine raises no alarm.
 * That clock is a system call, unlike clock_ms(): it is read no more often than
 * each 5 ms, and a measured span may contain several short events.
 */
#include "watchdog.h"

#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "log.h"

enum {
    MS = 1000 * 1000,
#ifdef HW_WATCHFUL
    SLOWER = 10, /* under a sanitizer */
#else
    SLOWER = 1,
#endif
    /* of one event, and of those before it since the clock was read */
    LIMIT_MS = (WATCHDOG_MS + WATCHDOG_EVERY_MS) * SLOWER
};

static uint64_t
thread_processor_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static void
report_stalled_loop(uint64_t ms, uint32_t connection)
{
    log_ratelimited(
        "the event loop stood still for %u ms of processor time, for "
        "connection %u (0: for none): this is a fault of heapwire",
        (unsigned)ms, connection);
#ifdef HW_WATCHFUL
    abort();
#endif
}

void
watchdog_mark(struct watchdog *dog, uint32_t connection)
{
    uint64_t now_ms = clock_ms(), before_ns = dog->cpu_ns;

    /* Zero after a change of the leader: the clock is the thread's own. */
    if (before_ns > 0 && now_ms - dog->read_ms < WATCHDOG_EVERY_MS)
        return;
    dog->read_ms = now_ms;
    dog->cpu_ns = thread_processor_ns();
    if (before_ns > 0 && dog->cpu_ns - before_ns > (uint64_t)LIMIT_MS * MS)
        report_stalled_loop((dog->cpu_ns - before_ns) / MS, connection);
}

void
watchdog_begin(struct watchdog *dog)
{
    dog->cpu_ns = 0;
}
