/* thread.c - see thread.h. */
#include "thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

#include "errors.h"

/* All signals are blocked before the thread exists, since it inherits the mask:
 * so none can reach it in between. */
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

    /* fails with more than 1024 processors: then one thread works */
    if (sched_getaffinity(0, sizeof(cores), &cores) != 0)
        return 1;
    return (unsigned)CPU_COUNT(&cores);
}
