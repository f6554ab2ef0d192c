/*
 * outlook.c - see outlook.h.
 *
 * Five windows are looked at from the longest to the shortest: a long one gives
 * a rate that noise and daily loads do not disturb, but sees a leak of the last
 * hour too late.  So a shorter window replaces the answer if its whole interval
 * of rates lies above the longer one's, and it ends higher than anything before
 * it: a load that comes back every day does not.  The whole history is read at
 * each judgement, 0.7 ms at most, under the lock of the last answer, which
 * serves everyone who asks within two seconds (a scrape of metrics asks a dozen
 * times).
 */
#include "outlook.h"

#include <pthread.h>
#include <string.h>

#include "clock.h"
#include "history.h"
#include "memory.h"
#include "memory_budget.h"

/* Lengths of the windows in seconds, the longest first. */
static const double spans[OUTLOOK_WINDOWS] = {14 * 86400, 2 * 86400, 4 * 3600,
                                              1200, 120};

static bool
in_limited_cgroup(const struct history_sample *sample)
{
    return sample->cgroup_limit.known && sample->cgroup_limit.value > 0 &&
           sample->cgroup_current.known;
}

/* The memory of a cgroup that the kernel cannot simply take back. */
static uint64_t
used_of_cgroup(const struct history_sample *sample)
{
    uint64_t used = sample->cgroup_current.value;

    return sample->cgroup_cache.known && sample->cgroup_cache.value < used
               ? used - sample->cgroup_cache.value
               : used;
}

void
outlook_headroom_of(const struct history_sample *now, uint64_t machine_left,
                    struct outlook_headroom *out)
{
    uint64_t used = used_of_cgroup(now), limit = now->cgroup_limit.value;
    uint64_t left = limit > used ? limit - used : 0;

    *out =
        (struct outlook_headroom){.used = now->rss.value, .left = machine_left};
    out->known = now->rss.known && machine_left != UINT64_MAX;
    if (!in_limited_cgroup(now) || left >= machine_left)
        return;
    *out = (struct outlook_headroom){true, true, used, left};
}

void
outlook_add(struct outlook_past *past, const struct history_sample *sample,
            const struct history_sample *now, bool of_cgroup)
{
    double age_s = (double)(now->at_ms - sample->at_ms) / 1000, used;

    if (sample->pid != now->pid || sample->start_ticks != now->start_ticks ||
        age_s < 0 ||
        !(of_cgroup ? sample->cgroup_current.known : sample->rss.known))
        return;
    used = (double)(of_cgroup ? used_of_cgroup(sample) : sample->rss.value);
    for (size_t i = 0; i < OUTLOOK_WINDOWS; i++) {
        struct outlook_window *window = &past->windows[i];
        size_t part = (size_t)(age_s * OUTLOOK_PARTS / spans[i]);

        if (part >= OUTLOOK_PARTS) {
            if (used > window->before)
                window->before = used;
            continue;
        }
        part = OUTLOOK_PARTS - 1 - part;
        if (!window->has[part] || used > window->peaks[part])
            window->peaks[part] = used;
        window->has[part] = true;
    }
}

static size_t
list_window_points(const struct outlook_window *window, double span_s,
                   struct trend_point *points)
{
    size_t count = 0;

    for (size_t i = 0; i < OUTLOOK_PARTS; i++)
        if (window->has[i])
            points[count++] = (struct trend_point){
                span_s * (double)i / OUTLOOK_PARTS, window->peaks[i], 0};
    return count;
}

/* Whether each point of the last third is higher than everything before the
 * window. */
static bool
is_new_height(const struct outlook_window *window,
              const struct trend_point *points, size_t count)
{
    for (size_t i = count - count / 3; i < count; i++)
        if (points[i].value <= window->before)
            return false;
    return true;
}

static void
take_rate(struct outlook *out, const struct trend *trend, double seen_s,
          int64_t now_ms)
{
    out->grows = true;
    out->rate = trend->slope;
    out->low = trend->low;
    out->high = trend->high;
    out->seen_s = seen_s;
    out->left_s = (double)out->headroom.left / trend->slope;
    out->ends = out->left_s <= OUTLOOK_REACH * seen_s;
    out->why = out->ends ? ""
                         : "at that rate the limit is further away than can be "
                           "predicted from the time observed";
    out->full_ms = out->ends ? now_ms + (int64_t)(out->left_s * 1000) : 0;
}

void
outlook_judge(const struct outlook_past *past, int64_t now_ms,
              const struct outlook_headroom *headroom, struct outlook *out)
{
    *out = (struct outlook){
        .headroom = *headroom,
        .why = "its memory has not been observed for long enough"};
    if (!headroom->known) {
        out->why = "its memory in use or its limit is unknown";
        return;
    }
    for (size_t i = 0; i < OUTLOOK_WINDOWS; i++) {
        const struct outlook_window *window = &past->windows[i];
        struct trend_point points[OUTLOOK_PARTS];
        size_t count = list_window_points(window, spans[i], points);
        struct trend trend;

        if (count < OUTLOOK_POINTS)
            continue;
        trend_judge(points, count, (double)headroom->used, &trend);
        out->judged |= trend.verdict != TREND_UNKNOWN;
        if (!out->grows)
            out->why = trend.verdict == TREND_UNKNOWN
                           ? "whether it grows is not certain"
                       : trend.verdict == TREND_FILLS
                           ? "its growth is slowing down"
                           : "it does not grow";
        if (trend.verdict == TREND_GROWS &&
            is_new_height(window, points, count) &&
            (!out->grows || trend.low > out->high))
            take_rate(out, &trend,
                      points[count - 1].at_s -
                          points[count - trend.points].at_s,
                      now_ms);
    }
}

static void
read_whole_history(struct history *history, const struct history_sample *now,
                   struct outlook *out)
{
    enum { CHUNK = 256 };
    struct history_sample *samples = mem_alloc(CHUNK * sizeof(*samples));
    struct outlook_past past;
    struct outlook_headroom headroom = {false, false, 0, 0};
    uint64_t next = 0;
    size_t count;

    memset(&past, 0, sizeof(past));
    if (samples)
        outlook_headroom_of(now, memory_left_machine(), &headroom);
    while (samples &&
           (count = history_read(history, &next, samples, CHUNK)) > 0)
        for (size_t i = 0; i < count; i++)
            outlook_add(&past, &samples[i], now, headroom.of_cgroup);
    outlook_judge(&past, now->at_ms, &headroom, out);
    mem_free(samples);
}

/* The last answer. */
static struct {
    pthread_mutex_t lock; /* guards all below */
    const struct history *history;
    int64_t at_ms;
    struct outlook found;
} latest = {.lock = PTHREAD_MUTEX_INITIALIZER};

void
outlook_find(struct history *history, struct outlook *out)
{
    struct history_sample now;

    if (!history_last(history, 0, INT64_MAX, &now)) {
        *out = (struct outlook){.why = "there is no history of its memory"};
        return;
    }
    if (clock_wall_ms() - now.at_ms > OUTLOOK_FRESH_MS) {
        *out = (struct outlook){
            .why = "its memory has not been observed in the last minute"};
        return;
    }
    pthread_mutex_lock(&latest.lock);
    /* at_ms goes back after the clock was set */
    if (latest.history != history || now.at_ms < latest.at_ms ||
        now.at_ms - latest.at_ms >= OUTLOOK_EVERY_MS) {
        read_whole_history(history, &now, &latest.found);
        latest.history = history;
        latest.at_ms = now.at_ms;
    }
    *out = latest.found;
    pthread_mutex_unlock(&latest.lock);
}

void
outlook_detach(const struct history *history)
{
    pthread_mutex_lock(&latest.lock);
    if (latest.history == history)
        latest.history = NULL;
    pthread_mutex_unlock(&latest.lock);
}
