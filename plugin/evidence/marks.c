/* marks.c - see marks.h. */
#include "marks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct marks_rules marks_defaults = {
    .at_percent = {80, 90, 95}, .percents = 3, .min_interval_ms = 60000};

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

static void
begin(struct marks *marks, const struct marks_rules *rules,
      const struct marks_now *now)
{
    memset(marks->passed, 0, sizeof(marks->passed));
    marks->begun = true;
    marks->scheduled_ms = now->now_ms;
    marks->lowest = now->rss;
    pass_marks(marks, rules, percent_of(now));
}

static void
fall(struct marks *marks, const struct marks_rules *rules,
     const struct marks_now *now)
{
    unsigned percent = percent_of(now);

    for (size_t i = 0; i < rules->percents; i++)
        if (percent + MARKS_FALL <= rules->at_percent[i])
            marks->passed[i] = false;
    if (now->rss < marks->lowest)
        marks->lowest = now->rss;
}

static void reason(struct marks_due *due, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
reason(struct marks_due *due, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(due->reason, sizeof(due->reason), format, args);
    va_end(args);
}

/* The highest mark passed since the last snapshot. */
static bool
due_by_percent(const struct marks *marks, const struct marks_rules *rules,
               const struct marks_now *now, struct marks_due *due)
{
    unsigned percent = percent_of(now);

    for (size_t i = rules->percents; i-- > 0;) {
        if (percent < rules->at_percent[i] || marks->passed[i])
            continue;
        due->cause = SNAPSHOT_MARK;
        reason(due, "memory passed %u%% of %s (%llu of %llu bytes)",
               rules->at_percent[i],
               now->of_cgroup ? "the cgroup's limit" : "RAM",
               (unsigned long long)now->used, (unsigned long long)now->total);
        return true;
    }
    return false;
}

static bool
due_by_growth(const struct marks *marks, const struct marks_rules *rules,
              const struct marks_now *now, struct marks_due *due)
{
    if (rules->growth == 0 || now->rss < marks->lowest ||
        now->rss - marks->lowest < rules->growth)
        return false;
    due->cause = SNAPSHOT_MARK;
    reason(due, "memory grew by %llu bytes to %llu",
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
    reason(due, "every %llu s", (unsigned long long)rules->every_ms / 1000);
    return true;
}

enum marks_answer
marks_look(struct marks *marks, const struct marks_rules *rules,
           const struct marks_now *now, struct marks_due *due)
{
    if (!now->ready) {
        marks->begun = false;
        return MARKS_NOTHING;
    }
    if (!marks->begun)
        begin(marks, rules, now);
    fall(marks, rules, now);
    if (marks->tried && now->now_ms - marks->tried_ms < rules->min_interval_ms)
        return MARKS_NOTHING;
    if (!due_by_percent(marks, rules, now, due) &&
        !due_by_growth(marks, rules, now, due) &&
        !due_by_schedule(marks, rules, now, due))
        return MARKS_NOTHING;
    marks->tried = true;
    marks->tried_ms = now->now_ms;
    if (percent_of(now) < MARKS_CEILING)
        return MARKS_TAKE;
    reason(due, "%u%% of %s are in use: no snapshot above %d%%",
           percent_of(now), now->of_cgroup ? "the cgroup's limit" : "RAM",
           MARKS_CEILING);
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
