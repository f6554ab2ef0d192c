/* test_outlook.c - when memory meets its limit, by made-up histories. */
#include <string.h>

#include "clock.h"
#include "history.h"
#include "outlook.h"
#include "suite.h"

static const int64_t start_ms = 1795228267 * (int64_t)1000;
static const uint64_t mb = 1 << 20;

static struct history_sample
sample_at(double at_s, double rss)
{
    return (struct history_sample){
        .at_ms = start_ms + (int64_t)(at_s * 1000),
        .pid = 4711,
        .start_ticks = 99,
        .rss = {true, (uint64_t)rss},
    };
}

/* An hour at a second each, and the room that is left. */
static struct outlook
judge_hour(double (*rss)(double at_s), uint64_t left, int seconds)
{
    struct outlook_past past;
    struct history_sample now = sample_at(seconds - 1, rss(seconds - 1));
    struct outlook_headroom headroom = {true, false, now.rss.value, left};
    struct outlook out;

    memset(&past, 0, sizeof(past));
    for (int at = 0; at < seconds; at++) {
        struct history_sample sample = sample_at(at, rss(at));

        outlook_add(&past, &sample, &now, false);
    }
    outlook_judge(&past, now.at_ms, &headroom, &out);
    return out;
}

/* 1 MB a second on 1 GB. */
static double
leak(double at_s)
{
    return (1024 + at_s) * (double)mb;
}

static double
leak_with_teeth(double at_s)
{
    return leak(at_s) + (double)((int)at_s % 7) * 20 * (double)mb;
}

static double
steady(double at_s)
{
    return (1024 + (double)((int)at_s * 7919 % 13)) * (double)mb;
}

/* Filled in ten minutes, an hour's half ago. */
static double
filled(double at_s)
{
    return (1024 + (at_s < 600 ? at_s : 600)) * (double)mb;
}

/* What it held before it was emptied, it may hold again. */
static double
refills(double at_s)
{
    return (at_s < 2400 ? 3000 : 1000 + (at_s - 2400)) * (double)mb;
}

START_TEST(a_leak_has_an_end)
{
    struct outlook out =
        judge_hour(_i ? leak_with_teeth : leak, 3600 * mb, 3600);

    ck_assert(out.grows && out.ends);
    ck_assert_double_eq_tol(out.rate, (double)mb, (double)mb / 20);
    ck_assert(out.low <= (double)mb && out.high >= (double)mb);
    ck_assert_double_eq_tol(out.left_s, 3600, 200);
    ck_assert_double_eq_tol((double)(out.full_ms - start_ms) / 1000, 7200, 200);
    ck_assert_str_eq(out.why, "");
}
END_TEST

START_TEST(what_does_not_grow_has_none)
{
    double (*const healthy[])(double) = {steady, filled, refills};
    struct outlook out = judge_hour(healthy[_i], 100 * mb, 3600);

    ck_assert(!out.grows && !out.ends);
    ck_assert_str_ne(out.why, "");
}
END_TEST

START_TEST(nothing_is_said_too_early_or_too_far_ahead)
{
    struct outlook out = judge_hour(leak, 600 * mb, 10);

    ck_assert(!out.grows);
    ck_assert_ptr_nonnull(strstr(out.why, "long"));
    out = judge_hour(leak, 1000000 * mb, 3600); /* 11 days */
    ck_assert(out.grows && !out.ends);
    ck_assert_ptr_nonnull(strstr(out.why, "further away"));
    ck_assert_double_gt(out.left_s, 10 * 3600);
    out = judge_hour(leak, 600 * mb, 100);
    ck_assert(out.ends);
}
END_TEST

/* Of the life before this one nothing counts. */
START_TEST(a_restart_begins_anew)
{
    struct outlook_past past;
    struct history_sample now = sample_at(3600, 1e9);
    struct outlook_headroom headroom = {true, false, 1000000000, 1000000};
    struct outlook out;

    memset(&past, 0, sizeof(past));
    now.start_ticks++;
    for (int at = 0; at < 3600; at++) {
        struct history_sample sample = sample_at(at, leak(at));

        outlook_add(&past, &sample, &now, false);
    }
    outlook_judge(&past, now.at_ms, &headroom, &out);
    ck_assert(!out.grows);
}
END_TEST

START_TEST(the_tighter_limit_counts)
{
    struct history_sample now = sample_at(0, 500);
    struct outlook_headroom headroom;

    outlook_headroom_of(&now, 1000, &headroom);
    ck_assert(headroom.known && !headroom.of_cgroup);
    ck_assert_uint_eq(headroom.used, 500);
    ck_assert_uint_eq(headroom.left, 1000);
    now.cgroup_current = (struct stats_figure){true, 900};
    now.cgroup_cache = (struct stats_figure){true, 200};
    now.cgroup_limit = (struct stats_figure){true, 1500};
    outlook_headroom_of(&now, 1000, &headroom);
    ck_assert(headroom.known && headroom.of_cgroup);
    ck_assert_uint_eq(headroom.used, 700);
    ck_assert_uint_eq(headroom.left, 800);
    outlook_headroom_of(&now, 799, &headroom);
    ck_assert(!headroom.of_cgroup);
    ck_assert_uint_eq(headroom.left, 799);
    now.cgroup_limit.value = 600;
    outlook_headroom_of(&now, 799, &headroom);
    ck_assert_uint_eq(headroom.left, 0);
    now.cgroup_limit.known = false;
    outlook_headroom_of(&now, UINT64_MAX, &headroom);
    ck_assert(!headroom.known);
}
END_TEST

START_TEST(without_a_history_there_is_no_outlook)
{
    struct outlook out;

    outlook_find(NULL, &out);
    ck_assert(!out.grows && !out.ends && !out.headroom.known);
    ck_assert_str_ne(out.why, "");
}
END_TEST

/* Of the fullest history there is. */
START_TEST(it_is_quick)
{
    enum { TIMES = 10 };
    const int64_t hour_ms = 3600000, now_ms = clock_wall_ms();
    struct history *history = history_open(NULL, NULL);
    struct outlook out;
    uint64_t began_ms;

    for (int64_t ago_ms = 13 * 7 * 24 * hour_ms; ago_ms > 0;
         ago_ms -= ago_ms > 8 * 24 * hour_ms ? 30 * 60000
                   : ago_ms > 3 * hour_ms    ? 30000
                                             : 1000) {
        struct history_sample sample = sample_at(0, 1e9);

        sample.at_ms = now_ms - ago_ms;
        sample.rss.value += 2000000 - (uint64_t)ago_ms / 10000;
        history_add(history, &sample);
    }
    began_ms = suite_cpu_ms();
    for (int i = 0; i < TIMES; i++) {
        outlook_find(NULL, &out);
        outlook_find(history, &out);
        outlook_detach(history);
    }
    printf("an outlook takes %.2f ms\n",
           (double)(suite_cpu_ms() - began_ms) / TIMES);
    ck_assert(out.headroom.known);
    history_close(history);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("outlook");
    TCase *tc = tcase_create("outlook");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_leak_has_an_end, 0, 2);
    tcase_add_loop_test(tc, what_does_not_grow_has_none, 0, 3);
    tcase_add_test(tc, nothing_is_said_too_early_or_too_far_ahead);
    tcase_add_test(tc, a_restart_begins_anew);
    tcase_add_test(tc, the_tighter_limit_counts);
    tcase_add_test(tc, without_a_history_there_is_no_outlook);
    tcase_add_test(tc, it_is_quick);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
