/*
 * heap_trend.c - see heap_trend.h.
 *
 * The ring has a snapshot of each interval of the last two days and of each day
 * before; now is one more.  First the recent ones are judged; a function that
 * does not grow by them is judged again by one snapshot a day, always of the
 * same time of day, which takes out a daily load.
 *
 * A profile that was switched on late, or again after a pause, has at first
 * little of the heap, and more as objects are replaced: functions seem to grow
 * whose memory does not.  So where much was unseen at first, the allocator's
 * own count must grow, too.  Runs on a statement's thread; a judgement costs
 * 0.02 ms a function.
 */
#include "heap_trend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "errors.h"
#include "heap_past.h"
#include "heap_sums.h"
#include "heap_threads.h"
#include "live_parts.h"
#include "memory.h"
#include "profile.h"
#include "ring.h"
#include "stack_names.h"
#include "texts.h"

enum {
    ROWS_MEMORY_MAX = 128 << 20,
    LATE_MS = 60000 /* profiling that began later than this after the process
                     * did was switched on later */
};

/* Below this share of what is allocated, the profile has not seen
 * everything. */
static const double seen_share = 0.9;

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

/* Points of a series, oldest first. */
struct point_list {
    struct trend_point points[TREND_POINTS_MAX];
    size_t indices[TREND_POINTS_MAX]; /* of the points in the past */
    size_t count;
};

/* The points since from_ms, at least step_ms apart; name 0: of all that is
 * allocated. */
static void
list_series_points(const struct heap_past *past, uint64_t name, int64_t step_ms,
                   int64_t from_ms, struct point_list *out)
{
    int64_t last_ms = INT64_MAX;
    size_t count = 0;

    out->count = 0;
    /* backwards, so that now is always among them */
    for (size_t i = past->count; i-- > 0 && count < TREND_POINTS_MAX;) {
        const struct heap_point *point = &past->points[i];

        if (point->taken_ms < from_ms)
            break;
        if (count > 0 && last_ms - point->taken_ms < step_ms)
            continue;
        /* one unknown point makes the whole series unknown */
        if (name == 0 && point->allocated < 0)
            return;
        out->points[count] =
            name == 0 ? (struct trend_point){(double)point->taken_ms / 1000,
                                             point->allocated, 0}
                      : point_of(point, name);
        out->indices[count] = i;
        count++;
        last_ms = point->taken_ms;
    }
    for (size_t i = 0; i < count / 2; i++) {
        struct trend_point held = out->points[i];
        size_t index = out->indices[i];

        out->points[i] = out->points[count - 1 - i];
        out->points[count - 1 - i] = held;
        out->indices[i] = out->indices[count - 1 - i];
        out->indices[count - 1 - i] = index;
    }
    out->count = count;
}

/* Returns the index of the first point that the trend is judged from. */
static size_t
judge_points(const struct heap_past *past, const struct point_list *list,
             struct trend *out)
{
    size_t last = past->count - 1;

    trend_judge(list->points, list->count, past->points[last].sums->bytes, out);
    return list->count > 0 ? list->indices[list->count - out->points] : last;
}

/* Judges the last two days, and where these show no growth, one point a day.
 * Half an interval of tolerance, as the timer of snapshots is not exact. */
static size_t
judge_series(const struct heap_past *past, uint64_t name, struct trend *out)
{
    int64_t now_ms = past->points[past->count - 1].taken_ms;
    int64_t half_ms = past->every_ms / 2;
    struct point_list list;
    struct trend coarse;
    size_t first, coarse_first;

    list_series_points(past, name, half_ms,
                       now_ms - RING_FINE * past->every_ms - half_ms, &list);
    first = judge_points(past, &list, out);
    if (out->verdict == TREND_GROWS)
        return first;
    list_series_points(past, name, (RING_COARSE_EVERY - 1) * past->every_ms,
                       INT64_MIN, &list);
    coarse_first = judge_points(past, &list, &coarse);
    if (coarse.verdict != TREND_GROWS)
        return first;
    *out = coarse;
    return coarse_first;
}

/* The share of all allocated bytes that the profile had seen at that point. */
static double
share_seen(const struct heap_point *point)
{
    return point->allocated > 0 ? point->sums->bytes / point->allocated : 0;
}

/* Whether the profile had seen too little at the first point to say what of the
 * growth is real.  If it was active from the start, its share is compared with
 * today's, since a profile's total always differs a little from the
 * allocator's. */
static bool
was_blind(const struct heap_past *past, size_t first,
          const struct snapshot *now)
{
    const struct heap_point *then = &past->points[first];
    const struct heap_point *last = &past->points[past->count - 1];
    double seen = share_seen(then);

    if (now->hello.active_since_ms > now->hello.started_ms + LATE_MS)
        return seen < seen_share;
    return then->counted && last->counted &&
           seen < seen_share * share_seen(last);
}

static void
check_blindness(const struct heap_past *past, const struct snapshot *now,
                struct heap_trend_row *row, size_t first)
{
    struct trend all;

    if ((row->trend.verdict != TREND_GROWS &&
         row->trend.verdict != TREND_FILLS) ||
        !was_blind(past, first, now))
        return;
    judge_series(past, 0, &all);
    if (all.verdict == TREND_GROWS && row->trend.verdict == TREND_GROWS &&
        all.high >= row->trend.slope / 2)
        return;
    row->trend.verdict = TREND_UNKNOWN;
    row->trend.why = "profiling was off when much of the heap was allocated: "
                     "objects that replace unseen ones look like growth";
}

/* The gain of all that is allocated, since the growth began. */
static void
find_total_gain(const struct heap_past *past, struct heap_trend_row *row)
{
    const struct heap_point *last = &past->points[past->count - 1];
    int64_t from_ms = last->taken_ms - (int64_t)(row->trend.span_s * 1000) - 1;
    size_t first = 0;

    while (past->points[first].taken_ms < from_ms)
        first++;
    row->total_gain_known = row->trend.verdict == TREND_GROWS &&
                            past->points[first].allocated >= 0 &&
                            last->allocated >= 0;
    row->total_gain = last->allocated - past->points[first].allocated;
}

/* ---- the rows ---- */

/* The index of the function's stack that grew most since then; SIZE_MAX:
 * none. */
static size_t
find_most_grown_stack(const struct heap_past *past, const struct snapshot *now,
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

/* "main;serve;parse", the root first; a ; within a name becomes a colon. */
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
            buffer_char(&text, (char)(*name == ';' ? ':' : *name));
    }
    out = text.failed ? "" : arena_strndup(arena, text.data, text.size);
    buffer_fini(&text);
    return out;
}

/* Adds up a function's bytes in use by class of age; returns their sum.  Parts
 * by thread have no ages. */
static double
sum_ages(const struct heap_past *past, const struct profile *profile,
         uint32_t function, double bytes[HEAP_AGE_CLASSES])
{
    double sum = 0;

    for (size_t i = 0; profile->parts && !profile->parts->threads.numbered &&
                       i < profile->parts->count;
         i++) {
        const struct live_part *part = &profile->parts->list[i];

        if (past->named.leaves[part->stack] != function)
            continue;
        bytes[part->age % HEAP_AGE_CLASSES] += part->bytes;
        sum += part->bytes;
    }
    return sum;
}

/* "under 1 s 3 %, over 1 day 97 %"; classes below half a per cent are left
 * out. */
static const char *
write_ages(const double bytes[HEAP_AGE_CLASSES], double sum,
           struct arena *arena)
{
    char text[HEAP_TREND_AGES_MAX] = "";
    size_t size = 0;

    for (uint32_t age = 0; age < HEAP_AGE_CLASSES; age++)
        if (sum > 0 && bytes[age] >= sum / 200 && size < sizeof(text))
            size +=
                (size_t)snprintf(text + size, sizeof(text) - size,
                                 "%s%s %.0f %%", size > 0 ? ", " : "",
                                 heap_age_name(age), 100 * bytes[age] / sum);
    return arena_strndup(arena, text, strlen(text));
}

/* Finds the oldest class of age that began within the last third of the span,
 * and how much of the bytes is at least that old.  What a leak has lost stays:
 * of a steady one, two thirds of what was lost in a time are from its first two
 * thirds. */
static void
find_old_part(const double bytes[HEAP_AGE_CLASSES], double sum, int64_t span_ms,
              struct heap_trend_row *row)
{
    uint32_t age = HEAP_AGE_CLASSES - 1;
    double old = 0;

    while (age > 0 && heap_age_from_s(age) * 3000LL > span_ms)
        age--;
    row->old_s = heap_age_from_s(age);
    for (uint32_t i = age; i < HEAP_AGE_CLASSES; i++)
        old += bytes[i];
    row->old_percent = sum > 0 && age > 0 ? (int)(100 * old / sum) : -1;
}

static int
compare_trends_by_growth(const void *a, const void *b)
{
    const struct heap_trend_row *x = a, *y = b;

    if (x->share != y->share)
        return (x->share < y->share) - (x->share > y->share);
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* By how many bytes a function is larger than at the first point; 0: it is
 * not. */
static double
grown_since(const struct heap_past *past, const struct heap_sum *sum)
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
add_trend_row(const struct heap_past *past, const struct snapshot *now,
              uint32_t function, struct stack_names *names,
              struct heap_trend_rows *out)
{
    const struct heap_point *last = &past->points[past->count - 1], *then;
    struct heap_trend_row *row = &out->list[out->count];
    double ages[HEAP_AGE_CLASSES] = {0}, sum;
    size_t first, stack;

    row->function = past->named.functions[function];
    row->bytes = last->sums->functions[function].bytes;
    first =
        judge_series(past, last->sums->functions[function].name, &row->trend);
    check_blindness(past, now, row, first);
    then = &past->points[first];
    memcpy(row->since, then->name, sizeof(row->since));
    row->since_ms = then->taken_ms;
    stack = find_most_grown_stack(past, now, then, function);
    row->folded =
        stack == SIZE_MAX
            ? ""
            : write_folded(names, &now->profile->stacks[stack], out->arena);
    sum = sum_ages(past, now->profile, function, ages);
    row->ages = write_ages(ages, sum, out->arena);
    find_total_gain(past, row);
    find_old_part(ages, sum, last->taken_ms - then->taken_ms, row);
    if (!row->function || !row->folded || !row->ages)
        return -1;
    out->count++;
    return 0;
}

static int
add_trend_rows(const struct heap_past *past, const struct snapshot *now,
               struct stack_names *names, struct heap_trend_rows *out)
{
    const struct heap_sums *sums = past->points[past->count - 1].sums;
    double grown = 0;

    for (size_t i = 0; i < sums->function_count; i++)
        grown += grown_since(past, &sums->functions[i]);
    for (uint32_t i = 0; i < sums->function_count; i++) {
        const struct heap_sum *sum = &sums->functions[i];

        if (out->count < HEAP_TREND_ROWS_MAX && past->named.functions[i] &&
            sum->bytes > 0 &&
            (sum->bytes >= TREND_SHARE * sums->bytes ||
             (grown > 0 && grown_since(past, sum) >= TREND_SHARE * grown)) &&
            add_trend_row(past, now, i, names, out) != 0)
            return -1;
    }
    fill_shares(out);
    qsort(out->list, out->count, sizeof(*out->list), compare_trends_by_growth);
    return 0;
}

static int
make_trend_rows(const struct heap_past *past, const struct snapshot *now,
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
        rc = add_trend_rows(past, now, &names, out);
        if (rc != 0)
            error_memory(err, "the trend of the heap");
    }
    stack_names_fini(&names);
    arena_free(scratch);
    return rc;
}

int
heap_trend_init(struct heap_trends *trends, struct snapshot *now,
                const struct view_options *options, struct heap_trend_rows *out,
                struct error *err)
{
    struct heap_past *past = mem_zalloc(1, sizeof(*past));
    int rc = -1;

    memset(out, 0, sizeof(*out));
    out->arena = arena_new(ROWS_MEMORY_MAX);
    if (!past || !out->arena) {
        error_memory(err, "the trend of the heap");
        now = NULL;
    } else {
        rc = heap_past_collect(trends, &now, options, past, out->arena, err);
        if (rc == 0 && now) {
            memcpy(out->now, past->points[past->count - 1].name,
                   sizeof(out->now));
            rc = make_trend_rows(past, now, options, out, err);
        }
        heap_past_fini(past);
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
