/* ring.c - see ring.h. */
#include "ring.h"

/* None comes in its very millisecond. */
static int64_t
most_of(int64_t interval_ms)
{
    return interval_ms / 10 * 9;
}

/* By age alone.  An old one stays where it is far enough from the last one that
 * stays, so that those that stay do so until they are too old. */
static void
thin_by_age(struct ring_item *items, size_t count, int64_t now_ms,
            int64_t every_ms)
{
    int64_t coarse_ms = RING_COARSE_EVERY * every_ms, last_ms = INT64_MIN / 2;

    for (size_t i = 0; i < count; i++) {
        int64_t age_ms = now_ms - items[i].taken_ms;
        bool fine = age_ms <= RING_FINE * every_ms;

        items[i].goes =
            age_ms > RING_COARSE * coarse_ms ||
            (!fine && items[i].taken_ms - last_ms < coarse_ms - every_ms / 2) ||
            (fine && age_ms > 0 &&
             items[i].taken_ms - last_ms < most_of(every_ms) / 2);
        if (!items[i].goes)
            last_ms = items[i].taken_ms;
    }
}

/* The one that is missed least: near to others, for its age. */
static size_t
find_least(const struct ring_item *items, size_t count, int64_t now_ms,
           int64_t every_ms)
{
    size_t least = count, before = count;
    double gap_least = 0;

    for (size_t i = 0; i < count; i++) {
        size_t after = i + 1;
        double age_ms = (double)(now_ms - items[i].taken_ms), gap;

        if (items[i].goes)
            continue;
        while (after < count && items[after].goes)
            after++;
        if (items[i].taken_ms != now_ms) {
            gap =
                before == count || after == count
                    ? (double)RING_COARSE_EVERY * (double)every_ms
                    : (double)(items[after].taken_ms - items[before].taken_ms);
            gap /= (age_ms > 0 ? age_ms : 0) + (double)every_ms;
            if (least == count || gap < gap_least) {
                least = i;
                gap_least = gap;
            }
        }
        before = i;
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
