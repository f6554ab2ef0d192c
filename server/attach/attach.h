/*
 * attach.h - heapwire in and beside a database that runs already.
 *
 * It is no child of ours: its end is seen, how it ended is not.
 */
#ifndef HW_ATTACH_H
#define HW_ATTACH_H

#include <stdbool.h>

#include "target.h"

struct error;
struct plan;

struct attach {
    struct target target;
    const struct plan *plan;
    const char *library; /* libheapwire.so */
    const char *settings;
    int pidfd; /* -1 */
    bool took; /* the agent was there already, for this state directory */
};

/* Checks everything, touches nothing; prints what would be done. */
int attach_try(struct attach *attach, struct error *err);

/* The agent is in the target then. */
int attach_start(struct attach *attach, struct error *err);

/* Runs heapwired until the target ends or a signal comes, which also stops the
 * agent.  Returns the exit status. */
int attach_stay(struct attach *attach);

#endif
