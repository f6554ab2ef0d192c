/*
 * phase.c - the phase of the agent's thread, as two futexes; see agent.h.
 *
 * A mutex and a condition would not do: a thread that a signal handler has
 * interrupted, or that a fork's child does not have, could hold the mutex for
 * ever.  A futex is one word and one system call, needs no initialisation and
 * little stack.
 */
#include "agent.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent_tools.h"

static _Atomic uint32_t current; /* enum phase, and a futex */
static _Atomic uint32_t stop;    /* enum stop, and a futex */

/* STOP_SEEN: the thread will end. */
enum stop { STOP_NOT, STOP_END = 1, STOP_HANDOVER = 2, STOP_SEEN = 4 };

void
phase_reset(void)
{
    current = PHASE_STARTING;
    stop = STOP_NOT;
}

void
phase_enter(enum phase phase)
{
    current = phase;
    syscall(SYS_futex, &current, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

enum phase
phase_now(void)
{
    return current;
}

int
phase_await(enum phase phase, uint32_t timeout_ms)
{
    /* the callers' timeouts are whole seconds; less than one would spin */
    const struct timespec step = {.tv_sec = timeout_ms / 1000};
    int64_t until_ms = agent_monotonic_ms() + timeout_ms;
    uint32_t seen;

    while ((seen = current) < (uint32_t)phase) {
        if (agent_monotonic_ms() >= until_ms)
            return ETIMEDOUT;
        syscall(SYS_futex, &current, FUTEX_WAIT_PRIVATE, seen, &step, NULL, 0);
    }
    return 0;
}

/* Keeps STOP_SEEN, so that a thread which is on its way out learns what for. */
void
phase_stop(bool handover)
{
    const uint32_t wanted = handover ? STOP_HANDOVER : STOP_END;
    uint32_t last = stop;

    while (!atomic_compare_exchange_weak(&stop, &last,
                                         wanted | (last & STOP_SEEN)))
        ;
    syscall(SYS_futex, &stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool
phase_stay(void)
{
    uint32_t wanted = stop;

    while (!(wanted & STOP_SEEN))
        if (atomic_compare_exchange_weak(&stop, &wanted, STOP_NOT))
            return true;
    return false;
}

/* Looking is taking: once the thread has seen the request, phase_stay() cannot
 * take it back any more. */
bool
phase_stopping(void)
{
    uint32_t wanted = stop;

    while (wanted != STOP_NOT && !(wanted & STOP_SEEN))
        if (atomic_compare_exchange_weak(&stop, &wanted, wanted | STOP_SEEN))
            return true;
    return wanted != STOP_NOT;
}

bool
phase_hands_over(void)
{
    return phase_stopping() && (stop & STOP_HANDOVER);
}

void
phase_pause(uint32_t ms)
{
    const struct timespec time = {.tv_sec = ms / 1000,
                                  .tv_nsec = ms % 1000 * 1000000L};

    syscall(SYS_futex, &stop, FUTEX_WAIT_PRIVATE, STOP_NOT, &time, NULL, 0);
}
