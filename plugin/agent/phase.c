/* phase.c - see phase.h. */
#include "phase.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent_tools.h"

static _Atomic uint32_t now; /* enum phase, and a futex */
static atomic_bool stop;

void
phase_reset(void)
{
    now = PHASE_STARTING;
    stop = false;
}

void
phase_enter(enum phase phase)
{
    now = phase;
    syscall(SYS_futex, &now, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

enum phase
phase_now(void)
{
    return now;
}

int
phase_await(enum phase phase, uint32_t timeout_ms)
{
    const struct timespec step = {.tv_sec = timeout_ms / 1000};
    int64_t until_ms = agent_monotonic_ms() + timeout_ms;
    uint32_t seen;

    while ((seen = now) < (uint32_t)phase) {
        if (agent_monotonic_ms() >= until_ms)
            return ETIMEDOUT;
        syscall(SYS_futex, &now, FUTEX_WAIT_PRIVATE, seen, &step, NULL, 0);
    }
    return 0;
}

void
phase_stop(void)
{
    stop = true;
}

bool
phase_stopping(void)
{
    return stop;
}
