/*
 * forks.c - switches profiling off in children that the database forks: see
 * jemalloc.h.
 *
 * Handlers of children run in the order of their registration.  jemalloc's own
 * makes its locks usable, so one of ours is registered behind each jemalloc,
 * and the last of them acts.
 */
#include "jemalloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "levers.h"

static struct {
    mallctl_fn *_Atomic mallctl;
    _Atomic unsigned handlers;
    unsigned ran;  /* handlers that have run in the process ran_pid */
    pid_t ran_pid; /* a child's child inherits ran, and has another pid */
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
    levers_forked();
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

/* ---- threads that may not be asked for their names ----
 * jemalloc asks by prctl, which a seccomp filter may forbid: see jemalloc.h. */

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
