/*
 * outlook.h - when the database's memory meets its limit, at its present
 * growth.
 *
 * Judges the history of memory (history.h) by the method of trend.c: over the
 * last two minutes, twenty minutes, four hours, two days and two weeks, by the
 * peak of each 48th part, as it is the peak that meets a limit.  A shorter time
 * counts if it ends higher than the database ever was before.  No time is given
 * that lies further ahead than OUTLOOK_REACH times what was seen.
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
    OUTLOOK_PARTS = 48,  /* of each window */
    OUTLOOK_POINTS = 16, /* parts with samples that a judgement needs */
    OUTLOOK_REACH = 10,
    OUTLOOK_EVERY_MS = 2000, /* between two judgements by outlook_find */
    OUTLOOK_FRESH_MS = 60000 /* without a newer sample the database is not
                              * there */
};

/* How much is used and left under the tighter of two limits: that of the cgroup
 * and its parents, and what the machine has left. */
struct outlook_headroom {
    bool known;
    bool of_cgroup; /* used is the cgroup's memory without cache that the kernel
                     * can take back; else the database's rss */
    uint64_t used, left; /* bytes */
};

struct outlook {
    struct outlook_headroom headroom;
    bool judged;            /* it is known whether memory grows */
    bool grows;             /* the next six are known */
    double rate, low, high; /* bytes a second; 98 % */
    double seen_s;          /* seconds of history that the rate is from */
    double left_s;          /* seconds until the limit at that rate */
    bool ends;              /* the limit is near enough to give a time */
    int64_t full_ms;        /* wall clock of the limit, if ends */
    const char *why;        /* why no time is given; "" if ends */
};

/* machine_left: memory_left_machine(). */
void outlook_headroom_of(const struct history_sample *now,
                         uint64_t machine_left, struct outlook_headroom *out);

/* What outlook_judge needs of the samples up to now. */
struct outlook_past {
    struct outlook_window {
        double peaks[OUTLOOK_PARTS];
        bool has[OUTLOOK_PARTS];
        double before; /* the highest before the window */
    } windows[OUTLOOK_WINDOWS];
};
/* Start with a zeroed past.  A sample of another process is ignored. */
void outlook_add(struct outlook_past *past, const struct history_sample *sample,
                 const struct history_sample *now, bool of_cgroup);
void outlook_judge(const struct outlook_past *past, int64_t now_ms,
                   const struct outlook_headroom *headroom,
                   struct outlook *out);

/* Does all of the above for the latest sample of history (NULL: none is kept),
 * or returns an answer of the last OUTLOOK_EVERY_MS. */
void outlook_find(struct history *history, struct outlook *out);
/* Forgets the answer of a history that is about to be closed. */
void outlook_detach(const struct history *history);

#endif
