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
    bool dry;             /* everything but to touch it */
    char thread[128];     /* which was, or would be, borrowed */
    unsigned stopped_us;  /* for how long */
};

/* 0; else *err says why, and that the target is as it was, or what it is. */
int inject(struct injection *injection, struct error *err);

#endif
