/*
 * oversight.h - keeps an eye on what profiling costs, and ends it.
 *
 * Takes the readings for guard.h and puts what comes of them into the node's
 * status.  Belongs to the channel thread.
 */
#ifndef HW_OVERSIGHT_H
#define HW_OVERSIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "guard.h"

struct node;

struct oversight {
    struct guard_settings settings;
    void (*log)(const char *line); /* or NULL */
    struct guard guard;
    uint64_t next_ms; /* monotonic: the next reading of statistics */
};

/* percent: see struct guard_settings. */
void oversight_init(struct oversight *oversight, double percent,
                    void (*log)(const char *line));

/* Another process answers now. */
void oversight_forget(struct oversight *oversight, struct node *node);

/* To be called now and then, with a node that has just greeted; asks it for
 * statistics, while profiling is on, at most every few seconds.  frames: of the
 * mean stack; 0 unknown.  True when it has switched profiling off. */
bool oversight_look(struct oversight *oversight, struct node *node,
                    double frames);

#endif
