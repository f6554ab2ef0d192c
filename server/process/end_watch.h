/*
 * end_watch.h - bounds the time of a stop, even if a thread waits for a hanging
 * disk.
 *
 * Files on disk are consistent at any time, so little is lost.
 */
#ifndef HW_END_WATCH_H
#define HW_END_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct end_watch {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended; /* on the monotonic clock */
    uint32_t within_ms;
    int status;
    bool runs, done;
};

/* Ends the process with status, and logs that, unless end_watch_stop is called
 * within that time. */
void end_watch_start(struct end_watch *watch, uint32_t within_ms, int status);
void end_watch_stop(struct end_watch *watch);

#endif
