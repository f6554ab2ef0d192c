/*
 * trend.c - see trend.h.
 *
 * The question: does this function's memory grow and go on growing, or is it
 * noise of sampling, a load that comes and goes, garbage that is collected now
 * and then, or a cache that fills?  A straight line through the points answers
 * wrongly for each of these; so:
 *
 * 1.  The slope is the median of the slopes between any two points (Theil and
 * Sen), which outliers do not move.
 * 2.  Its error comes from the scatter of the points around the line, but
 * counts only as many points as are independent: of points that follow each
 * other on one side of the line (a slow wave, teeth that last hours, a curve)
 * few are.  The scatter that sampling causes is known and taken off.  Sampling
 * adds an error at both ends instead, which the scatter does not show, because
 * an object that was sampled stays so. (This is an upper bound: what both ends
 * have in common has no error in their difference.) Growth is reported if the
 * whole interval of 98 % is above 0.
 * 3.  A fall of more than half of the gain shows that such falls belong to the
 * series: then at least three teeth must have been seen, so that trough is
 * compared with trough.
 * 4.  A series fills if it rose from the first third to the second, and less
 * than a third as much from the second to the last.
 * 5.  Growth that began lately is on no straight line.  So the last half and
 * the last third are judged by themselves, with a stricter measure, and only if
 * they end higher than everything before.
 *
 * Medians are selected, not sorted: about 20 us for 48 points.
 */
#include "trend.h"

#include <math.h>
#include <string.h>

enum {
    PAIRS_MAX = TREND_POINTS_MAX * (TREND_POINTS_MAX - 1) / 2,
    LATE_MIN = 8 /* points */
};

/* Numbers of standard errors: for an interval of 98 %, and for late growth. */
static const double z_usual = 2.326, z_late = 3.0;

struct series {
    const struct trend_point *points;
    size_t count;
};

struct fit {
    double slope, low, high, span_s;
};

/* Hoare's selection of the nth smallest; disorders the values. */
static double
select_nth(double *values, size_t count, size_t nth)
{
    size_t from = 0, to = count - 1;

    if (count == 0)
        return 0;
    while (from < to) {
        double pivot = values[(from + to) / 2];
        size_t i = from, k = to;

        while (i <= k) {
            while (i < to && values[i] < pivot)
                i++;
            while (k > from && values[k] > pivot)
                k--;
            if (i <= k) {
                double held = values[i];

                values[i++] = values[k];
                values[k] = held;
                if (k == 0)
                    break;
                k--;
            }
        }
        if (nth <= k)
            to = k;
        else if (nth >= i)
            from = i;
        else
            break;
    }
    return values[nth];
}

static double
median_of(double *values, size_t count)
{
    double upper = select_nth(values, count, count / 2);

    return count < 2 || count % 2
               ? upper
               : (upper + select_nth(values, count, count / 2 - 1)) / 2;
}

static double
median_value(const struct series *s, size_t from, size_t count)
{
    double values[TREND_POINTS_MAX] = {0};

    for (size_t i = 0; i < count; i++)
        values[i] = s->points[from + i].value;
    return median_of(values, count);
}

static double
median_slope(const struct series *s)
{
    double slopes[PAIRS_MAX] = {0};
    size_t count = 0;

    for (size_t i = 0; i < s->count; i++)
        for (size_t k = i + 1; k < s->count; k++) {
            double apart = s->points[k].at_s - s->points[i].at_s;

            if (apart > 0)
                slopes[count++] =
                    (s->points[k].value - s->points[i].value) / apart;
        }
    return count > 0 ? median_of(slopes, count) : 0;
}

/* Student's t for so many degrees of freedom, from the normal's z (Cornish and
 * Fisher). */
static double
student_t(double z, double freedom)
{
    double z3 = z * z * z;

    return z + (z3 + z) / (4 * freedom) +
           (5 * z3 * z * z + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

/* The variance by sampling of the mean of the third of points that begins at
 * from.  Their errors are not independent (an object that was sampled stays
 * so), hence it is not divided by their number. */
static double
end_variance(const struct series *s, size_t from)
{
    size_t third = s->count / 3;
    double sum = 0;

    for (size_t i = 0; i < third; i++)
        sum += s->points[from + i].variance;
    return sum / (double)third;
}

/* The part of a point's scatter that it shares with the one before it: the
 * autocorrelation at lag 1, from which the number of independent points
 * follows.  That of the residuals of a line comes out too low by about
 * (2 + 4 * kept) / count, which is put back here.  At most 0.98: at 1 no point
 * would be independent. */
static double
scatter_kept(double measured, double count)
{
    double kept = (measured * count + 2) / (count - 4);

    return kept < 0 ? 0 : kept > 0.98 ? 0.98 : kept;
}

/* Fits the line through the points, with the interval of its slope.  false:
 * nothing can be said of its slope. */
static bool
fit_line(const struct series *s, double z, struct fit *out)
{
    double rest[TREND_POINTS_MAX], sorted[TREND_POINTS_MAX];
    double n = (double)s->count, mean = 0, time_squares = 0, squares = 0,
           lagged = 0;
    double kept, freedom, error, level, scatter, sampled = 0;

    out->slope = median_slope(s);
    out->span_s = s->points[s->count - 1].at_s - s->points[0].at_s;
    for (size_t i = 0; i < s->count; i++) {
        rest[i] = sorted[i] =
            s->points[i].value - out->slope * s->points[i].at_s;
        mean += s->points[i].at_s / n;
    }
    level = median_of(sorted, s->count);
    for (size_t i = 0; i < s->count; i++) {
        double from_mean = s->points[i].at_s - mean;

        rest[i] -= level;
        time_squares += from_mean * from_mean;
        squares += rest[i] * rest[i];
        sampled += s->points[i].variance / n;
        if (i > 0)
            lagged += rest[i] * rest[i - 1];
    }
    if (time_squares <= 0 || out->span_s <= 0)
        return false;
    scatter = fmax(squares / (n - 2) - sampled, 0);
    kept = squares > 0 ? scatter_kept(lagged / squares, n) : 0;
    if (squares > 0)
        /* The more of the scatter sampling causes, the less its correlation
         * says: it counts in full where sampling causes up to three quarters.
         */
        kept *= fmin(1, 4 * scatter * (n - 2) / squares);
    freedom = n * (1 - kept) / (1 + kept) - 2;
    if (freedom < 1)
        return false;
    error = scatter / time_squares * (1 + kept) / (1 - kept) +
            (end_variance(s, 0) + end_variance(s, s->count - s->count / 3)) /
                (out->span_s * out->span_s);
    error = student_t(z, freedom) * sqrt(error);
    out->low = out->slope - error;
    out->high = out->slope + error;
    return true;
}

/* Counts the falls from a height to the next trough that are at least so deep;
 * *deepest: the deepest of all.  With INFINITY it counts none, and finds that
 * alone. */
static size_t
count_falls(const struct series *s, double depth, double *deepest)
{
    double top = s->points[0].value, bottom = top;
    bool falls = false;
    size_t count = 0;

    *deepest = 0;
    for (size_t i = 1; i < s->count; i++) {
        double value = s->points[i].value;

        /* the series goes on falling, or rising */
        if (falls ? value < bottom : value > top)
            *(falls ? &bottom : &top) = value;
        if (falls && value - bottom >= depth) {
            falls = false;
            top = value;
        } else if (!falls && top - value >= depth) {
            falls = true;
            bottom = value;
            count++;
        }
        if (top - value > *deepest)
            *deepest = top - value;
    }
    return count;
}

static bool
has_teeth_enough(const struct series *s, double gained)
{
    enum { TEETH_MIN = 3 };
    double deepest, ignored;

    count_falls(s, INFINITY, &deepest);
    return deepest <= gained / 2 ||
           count_falls(s, deepest / 2, &ignored) >= TEETH_MIN;
}

/* The gains from the first third to the middle, and from there to the last
 * third. */
static void
find_gains(const struct series *s, double *first, double *last)
{
    size_t third = s->count / 3;
    double middle = median_value(s, (s->count - third) / 2, third);

    *first = middle - median_value(s, 0, third);
    *last = median_value(s, s->count - third, third) - middle;
}

/* The standard deviation of a point, from the median step between neighbours:
 * 0.6745 is the median of |x| of the normal distribution, and a step has the
 * noise of two points. */
static double
step_noise(const struct series *s)
{
    double steps[TREND_POINTS_MAX] = {0};

    for (size_t i = 1; i < s->count; i++)
        steps[i - 1] = fabs(s->points[i].value - s->points[i - 1].value);
    return median_of(steps, s->count - 1) / 0.6745 / sqrt(2);
}

static bool
is_flattening(const struct series *s, double least)
{
    size_t third = s->count / 3;
    /* 1.25 / sqrt(n): the standard error of a median of n */
    double noise = step_noise(s) * 1.25 / sqrt((double)third), deepest;
    double first, last;

    find_gains(s, &first, &last);
    count_falls(s, INFINITY, &deepest);
    return first > 4 * noise && first >= least && last < first / 3 &&
           deepest <= first / 2;
}

static bool
is_growth(const struct series *s, const struct fit *fit, double least)
{
    return fit->low > 0 && fit->slope * fit->span_s >= least &&
           has_teeth_enough(s, fit->slope * fit->span_s);
}

/* Judges growth that began lately, by the last count points. */
static enum trend_verdict
judge_late(const struct series *s, size_t count, double least, struct fit *fit)
{
    struct series part = {s->points + s->count - count, count};
    double before = s->points[0].value, gained, deepest;
    struct fit line;

    for (size_t i = 1; i < s->count - count; i++)
        if (s->points[i].value > before)
            before = s->points[i].value;
    for (size_t i = count - count / 3; i < count; i++)
        if (part.points[i].value <= before)
            return TREND_UNKNOWN;
    if (is_flattening(&part, least))
        return TREND_FILLS;
    if (!fit_line(&part, z_late, &line) || !is_growth(&part, &line, least))
        return TREND_UNKNOWN;
    gained = line.slope * line.span_s;
    count_falls(&part, INFINITY, &deepest);
    if (deepest > gained / 2)
        return TREND_UNKNOWN;
    *fit = line;
    return TREND_GROWS;
}

/* Judges what neither grows nor fills.  The 10 % highest and lowest values are
 * left out of its range, which is flat within a fifth of the median, within
 * what matters at all, or within four standard errors of sampling. */
static void
judge_rest(const struct series *s, bool fitted, double least, struct trend *out)
{
    double reach = s->points[s->count - 1].at_s - s->points[0].at_s;
    double values[TREND_POINTS_MAX], variance = 0, low, high, middle, deepest;
    bool flat;

    for (size_t i = 0; i < s->count; i++) {
        values[i] = s->points[i].value;
        variance += s->points[i].variance / (double)s->count;
    }
    low = select_nth(values, s->count, s->count / 10);
    high = select_nth(values, s->count, s->count - 1 - s->count / 10);
    middle = median_of(values, s->count);
    flat = high - low <= fmax(fmax(middle / 5, least), 4 * sqrt(variance)) &&
           (!fitted || out->low <= 0 || out->slope * reach < least);
    if (!flat && count_falls(s, (high - low) / 2, &deepest) >= 2)
        out->verdict = TREND_SAW_TOOTH;
    else if (flat || (fitted && out->high <= 0)) /* flat, or shrinking */
        out->verdict = TREND_STEADY;
    else
        out->why = "it changes, but no direction is certain yet";
}

static double
mean_time(const struct series *s, size_t from, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += s->points[from + i].at_s;
    return sum / (double)count;
}

/* Compares the rates of the last and the first part, by time, as points may
 * come irregularly.  Two points share the error of the bytes that both have, so
 * a gain has only the error of its own bytes. */
static void
find_pace(const struct series *s, struct trend *out)
{
    size_t third = s->count / 3, middle = (s->count - third) / 2;
    double at = mean_time(s, middle, third);
    double before = at - mean_time(s, 0, third);
    double after = mean_time(s, s->count - third, third) - at;
    double first, last, value = 0, variance = 0, error = 0;

    find_gains(s, &first, &last);
    for (size_t i = 0; i < s->count; i++) {
        value += s->points[i].value;
        variance += s->points[i].variance;
    }
    if (first > 0 && value > 0)
        error = sqrt(variance / value * (first + fmax(last, 0))) / first;
    out->span_s =
        s->points[s->count - 1].at_s - s->points[s->count - out->points].at_s;
    out->pace = first > 0 && after > 0 ? last / first * before / after : 1;
    out->pace_low = out->pace - 2 * error;
    out->pace_high = out->pace + 2 * error;
}

static void
take_line(struct trend *out, const struct fit *line, size_t points)
{
    out->sloped = true;
    out->slope = line->slope;
    out->low = line->low;
    out->high = line->high;
    out->points = points;
}

void
trend_judge(const struct trend_point *points, size_t count, double whole,
            struct trend *out)
{
    struct series s = {points, count};
    double least = whole * TREND_MATERIAL;
    struct fit line;
    bool fitted;

    if (count > TREND_POINTS_MAX) {
        s.points += count - TREND_POINTS_MAX;
        s.count = TREND_POINTS_MAX;
    }
    *out = (struct trend){.why = "", .points = s.count};
    if (s.count < TREND_POINTS_MIN) {
        out->why = "there are too few points yet";
        return;
    }
    fitted = fit_line(&s, z_usual, &line);
    if (fitted)
        take_line(out, &line, s.count);
    if (is_flattening(&s, least)) {
        out->verdict = TREND_FILLS;
        return;
    }
    if (fitted && is_growth(&s, &line, least)) {
        out->verdict = TREND_GROWS;
        find_pace(&s, out);
        return;
    }
    for (size_t part = 2; part <= 3 && out->verdict == TREND_UNKNOWN; part++) {
        size_t late = s.count / part;

        if (late >= LATE_MIN)
            out->verdict = judge_late(&s, late, least, &line);
        if (out->verdict == TREND_GROWS) {
            take_line(out, &line, late);
            find_pace(&s, out);
        }
    }
    if (out->verdict == TREND_UNKNOWN)
        judge_rest(&s, fitted, least, out);
}

const char *
trend_verdict_name(enum trend_verdict verdict)
{
    static const char *const words[] = {[TREND_UNKNOWN] = "unknown",
                                        [TREND_STEADY] = "steady",
                                        [TREND_GROWS] = "grows",
                                        [TREND_FILLS] = "fills",
                                        [TREND_SAW_TOOTH] = "saw-tooth"};

    return words[verdict];
}
