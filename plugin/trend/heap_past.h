/*
 * heap_past.h - the snapshots that a trend is judged from, as sums by function.
 *
 * The sums of each kept snapshot are remembered.
 */
#ifndef HW_HEAP_PAST_H
#define HW_HEAP_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap_sums.h"
#include "ring.h"
#include "snapshot.h"

struct arena;
struct error;
struct heap_trends;
struct view_options;

enum { HEAP_PAST_MAX = 2 * RING_MAX /* some may be pinned */ };

/* A snapshot; the last point of a past is now. */
struct heap_point {
    char name[SNAPSHOT_NAME_MAX + 1];
    int64_t taken_ms;
    double allocated; /* the allocator's count, or else rss; below 0: neither is
                       * known */
    bool counted;     /* allocated is the allocator's count */
    struct heap_sums *sums;
};

struct heap_past {
    int64_t every_ms; /* interval of the ring */
    struct heap_point points[HEAP_PAST_MAX + 1];
    size_t count;
    struct heap_named named; /* of the last point */
};

/* Fills a zeroed past with now and the snapshots of the ring that it may be
 * compared with. *now NULL: takes the last of the ring, or leaves NULL where
 * there is none.  The caller unrefs *now, also after -1 with *err. */
int heap_past_collect(struct heap_trends *trends, struct snapshot **now,
                      const struct view_options *options,
                      struct heap_past *past, struct arena *arena,
                      struct error *err);
void heap_past_fini(struct heap_past *past);

#endif
