/*
 * supervise.h - run the database and heapwired until the database ends, and
 * heapwired for some time more if that was no clean end.
 *
 * Single-threaded: signals are blocked and waited for, nothing runs in a
 * handler.
 */
#ifndef HW_SUPERVISE_H
#define HW_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "deaths.h"

/* ---- companion.c ----
 * Heapwired as a child: start, watch, restart.  Nothing that happens to
 * heapwired may touch the database.  It has our stderr until it has started,
 * and reports its own faults there.  However it ends, it is started again, for
 * ever: after a second, then after twice the last pause.  Its stdin is a socket
 * of heapwire-run's, on which it sends a heartbeat each period (supervised.h).
 * Periods are counted, not time: a period that was long because the machine or
 * we slept counts once. */

enum {
    PAUSE_MIN_MS = 1000,      /* before it is started again; doubles ... */
    PAUSE_MAX_MS = 60 * 1000, /* ... up to this */
    RAN_WELL_MS = 300 * 1000, /* after that, pauses begin small again */
    STOP_MS = 5000,           /* from SIGTERM to SIGKILL */
    STOP_STEP_MS = 20,
    PREDECESSOR_MS = 15 * 1000, /* limit for a predecessor's end */
    PREDECESSOR_STEP_MS = 50,
    ELDER_STEP_MS = 250, /* between checks whether it has ended */
    BEATS_MISSED = 6,    /* in a row: then it is killed ... */
    /* ... but starting may take longer: a slow disk, many snapshots. */
    BEATS_MISSED_STARTING = 24
};

struct companion {
    const struct plan *plan;
    pid_t pid;                 /* 0: not running */
    int line;                  /* our end of its stdin; -1 */
    uint64_t started_ms;       /* monotonic, as all here */
    uint64_t restart_ms;       /* start it then; 0: it runs, or there is none */
    uint64_t pause_ms;         /* the last one; 0: it ran well */
    uint64_t heartbeat_due_ms; /* when its next heartbeat is due */
    unsigned missed;           /* in a row */
    bool beaten;               /* it has sent a heartbeat since its start */
    bool served;               /* some heapwired of this run has */
    bool hung;                 /* it was killed because it hung */
    bool quiet;                /* enough of its faults were logged */
    bool last;                 /* we linger: there can be no predecessor */
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

/* Starts it when that is due, kills it when it hangs.  Returns milliseconds
 * until the next step, or -1. */
int companion_tick(struct companion *companion);

/* Announces the database to this and each later heapwired. */
void companion_send_database(struct companion *companion, uid_t uid, pid_t pid);

/* It has ended with this wait status. */
void companion_ended(struct companion *companion, int status);

/* Ends it, by force if it takes too long. */
void companion_stop(struct companion *companion);

/* ---- start_watch.c ----
 * Whether the database reaches its main.  Our options for jemalloc, or our
 * preloads, may keep a program from starting.  The agent sends a milestone when
 * it is loaded, before any constructor, and when main comes (preload/entry.c).
 * A process that dies by a fault between the two, or hangs there, has run
 * nothing of its own: it is started again without them.  One that a signal of
 * its own ends later, in its first seconds, and that has not listened on a
 * socket, has served nobody: it is started again with nothing of ours.  Either
 * happens once at most, the second after the first where that was not enough.
 * In doubt nothing is changed. */

enum {
    START_ADDRESS_MAX = 64,
    START_EARLY_MS = 10000,  /* an earlier fault may be ours */
    START_STOPPED_MS = 1000, /* a stopped process is looked at again */
    /* the first pause between two checks whether it listens */
    START_CHECK_FIRST_MS = 16,
    START_CHECK_MS = 250, /* the longest such pause */
    START_SETTLE_MS = 500 /* what lives for so long is no "--version" */
};

struct start_watch {
    int fd;                          /* -1: nothing is watched */
    char address[START_ADDRESS_MAX]; /* for the database's environment */
    char secret[40];
    const struct plan *plan;
    pid_t child;                 /* what we started */
    uint64_t started_ms, due_ms; /* monotonic; due_ms 0: no limit any more */
    bool loaded, reached;        /* milestones of the child */
    bool reached_any;            /* another process of that executable has */
    bool unsure;                 /* milestones may have been lost */
    bool hung;                   /* killed because it hung */
    bool served;                 /* it listens, as far as can be seen */
    uint64_t check_due_ms;       /* when that is looked at; 0: no more */
    enum death_restart restart;  /* how it has been started again */
    int signal;                  /* the signal that ended it before */
    pid_t database;              /* what reached its main last; 0: none */
    uid_t uid;                   /* its user */
    bool taken;                  /* start_watch_arrived() has returned it */
    uint64_t arrived_ms;         /* when it reached its main */
};

/* -1: nothing can be watched. */
int start_watch_open(struct start_watch *w);
void start_watch_close(struct start_watch *w);

/* The database was started as this process. */
void start_watch_begin(struct start_watch *w, const struct plan *plan,
                       pid_t child);

/* Has another database reached its main, and stayed?  w->database has its pid,
 * w->uid its user.  True once for each. */
bool start_watch_arrived(struct start_watch *w);

/* Takes the milestones that came; reports or kills what hangs.  Returns
 * milliseconds until the next step, or -1. */
int start_watch_tick(struct start_watch *w);

/* The child ended with this wait status, not by a signal of ours.  True: start
 * it again, as w->restart says, which has been reported. */
bool start_watch_ended(struct start_watch *w, int status);

/* ---- notify_relay.c ----
 * Passes the database's messages on to systemd.  In a service of Type=notify
 * systemd heeds its main process, which is heapwire-run.  So the database gets
 * another NOTIFY_SOCKET, of ours, and its messages go on to systemd's; but not
 * MAINPID (that is us), and no descriptors. */

enum { NOTIFY_MAX = 4096, NOTIFY_ADDRESS_MAX = 32 };

#define NOTIFY_ENV "NOTIFY_SOCKET"

struct notify_relay {
    int fd; /* -1: nothing is relayed */
    struct sockaddr_un manager;
    socklen_t manager_size;
    char address[NOTIFY_ADDRESS_MAX]; /* for the database's environment */
    bool logged;                      /* a dropped part was logged */
};

/* manager: the value of NOTIFY_SOCKET. -1: none, or of an unknown kind. */
int notify_relay_open(struct notify_relay *relay, const char *manager);
void notify_relay_close(struct notify_relay *relay);

/* Passes on what has come; SIGIO announces it. */
void notify_relay_pass(struct notify_relay *relay);

enum { MILESTONE_SOCKET_NAME = 16 };

/* A datagram socket for milestones to heapwire-run: the kernel chooses its
 * abstract name in the network namespace, and each one comes with its sender's
 * pid and uid.  -1: there is none; else the descriptor, and its name without
 * the leading NUL.
 */
int milestone_socket_open(char name[MILESTONE_SOCKET_NAME]);
/* From now on SIGIO announces a milestone: call it with SIGIO blocked, which
 * would end the process. */
void milestone_socket_notify(int fd);

struct plan {
    /* The database. */
    const char *program; /* what is executed */
    char *const *argv, *const *envp;
    const char *exe; /* its executable's real path; NULL: not known */
    /* the same before links were followed; NULL: not known */
    const char *name;
    /* no agent can be loaded, so its start counts as the agent's arrival */
    bool no_agent;
    /* Its start: the options and preloads that may keep it from its main, the
     * time limit for that, and the environment without them. */
    bool prof;
    const char *jemalloc; /* NULL: we preload none */
    uint64_t start_ms;
    struct start_watch *start; /* NULL: not watched */
    char *const *plain_envp;
    char *const *bare_envp; /* the environment without anything of ours */
    struct notify_relay *notify;
    /* heapwired; NULL: none. */
    const char *heapwired;
    char *const *heapwired_argv, *const *heapwired_envp;
    int segment;           /* the recorder's, for heapwired; -1: none */
    const char *state_dir; /* for the record of its end */
    int state_lock;        /* its lock, see state_dir_lock; -1 */
    uid_t user;            /* the user that heapwired becomes; -1: unknown */
    uint64_t linger_ms;    /* 0: heapwired ends with the database */
    uint64_t beat_ms;      /* between its heartbeats; 0: none are expected */
};

/* The exit status: the database's, 128 + n after signal n, or 126 or 127 when
 * it could not be run. */
int supervise(const struct plan *plan);

#endif
