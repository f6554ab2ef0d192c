/*
 * companion.h - heapwired as a child: start, restart, stop.
 *
 * Nothing that happens to heapwired may touch the database.  It has our stderr
 * until it has started, and tells its own faults there.
 */
#ifndef HW_COMPANION_H
#define HW_COMPANION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct plan;

enum {
    RESTARTS_MAX = 3,                /* after crashes ... */
    RESTARTS_WINDOW_MS = 600 * 1000, /* ... in this time */
    RESTART_DELAY_MS = 1000,
    PREDECESSOR_MS = 15 * 1000, /* that it gets to end */
    PREDECESSOR_STEP_MS = 50,
    RETRY_DELAY_MS = 60 * 1000 /* after EX_TEMPFAIL, such as a port in use */
};

struct companion {
    const struct plan *plan;
    pid_t pid;           /* 0: not running */
    uint64_t restart_ms; /* monotonic: start it then; 0: never */
    uint64_t restarts[RESTARTS_MAX];
    unsigned restart_count;
    bool quiet; /* it has told its fault once already */
    /* Monotonic: a predecessor that lingers is given way to until then; 0. */
    uint64_t predecessor_ms;
};

void companion_init(struct companion *companion, const struct plan *plan);
/* At once, or as soon as a lingering predecessor, which is told to, has ended;
 * see companion_tick. */
void companion_start(struct companion *companion);

/* Starts it when that is due; milliseconds until it will be, or -1. */
int companion_tick(struct companion *companion);

/* It has ended with this wait status. */
void companion_ended(struct companion *companion, int status);

#endif
