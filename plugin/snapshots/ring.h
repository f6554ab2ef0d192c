/*
 * ring.h - which of the snapshots that are kept by default stay: many of the
 * last days, few of the last weeks.
 *
 * Pure.
 */
#ifndef HW_RING_H
#define HW_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* intervals for which every one stays: two days */
    RING_FINE = 48,
    RING_COARSE_EVERY = 24,   /* intervals between two older ones: a day */
    RING_COARSE = 14,         /* number of those older ones: two weeks */
    RING_MAX = 64,            /* number of all */
    RING_BYTES_MAX = 64 << 20 /* of their files */
};

#define RING_ADDED SIZE_MAX

struct ring_item {
    int64_t taken_ms;
    uint64_t bytes;
    size_t index; /* the caller's; RING_ADDED for the new one */
    bool goes;
};

/* Sets goes of those that have to go when one is added at now_ms.  The items
 * include the new one, which never goes, and ascend in time.  If they have more
 * than bytes_max, more of them go: first those that have others near them. */
void ring_thin(struct ring_item *items, size_t count, int64_t now_ms,
               uint64_t every_ms, uint64_t bytes_max);

#endif
