/*
 * companion.h - heapwired as a child: start, watch, restart.
 *
 * Nothing that happens to heapwired may touch the database.  It has our stderr
 * until it has started, and reports its own faults there.  However it ends, it
 * is started again, for ever: after a second, then after twice the last pause.
 *
 * Its stdin is a socket of ours, where it sends a sign of life each period
 * (supervised.h). Periods are counted, not time: a period that was long because
 * the machine or we slept counts once.
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
    RAN_WELL_MS = 300 * 1000, /* after that, pauses begin small again */
    STOP_MS = 5000,           /* from SIGTERM to SIGKILL */
    STOP_STEP_MS = 20,
    PREDECESSOR_MS = 15 * 1000, /* limit for a predecessor's end */
    PREDECESSOR_STEP_MS = 50,
    ELDER_STEP_MS = 250, /* between looks whether it has ended */
    BEATS_MISSED = 6,    /* in a row: then it is killed ... */
    /* ... but starting may take longer: a slow disk, many snapshots. */
    BEATS_MISSED_STARTING = 24
};

struct companion {
    const struct plan *plan;
    pid_t pid;           /* 0: not running */
    int line;            /* our end of its stdin; -1 */
    uint64_t started_ms; /* monotonic, as all here */
    uint64_t restart_ms; /* start it then; 0: it runs, or there is none */
    uint64_t pause_ms;   /* the last one; 0: it ran well */
    uint64_t look_ms;    /* when its next sign of life is due */
    unsigned missed;     /* in a row */
    bool beaten;         /* it has sent a sign of life */
    bool served;         /* a heapwired has */
    bool hung;           /* killed because it hung */
    bool quiet;          /* enough of its faults were logged */
    bool last;           /* we linger: there can be no predecessor */
    /* A database that survived its heapwire-run, with its own heapwired: that
     * heapwired stays until the database has ended. */
    bool begun, elder;
    pid_t elder_pid; /* 0: in another pid namespace */
    uid_t uid;       /* the database's, and its pid; 0: unknown */
    pid_t database;
    /* Waits until then for a lingering predecessor; 0: none. */
    uint64_t predecessor_ms;
};

void companion_init(struct companion *companion, const struct plan *plan);
/* Starts it at once, or after asking a lingering predecessor to end, see
 * companion_tick.  First before the database is started. */
void companion_start(struct companion *companion);

/* Starts it when that is due, kills it when it hangs; milliseconds until the
 * next step, or -1. */
int companion_tick(struct companion *companion);

/* Announces the database to this and each later heapwired. */
void companion_tell(struct companion *companion, uid_t uid, pid_t pid);

/* It has ended with this wait status. */
void companion_ended(struct companion *companion, int status);

/* Ends it, by force if it takes too long. */
void companion_stop(struct companion *companion);

#endif
