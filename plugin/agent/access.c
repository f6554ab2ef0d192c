/*
 * access.c - lets heapwired look at this process from outside; see agent.h.
 *
 * Where Yama lets only parents trace, heapwired is none: so the process names
 * it as its tracer.
 *
 * The kernel closes a process that gave up root to its own user: /proc/PID
 * belongs to root, and neither perf nor ptrace works for heapwired, which gave
 * up root with it.  Only the process itself can open itself, by prctl().
 *
 * Values that are not ours are left alone: 1 that the host had already, the
 * kernel's own change because ids changed, and the host's later change (seen
 * where we are preloaded).  2, of the sysctl fs.suid_dumpable, cannot be set by
 * prctl(): such a process stays as it is.  Called by the agent's thread, unless
 * said otherwise; one agent at a time runs in a process.
 *
 * A filter that came past libc while the process was open may kill whoever
 * calls prctl(): then it stays open, and we say so.  A child that shares its
 * memory (vfork) could try in our place, but the filter may kill for clone(),
 * too, and before Linux 5.16 a child that a filter ends with a core takes all
 * with it that share its memory.
 */
#include "agent.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent_tools.h"
#include "confined.h"

enum { CLOSED = 0, OPEN = 1, CORES_FOR_ROOT = 2, CLOSE_RETRY_MS = 1000 };

static struct {
    _Atomic bool open;        /* by us; a fork's child inherits that */
    _Atomic unsigned changes; /* by the host */
    _Atomic bool wanted;      /* its last change */
    unsigned changes_before;
    int filters;
    int64_t until_ms; /* monotonic */
} own;

static int
read_dumpable_flag(void)
{
    return (int)syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
}

static int
set_dumpable_flag(unsigned long value)
{
    return (int)syscall(SYS_prctl, PR_SET_DUMPABLE, value, 0, 0, 0);
}

/* Only under filters under which heapwire-run has tried these calls. */
static bool
may_call(const struct agent *agent)
{
    return (agent->calls & CONFINED_CAPABILITIES) && agent->filters >= 0 &&
           confined_filters() == agent->filters;
}

void
access_allow_tracer(struct agent *agent, pid_t tracer)
{
    char scope[4];

    if (tracer == agent->tracer || !may_call(agent))
        return;
    agent->tracer = tracer;
    if (agent_read_small("/proc/sys/kernel/yama/ptrace_scope", scope,
                         sizeof(scope)) > 0 &&
        scope[0] == '1')
        syscall(SYS_prctl, PR_SET_PTRACER, (unsigned long)tracer, 0, 0, 0);
}

static const char *
why_never(const struct agent *agent)
{
    const char *wanted =
        agent_settings_get(agent->start->settings, AGENT_ENV_DUMPABLE);

    if (wanted && strcmp(wanted, "no") == 0)
        return "the setting dumpable = no forbids it";
    if (!may_call(agent))
        return "a seccomp filter of the process may forbid prctl";
    return NULL;
}

const char *
access_open(const struct agent *agent, uint64_t seconds, bool *opened)
{
    const char *why = why_never(agent);
    unsigned changes = own.changes; /* before the host's next */
    int value;

    if (why)
        return why;
    value = read_dumpable_flag();
    if (value < 0)
        return "prctl is refused";
    if (value == CORES_FOR_ROOT)
        return "fs.suid_dumpable is 2, which could not be put back";
    if (value == CLOSED) {
        own.filters = agent->filters;
        own.changes_before = changes;
        own.open = true;
        if (set_dumpable_flag(OPEN) != 0) {
            own.open = false;
            return "prctl is refused";
        }
    }
    own.until_ms = agent_monotonic_ms() + (int64_t)seconds * 1000;
    *opened = own.open;
    return NULL;
}

static bool
restore_dumpable_flag(void)
{
    if (own.changes != own.changes_before && own.wanted)
        return true; /* the host wants it */
    return confined_filters() == own.filters &&
           (read_dumpable_flag() != OPEN || set_dumpable_flag(CLOSED) == 0);
}

bool
access_close(void)
{
    if (own.open && restore_dumpable_flag())
        own.open = false;
    else if (own.open)
        own.until_ms = agent_monotonic_ms() + CLOSE_RETRY_MS;
    return !own.open;
}

int
access_left(void)
{
    int64_t left;

    if (own.open && own.until_ms <= agent_monotonic_ms())
        (void)access_close();
    if (!own.open)
        return -1;
    left = own.until_ms - agent_monotonic_ms();
    return left < INT_MAX ? (int)left : INT_MAX;
}

void
access_changed(bool wanted)
{
    own.wanted = wanted;
    own.changes++;
}

void
access_forked(void)
{
    (void)access_close();
}
