/*
 * inject.h - start the agent in a process that runs, and end it there.
 */
#ifndef HW_INJECT_H
#define HW_INJECT_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct target;

enum { INJECT_TRY_MS = 5000, INJECT_GENTLE_MS = 200, INJECT_STEP_MS = 5 };

struct injection {
    const struct target *target;
    const char *library;  /* libheapwire.so, as the target sees it */
    const char *settings; /* heapwire_start's; NULL: heapwire_stop is called */
    bool dry;             /* checks everything, touches nothing */
    char thread[128];     /* the thread that was, or would be, borrowed */
    unsigned stopped_us;  /* how long that thread stood still */
};

/* 0; else *err says why, and in what state the target is. */
int inject(struct injection *injection, struct error *err);

#endif
