/*
 * map_seen.c - see map_seen.h.
 *
 * Mappings grow, shrink and join.  One is as old as the remembered one that
 * has at least half of it; else it is new.
 */
#include "map_seen.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "map_source.h"
#include "memory.h"
#include "memory_map.h"
#include "search.h"

enum { LOOK_SHARE = 100 /* of the time that looks take */ };

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

/* When what is there was seen first; 0: never. */
static int64_t
find_seen(const struct map_seen *seen, uint64_t start, uint64_t end)
{
    size_t i = SEARCH_ABOVE(seen->list, seen->count, end, start);

    for (; i < seen->count && seen->list[i].start < end; i++) {
        const struct seen_range *s = &seen->list[i];
        uint64_t from = s->start > start ? s->start : start;
        uint64_t to = s->end < end ? s->end : end;

        if (to - from >= (end - start) / 2)
            return s->first_ms;
    }
    return 0;
}

static bool
is_remembered(const struct memory_range *range)
{
    return range->bare && range->permissions[1] == 'w' &&
           range->permissions[3] == 'p';
}

/* With the lock. */
static void
remember_all(struct map_seen *seen, const struct memory_map *map,
             int64_t now_ms)
{
    struct seen_range *list = mem_zalloc(map->count + 1, sizeof(*list));
    size_t count = 0;

    if (!list)
        return;
    for (size_t i = 0; i < map->count; i++) {
        const struct memory_range *range = &map->list[i];
        int64_t first_ms;

        if (!is_remembered(range))
            continue;
        first_ms = find_seen(seen, range->start, range->end);
        list[count++] = (struct seen_range){range->start, range->end,
                                            first_ms ? first_ms : now_ms};
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

/* With the lock: where it is another process than before. */
static void
forget_another(struct map_seen *seen, pid_t pid, uint64_t start_ticks)
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
map_seen_look(struct map_seen *seen, pid_t pid, uint64_t start_ticks)
{
    uint64_t began_ms = clock_ms(), rest_ms;
    struct memory_map *map = map_source_places(pid);

    rest_ms = (clock_ms() - began_ms) * LOOK_SHARE;
    if (rest_ms < MAP_SEEN_LOOK_MS)
        rest_ms = MAP_SEEN_LOOK_MS;
    pthread_mutex_lock(&seen->lock);
    forget_another(seen, pid, start_ticks);
    if (map)
        remember_all(seen, map, clock_wall_ms());
    seen->due_ms = began_ms + rest_ms;
    pthread_mutex_unlock(&seen->lock);
    memory_map_unref(map);
}

void
map_seen_note(struct map_seen *seen, pid_t pid, uint64_t start_ticks,
              struct memory_map *map, int64_t now_ms)
{
    pthread_mutex_lock(&seen->lock);
    forget_another(seen, pid, start_ticks);
    remember_all(seen, map, now_ms);
    for (size_t i = 0; i < map->count; i++) {
        struct memory_range *range = &map->list[i];

        if (range->kind == RANGE_FOREIGN && range->bare)
            range->first_seen_ms = find_seen(seen, range->start, range->end);
    }
    pthread_mutex_unlock(&seen->lock);
}
