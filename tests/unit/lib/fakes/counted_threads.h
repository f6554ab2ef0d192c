/*
 * counted_threads.h - cores as a test wants them, and threads that are counted
 * and may not start.
 *
 * Included by one file of a test that is linked with --wrap=thread_cores and
 * --wrap=thread_start.
 */
#ifndef HW_COUNTED_THREADS_H
#define HW_COUNTED_THREADS_H

#include "errors.h"
#include "thread.h"

int __wrap_thread_start(pthread_t *thread, const struct thread_start *start,
                        struct error *err);
int __real_thread_start(pthread_t *thread, const struct thread_start *start,
                        struct error *err);
unsigned __wrap_thread_cores(void);

static unsigned cores, threads_started, threads_max;
static const char *thread_name; /* the last one's, which started or not */
static int (*thread_starter)(pthread_t *thread,
                             const struct thread_start *start,
                             struct error *err) = __real_thread_start;

unsigned
__wrap_thread_cores(void)
{
    return cores;
}

int
__wrap_thread_start(pthread_t *thread, const struct thread_start *start,
                    struct error *err)
{
    thread_name = start->name;
    if (threads_started == threads_max) {
        error_set(err, ER_UNKNOWN, "too many threads");
        return -1;
    }
    threads_started++;
    return thread_starter(thread, start, err);
}

#endif
