/*
 * heap_past.c - see heap_past.h.
 *
 * A trend needs dozens of snapshots, each a file that takes 3 ms to read and a
 * profile of megabytes, but of each only the bytes of the largest functions and
 * stacks.  So the sums (heap_sums.h) of every snapshot of the ring are
 * remembered by its serial number, together with the list of wrappers by which
 * names were chosen; a statement reads only files that are new since the last
 * one.  Any thread of statements.  trends.lock guards the list of remembered
 * sums; it is not held while a file is read, so two statements may read one
 * file at the same time.
 */
#include "heap_past.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "hash.h"
#include "heap_trend.h"
#include "memory.h"
#include "profile.h"
#include "store.h"

struct remembered {
    uint64_t serial;
    uint64_t wrappers; /* hash of the list of wrappers that names were chosen
                        * by */
    struct heap_sums *sums;
};

struct heap_trends {
    struct store *store;
    uint64_t seed;
    pthread_mutex_t lock;
    struct remembered list[HEAP_PAST_MAX];
    size_t count;
};

/* A reset empties the profile, and another rate makes another scale: figures on
 * both sides of it cannot be compared. */
static bool
is_same_process_run(const struct store_entry *entry,
                    const struct agent_hello *hello, uint64_t rate)
{
    return entry->kind == PROFILE_HEAP && entry->rate == rate &&
           strcmp(entry->hello.boot_id, hello->boot_id) == 0 &&
           entry->hello.pid == hello->pid &&
           entry->hello.start_ticks == hello->start_ticks &&
           entry->hello.resets == hello->resets;
}

static void
take_point_memory(struct heap_point *point,
                  const struct snapshot_memory *memory)
{
    point->counted = memory->allocated.known;
    point->allocated = memory->allocated.known ? (double)memory->allocated.value
                       : memory->rss.known     ? (double)memory->rss.value
                                               : -1;
}

/* The sums, borrowed, or NULL.  Call with the lock. */
static struct heap_sums *
find_sums(const struct heap_trends *trends, uint64_t serial, uint64_t wrappers)
{
    for (size_t i = 0; i < trends->count; i++)
        if (trends->list[i].serial == serial &&
            trends->list[i].wrappers == wrappers)
            return trends->list[i].sums;
    return NULL;
}

/* A reference, or NULL. */
static struct heap_sums *
recall_sums(struct heap_trends *trends, uint64_t serial, uint64_t wrappers)
{
    struct heap_sums *sums;

    pthread_mutex_lock(&trends->lock);
    sums = find_sums(trends, serial, wrappers);
    if (sums)
        heap_sums_ref(sums);
    pthread_mutex_unlock(&trends->lock);
    return sums;
}

/* Remembers the sums, in place of the oldest where there is no room.  Another
 * statement may have read the same file meanwhile. */
static void
remember_sums(struct heap_trends *trends, uint64_t serial, uint64_t wrappers,
              struct heap_sums *sums)
{
    pthread_mutex_lock(&trends->lock);
    if (find_sums(trends, serial, wrappers)) {
        pthread_mutex_unlock(&trends->lock);
        return;
    }
    if (trends->count == HEAP_PAST_MAX) {
        heap_sums_unref(trends->list[0].sums);
        trends->count--;
        memmove(trends->list, trends->list + 1,
                trends->count * sizeof(trends->list[0]));
    }
    trends->list[trends->count++] =
        (struct remembered){serial, wrappers, heap_sums_ref(sums)};
    pthread_mutex_unlock(&trends->lock);
}

/* Drops the sums of snapshots that are gone. */
static void
drop_deleted_sums(struct heap_trends *trends, const struct store_entry *list,
                  size_t count)
{
    size_t kept = 0;

    pthread_mutex_lock(&trends->lock);
    for (size_t i = 0; i < trends->count; i++) {
        size_t k = 0;

        while (k < count && list[k].serial != trends->list[i].serial)
            k++;
        if (k < count)
            trends->list[kept++] = trends->list[i];
        else
            heap_sums_unref(trends->list[i].sums);
    }
    trends->count = kept;
    pthread_mutex_unlock(&trends->lock);
}

/* Returns 1 if the snapshot was deleted meanwhile or its file is damaged: a
 * trend does without it. */
static int
take_sums(struct heap_trends *trends, const struct store_entry *entry,
          const struct view_options *options, struct heap_sums **out,
          struct error *err)
{
    const char *list = options->wrappers ? options->wrappers : "";
    uint64_t wrappers = hash_bytes(trends->seed, list, strlen(list));
    struct snapshot *snapshot;

    *out = recall_sums(trends, entry->serial, wrappers);
    if (*out)
        return 0;
    snapshot = store_get(trends->store, entry->name, err);
    if (!snapshot)
        return 1;
    *out = heap_sums_new(snapshot->profile, options, trends->seed, NULL, NULL,
                         err);
    snapshot_unref(snapshot);
    if (!*out)
        return -1;
    remember_sums(trends, entry->serial, wrappers, *out);
    return 0;
}

static int
compare_taken(const void *a, const void *b)
{
    const struct store_entry *x = a, *y = b;

    return (x->taken_ms > y->taken_ms) - (x->taken_ms < y->taken_ms);
}

/* Keeps the heap snapshots of the ring, oldest first. */
static size_t
keep_ring(struct store_entry *list, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (list[i].cause == SNAPSHOT_RING && list[i].kind == PROFILE_HEAP)
            list[kept++] = list[i];
    qsort(list, kept, sizeof(*list), compare_taken);
    return kept;
}

/* Keeps the latest HEAP_PAST_MAX snapshots that now may be compared with.
 * After the clock was set back, some were taken in the future. */
static size_t
keep_comparable(struct store_entry *list, size_t count,
                const struct snapshot *now)
{
    size_t kept = 0, over;

    for (size_t i = 0; i < count; i++)
        if (is_same_process_run(&list[i], &now->hello, now->profile->rate) &&
            list[i].taken_ms < now->taken_ms)
            list[kept++] = list[i];
    if (kept <= HEAP_PAST_MAX)
        return kept;
    over = kept - HEAP_PAST_MAX;
    memmove(list, list + over, HEAP_PAST_MAX * sizeof(*list));
    return HEAP_PAST_MAX;
}

static int
add_past(struct heap_trends *trends, const struct store_entry *list,
         size_t count, const struct view_options *options,
         struct heap_past *past, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct heap_point *point = &past->points[past->count];
        int rc;

        rc = take_sums(trends, &list[i], options, &point->sums, err);
        if (rc < 0)
            return -1;
        if (rc > 0)
            continue;
        memcpy(point->name, list[i].name, sizeof(point->name));
        point->taken_ms = list[i].taken_ms;
        take_point_memory(point, &list[i].memory);
        past->count++;
    }
    return 0;
}

static int
add_now(struct heap_trends *trends, const struct snapshot *now,
        const char *name, const struct view_options *options,
        struct arena *arena, struct heap_past *past, struct error *err)
{
    struct heap_point *point = &past->points[past->count];

    memcpy(point->name, name, strlen(name) + 1);
    point->sums = heap_sums_new(now->profile, options, trends->seed, arena,
                                &past->named, err);
    if (!point->sums)
        return -1;
    point->taken_ms = now->taken_ms;
    take_point_memory(point, &now->memory);
    past->count++;
    return 0;
}

void
heap_past_fini(struct heap_past *past)
{
    while (past->count > 0)
        heap_sums_unref(past->points[--past->count].sums);
}

int
heap_past_collect(struct heap_trends *trends, struct snapshot **now,
                  const struct view_options *options, struct heap_past *past,
                  struct arena *arena, struct error *err)
{
    struct store_entry *list = mem_alloc(STORE_COUNT_MAX * sizeof(*list));
    bool fresh = *now != NULL;
    size_t count;
    int rc = -1;

    if (fresh)
        snapshot_ref(*now);
    if (!list) {
        error_memory(err, "the list of snapshots");
        return -1;
    }
    past->every_ms = (int64_t)store_get_ring(trends->store);
    if (past->every_ms == 0)
        past->every_ms = (int64_t)store_defaults.ring_ms;
    count = keep_ring(list, store_list(trends->store, list, STORE_COUNT_MAX));
    drop_deleted_sums(trends, list, count);
    if (!fresh && count > 0)
        *now = store_get(trends->store, list[count - 1].name, err);
    if (*now)
        rc = add_past(trends, list, keep_comparable(list, count, *now), options,
                      past, err);
    else
        rc = count > 0 ? -1 : 0;
    if (rc == 0 && *now)
        rc = add_now(trends, *now, fresh ? SNAPSHOT_NOW : (*now)->name, options,
                     arena, past, err);
    mem_free(list);
    return rc;
}

struct heap_trends *
heap_trends_new(struct store *store)
{
    struct heap_trends *trends = mem_zalloc(1, sizeof(*trends));

    if (!trends)
        return NULL;
    pthread_mutex_init(&trends->lock, NULL);
    trends->store = store;
    trends->seed = hash_seed(trends);
    return trends;
}

void
heap_trends_free(struct heap_trends *trends)
{
    if (!trends)
        return;
    while (trends->count > 0)
        heap_sums_unref(trends->list[--trends->count].sums);
    pthread_mutex_destroy(&trends->lock);
    mem_free(trends);
}
