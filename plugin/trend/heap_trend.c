/*
 * heap_trend.c - see heap_trend.h.
 *
 * The ring has a snapshot of each interval of the last two days and of each day
 * before; now is one more.  First the former are judged, and where these do not
 * grow, one a day, always of the same time of day.
 *
 * A profile that was switched on late has at first little of the heap, and more
 * as objects are replaced: functions seem to grow whose memory does not.  So
 * where much was unseen at first, the allocator's own count must grow, too.
 *
 * trends.lock guards the list of remembered sums; it is not held while a file
 * is read.
 */
#include "heap_trend.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "hash.h"
#include "heap_sums.h"
#include "heap_threads.h"
#include "live_parts.h"
#include "memory.h"
#include "profile.h"
#include "ring.h"
#include "stack_names.h"
#include "store.h"
#include "texts.h"

enum {
    ROWS_MEMORY_MAX = 128 << 20,
    POINTS_MAX = 2 * RING_MAX, /* some may be pinned */
    LATE_MS = 60000 /* after the start: the profile was switched on */
};

/* Below this share of what is allocated the profile has not seen all. */
static const double seen_share = 0.9;

struct remembered {
    uint64_t serial;
    uint64_t wrappers; /* a hash of the list by which names were chosen */
    struct heap_sums *sums;
};

struct heap_trends {
    struct store *store;
    uint64_t seed;
    pthread_mutex_t lock;
    struct remembered list[POINTS_MAX];
    size_t count;
};

/* A snapshot of the past, or now, which is the last. */
struct heap_point {
    char name[SNAPSHOT_NAME_MAX + 1];
    int64_t taken_ms;
    double allocated; /* or rss where that is not known; below 0: neither */
    struct heap_sums *sums;
};

struct past {
    int64_t every_ms; /* between two of the ring */
    struct heap_point points[POINTS_MAX + 1];
    size_t count;
    struct heap_named named; /* of the last */
};

/* ---- the points ---- */

static bool
is_same_life(const struct store_entry *entry, const struct agent_hello *hello,
             uint64_t rate)
{
    return entry->kind == PROFILE_HEAP && entry->rate == rate &&
           strcmp(entry->hello.boot_id, hello->boot_id) == 0 &&
           entry->hello.pid == hello->pid &&
           entry->hello.start_ticks == hello->start_ticks &&
           entry->hello.resets == hello->resets;
}

static double
memory_then(const struct snapshot_memory *memory)
{
    if (memory->allocated.known)
        return (double)memory->allocated.value;
    return memory->rss.known ? (double)memory->rss.value : -1;
}

/* A reference, or NULL. */
static struct heap_sums *
recall_sums(struct heap_trends *trends, uint64_t serial, uint64_t wrappers)
{
    struct heap_sums *sums = NULL;

    pthread_mutex_lock(&trends->lock);
    for (size_t i = 0; i < trends->count && !sums; i++)
        if (trends->list[i].serial == serial &&
            trends->list[i].wrappers == wrappers)
            sums = heap_sums_ref(trends->list[i].sums);
    pthread_mutex_unlock(&trends->lock);
    return sums;
}

/* In place of the oldest, where there is no room. */
static void
remember_sums(struct heap_trends *trends, uint64_t serial, uint64_t wrappers,
              struct heap_sums *sums)
{
    pthread_mutex_lock(&trends->lock);
    if (trends->count == POINTS_MAX) {
        heap_sums_unref(trends->list[0].sums);
        trends->count--;
        memmove(trends->list, trends->list + 1,
                trends->count * sizeof(trends->list[0]));
    }
    trends->list[trends->count++] =
        (struct remembered){serial, wrappers, heap_sums_ref(sums)};
    pthread_mutex_unlock(&trends->lock);
}

/* Those whose snapshots are gone. */
static void
forget_others(struct heap_trends *trends, const struct store_entry *list,
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

/* 1: the snapshot has gone meanwhile, or its file is damaged. */
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

/* Keeps of the list those of the ring, and of the heap. */
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

static int
add_past(struct heap_trends *trends, const struct store_entry *list,
         size_t count, const struct snapshot *now,
         const struct view_options *options, struct past *past,
         struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct heap_point *point = &past->points[past->count];
        int rc;

        if (!is_same_life(&list[i], &now->hello, now->profile->rate) ||
            list[i].taken_ms >= now->taken_ms || past->count == POINTS_MAX)
            continue;
        rc = take_sums(trends, &list[i], options, &point->sums, err);
        if (rc < 0)
            return -1;
        if (rc > 0)
            continue;
        memcpy(point->name, list[i].name, sizeof(point->name));
        point->taken_ms = list[i].taken_ms;
        point->allocated = memory_then(&list[i].memory);
        past->count++;
    }
    return 0;
}

static int
add_now(struct heap_trends *trends, const struct snapshot *now,
        const char *name, const struct view_options *options,
        struct arena *arena, struct past *past, struct error *err)
{
    struct heap_point *point = &past->points[past->count];

    memcpy(point->name, name, strlen(name) + 1);
    point->sums = heap_sums_new(now->profile, options, trends->seed, arena,
                                &past->named, err);
    if (!point->sums)
        return -1;
    point->taken_ms = now->taken_ms;
    point->allocated = memory_then(&now->memory);
    past->count++;
    return 0;
}

static void
past_fini(struct past *past)
{
    while (past->count > 0)
        heap_sums_unref(past->points[--past->count].sums);
}

/* ---- one function ---- */

static const struct heap_sum *
sum_then(const struct heap_point *point, uint64_t name)
{
    static const struct heap_sum none;
    const struct heap_sum *sum = heap_sum_find(
        point->sums->functions, point->sums->function_count, name);

    return sum ? sum : &none;
}

static struct trend_point
point_of(const struct heap_point *point, uint64_t name)
{
    const struct heap_sum *sum = sum_then(point, name);

    return (struct trend_point){(double)point->taken_ms / 1000, sum->bytes,
                                sum->variance};
}

/* The points of the last two days, or at least step_ms from each other; name 0:
 * what was allocated.  *first: the index of the first. */
static size_t
list_points(const struct past *past, uint64_t name, int64_t step_ms,
            int64_t from_ms, struct trend_point *out, size_t *first)
{
    int64_t last_ms = INT64_MAX;
    size_t count = 0;

    /* Backwards, so that now is one of them. */
    for (size_t i = past->count; i-- > 0 && count < TREND_POINTS_MAX;) {
        const struct heap_point *point = &past->points[i];

        if (point->taken_ms < from_ms)
            break;
        if (count > 0 && last_ms - point->taken_ms < step_ms)
            continue;
        if (name == 0 && point->allocated < 0)
            return 0;
        out[count] = name == 0
                         ? (struct trend_point){(double)point->taken_ms / 1000,
                                                point->allocated, 0}
                         : point_of(point, name);
        count++;
        last_ms = point->taken_ms;
        *first = i;
    }
    for (size_t i = 0; i < count / 2; i++) {
        struct trend_point held = out[i];

        out[i] = out[count - 1 - i];
        out[count - 1 - i] = held;
    }
    return count;
}

/* Of the last two days; where that does not grow, day by day. */
static size_t
judge_series(const struct past *past, uint64_t name, struct trend *out)
{
    const struct heap_point *now = &past->points[past->count - 1];
    struct trend_point points[TREND_POINTS_MAX];
    size_t first = past->count - 1, coarse_first = first, count;
    struct trend coarse;

    count = list_points(past, name, past->every_ms / 2,
                        now->taken_ms - RING_FINE * past->every_ms -
                            past->every_ms / 2,
                        points, &first);
    trend_judge(points, count, now->sums->bytes, out);
    if (out->verdict == TREND_GROWS)
        return first;
    count = list_points(past, name, (RING_COARSE_EVERY - 1) * past->every_ms,
                        INT64_MIN, points, &coarse_first);
    trend_judge(points, count, now->sums->bytes, &coarse);
    if (coarse.verdict != TREND_GROWS)
        return first;
    *out = coarse;
    return coarse_first;
}

/* Whether the profile had not seen much at that point, and cannot say what of
 * its growth is real. */
static bool
was_blind(const struct heap_point *point, const struct snapshot *now)
{
    return now->hello.active_since_ms > now->hello.started_ms + LATE_MS &&
           (point->allocated < 0 ||
            point->sums->bytes < seen_share * point->allocated);
}

static void
check_blindness(const struct past *past, const struct snapshot *now,
                struct heap_trend_row *row, size_t first)
{
    struct trend all;

    if ((row->trend.verdict != TREND_GROWS &&
         row->trend.verdict != TREND_FILLS) ||
        !was_blind(&past->points[first], now))
        return;
    judge_series(past, 0, &all);
    if (all.verdict == TREND_GROWS && row->trend.verdict == TREND_GROWS &&
        all.high >= row->trend.slope / 2)
        return;
    row->trend.verdict = TREND_UNKNOWN;
    row->trend.why = "profiling was switched on when the heap was there: what "
                     "replaces it seems to grow";
}

/* ---- the rows ---- */

/* The stack that grew most since then, of the profile's. */
static size_t
find_stack(const struct past *past, const struct snapshot *now,
           const struct heap_point *then, uint32_t function)
{
    const struct profile *profile = now->profile;
    size_t most = SIZE_MAX;
    double grown_most = 0;

    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct heap_sum *before;
        double grown;

        if (past->named.leaves[i] != function)
            continue;
        before = heap_sum_find(then->sums->stacks, then->sums->stack_count,
                               past->named.stacks[i]);
        grown = profile->stacks[i].bytes - (before ? before->bytes : 0);
        if (most == SIZE_MAX || grown > grown_most) {
            most = i;
            grown_most = grown;
        }
    }
    return most;
}

/* "main;serve;parse"; a ; within a name would part it. */
static const char *
write_folded(struct stack_names *names, const struct profile_stack *stack,
             struct arena *arena)
{
    struct buffer text;
    size_t count = 0;
    const char *out;

    buffer_init(&text, HEAP_TREND_FOLDED_MAX);
    if (stack_names_get(names, stack, names->frames, &count) != 0)
        count = 0;
    while (count-- > 0) {
        const char *name = texts_get(names->texts, names->frames[count].name);

        if (*name && text.size > 0)
            buffer_char(&text, ';');
        for (; *name; name++)
            buffer_char(&text, *name == ';' ? ':' : *name);
    }
    out = text.failed ? "" : arena_strndup(arena, text.data, text.size);
    buffer_fini(&text);
    return out;
}

/* "under 1 s 3 %, over 1 day 97 %". */
static const char *
write_ages(const struct past *past, const struct profile *profile,
           uint32_t function, struct arena *arena)
{
    char text[HEAP_TREND_AGES_MAX] = "";
    double bytes[HEAP_AGE_CLASSES] = {0}, sum = 0;
    size_t size = 0;

    for (size_t i = 0; profile->parts && i < profile->parts->count; i++) {
        const struct live_part *part = &profile->parts->list[i];

        if (past->named.leaves[part->stack] != function)
            continue;
        bytes[part->age % HEAP_AGE_CLASSES] += part->bytes;
        sum += part->bytes;
    }
    for (uint32_t age = 0; age < HEAP_AGE_CLASSES; age++)
        if (sum > 0 && bytes[age] >= sum / 200 && size < sizeof(text))
            size +=
                (size_t)snprintf(text + size, sizeof(text) - size,
                                 "%s%s %.0f %%", size > 0 ? ", " : "",
                                 heap_age_name(age), 100 * bytes[age] / sum);
    return arena_strndup(arena, text, strlen(text));
}

static int
compare_rows(const void *a, const void *b)
{
    const struct heap_trend_row *x = a, *y = b;

    if (x->share != y->share)
        return (x->share < y->share) - (x->share > y->share);
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* Bytes by which a function differs from the first point, if it is more. */
static double
grown_since(const struct past *past, const struct heap_sum *sum)
{
    double grown = sum->bytes - sum_then(&past->points[0], sum->name)->bytes;

    return grown > 0 ? grown : 0;
}

static void
fill_shares(struct heap_trend_rows *rows)
{
    double sum = 0;

    for (size_t i = 0; i < rows->count; i++)
        if (rows->list[i].trend.verdict == TREND_GROWS)
            sum += rows->list[i].trend.slope;
    for (size_t i = 0; i < rows->count; i++)
        rows->list[i].share = rows->list[i].trend.verdict == TREND_GROWS
                                  ? rows->list[i].trend.slope / sum
                                  : -1;
}

static int
add_row(const struct past *past, const struct snapshot *now, uint32_t function,
        struct stack_names *names, struct heap_trend_rows *out)
{
    const struct heap_point *last = &past->points[past->count - 1], *then;
    struct heap_trend_row *row = &out->list[out->count];
    size_t first, stack;

    row->function = past->named.functions[function];
    row->bytes = last->sums->functions[function].bytes;
    first =
        judge_series(past, last->sums->functions[function].name, &row->trend);
    check_blindness(past, now, row, first);
    then = &past->points[first];
    memcpy(row->since, then->name, sizeof(row->since));
    row->since_ms = then->taken_ms;
    stack = find_stack(past, now, then, function);
    row->folded =
        stack == SIZE_MAX
            ? ""
            : write_folded(names, &now->profile->stacks[stack], out->arena);
    row->ages = write_ages(past, now->profile, function, out->arena);
    if (!row->function || !row->folded || !row->ages)
        return -1;
    out->count++;
    return 0;
}

static int
add_rows(const struct past *past, const struct snapshot *now,
         struct stack_names *names, struct heap_trend_rows *out)
{
    const struct heap_sums *sums = past->points[past->count - 1].sums;
    double grown = 0;

    for (size_t i = 0; i < sums->function_count; i++)
        grown += grown_since(past, &sums->functions[i]);
    for (uint32_t i = 0; i < sums->function_count; i++) {
        const struct heap_sum *sum = &sums->functions[i];

        if (out->count < HEAP_TREND_ROWS_MAX && past->named.functions[i] &&
            (sum->bytes >= TREND_SHARE * sums->bytes ||
             grown_since(past, sum) >= TREND_SHARE * grown) &&
            sum->bytes > 0 && add_row(past, now, i, names, out) != 0)
            return -1;
    }
    fill_shares(out);
    qsort(out->list, out->count, sizeof(*out->list), compare_rows);
    return 0;
}

static int
make_rows(const struct past *past, const struct snapshot *now,
          const struct view_options *options, struct heap_trend_rows *out,
          struct error *err)
{
    struct arena *scratch = arena_new(ROWS_MEMORY_MAX);
    struct stack_names names;
    int rc = -1;

    memset(&names, 0, sizeof(names));
    out->list =
        arena_alloc(out->arena, HEAP_TREND_ROWS_MAX * sizeof(*out->list));
    if (!scratch || !out->list)
        error_memory(err, "the trend of the heap");
    else if (stack_names_init(&names, now->profile, options, scratch, err) ==
             0) {
        rc = add_rows(past, now, &names, out);
        if (rc != 0)
            error_memory(err, "the trend of the heap");
    }
    stack_names_fini(&names);
    arena_free(scratch);
    return rc;
}

/* Adds the last of the ring where now is NULL; *now stays NULL: there is
 * none. */
static int
collect(struct heap_trends *trends, struct snapshot **now,
        const struct view_options *options, struct past *past,
        struct arena *arena, struct error *err)
{
    struct store_entry *list = mem_alloc(STORE_COUNT_MAX * sizeof(*list));
    bool fresh = *now != NULL;
    size_t count;
    int rc = -1;

    if (!list) {
        error_memory(err, "the list of snapshots");
        return -1;
    }
    past->every_ms = (int64_t)store_get_ring(trends->store);
    if (past->every_ms == 0)
        past->every_ms = (int64_t)store_defaults.ring_ms;
    count = keep_ring(list, store_list(trends->store, list, STORE_COUNT_MAX));
    forget_others(trends, list, count);
    if (*now)
        snapshot_ref(*now);
    else if (count > 0)
        *now = store_get(trends->store, list[count - 1].name, err);
    if (*now)
        rc = add_past(trends, list, count, *now, options, past, err);
    else
        rc = count > 0 ? -1 : 0;
    if (rc == 0 && *now)
        rc = add_now(trends, *now, fresh ? SNAPSHOT_NOW : (*now)->name, options,
                     arena, past, err);
    mem_free(list);
    return rc;
}

int
heap_trend_make(struct heap_trends *trends, struct snapshot *now,
                const struct view_options *options, struct heap_trend_rows *out,
                struct error *err)
{
    struct past *past = mem_zalloc(1, sizeof(*past));
    int rc = -1;

    memset(out, 0, sizeof(*out));
    out->arena = arena_new(ROWS_MEMORY_MAX);
    if (!past || !out->arena) {
        error_memory(err, "the trend of the heap");
        now = NULL;
    } else {
        rc = collect(trends, &now, options, past, out->arena, err);
        if (rc == 0 && now) {
            memcpy(out->now, past->points[past->count - 1].name,
                   sizeof(out->now));
            rc = make_rows(past, now, options, out, err);
        }
        past_fini(past);
        snapshot_unref(now);
    }
    mem_free(past);
    if (rc != 0)
        heap_trend_fini(out);
    return rc;
}

void
heap_trend_fini(struct heap_trend_rows *rows)
{
    arena_free(rows->arena);
    memset(rows, 0, sizeof(*rows));
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
