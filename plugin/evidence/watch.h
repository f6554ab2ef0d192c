/*
 * watch.h - the thread that looks at the database's memory each second.
 *
 * Writes the history, takes snapshots by itself where marks.h says so, and
 * keeps the death of a database that nobody but it saw (deaths.h).
 * Asks the controller as everybody does and never waits for an answer.
 */
#ifndef HW_WATCH_H
#define HW_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "marks.h"

struct controller;
struct error;
struct history;
struct watch;

struct watch_options {
    /* NULL: the history is in memory alone.  Outlives the watch. */
    const char *state_dir;
    struct marks_rules rules;
    void (*log)(const char *line); /* NULL: nobody */
    bool keeps_ends;               /* that are seen: no heapwire-run does */
};

/* The controller outlives it.  NULL with *err. */
struct watch *watch_start(struct controller *controller,
                          const struct watch_options *options,
                          struct error *err);
/* Wakes and joins.  NULL is fine. */
void watch_stop(struct watch *watch);

/* Lives as long as the watch. */
struct history *watch_history(struct watch *watch);

/* Other rules from now on. */
void watch_set_rules(struct watch *watch, const struct marks_rules *rules);

/* Its file becomes another user's.  -1 with errno. */
int watch_give(struct watch *watch, uid_t uid, gid_t gid);

#endif
