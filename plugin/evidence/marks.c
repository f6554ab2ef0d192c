/*
 * marks.c - the rules of automatic snapshots; see marks.h.
 *
 * After an OOM kill the only profile is one that was taken before it, when
 * nobody was looking.  A profile each minute would cost the database and push
 * older ones out of the store; so one is taken where it will be worth most: at
 * shares of the limit, when growth will fill the rest within seconds, when few
 * hours are left, after a growth, and by schedule.  A mark fires once, and
 * again only after memory has fallen some way, since figures go up and down;
 * attempts count like successes, so that a failing dump is not repeated each
 * second.  Above MARKS_CEILING none is taken: a dump needs memory, too.  The
 * sampler's thread calls all of it; pure but for the store in highest_*.
 */
#include "marks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "store.h"

const struct marks_rules marks_defaults = {.at_percent = {80, 90, 95},
                                           .percents = 3,
                                           .min_interval_ms = 60000,
                                           .hours_left = 6,
                                           .budgets_ms = 60000};

/* Above 100 % is possible where a limit was lowered below what is used. */
static unsigned
percent_of(const struct marks_now *now)
{
    double percent =
        now->total > 0 ? 100.0 * (double)now->used / (double)now->total : 0;

    return percent < 1000 ? (unsigned)percent : 1000;
}

static void
pass_marks(struct marks *marks, const struct marks_rules *rules,
           unsigned percent)
{
    for (size_t i = 0; i < rules->percents; i++)
        if (percent >= rules->at_percent[i])
            marks->passed[i] = true;
}

/* Lets the ring go on where an earlier heapwired, or other rules, left it;
 * without a snapshot in it, the first one is due after a whole interval. */
static void
begin_ring(struct marks *marks, const struct marks_rules *rules,
           const struct marks_now *now)
{
    uint64_t ago_ms = now->ring_ago_ms;

    if (ago_ms > rules->ring_ms)
        ago_ms = ago_ms == UINT64_MAX ? 0 : rules->ring_ms;
    marks->ringed_ms = now->now_ms > ago_ms ? now->now_ms - ago_ms : 0;
}

static bool
has_few_hours(const struct marks_rules *rules, const struct marks_now *now)
{
    return rules->hours_left > 0 && now->left_s >= 0 &&
           now->left_s <= 3600.0 * rules->hours_left;
}

/* Begins for another database, or when profiling was switched on, or the rules
 * changed: marks that memory is above already count as passed. */
static void
initialize_marks(struct marks *marks, const struct marks_rules *rules,
                 const struct marks_now *now)
{
    memset(marks->passed, 0, sizeof(marks->passed));
    memset(marks->mark_ms, 0, sizeof(marks->mark_ms));
    marks->speed_ms = 0;
    marks->begun = true;
    marks->scheduled_ms = now->now_ms;
    marks->lowest = now->rss;
    pass_marks(marks, rules, percent_of(now));
    marks->hours_passed = has_few_hours(rules, now);
    marks->hours_ms = now->now_ms;
    begin_ring(marks, rules, now);
}

/* The outlook may lose its certainty for a while (left_s below 0): that alone
 * does not rearm the mark, or it would be reported twice. */
static void
fall_by_hours(struct marks *marks, const struct marks_rules *rules,
              const struct marks_now *now)
{
    /* 36 = 3600 s / 100 % */
    double enough_s = 36.0 * rules->hours_left * (100 + MARKS_HOURS_FALL);

    if (has_few_hours(rules, now))
        marks->hours_ms = now->now_ms;
    if (now->left_s > enough_s ||
        now->now_ms - marks->hours_ms > MARKS_HOURS_QUIET_MS)
        marks->hours_passed = false;
}

/* Memory must fall MARKS_FALL points below a mark before it can fire again. */
static void
rearm_passed_marks(struct marks *marks, const struct marks_rules *rules,
                   const struct marks_now *now)
{
    unsigned percent = percent_of(now);

    for (size_t i = 0; i < rules->percents; i++)
        if (percent + MARKS_FALL <= rules->at_percent[i])
            marks->passed[i] = false;
    if (now->rss < marks->lowest)
        marks->lowest = now->rss;
    fall_by_hours(marks, rules, now);
}

static void write_due_reason(struct marks_due *due, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
write_due_reason(struct marks_due *due, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(due->reason, sizeof(due->reason), format, args);
    va_end(args);
}

static bool
is_within_min_interval(uint64_t then_ms, const struct marks_rules *rules,
                       const struct marks_now *now)
{
    return then_ms != 0 && now->now_ms - then_ms < rules->min_interval_ms;
}

/* Fires for the highest mark that was passed since the last snapshot.  Each
 * mark has its own minimum interval: the time between passing two marks is the
 * growth that a snapshot should show. */
static bool
due_by_percent(struct marks *marks, const struct marks_rules *rules,
               const struct marks_now *now, struct marks_due *due)
{
    unsigned percent = percent_of(now);

    for (size_t i = rules->percents; i-- > 0;) {
        if (percent < rules->at_percent[i] || marks->passed[i] ||
            is_within_min_interval(marks->mark_ms[i], rules, now))
            continue;
        for (size_t k = 0; k <= i; k++)
            marks->mark_ms[k] = now->now_ms;
        due->cause = SNAPSHOT_MARK;
        write_due_reason(
            due, "memory passed %u%% of %s (%llu of %llu bytes)",
            rules->at_percent[i], now->of_cgroup ? "the cgroup's limit" : "RAM",
            (unsigned long long)now->used, (unsigned long long)now->total);
        return true;
    }
    return false;
}

/* Milliseconds until the limit at the present growth; UINT64_MAX: it does not
 * grow. */
static uint64_t
marks_left_ms(const struct marks_now *now)
{
    if (now->growth == 0 || now->used >= now->total)
        return UINT64_MAX;
    return (uint64_t)((double)(now->total - now->used) * 1000 /
                      (double)now->growth);
}

/* Fast growth may pass all marks between two checks, or while a snapshot is
 * being taken. */
static bool
due_by_speed(struct marks *marks, const struct marks_rules *rules,
             const struct marks_now *now, struct marks_due *due)
{
    uint64_t left_ms = marks_left_ms(now);

    if (rules->percents == 0 || left_ms >= MARKS_AHEAD_MS ||
        percent_of(now) < MARKS_AHEAD_PERCENT ||
        is_within_min_interval(marks->speed_ms, rules, now))
        return false;
    marks->speed_ms = now->now_ms;
    due->cause = SNAPSHOT_MARK;
    write_due_reason(
        due, "memory grows by %llu bytes a second and reaches %s in %.1f s",
        (unsigned long long)now->growth,
        now->of_cgroup ? "the cgroup's limit" : "RAM", (double)left_ms / 1000);
    return true;
}

static bool
due_by_growth(const struct marks *marks, const struct marks_rules *rules,
              const struct marks_now *now, struct marks_due *due)
{
    if (rules->growth == 0 || now->rss < marks->lowest ||
        now->rss - marks->lowest < rules->growth)
        return false;
    due->cause = SNAPSHOT_MARK;
    write_due_reason(due, "memory grew by %llu bytes to %llu",
                     (unsigned long long)(now->rss - marks->lowest),
                     (unsigned long long)now->rss);
    return true;
}

static bool
due_by_schedule(const struct marks *marks, const struct marks_rules *rules,
                const struct marks_now *now, struct marks_due *due)
{
    if (rules->every_ms == 0 ||
        now->now_ms - marks->scheduled_ms < rules->every_ms)
        return false;
    due->cause = SNAPSHOT_SCHEDULE;
    write_due_reason(due, "every %llu s",
                     (unsigned long long)rules->every_ms / 1000);
    return true;
}

static bool
due_by_hours(struct marks *marks, const struct marks_rules *rules,
             const struct marks_now *now, struct marks_due *due)
{
    if (marks->hours_passed || !has_few_hours(rules, now))
        return false;
    marks->hours_passed = true;
    due->cause = SNAPSHOT_MARK;
    write_due_reason(due, "%s is reached in %.1f hours as memory grows now",
                     now->left_of_cgroup ? "the cgroup's limit"
                                         : "the end of free memory",
                     now->left_s / 3600);
    return true;
}

/* A failed snapshot of the ring is not tried again before the next is due. */
static bool
due_by_ring(struct marks *marks, const struct marks_rules *rules,
            const struct marks_now *now, struct marks_due *due)
{
    if (rules->ring_ms == 0 || now->now_ms - marks->ringed_ms < rules->ring_ms)
        return false;
    marks->ringed_ms = now->now_ms;
    due->cause = SNAPSHOT_RING;
    write_due_reason(due, "one is kept every %llu s (snapshots.ring)",
                     (unsigned long long)rules->ring_ms / 1000);
    return true;
}

/* The rules without a mark of their own wait for the minimum interval after any
 * other snapshot. */
static bool
due_by_others(struct marks *marks, const struct marks_rules *rules,
              const struct marks_now *now, struct marks_due *due)
{
    if (is_within_min_interval(marks->tried_ms, rules, now) ||
        (!due_by_growth(marks, rules, now, due) &&
         !due_by_schedule(marks, rules, now, due)))
        return false;
    marks->tried_ms = now->now_ms;
    return true;
}

bool
marks_begin_with(const struct marks *marks, const struct marks_now *now)
{
    return now->ready && !marks->begun;
}

bool
marks_too_full(const struct marks_now *now)
{
    return percent_of(now) >= MARKS_CEILING;
}

enum marks_answer
marks_check(struct marks *marks, const struct marks_rules *rules,
            const struct marks_now *now, struct marks_due *due)
{
    if (!now->ready) {
        marks->begun = false;
        return MARKS_NOTHING;
    }
    if (!marks->begun)
        initialize_marks(marks, rules, now);
    rearm_passed_marks(marks, rules, now);
    if (due_by_percent(marks, rules, now, due) ||
        due_by_speed(marks, rules, now, due) ||
        due_by_hours(marks, rules, now, due))
        marks->tried_ms = now->now_ms;
    else if (!due_by_others(marks, rules, now, due) &&
             !due_by_ring(marks, rules, now, due))
        return MARKS_NOTHING;
    if (!marks_too_full(now))
        return MARKS_TAKE;
    write_due_reason(
        due, "%u%% of %s are in use: no snapshot above %d%%", percent_of(now),
        now->of_cgroup ? "the cgroup's limit" : "RAM", MARKS_CEILING);
    return MARKS_TOO_FULL;
}

void
marks_taken(struct marks *marks, const struct marks_rules *rules,
            const struct marks_now *now)
{
    pass_marks(marks, rules, percent_of(now));
    marks->lowest = now->rss;
    marks->scheduled_ms = now->now_ms;
}

/* A step of much less than PACE_MIN_MS is rounding, and one across a pause of
 * the sampler is an average: neither tells how fast it grows now. */
void
pace_update(struct pace *pace, struct marks_now *now)
{
    uint64_t past_ms = now->now_ms - pace->at_ms, growth = 0;

    now->growth = 0;
    if (pace->at_ms != 0 && past_ms < PACE_MIN_MS / 2)
        return;
    if (pace->at_ms != 0 && past_ms <= 2 * (uint64_t)PACE_MAX_MS &&
        now->used > pace->used)
        growth = (uint64_t)((double)(now->used - pace->used) * 1000 /
                            (double)past_ms);
    now->growth = growth < pace->growth ? growth : pace->growth;
    *pace = (struct pace){now->now_ms, now->used, growth};
}

/* PACE_CHECKS checks until the limit, between 100 ms and a second apart. */
uint64_t
pace_next_ms(const struct pace *pace, const struct marks_now *now)
{
    struct marks_now fast = *now;
    uint64_t step_ms;

    fast.growth = pace->growth;
    step_ms = marks_left_ms(&fast) / PACE_CHECKS;

    if (step_ms > PACE_MAX_MS)
        return PACE_MAX_MS;
    return step_ms < PACE_MIN_MS ? PACE_MIN_MS : step_ms;
}

bool
pace_is_urgent(const struct marks_now *now)
{
    return now->total > 0 &&
           (double)now->used * 100 >= PACE_URGENT_PERCENT * (double)now->total;
}

/* ---- which snapshot stays ---- */

static struct highest_snapshot
highest_snapshot_of(const char *name, const struct agent_hello *hello,
                    const struct snapshot_memory *memory)
{
    struct highest_snapshot peak = {.pid = hello->pid,
                                    .start_ticks = hello->start_ticks,
                                    .rss = memory->rss.value};

    snprintf(peak.name, sizeof(peak.name), "%s", name);
    return peak;
}

static bool
is_peak_of_same_process(const struct highest_snapshot *a,
                        const struct highest_snapshot *b)
{
    return a->name[0] && a->pid == b->pid && a->start_ticks == b->start_ticks;
}

/* True if peak is to be pinned; *dropped is then the one to unpin, or has no
 * name. */
static bool
update_highest_snapshot(struct highest *highest,
                        const struct highest_snapshot *peak,
                        struct highest_snapshot *dropped)
{
    struct highest_snapshot *now = &highest->now, *before = &highest->before;
    struct highest_snapshot *own = is_peak_of_same_process(now, peak) ? now
                                   : is_peak_of_same_process(before, peak)
                                       ? before
                                       : NULL;

    if (own && peak->rss < own->rss)
        return false;
    dropped->name[0] = '\0';
    if (own) {
        *dropped = *own;
    } else if (now->name[0]) {
        *dropped = *before;
        *before = *now;
    }
    *(own ? own : now) = *peak;
    return true;
}

void
highest_adopt(struct highest *highest, struct store *store)
{
    struct store_entry *list = mem_zalloc(STORE_COUNT_MAX, sizeof(*list));
    size_t count = list ? store_list(store, list, STORE_COUNT_MAX) : 0;
    struct highest_snapshot peak, dropped;

    for (size_t i = 0; i < count; i++) {
        if (!list[i].pinned || (list[i].cause != SNAPSHOT_MARK &&
                                list[i].cause != SNAPSHOT_SCHEDULE))
            continue;
        peak =
            highest_snapshot_of(list[i].name, &list[i].hello, &list[i].memory);
        update_highest_snapshot(highest, &peak, &dropped);
    }
    mem_free(list);
}

/* A peak's snapshot of the same process is deleted, not just unpinned: each new
 * peak would leave one behind otherwise. */
static void
drop_highest_snapshot(struct store *store,
                      const struct highest_snapshot *dropped,
                      const struct highest_snapshot *peak)
{
    bool same =
        dropped->pid == peak->pid && dropped->start_ticks == peak->start_ticks;
    struct store_entry entry;

    if (same && store_find(store, dropped->name, &entry, NULL) == 0 &&
        strncmp(entry.reason, HIGHEST_PEAK, strlen(HIGHEST_PEAK)) == 0)
        store_delete(store, dropped->name, NULL);
    else
        store_pin(store, dropped->name, false, NULL);
}

/* The new one is pinned before the old one is released: if we are killed
 * between the two, none is lost. */
void
highest_note(struct highest *highest, struct store *store,
             const struct snapshot *snapshot)
{
    struct highest_snapshot peak = highest_snapshot_of(
        snapshot->name, &snapshot->hello, &snapshot->memory);
    struct highest_snapshot dropped;
    struct highest before;

    /* Pinning again what is pinned changes nothing, and tells whether it
     * exists. */
    if (highest->now.name[0] &&
        store_pin(store, highest->now.name, true, NULL) != 0)
        highest->now.name[0] = '\0'; /* a user deleted it */
    before = *highest;
    if (!update_highest_snapshot(highest, &peak, &dropped))
        return;
    if (store_pin(store, peak.name, true, NULL) != 0)
        *highest = before;
    else if (dropped.name[0])
        drop_highest_snapshot(store, &dropped, &peak);
}
