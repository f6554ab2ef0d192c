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
    RING_FINE = 48,           /* intervals for which each one stays: two days */
    RING_COARSE_EVERY = 24,   /* intervals between two older ones: a day */
    RING_COARSE = 14,         /* of those: two weeks */
    RING_MAX = 64,            /* of all */
    RING_BYTES_MAX = 64 << 20 /* of their files */
};

#define RING_ADDED SIZE_MAX

struct ring_item {
    int64_t taken_ms;
    uint64_t bytes;
    size_t index; /* the caller's; RING_ADDED: of the new one */
    bool goes;
};

/* Sets goes of those that go as one is added at now_ms; it never goes
 * itself.  They are ascending in time, with it.  bytes_max may force out more,
 * first where others are near. */
void ring_thin(struct ring_item *items, size_t count, int64_t now_ms,
               uint64_t every_ms, uint64_t bytes_max);

#endif
