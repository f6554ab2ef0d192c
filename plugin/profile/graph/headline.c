/*
 * headline.c - see headline.h.
 *
 * All forms say the same about a whole profile, in the same words, so the words
 * are here.  An empty picture without a reason looks like a bug:
 * emptiness_text() tells apart that nothing was sampled, that profiling is off,
 * and that the options hide all.
 *
 * Significance is a test of many functions at once.  Two standard errors for
 * each would mark five of a hundred by chance, so the accepted risk is divided
 * among all distinct changes (Sidak), and the normal distribution tells how
 * many errors that makes, usually between three and five.  Pure, and called by
 * every form.
 */
#include "headline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reader.h"
#include "buffer.h"
#include "clock.h"
#include "mappings.h"
#include "profile.h"
#include "view_options.h"

double
unshown_bytes(const struct profile *profile, const struct view_options *options)
{
    return options->measure == MEASURE_INUSE_SPACE && !profile->difference &&
                   profile->bytes > 0 && !options->focus && !options->ignore
               ? profile->unseen.bytes
               : 0;
}

void
unshown_add(struct buffer *out, const struct profile *profile,
            const struct view_options *options, const char *end)
{
    double unseen = unshown_bytes(profile, options);
    double all = unseen + profile->bytes;
    char text[FIGURE_TEXT], part[FIGURE_TEXT];

    if (unseen <= 0)
        return;
    figure_text(unseen, options, false, text);
    buffer_format(out, UNSHOWN_NAME ": %s, %s of the ", text,
                  figure_percent(unseen, all, part));
    figure_text(all, options, false, text);
    buffer_format(out, "%s that are in use: %s%s", text, profile->unseen.why,
                  end);
}

static bool
has_profile_changed(const struct profile *profile,
                    const struct view_options *options)
{
    for (size_t i = 0; i < profile->stack_count; i++)
        if (profile_value(&profile->stacks[i], options->measure) != 0)
            return true;
    return false;
}

const char *
emptiness_text(const struct profile *profile,
               const struct view_options *options, bool shown,
               char out[EMPTINESS_TEXT])
{
    bool ever = options->measure == MEASURE_ALLOC_SPACE ||
                options->measure == MEASURE_ALLOC_OBJECTS;
    bool sampled = profile->samples > 0 || (ever && profile->accumulated);
    char since[CLOCK_TEXT];

    if (sampled && shown)
        snprintf(out, EMPTINESS_TEXT, "%s", "");
    else if (sampled && (options->focus || options->ignore))
        snprintf(out, EMPTINESS_TEXT, "no stack matches");
    else if (sampled && profile->difference &&
             !has_profile_changed(profile, options))
        snprintf(out, EMPTINESS_TEXT, "nothing changed");
    else if (sampled)
        snprintf(out, EMPTINESS_TEXT, "nothing is large enough to be shown");
    else if (profile->kind == PROFILE_CPU)
        snprintf(out, EMPTINESS_TEXT,
                 "nothing sampled: no thread was seen on the processor");
    else if (!profile->origin.live || profile->kind != PROFILE_HEAP)
        snprintf(out, EMPTINESS_TEXT, "nothing sampled");
    else if (profile->origin.active_since_ms == 0)
        snprintf(out, EMPTINESS_TEXT, "profiling is not active");
    else {
        clock_text(profile->origin.active_since_ms, since, sizeof(since));
        snprintf(out, EMPTINESS_TEXT, "nothing sampled since %s UTC (active)",
                 since);
    }
    return out;
}

/* Adds "in 10.0 s: 1.23 processors": the mean over the time that was
 * sampled. */
static void
add_duration(struct buffer *out, const struct profile *profile)
{
    double seconds = (double)profile->duration_ms / 1e3;
    double times = seconds > 0 ? profile->bytes / 1e9 / seconds : 0;

    if (profile->difference || seconds <= 0)
        return;
    buffer_format(out, " in %.1f s: %.2f %s%s", seconds, times,
                  profile->kind == PROFILE_CPU ? "processor" : "thread",
                  times >= 0.995 && times < 1.005 ? "" : "s");
}

void
headline_add(struct buffer *out, const struct profile *profile,
             const struct view_options *options, size_t max)
{
    char since[CLOCK_TEXT], text[FIGURE_TEXT];

    shown_name(base_name(profile->program), max, out);
    if (profile->origin.live) {
        clock_text(profile->origin.taken_ms, since, sizeof(since));
        buffer_format(out, ", %s UTC", since);
    }
    figure_text(profile_total(profile, options->measure), options,
                profile->difference, text);
    buffer_format(out, ": %s %s", text,
                  figure_where(options->measure, profile->kind));
    add_duration(out, profile);
    if (profile->difference)
        buffer_text(out, " since the base");
    else if (profile->kind != PROFILE_WALL && profile->rate > 1 &&
             profile->samples > 0 && profile->samples <= HEADLINE_FEW)
        buffer_format(out, ", estimated from %llu sample%s",
                      (unsigned long long)profile->samples,
                      profile->samples == 1 ? " alone" : "s alone");
}

/* The risk that any change of a list is called significant by chance. */
#define RISK  0.01
#define LEAST 0.5 /* bytes or objects: less is shown as 0 */

static int
compare_changes_by_value(const void *a, const void *b)
{
    const struct significance_change *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->variance < y->variance ? -1 : x->variance > y->variance;
}

static size_t
count_distinct_changes(struct significance_change *list, size_t count)
{
    size_t found = 0;

    if (count > 0)
        qsort(list, count, sizeof(*list), compare_changes_by_value);
    for (size_t i = 0; i < count; i++)
        found +=
            list[i].variance > 0 &&
            (i == 0 || compare_changes_by_value(&list[i - 1], &list[i]) != 0);
    return found;
}

/* Each test gets Sidak's share of the risk.  Its quantile of the normal
 * distribution is found by halving, because the C library has erfc but not its
 * inverse. */
double
significance_errors(struct significance_change *list, size_t count)
{
    size_t tests = count_distinct_changes(list, count);
    double risk = -expm1(log1p(-RISK) / (double)(tests ? tests : 1));
    double low = 0, high = 40;

    while (high - low > 1e-9) {
        double middle = (low + high) / 2;

        if (erfc(middle / sqrt(2)) > risk)
            low = middle;
        else
            high = middle;
    }
    return high;
}

bool
significance_is(double value, double variance, double errors)
{
    /* A sum of equal parts may differ from 0 by rounding. */
    return fabs(value) >= LEAST && fabs(value) >= errors * sqrt(variance);
}
