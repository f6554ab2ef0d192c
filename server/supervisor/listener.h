/*
 * listener.h - heapwired as a child: start, restart, stop.
 *
 * Nothing that happens to heapwired may touch the database: every failure is
 * one line on stderr.
 */
#ifndef HW_LISTENER_H
#define HW_LISTENER_H

#include <stdint.h>
#include <sys/types.h>

struct plan;

enum {
    RESTARTS_MAX = 3,                /* after crashes ... */
    RESTARTS_WINDOW_MS = 600 * 1000, /* ... in this time */
    RESTART_DELAY_MS = 1000,
    RETRY_DELAY_MS = 60 * 1000 /* after EX_TEMPFAIL, such as a port in use */
};

struct listener {
    const struct plan *plan;
    pid_t pid;           /* 0: not running */
    int messages;        /* what it says before it has a log; -1 */
    uint64_t restart_ms; /* monotonic: start it then; 0: never */
    uint64_t restarts[RESTARTS_MAX];
    unsigned restart_count;
    int told_status; /* the exit status that was last told */
};

void listener_init(struct listener *listener, const struct plan *plan);
void listener_start(struct listener *listener);

/* Starts it when that is due; milliseconds until it will be, or -1. */
int listener_tick(struct listener *listener);

/* It has ended with this wait status. */
void listener_ended(struct listener *listener, int status);

#endif
