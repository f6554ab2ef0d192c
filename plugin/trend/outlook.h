/*
 * outlook.h - when the database's memory meets its limit, as it grows now.
 *
 * From the history of memory (history.h) by the method of trend.c: over the
 * last two minutes, twenty minutes, four hours, two days and two weeks, of the
 * highest of each 48th part, as it is the peak that meets a limit.  A shorter
 * time counts where it ends higher than the database ever was before.  Nothing
 * is said that lies further ahead than OUTLOOK_REACH times what was seen.
 *
 * Any thread; under a millisecond.
 */
#ifndef HW_OUTLOOK_H
#define HW_OUTLOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trend.h"

struct history;
struct history_sample;

enum {
    OUTLOOK_WINDOWS = 5,
    OUTLOOK_PARTS = 48,  /* of each */
    OUTLOOK_POINTS = 16, /* parts of which samples are needed */
    OUTLOOK_REACH = 10,
    OUTLOOK_EVERY_MS = 2000, /* between two that outlook_find makes */
    OUTLOOK_FRESH_MS = 60000 /* an older sample is of what is not there */
};

/* How much is used and how much is left, as the tighter of two limits has it:
 * that of the cgroup and those around it, and what the machine has left. */
struct outlook_headroom {
    bool known;
    bool of_cgroup; /* and used is the cgroup's without what the kernel can take
                       back; else the database's rss */
    uint64_t used, left; /* bytes */
};

struct outlook {
    struct outlook_headroom headroom;
    bool judged;            /* whether it grows is known */
    bool grows;             /* the next five are known */
    double rate, low, high; /* bytes a second; 98 % */
    double seen_s;          /* over which that is */
    double left_s;          /* at that rate */
    bool ends;              /* that is not too far ahead to be said */
    int64_t full_ms;        /* wall clock; where it ends */
    const char *why;        /* nothing ends; "" where it does */
};

/* machine_left: memory_left_machine(). */
void outlook_headroom_of(const struct history_sample *now,
                         uint64_t machine_left, struct outlook_headroom *out);

/* The samples up to now, which is the last. */
struct outlook_past {
    struct outlook_window {
        double peaks[OUTLOOK_PARTS];
        bool has[OUTLOOK_PARTS];
        double before; /* the highest earlier */
    } windows[OUTLOOK_WINDOWS];
};
/* A zeroed past knows nothing.  Of another database: does nothing. */
void outlook_add(struct outlook_past *past, const struct history_sample *sample,
                 const struct history_sample *now, bool of_cgroup);
void outlook_judge(const struct outlook_past *past, int64_t now_ms,
                   const struct outlook_headroom *headroom,
                   struct outlook *out);

/* All that, of the latest sample of history (NULL: none is kept), or of one
 * shortly before. */
void outlook_find(struct history *history, struct outlook *out);
/* It is about to be closed. */
void outlook_detach(const struct history *history);

#endif
