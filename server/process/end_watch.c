/* end_watch.c - see end_watch.h. */
#include "end_watch.h"

#include <errno.h>
#include <unistd.h>

#include "clock.h"
#include "errors.h"
#include "log.h"
#include "thread.h"

enum { STACK_BYTES = 256 * 1024 };

static void *
watch_main(void *arg)
{
    struct end_watch *watch = arg;
    uint64_t until = clock_ms() + watch->within_ms;
    int rc = 0;

    pthread_mutex_lock(&watch->lock);
    while (!watch->done && rc != ETIMEDOUT)
        rc = clock_cond_wait(&watch->ended, &watch->lock, until);
    if (!watch->done) {
        log_fault("ends although one thread has not: perhaps it waits for a "
                  "disk that hangs");
        _exit(watch->status);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

void
end_watch_start(struct end_watch *watch, uint32_t within_ms, int status)
{
    struct thread_start thread = {"hw-end", STACK_BYTES, watch_main, watch};
    struct error unsaid;

    watch->within_ms = within_ms;
    watch->status = status;
    watch->done = false;
    pthread_mutex_init(&watch->lock, NULL);
    clock_cond_init(&watch->ended);
    /* Without the thread, the stop takes as long as it takes. */
    watch->runs = thread_start(&watch->thread, &thread, &unsaid) == 0;
}

void
end_watch_stop(struct end_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->done = true;
    pthread_cond_signal(&watch->ended);
    pthread_mutex_unlock(&watch->lock);
    if (watch->runs)
        pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->ended);
    pthread_mutex_destroy(&watch->lock);
}
