/*
 * map_seen.c - see map_seen.h.
 *
 * An unknown mapping that grew an hour ago matters more than one that was there
 * at the start, but the kernel keeps no such time.  Mappings grow, shrink,
 * split and join, and a list with owners has them in other pieces than the
 * kernel's.  So address ranges are remembered, and not mappings: what was there
 * at the last scan keeps its time, the rest is new; and a mapping has been
 * there since at least half of it was.
 *
 * At most MAP_SEEN_MAX ranges are kept, the largest ones.  Scans pause 100
 * times as long as they take: at most 1 % of a processor.
 */
#include "map_seen.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "map_source.h"
#include "memory.h"
#include "memory_map.h"
#include "search.h"

enum { SCAN_TIME_RATIO = 100 /* pause, as a multiple of a scan's time */ };

void
map_seen_init(struct map_seen *seen)
{
    *seen = (struct map_seen){0};
    pthread_mutex_init(&seen->lock, NULL);
}

void
map_seen_fini(struct map_seen *seen)
{
    mem_free(seen->list);
    pthread_mutex_destroy(&seen->lock);
}

static int
compare_largest_first(const void *left, const void *right)
{
    const struct seen_range *a = left, *b = right;
    uint64_t x = a->end - a->start, y = b->end - b->start;

    return (x < y) - (x > y);
}

static int
compare_starts(const void *left, const void *right)
{
    const struct seen_range *a = left, *b = right;

    return (a->start > b->start) - (a->start < b->start);
}

/* Bytes of start to end that were first seen at than_ms or before. */
static uint64_t
sum_seen_before(const struct map_seen *seen, size_t first, uint64_t start,
                uint64_t end, int64_t than_ms)
{
    uint64_t sum = 0;

    for (size_t i = first; i < seen->count && seen->list[i].start < end; i++) {
        const struct seen_range *s = &seen->list[i];
        uint64_t from = s->start > start ? s->start : start;
        uint64_t to = s->end < end ? s->end : end;

        sum += s->first_ms <= than_ms ? to - from : 0;
    }
    return sum;
}

/* Since when half of the range has been there; 0: unknown. */
static int64_t
find_seen(const struct map_seen *seen, uint64_t start, uint64_t end)
{
    size_t first = SEARCH_ABOVE(seen->list, seen->count, end, start);
    int64_t oldest = 0;

    for (size_t i = first; i < seen->count && seen->list[i].start < end; i++) {
        int64_t ms = seen->list[i].first_ms;

        if ((oldest == 0 || ms < oldest) &&
            sum_seen_before(seen, first, start, end, ms) >= (end - start) / 2)
            oldest = ms;
    }
    return oldest;
}

static bool
is_remembered(const struct memory_range *range)
{
    return range->bare && range->permissions[1] == 'w' &&
           range->permissions[3] == 'p';
}

/* Appends a range, or extends the last one if it is adjacent and as old.  Empty
 * ones are passed over. */
static void
append_seen(struct seen_range *list, size_t *count,
            const struct seen_range *place)
{
    struct seen_range *last = *count > 0 ? &list[*count - 1] : NULL;

    if (place->start >= place->end)
        return;
    if (last && last->end == place->start && last->first_ms == place->first_ms)
        last->end = place->end;
    else
        list[(*count)++] = *place;
}

/* Appends a mapping's ranges: those that were seen before, and what lies
 * between them as new. */
static void
remember_seen_ranges(const struct map_seen *seen, uint64_t start, uint64_t end,
                     int64_t now_ms, struct seen_range *list, size_t *count)
{
    size_t i = SEARCH_ABOVE(seen->list, seen->count, end, start);
    struct seen_range place;

    for (; i < seen->count && seen->list[i].start < end; i++) {
        place = seen->list[i];
        if (place.start < start)
            place.start = start;
        if (place.end > end)
            place.end = end;
        append_seen(list, count,
                    &(struct seen_range){start, place.start, now_ms});
        append_seen(list, count, &place);
        start = place.end;
    }
    append_seen(list, count, &(struct seen_range){start, end, now_ms});
}

/* With the lock. */
static void
remember_all(struct map_seen *seen, const struct memory_map *map,
             int64_t now_ms)
{
    /* Each old range in a mapping gives at most itself and a gap before it;
     * each mapping one more at its end.  Two mappings may share an old
     * range. */
    size_t room = 3 * map->count + 2 * seen->count + 1, count = 0;
    struct seen_range *list = mem_zalloc(room, sizeof(*list));

    if (!list)
        return;
    for (size_t i = 0; i < map->count; i++) {
        const struct memory_range *range = &map->list[i];

        if (is_remembered(range))
            remember_seen_ranges(seen, range->start, range->end, now_ms, list,
                                 &count);
    }
    if (count > MAP_SEEN_MAX) {
        qsort(list, count, sizeof(*list), compare_largest_first);
        count = MAP_SEEN_MAX;
        qsort(list, count, sizeof(*list), compare_starts);
    }
    mem_free(seen->list);
    seen->list = list;
    seen->count = count;
}

/* With the lock: forgets all if it is another process than before. */
static void
reset_map_seen(struct map_seen *seen, pid_t pid, uint64_t start_ticks)
{
    if (seen->pid == pid && seen->start_ticks == start_ticks)
        return;
    seen->pid = pid;
    seen->start_ticks = start_ticks;
    seen->count = 0;
}

bool
map_seen_is_due(struct map_seen *seen, pid_t pid, uint64_t start_ticks)
{
    bool due;

    pthread_mutex_lock(&seen->lock);
    due = seen->pid != pid || seen->start_ticks != start_ticks ||
          clock_ms() >= seen->due_ms;
    pthread_mutex_unlock(&seen->lock);
    return due;
}

void
map_seen_scan(struct map_seen *seen, pid_t pid, uint64_t start_ticks)
{
    uint64_t began_ms = clock_ms(), rest_ms;
    struct memory_map *map = map_source_ranges(pid);

    rest_ms = (clock_ms() - began_ms) * SCAN_TIME_RATIO;
    if (rest_ms < MAP_SEEN_SCAN_MS)
        rest_ms = MAP_SEEN_SCAN_MS;
    pthread_mutex_lock(&seen->lock);
    reset_map_seen(seen, pid, start_ticks);
    if (map)
        remember_all(seen, map, clock_wall_ms());
    /* Also if it could not be read: a denied file is not tried each second. */
    seen->due_ms = began_ms + rest_ms;
    pthread_mutex_unlock(&seen->lock);
    memory_map_unref(map);
}

void
map_seen_note(struct map_seen *seen, pid_t pid, uint64_t start_ticks,
              struct memory_map *map, int64_t now_ms)
{
    pthread_mutex_lock(&seen->lock);
    reset_map_seen(seen, pid, start_ticks);
    remember_all(seen, map, now_ms);
    for (size_t i = 0; i < map->count; i++) {
        struct memory_range *range = &map->list[i];

        if (range->kind == RANGE_FOREIGN && range->bare)
            range->first_seen_ms = find_seen(seen, range->start, range->end);
    }
    pthread_mutex_unlock(&seen->lock);
}
