/*
 * companion.h - heapwired as a child: start, watch, restart.
 *
 * Nothing that happens to heapwired may touch the database.  It has our stderr
 * until it has started, and tells its own faults there.  However it ends, it is
 * started again, for ever: after a second, then after twice the last pause.
 *
 * Its stdin is a socket of ours, where it says each period that it is alive
 * (supervised.h).  Periods are counted, not time: one that was long because the
 * machine slept, or we did, is one.
 */
#ifndef HW_COMPANION_H
#define HW_COMPANION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct plan;

enum {
    PAUSE_MIN_MS = 1000,
    PAUSE_MAX_MS = 60 * 1000,
    RAN_WELL_MS = 300 * 1000, /* then the pauses begin anew */
    STOP_MS = 5000,           /* from SIGTERM to SIGKILL */
    STOP_STEP_MS = 20,
    PREDECESSOR_MS = 15 * 1000, /* that it gets to end */
    PREDECESSOR_STEP_MS = 50,
    ELDER_STEP_MS = 250, /* between looks whether it has ended */
    BEATS_MISSED = 6,    /* in a row, and it is killed ... */
    /* ... but it may take its time to start: a slow disk, many snapshots. */
    BEATS_MISSED_STARTING = 24
};

struct companion {
    const struct plan *plan;
    pid_t pid;           /* 0: not running */
    int line;            /* our end of its stdin; -1 */
    uint64_t started_ms; /* monotonic, as all here */
    uint64_t restart_ms; /* start it then; 0: it runs, or there is none */
    uint64_t pause_ms;   /* the last one; 0: it ran well */
    uint64_t look_ms;    /* for its next sign of life */
    unsigned missed;     /* in a row */
    bool beaten;         /* it has given one */
    bool served;         /* some heapwired has */
    bool hung;           /* killed for that */
    bool quiet;          /* its faults have been told often enough */
    bool last;           /* we linger: no predecessor can be there */
    /* A database whose heapwire-run was killed, and which lives on with its
     * heapwired: that one stays until it has ended. */
    bool begun, elder;
    pid_t elder_pid; /* 0: in another pid namespace */
    uid_t uid;       /* the database's, and its pid: what is said; 0 */
    pid_t database;
    /* A predecessor that lingers is given way to until then; 0. */
    uint64_t predecessor_ms;
};

void companion_init(struct companion *companion, const struct plan *plan);
/* At once, or as soon as a lingering predecessor, which is told to, has ended;
 * see companion_tick.  First before the database is started. */
void companion_start(struct companion *companion);

/* Starts it when that is due, kills it when it hangs; milliseconds until there
 * is something to do, or -1. */
int companion_tick(struct companion *companion);

/* The database, and each heapwired is told. */
void companion_tell(struct companion *companion, uid_t uid, pid_t pid);

/* It has ended with this wait status. */
void companion_ended(struct companion *companion, int status);

/* Ends it, by force if it takes too long. */
void companion_stop(struct companion *companion);

#endif
