/*
 * supervised.h - heapwired as a process: its end of the line to heapwire-run,
 * the descriptors that it keeps, and its own end.
 *
 * heapwire-run starts heapwired with a socket as stdin and SUPERVISED_ENV in
 * its environment: the milliseconds between two heartbeats, a byte each; 0:
 * none are expected.  Without them heapwire-run kills heapwired and starts
 * another.  The loop sends them, so that a hanging loop sends none.
 *
 * If the line ends, heapwire-run was killed.  The database lives on then, and
 * heapwired with it, and for "linger" after it; but it gives way at once to the
 * next heapwire-run of that state directory (state_dir.h).
 *
 * A heapwired that the agent started (AGENT_ENV_STARTED) has no line: it
 * behaves as if the line had ended, and ends, too, when the agent writes into
 * the file "linger".
 *
 * Without either variable there is no supervisor, and none of this applies.
 */
#ifndef HW_SUPERVISED_H
#define HW_SUPERVISED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "supervised_env.h"

struct config;
struct controller;
struct error;

enum {
    SUPERVISED_ORPHAN_MS = 250, /* between looks for a successor */
    SUPERVISED_ALONE_MS =
        10000 /* time to find the agent, whatever "linger" is */
};

struct supervised {
    int line;         /* -1: there is no supervisor */
    int segment;      /* of the database's recorder; -1: none */
    uint32_t beat_ms; /* 0: send none */
    int lock;         /* of an orphan; -1 */
    int64_t began_ms; /* wall clock */
    bool alone;       /* the agent started it: it never had a line */
    bool orphan, open;
    uv_timer_t timer;
    uv_poll_t poll;
    struct controller *controller;
    const struct config *config;
    void (*end)(void *arg); /* there is nothing left to serve */
    void (*database)(void *arg, uid_t uid, pid_t pid); /* one has come */
    void *arg;
};

/* First of all: takes the line from stdin, the segment from stdout, and closes
 * what else is inherited (not stderr).  SIGPIPE is ignored from here on, and
 * files are private. */
void supervised_init(struct supervised *s);

void supervised_start(struct supervised *s, uv_loop_t *loop,
                      struct controller *controller,
                      const struct config *config, void (*end)(void *arg),
                      void (*database)(void *arg, uid_t uid, pid_t pid),
                      void *arg);
void supervised_stop(struct supervised *s);

/* After the start: drops the database's descriptors, its stderr included. */
void descriptors_leave_stdio(bool keep_stderr);

/* Raises our own oom_score_adj above our parent's, which is also the
 * database's.  Needs no privilege. */
void oom_score_raise(void);

/* Bounds the time of a stop, even if a thread waits for a hanging disk.  Files
 * on disk are consistent at any time, so little is lost. */
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

/* ---- become.c ----
 * Leaving root for good: to a given user, or to the database's.  heapwired is
 * never root when the database is not.  On the loop. */

enum {
    BECOME_SOON_MS = 200,           /* how often we look at a new database, */
    BECOME_SOON_FOR_MS = 30 * 1000, /* for so long, */
    BECOME_LATER_MS = 5000          /* and then */
};

struct account {
    uid_t uid;
    gid_t gid;
};

int account_find(const char *name, struct account *out, struct error *err);

/* All groups, then the group, then the user; checked to be irrevocable. */
int become(const struct account *account, struct error *err);

/* Watches the database's uid while we are root. */
struct follower {
    struct controller *controller;
    uv_timer_t timer;
    int32_t pid; /* the incarnation looked at */
    uint64_t start_ticks, seen_ms;
    bool later, open; /* open: libuv has the timer */
    /* Hands over our files, then becomes; -1: try again later. */
    int (*leave)(void *arg, const struct account *account);
    void *arg;
};

void follower_start(struct follower *f, uv_loop_t *loop,
                    struct controller *controller,
                    int (*leave)(void *arg, const struct account *account),
                    void *arg);
/* A database of that uid comes, before its agent can be asked: perhaps that
 * cannot open the directory yet.  True: this process is that user now. */
bool follower_hint(struct follower *f, uid_t uid, pid_t pid);
void follower_stop(struct follower *f); /* zeroed is fine */

#endif
