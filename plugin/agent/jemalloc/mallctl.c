/* mallctl.c - see jemalloc.h. */
#include "jemalloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "agent_tools.h"

enum { EPOCH_MIN_MS = 1000 };

int
mallctl_read(mallctl_fn *mallctl, const char *name, void *out, size_t size)
{
    size_t got = size;
    int error = mallctl(name, out, &got, NULL, 0);

    return error == 0 && got != size ? EINVAL : error;
}

bool
mallctl_read_bool(mallctl_fn *mallctl, const char *name)
{
    bool value = false;

    return mallctl_read(mallctl, name, &value, sizeof(value)) == 0 && value;
}

int
mallctl_write_bool(mallctl_fn *mallctl, const char *name, bool value)
{
    return mallctl(name, NULL, NULL, &value, sizeof(value));
}

int
mallctl_refresh(mallctl_fn *mallctl, struct mallctl_epoch *epoch)
{
    size_t size = sizeof(epoch->number);
    uint64_t next = 1;
    int error;

    if (epoch->at_ms != 0 && agent_monotonic_ms() - epoch->at_ms < EPOCH_MIN_MS)
        return 0;
    error = mallctl("epoch", &epoch->number, &size, &next, sizeof(next));
    if (error == 0)
        epoch->at_ms = agent_monotonic_ms();
    return error;
}

/* ---- children that the database forks ---- */

/* Handlers of children run in the order of their registration.  jemalloc's own
 * makes its locks usable, so one of ours is registered behind each jemalloc,
 * and the last of them acts. */
static struct {
    mallctl_fn *_Atomic mallctl;
    _Atomic unsigned handlers;
    unsigned ran;  /* handlers that have run */
    pid_t ran_pid; /* in this process */
    bool was_active;
} forks;

static void
in_child(void)
{
    mallctl_fn *mallctl = forks.mallctl;
    int saved = errno;
    bool active = false;

    if (forks.ran_pid != getpid())
        forks.ran = 0;
    forks.ran_pid = getpid();
    if (++forks.ran != forks.handlers || !mallctl)
        return;
    forks.was_active =
        mallctl_read(mallctl, "prof.active", &active, sizeof(active)) == 0 &&
        active && mallctl_write_bool(mallctl, "prof.active", false) == 0;
    errno = saved;
}

void
fork_watch(mallctl_fn *mallctl)
{
    if (forks.mallctl == mallctl || pthread_atfork(NULL, NULL, in_child) != 0)
        return;
    forks.handlers++;
    forks.mallctl = mallctl;
}

void
fork_keep(void)
{
    if (forks.was_active)
        mallctl_write_bool(forks.mallctl, "prof.active", true);
    forks.was_active = false;
}

/* ---- threads that may not be asked for their names ---- */

static bool names_stopped;

void
names_stop(bool all_threads)
{
    mallctl_fn *mallctl = forks.mallctl;

    if (!mallctl || !mallctl_read_bool(mallctl, "opt.prof_sys_thread_name"))
        return;
    if (!all_threads)
        mallctl_write_bool(mallctl, "thread.prof.active", false);
    else if (mallctl_read_bool(mallctl, "prof.active"))
        names_stopped = mallctl_write_bool(mallctl, "prof.active", false) == 0;
}

void
names_go_on(void)
{
    if (names_stopped)
        mallctl_write_bool(forks.mallctl, "prof.active", true);
    names_stopped = false;
}
