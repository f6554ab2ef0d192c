/*
 * lever_host.c - how the levers reach this process's jemalloc: see agent.h.
 *
 * jemalloc's background threads are created by the thread that switches them
 * on, and share its descriptor table for as long as they live.  Our table has
 * the socket, its lock and the mapped files: they would stay open in there
 * after the agent is gone.  So a thread that leaves our table for an empty one
 * switches them on, and ends.  jemalloc's threads need no descriptors.
 */
#include <errno.h>
#include <pthread.h>

#include "agent.h"
#include "confined.h"
#include "levers.h"

enum { STACK_BYTES = 256 * 1024 };

struct switching {
    const struct lever_host *host;
    bool on;
    int error;
};

static void *
switch_background_unshared(void *arg)
{
    struct switching *s = arg;

    s->error = EPERM;
    if (own_table_enter(s->host->calls, -1))
        s->error =
            mallctl_write_bool(s->host->mallctl, "background_thread", s->on);
    return NULL;
}

static int
switch_background(const struct lever_host *host, bool on)
{
    struct switching s = {host, on, 0};
    pthread_attr_t attr;
    pthread_t thread;
    int error;

    if (on && host->calls == 0)
        return EPERM; /* no threads of ours: see lever_host_of */
    if (!on || !host->own_table)
        return mallctl_write_bool(host->mallctl, "background_thread", on);
    error = pthread_attr_init(&attr);
    if (error != 0)
        return error;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    error = pthread_create(&thread, &attr, switch_background_unshared, &s);
    pthread_attr_destroy(&attr);
    if (error != 0)
        return error;
    pthread_join(thread, NULL);
    return s.error;
}

struct lever_host
lever_host_of(const struct agent *agent)
{
    /* a thread that may do more than the host's must not create others */
    bool alike = confined_filters() == agent->filters &&
                 !agent->host_privileges.more &&
                 !agent->host_privileges.diverged;

    return (struct lever_host){.mallctl = agent->jemalloc.mallctl,
                               .background = switch_background,
                               .watch = fork_watch,
                               .calls = alike ? agent->calls : 0,
                               .own_table = agent->own_table};
}

int
lever_host_expire(const struct agent *agent)
{
    struct lever_host host;

    if (!levers_any())
        return -1;
    host = lever_host_of(agent);
    return levers_expire(&host);
}

void
lever_host_leave(const struct agent *agent)
{
    struct lever_host host;

    if (!levers_any())
        return;
    host = lever_host_of(agent);
    (void)levers_undo(&host);
}
