/*
 * start_watch.h - whether the database reaches its main.
 *
 * Our options for jemalloc, or our preloads, may keep a program from starting.
 * The agent sends a word when it is loaded, before any constructor, and when
 * main comes (preload/entry.c). A process that dies by a fault between the two,
 * or hangs there, has run nothing of its own: it is started again without them.
 * One that a signal of its own ends later, in its first seconds, and that has
 * not listened on a socket, has served nobody: it is started again with nothing
 * of ours.  Either happens once at most, the second after the first where that
 * was not enough.  In doubt nothing is changed.
 */
#ifndef HW_START_WATCH_H
#define HW_START_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "deaths.h"

struct plan;

enum {
    START_ADDRESS_MAX = 64,
    START_EARLY_MS = 10000,   /* an earlier fault may be ours */
    START_HELD_MS = 1000,     /* a stopped process is looked at again */
    START_LOOK_FIRST_MS = 16, /* whether it listens; */
    START_LOOK_MS = 250,      /* the longest pause between two looks */
    START_SETTLE_MS = 500     /* what lives longer is no "--version" */
};

struct start_watch {
    int fd;                          /* -1: nothing is watched */
    char address[START_ADDRESS_MAX]; /* for the database's environment */
    char secret[40];
    const struct plan *plan;
    pid_t child;                 /* what we started */
    uint64_t started_ms, due_ms; /* monotonic; due_ms 0: no limit any more */
    bool loaded, reached;        /* words of the child */
    bool reached_any;            /* or another process of that executable */
    bool unsure;                 /* words may have been lost */
    bool hung;                   /* killed because it hung */
    bool served;                 /* it listens, as far as can be seen */
    uint64_t look_ms;            /* when that is looked at; 0: no more */
    enum death_restart again;    /* how it has been started again */
    int signal;                  /* that ended it before */
    pid_t database;              /* what reached its main last; 0: none, */
    uid_t uid;                   /* its user, */
    bool taken;                  /* and start_watch_arrived has returned it; */
    uint64_t arrived_ms;         /* when it reached its main */
};

/* -1: nothing can be watched. */
int start_watch_open(struct start_watch *w);
void start_watch_close(struct start_watch *w);

/* The database was started as this process. */
void start_watch_begin(struct start_watch *w, const struct plan *plan,
                       pid_t child);

/* Whether another database has reached its main, and stayed: w->database, and
 * its uid.  True once for each. */
bool start_watch_arrived(struct start_watch *w);

/* Takes the words that came, reports or kills what hangs.  Milliseconds until
 * the next step, or -1. */
int start_watch_tick(struct start_watch *w);

/* The child ended with this wait status, not by a signal of ours: whether to
 * start it again, as w->again says, which is then reported. */
bool start_watch_ended(struct start_watch *w, int status);

#endif
