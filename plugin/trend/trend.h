/*
 * trend.h - whether a series of figures grows, and how fast.
 *
 * Pure.  The method stands in trend.c, what it was measured to miss and to
 * raise falsely in README.md.
 */
#ifndef HW_TREND_H
#define HW_TREND_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TREND_POINTS_MIN = 12, /* fewer: unknown */
    TREND_POINTS_MAX = 64  /* only the latest count */
};

/* Share of the whole (the heap) below which no growth matters. */
#define TREND_MATERIAL 0.005

struct trend_point {
    double at_s, value;
    double variance; /* of value, by sampling; 0: value is exact */
};

enum trend_verdict {
    TREND_UNKNOWN,
    TREND_STEADY,   /* it does not grow */
    TREND_GROWS,    /* and nothing says that it will stop */
    TREND_FILLS,    /* it grew, and that flattens: a cache, or a load's end */
    TREND_SAW_TOOTH /* it rises and falls again */
};

struct trend {
    enum trend_verdict verdict;
    const char *why;         /* of TREND_UNKNOWN, else "" */
    bool sloped;             /* slope, low and high are known */
    double slope, low, high; /* per second; the true one lies within in 98 % */
    size_t points;           /* the number of latest points that this is from */
    /* Of TREND_GROWS: the rate in the last part of all points divided by that
     * in the first: 1 where it goes on as it began; and its interval of 95 % by
     * the error of sampling. */
    double pace, pace_low, pace_high;
    double span_s; /* of TREND_GROWS: from the first of points to the last */
};

/* points: ascending in time, of one run of one process. */
void trend_judge(const struct trend_point *points, size_t count, double whole,
                 struct trend *out);

/* "grows", ... */
const char *trend_verdict_name(enum trend_verdict verdict);

#endif
