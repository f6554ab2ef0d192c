/* ring.c - see ring.h. */
#include "ring.h"

#include <math.h>

/* By age alone.  An old one stays where it is far enough from the last one that
 * stays, so that those that stay do so until they are too old. */
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

/* The one that is missed least: near to others, for its age; before that what
 * is of a time to come, as the clock was set back: nothing is compared with it.
 */
static size_t
find_least(const struct ring_item *items, size_t count, int64_t now_ms,
           int64_t every_ms)
{
    size_t least = count, before = count;
    double gap_least = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t age_ms = now_ms - items[i].taken_ms;
        double gap = INFINITY; /* how far back it goes counts most */
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
            return; /* the new one alone */
        items[i].goes = true;
        left--;
        bytes -= items[i].bytes;
    }
}
