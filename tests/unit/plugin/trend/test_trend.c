/*
 * test_trend.c - what is said of made-up memory, a thousand times of each kind.
 *
 * The heap has 1 GB and is sampled each 512 KB; a function holds 20 % of it
 * unless it says otherwise, and is looked at 24 or 48 times, once an hour.
 * Objects live on average for a time of each run's own, so that the error of
 * sampling changes slowly or quickly.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "suite.h"
#include "trend.h"

enum { RUNS = 1000, HOURS_MAX = 64 };

static const double heap = 1e9, rate = 512 * 1024;

static uint64_t state;

static double
chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static double
between(double low, double high)
{
    return low + (high - low) * chance();
}

/* Normally distributed. */
static double
bell(void)
{
    return sqrt(-2 * log(1 - chance())) * cos(6.283185307 * chance());
}

/* One kind of memory. */
struct kind {
    const char *name;
    void (*make)(double *values, size_t count);
};

static double share; /* of the heap, that the function holds */

static void
steady(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = heap * share;
}

/* The load is never quite the same, and not from one hour to the next. */
static void
steady_with_noise(double *values, size_t count)
{
    double noise = between(0.01, 0.15), kept = between(0, 0.9), now = bell();

    steady(values, count);
    for (size_t i = 0; i < count; i++) {
        values[i] *= 1 + noise * now;
        now = kept * now + sqrt(1 - kept * kept) * bell();
    }
}

static void
add_saw(double *values, size_t count, double longest, double size)
{
    double period = between(0.3, longest), phase = chance(), whole;

    for (size_t i = 0; i < count; i++)
        values[i] += heap * size * modf((double)i / period + phase, &whole);
}

static void
saw_tooth(double *values, size_t count)
{
    steady(values, count);
    add_saw(values, count, count < 24 ? (double)count : 24, between(0.02, 0.3));
}

/* Each period is in the points once at least. */
static void
periodic(double *values, size_t count)
{
    double period = between(2, count < 24 ? (double)count : 24);
    double phase = chance();
    double size = between(0.1, 0.5);

    steady(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] *= 1 + size * sin(6.283185307 * ((double)i / period + phase));
}

/* What was deployed, loaded or emptied once. */
static void
step(double *values, size_t count)
{
    size_t at = (size_t)between(0, (double)count);

    steady(values, count);
    for (size_t i = at; i < count; i++)
        values[i] *= 1.5;
}

static void
shrinking(double *values, size_t count)
{
    steady(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] *= 1 - 0.5 * (double)i / (double)count;
}

/* 1 % of the heap an hour. */
static void
leak(double *values, size_t count)
{
    steady(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] += heap * 0.01 * (double)i;
}

/* Teeth of half an hour to six hours. */
static void
leak_with_teeth(double *values, size_t count)
{
    leak(values, count);
    add_saw(values, count, 6, between(0.02, 0.2));
}

static void
leak_that_began(double *values, size_t count)
{
    size_t at = count / 2;

    steady(values, count);
    for (size_t i = at; i < count; i++)
        values[i] += heap * 0.01 * (double)(i - at);
}

static void
cache(double *values, size_t count)
{
    double fills = between(0.08, 0.25) * (double)count;

    for (size_t i = 0; i < count; i++)
        values[i] = heap * share * (1 - exp(-(double)(i + 1) / fills));
}

/* What sampling makes of it: samples come and go as objects do. */
static void
sample_values(const double *values, size_t count, struct trend_point *points)
{
    double lives = between(0.1, 100), kept = exp(-1 / lives), error = bell();

    for (size_t i = 0; i < count; i++) {
        double value = values[i] < 0 ? 0 : values[i];

        points[i].at_s = 3600.0 * (double)i;
        points[i].variance = value * rate;
        points[i].value = value + error * sqrt(value * rate);
        error = kept * error + sqrt(1 - kept * kept) * bell();
    }
}

static struct trend
judge_one(const struct kind *kind, size_t count)
{
    struct trend_point points[HOURS_MAX];
    double values[HOURS_MAX];
    struct trend trend;

    share = between(0.05, 0.4);
    kind->make(values, count);
    sample_values(values, count, points);
    trend_judge(points, count, heap, &trend);
    return trend;
}

static size_t
count_verdicts(const struct kind *kind, size_t count, size_t out[5])
{
    state = 0x9e3779b97f4a7c15 + count;
    for (size_t i = 0; i < 5; i++)
        out[i] = 0;
    for (int i = 0; i < RUNS; i++)
        out[judge_one(kind, count).verdict]++;
    printf("%-18s %2zu points: grows %4zu, steady %4zu, fills %4zu, "
           "saw-tooth %4zu, unknown %4zu\n",
           kind->name, count, out[TREND_GROWS], out[TREND_STEADY],
           out[TREND_FILLS], out[TREND_SAW_TOOTH], out[TREND_UNKNOWN]);
    return out[TREND_GROWS];
}

static const struct kind healthy[] = {
    {"steady", steady},       {"steady with noise", steady_with_noise},
    {"saw-tooth", saw_tooth}, {"periodic load", periodic},
    {"one step", step},       {"shrinking", shrinking}};
static const struct kind leaking[] = {{"leak", leak},
                                      {"leak under teeth", leak_with_teeth}};

/* At most 2 %. */
START_TEST(what_is_healthy_is_not_said_to_grow)
{
    size_t out[5];

    ck_assert_uint_le(count_verdicts(&healthy[_i], 24, out), RUNS / 50);
    ck_assert_uint_le(count_verdicts(&healthy[_i], 48, out), RUNS / 50);
    ck_assert_uint_le(count_verdicts(&healthy[_i], 12, out), RUNS / 50);
}
END_TEST

/* At least 95 %. */
START_TEST(a_leak_is_found)
{
    size_t out[5];

    ck_assert_uint_ge(count_verdicts(&leaking[_i], 24, out), RUNS / 20 * 19);
    ck_assert_uint_ge(count_verdicts(&leaking[_i], 48, out), RUNS / 20 * 19);
}
END_TEST

START_TEST(a_leak_is_found_that_began_in_the_middle)
{
    static const struct kind kind = {"leak that began", leak_that_began};
    size_t out[5];

    ck_assert_uint_ge(count_verdicts(&kind, 48, out), RUNS / 10 * 9);
}
END_TEST

START_TEST(a_cache_fills)
{
    static const struct kind kind = {"cache", cache};
    size_t out[5];

    ck_assert_uint_le(count_verdicts(&kind, 24, out), RUNS / 50);
    ck_assert_uint_ge(out[TREND_FILLS], RUNS / 2);
    ck_assert_uint_le(count_verdicts(&kind, 48, out), RUNS / 50);
    ck_assert_uint_ge(out[TREND_FILLS], RUNS / 2);
}
END_TEST

/* The slope of a leak is in its interval. */
START_TEST(the_interval_holds_the_truth)
{
    static const struct kind kind = {"leak", leak};
    int held = 0;

    state = 99;
    for (int i = 0; i < RUNS; i++) {
        struct trend trend = judge_one(&kind, 24);

        ck_assert(trend.sloped);
        held +=
            trend.low * 3600 <= heap / 100 && trend.high * 3600 >= heap / 100;
    }
    ck_assert_int_ge(held, RUNS / 100 * 97);
}
END_TEST

/* Whatever its points: equal times, too few, no value. */
START_TEST(nothing_is_guessed)
{
    struct trend_point points[TREND_POINTS_MAX + 9] = {{0, 0, 0}};
    struct trend trend;

    for (size_t count = 0; count < TREND_POINTS_MIN; count++) {
        for (size_t i = 0; i < count; i++)
            points[i] = (struct trend_point){(double)i, (double)i * 100, 0};
        trend_judge(points, count, 100, &trend);
        ck_assert_int_eq(trend.verdict, TREND_UNKNOWN);
        ck_assert_str_ne(trend.why, "");
        ck_assert(!trend.sloped);
    }
    for (size_t i = 0; i < TREND_POINTS_MAX + 9; i++)
        points[i] = (struct trend_point){5, (double)i, 0};
    trend_judge(points, TREND_POINTS_MAX + 9, 100, &trend);
    ck_assert_int_ne(trend.verdict, TREND_GROWS);
    ck_assert(!trend.sloped);
    for (size_t i = 0; i < TREND_POINTS_MAX + 9; i++)
        points[i] = (struct trend_point){(double)i, 0, 0};
    trend_judge(points, TREND_POINTS_MAX + 9, 0, &trend);
    ck_assert_int_eq(trend.verdict, TREND_STEADY);
    ck_assert_str_eq(trend_verdict_name(trend.verdict), "steady");
}
END_TEST

START_TEST(it_is_quick)
{
    uint64_t began_ms = suite_cpu_ms();

    state = 7;
    for (int i = 0; i < RUNS; i++)
        judge_one(&leaking[i % 2], 48);
    printf("a judgement of 48 points takes %.3f ms\n",
           (double)(suite_cpu_ms() - began_ms) / RUNS);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("trend");
    TCase *tc = tcase_create("trend");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, what_is_healthy_is_not_said_to_grow, 0, 6);
    tcase_add_loop_test(tc, a_leak_is_found, 0, 2);
    tcase_add_test(tc, a_leak_is_found_that_began_in_the_middle);
    tcase_add_test(tc, a_cache_fills);
    tcase_add_test(tc, the_interval_holds_the_truth);
    tcase_add_test(tc, nothing_is_guessed);
    tcase_add_test(tc, it_is_quick);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
