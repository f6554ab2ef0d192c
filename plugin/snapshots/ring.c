/*
 * ring.c - see ring.h.
 *
 * Growth over a day shows only between hourly snapshots, growth over weeks
 * between daily ones.  So all of the last 48 intervals stay, and of older ones
 * one a day, for two weeks.  The rule looks at times alone and keeps no state:
 * a snapshot that stays once must stay until it is too old, or the thinning
 * would leave holes.
 */
#include "ring.h"

#include <math.h>

/* By age alone.  An old one stays if it is far enough behind the last one that
 * stays; counted from the oldest, so the choice is the same at each call.  Half
 * an interval of tolerance: timers are late. */
static void
thin_by_age(struct ring_item *items, size_t count, int64_t now_ms,
            int64_t every_ms)
{
    int64_t coarse_ms = RING_COARSE_EVERY * every_ms, last_ms = INT64_MIN / 2;

    for (size_t i = 0; i < count; i++) {
        int64_t age_ms = now_ms - items[i].taken_ms;
        int64_t apart_ms = items[i].taken_ms - last_ms;
        bool fine = age_ms <= RING_FINE * every_ms;

        items[i].goes =
            items[i].index != RING_ADDED &&
            (age_ms > RING_COARSE * coarse_ms ||
             apart_ms < (fine ? every_ms / 2 : coarse_ms - every_ms / 2));
        if (!items[i].goes)
            last_ms = items[i].taken_ms;
    }
}

/* The one that is missed least: the smallest gap between its neighbours, in
 * proportion to its age.  Before all others go those with a future time, as the
 * clock was set back: nothing can be compared with them. */
static size_t
find_least(const struct ring_item *items, size_t count, int64_t now_ms,
           int64_t every_ms)
{
    size_t least = count, before = count;
    double gap_least = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t age_ms = now_ms - items[i].taken_ms;
        /* the oldest and the newest have no gap, and go last */
        double gap = INFINITY;
        size_t after = i + 1;

        if (items[i].goes)
            continue;
        while (after < count && items[after].goes)
            after++;
        if (age_ms < 0)
            gap = (double)age_ms;
        else if (before < count && after < count)
            gap = (double)(items[after].taken_ms - items[before].taken_ms) /
                  (double)(age_ms + every_ms);
        before = i;
        if (items[i].index == RING_ADDED || (least < count && gap >= gap_least))
            continue;
        least = i;
        gap_least = gap;
    }
    return least;
}

void
ring_thin(struct ring_item *items, size_t count, int64_t now_ms,
          uint64_t every_ms, uint64_t bytes_max)
{
    size_t left = 0, i;
    uint64_t bytes = 0;

    thin_by_age(items, count, now_ms, (int64_t)every_ms);
    for (i = 0; i < count; i++)
        if (!items[i].goes) {
            left++;
            bytes += items[i].bytes;
        }
    while (left > RING_MAX || bytes > bytes_max) {
        i = find_least(items, count, now_ms, (int64_t)every_ms);
        if (i == count)
            return; /* only the new one is left */
        items[i].goes = true;
        left--;
        bytes -= items[i].bytes;
    }
}
