/*
 * test_significance.c - margins and significance against programs whose heaps
 * are known, sampled as jemalloc does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "diff.h"
#include "errors.h"
#include "functions.h"
#include "headline.h"
#include "profile_fixture.h"
#include "suite.h"

enum {
    RATE = 524288,
    RUNS = 1000,
    STEADY_RUNS = 400,
    STACKS_MAX = 200,
    TEXT_BYTES = 1 << 20
};

static unsigned short seed[3];
static const struct fixture_name nameless[] = {{0}};

static void
set_up(void)
{
    memcpy(seed, (unsigned short[3]){1, 2, 3}, sizeof(seed));
}

static double
chance_of(double size)
{
    return 1 - exp(-size / RATE);
}

/* How many of so many objects are sampled: exponential gaps between samples. */
static uint64_t
sample(double objects, double size)
{
    const double gap = RATE / size;
    uint64_t sampled = 0;

    if (objects < 1)
        return 0;
    for (double at = -log(1 - erand48(seed)) * gap; at < objects;
         at = floor(at) + 1 - log(1 - erand48(seed)) * gap)
        sampled++;
    return sampled;
}

/* Objects of one size that one stack allocates, which all others call through
 * one function, 0xffff. */
struct site {
    double size, objects;
    double came, went; /* from the base to now, of the same size */
};

struct counts {
    uint64_t base, now, ever_base, ever_now;
};

static struct counts
run_site(const struct site *site)
{
    uint64_t stays = sample(site->objects - site->went, site->size);
    uint64_t went = sample(site->went, site->size);
    uint64_t came = sample(site->came, site->size);

    return (struct counts){stays + went, stays + came, stays + went,
                           stays + went + came};
}

static struct profile *
profile_of(const struct site *sites, const struct counts *counts, size_t count,
           bool now, bool accumulated)
{
    struct profile *profile;
    struct buffer text;

    buffer_init(&text, TEXT_BYTES);
    buffer_format(&text, "heap_v2/%d\n", RATE);
    for (size_t i = 0; i < count; i++) {
        uint64_t objects = now ? counts[i].now : counts[i].base;
        uint64_t ever = now ? counts[i].ever_now : counts[i].ever_base;
        double size = sites[i].size;

        if (!accumulated)
            ever = 0;
        buffer_format(&text, "@ 0x%zx 0x10000\n  t*: %llu: %.0f [%llu: %.0f]\n",
                      0x1000 + i, (unsigned long long)objects,
                      (double)objects * size, (unsigned long long)ever,
                      (double)ever * size);
    }
    buffer_char(&text, '\0');
    profile = fixture_profile(text.data, nameless, NULL);
    buffer_fini(&text);
    return profile;
}

/* ---- margins ---- */

static const struct site mixes[][6] = {
    {{64, 300000}, {4096, 6000}, {65536, 800}},
    {{16, 4000000}},
    {{100000, 300}, {524288, 100}, {2000000, 40}},
    {{512, 100000}, {67108864, 10}},
};

START_TEST(the_truth_is_within_the_margin)
{
    const struct site *sites = mixes[_i];
    struct counts counts[6];
    double truth = 0;
    unsigned within = 0;
    size_t count = 0;

    for (; count < 6 && sites[count].objects > 0; count++)
        truth += sites[count].size * sites[count].objects;
    for (int run = 0; run < RUNS; run++) {
        struct profile *profile;

        for (size_t i = 0; i < count; i++)
            counts[i] = run_site(&sites[i]);
        profile = profile_of(sites, counts, count, true, false);
        within += fabs(profile->bytes - truth) <= profile_margin(profile);
        profile_free(profile);
    }
    printf("mix %d: the margin holds in %.1f%%\n", _i, within * 100.0 / RUNS);
    ck_assert_msg(within >= RUNS * 93 / 100 && within <= RUNS * 97 / 100, "%u",
                  within);
}
END_TEST

START_TEST(large_blocks_have_no_margin)
{
    const struct site site = {67108864, 10};
    struct counts counts = run_site(&site);
    struct profile *profile = profile_of(&site, &counts, 1, true, false);

    ck_assert_double_eq_tol(profile->bytes, 671088640, 1);
    ck_assert_double_lt(profile_margin(profile), 1);
    profile_free(profile);
}
END_TEST

/* ---- differences ---- */

/* Of runs, in how many any function was significant; and the one in which all
 * are; and, in *last, the last site's. */
static unsigned
significant_runs(const struct site *sites, size_t count, unsigned runs,
                 bool accumulated, unsigned *last)
{
    char wanted[32];
    unsigned found = 0;

    snprintf(wanted, sizeof(wanted), "0x%zx", 0x1000 + count - 1);
    *last = 0;
    for (unsigned run = 0; run < runs; run++) {
        struct counts counts[STACKS_MAX];
        struct profile *base, *now, *diff;
        struct functions *functions;
        struct error err;
        bool any = false;

        for (size_t i = 0; i < count; i++)
            counts[i] = run_site(&sites[i]);
        base = profile_of(sites, counts, count, false, accumulated);
        now = profile_of(sites, counts, count, true, accumulated);
        diff = diff_make(now, base, &err);
        functions = diff ? functions_new(diff, NULL, &err) : NULL;
        ck_assert_ptr_nonnull(functions);
        for (uint32_t i = 0; i < functions->count; i++) {
            const struct function *f = &functions->list[i];

            if (!significance_is(f->cumulative_bytes, f->cumulative_variance,
                                 functions->errors))
                continue;
            any = true;
            *last += strcmp(f->name, wanted) == 0;
        }
        found += any;
        functions_free(functions);
        profile_free(diff);
        profile_free(now);
        profile_free(base);
    }
    return found;
}

/* How much of it is exchanged from the base to now. */
static const double exchanged[] = {0, 0.02, 0.2, 1};
enum { SHARES = sizeof(exchanged) / sizeof(exchanged[0]), KINDS = 3 };

/* Many functions: of small objects, each sampled once or twice; of all sizes;
 * of sizes that are nearly always sampled. */
static void
make_steady(struct site *sites, int kind, double share)
{
    static const double sizes[] = {32,     512,     4096,    50000,
                                   300000, 1000000, 2000000, 8000000};
    static const double large[] = {1200000, 1600000, 2000000, 2600000,
                                   3200000, 4000000, 5000000, 7000000};

    for (int i = 0; i < STACKS_MAX; i++) {
        double size = kind == 0 ? 64 : kind == 1 ? sizes[i % 8] : large[i % 8];
        double objects = kind == 0 ? (1 + i % 3) / chance_of(size)
                         : kind == 1 && size < RATE
                             ? (1 + i % 40) / chance_of(size)
                             : 1 + i % 20;
        double moved = rint(objects * share);

        sites[i] = (struct site){size, rint(objects), moved, moved};
    }
}

START_TEST(what_is_steady_shows_nothing)
{
    double share = exchanged[_i / (KINDS * 2)];
    int kind = _i / 2 % KINDS;
    bool accumulated = _i % 2;
    struct site sites[STACKS_MAX];
    unsigned found, unused;

    make_steady(sites, kind, share);
    found =
        significant_runs(sites, STACKS_MAX, STEADY_RUNS, accumulated, &unused);
    printf("kind %d, %.0f%% exchanged%s: %.1f%% of differences have any\n",
           kind, share * 100, accumulated ? ", counted" : "",
           found * 100.0 / STEADY_RUNS);
    ck_assert_uint_le(found, STEADY_RUNS * 2 / 100);
    if (share == 0)
        ck_assert_uint_eq(found, 0);
}
END_TEST

/* A cache of 500 MB that stays, a steady rest, and a leak of 15 MB, which is
 * 1 MB a minute for a quarter of an hour: all below one function. */
START_TEST(a_small_leak_in_a_large_function_is_found)
{
    struct site sites[100];
    unsigned runs = 200, last;

    for (int i = 0; i < 100; i++)
        sites[i] = (struct site){512, 2000, 400, 400};
    sites[0] = (struct site){4096, 128000, 0, 0};
    sites[99] = (struct site){512, 2048, 30720, 0};
    (void)significant_runs(sites, 100, runs, false, &last);
    printf("the leak is found in %.1f%%\n", last * 100.0 / runs);
    ck_assert_uint_ge(last, runs * 90 / 100);
}
END_TEST

/* The cache itself grows by 10 MB of 500: only what was counted as it came
 * tells that from an exchange. */
START_TEST(a_leak_in_one_stack_needs_counts)
{
    const struct site site = {4096, 128000, 2560, 0};
    unsigned runs = 200, last;

    (void)significant_runs(&site, 1, runs, true, &last);
    printf("counted, it is found in %.1f%%\n", last * 100.0 / runs);
    ck_assert_uint_ge(last, runs * 90 / 100);
}
END_TEST

/* ---- thresholds ---- */

START_TEST(more_to_look_at_asks_for_more)
{
    struct significance_change list[100];

    ck_assert_double_eq_tol(significance_errors(NULL, 0), 2.575829, 1e-5);
    for (int i = 0; i < 100; i++)
        list[i] = (struct significance_change){i % 50, 1};
    /* the same twice is looked at once */
    ck_assert_double_eq_tol(significance_errors(list, 100), 3.7178, 1e-3);
    for (int i = 0; i < 100; i++)
        list[i].variance = i == 0;
    ck_assert_double_eq_tol(significance_errors(list, 100), 2.575829, 1e-5);
    ck_assert(significance_is(-2, 1, 1.96) && !significance_is(1.9, 1, 1.96));
    ck_assert(significance_is(1, 0, 5) && !significance_is(0, 0, 5));
    /* what rounding leaves of the same sum, taken twice */
    ck_assert(!significance_is(1e-7, 0, 5) && !significance_is(-0.4, 0, 5));
    ck_assert(!significance_is(0.4, 1e-9, 5) && significance_is(-1, 1e-9, 5));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("significance");
    TCase *tc = tcase_create("significance");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_loop_test(tc, the_truth_is_within_the_margin, 0,
                        sizeof(mixes) / sizeof(mixes[0]));
    tcase_add_test(tc, large_blocks_have_no_margin);
    tcase_add_loop_test(tc, what_is_steady_shows_nothing, 0,
                        SHARES * KINDS * 2);
    tcase_add_test(tc, a_small_leak_in_a_large_function_is_found);
    tcase_add_test(tc, a_leak_in_one_stack_needs_counts);
    tcase_add_test(tc, more_to_look_at_asks_for_more);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
