/* thread.c - see thread.h. */
#include "thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

#include "errors.h"

/* Blocked from the thread's first instruction on: its mask is ours. */
int
thread_start(pthread_t *thread, const struct thread_start *start,
             struct error *err)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, start->stack_bytes);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(thread, &attributes, start->body, start->arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (rc != 0) {
        errno = rc;
        error_sys(err, ER_UNKNOWN, "cannot start the thread %s", start->name);
        return -1;
    }
    pthread_setname_np(*thread, start->name);
    return 0;
}

unsigned
thread_cores(void)
{
    cpu_set_t cores;

    if (sched_getaffinity(0, sizeof(cores), &cores) != 0)
        return 1;
    return (unsigned)CPU_COUNT(&cores);
}
