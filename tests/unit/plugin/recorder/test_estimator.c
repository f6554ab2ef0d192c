/* test_estimator.c - what samples stand for, against what was allocated. */
#include <math.h>
#include <stdint.h>

#include "estimator.h"
#include "suite.h"

enum {
    DRAWS = 4000, /* of the whole program below */
    MEAN = 8192,
    SITES = 5,
    ROUNDS = 480,
    ROUNDS_OF_INTERVALS = 60
};

/* Sizes from a five-hundredth of the mean to eight times it; each site's bytes
 * are so many means that chance alone keeps below the bias allowed, thinned
 * too. */
static const struct {
    uint64_t size;
    unsigned blocks; /* a round */
} sites[SITES] = {{15, 1024}, {511, 32}, {4095, 4}, {8191, 2}, {65535, 1}};

struct sums {
    double bytes, objects;
};

static void
add_sample(struct sums *sums, uint64_t size, uint64_t mean)
{
    double weight = 1 / estimator_chance(size, mean);

    sums->bytes += weight * (double)size;
    sums->objects += weight;
}

static bool
is_taken(struct sampler *s, uint64_t size, uint64_t mean, uint64_t *drawn_for)
{
    bool hit;

    *drawn_for = s->mean;
    if (size < s->left) {
        s->left -= size + 1;
        return false;
    }
    hit = sampler_hits(s, size);
    sampler_draw(s, mean);
    return hit;
}

/* Those blocks of at most so many that pass by, in one step. */
static unsigned
passed(struct sampler *s, uint64_t size, unsigned blocks)
{
    uint64_t fit = s->left / (size + 1);
    unsigned n = fit < blocks ? (unsigned)fit : blocks;

    s->left -= n * (size + 1);
    return n;
}

static struct sampler
begun(uint64_t seed, uint64_t mean)
{
    struct sampler s = {.random = seed};

    sampler_draw(&s, mean);
    return s;
}

static double
truth_of(int site)
{
    return (double)sites[site].blocks * ROUNDS;
}

static void
check_bias(const struct sums sums[SITES], const char *of)
{
    for (int i = 0; i < SITES; i++) {
        double objects = sums[i].objects / DRAWS / truth_of(i) - 1;
        double bytes =
            sums[i].bytes / DRAWS / (truth_of(i) * (double)sites[i].size) - 1;

        ck_assert_msg(fabs(objects) < 0.005 && fabs(bytes) < 0.005,
                      "%s: %llu bytes: bias %.4f of objects, %.4f of bytes", of,
                      (unsigned long long)sites[i].size, objects, bytes);
    }
}

/* The mean doubles in the midst of every second draw's program. */
static uint64_t
mean_at(int draw, int round)
{
    return draw % 2 == 1 && round >= ROUNDS / 2 ? MEAN * 2 : MEAN;
}

START_TEST(no_size_is_estimated_with_bias)
{
    struct sampler s = begun(27, MEAN);
    struct sums whole[SITES] = {{0, 0}}, thinned[SITES] = {{0, 0}};
    uint64_t mean;

    for (int draw = 0; draw < DRAWS; draw++) {
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < SITES; i++) {
                for (unsigned n = 0; n < sites[i].blocks; n++) {
                    uint64_t size = sites[i].size;

                    n += passed(&s, size, sites[i].blocks - 1 - n);

                    if (!is_taken(&s, size, mean_at(draw, round), &mean))
                        continue;
                    add_sample(&whole[i], size, mean);
                    if (sampler_chooses(
                            &s, estimator_stays(size, mean, MEAN * 2)) &&
                        sampler_chooses(
                            &s, estimator_stays(size, MEAN * 2, MEAN * 4)))
                        add_sample(&thinned[i], size, MEAN * 4);
                }
            }
        }
    }
    check_bias(whole, "as it was sampled");
    check_bias(thinned, "thinned twice");
}
END_TEST

/* By the samples' own variance, weight * (weight - 1) * size^2 each. */
START_TEST(intervals_of_95_percent_hold_so_often)
{
    struct sampler s = begun(28, MEAN);
    int held = 0;
    uint64_t mean;

    for (int draw = 0; draw < DRAWS; draw++) {
        double estimate = 0, variance = 0, truth = 0;

        for (int round = 0; round < ROUNDS_OF_INTERVALS; round++) {
            for (int i = 1; i < SITES; i++) {
                for (unsigned n = 0; n < sites[i].blocks; n++) {
                    double size = (double)sites[i].size, w;

                    truth += size;
                    if (!is_taken(&s, sites[i].size, MEAN, &mean))
                        continue;
                    w = 1 / estimator_chance(sites[i].size, mean);
                    estimate += w * size;
                    variance += w * (w - 1) * size * size;
                }
            }
        }
        held += fabs(estimate - truth) < 1.96 * sqrt(variance);
    }
    ck_assert_msg(held > DRAWS * 0.94 && held < DRAWS * 0.96, "%d of %d held",
                  held, DRAWS);
}
END_TEST

START_TEST(a_long_distance_is_cut_without_bias)
{
    const uint64_t size = SAMPLER_POLL_BYTES / 5,
                   mean = SAMPLER_POLL_BYTES * 3ULL;
    const int blocks = 400000;
    struct sampler s = begun(29, mean);
    struct sums sums = {0, 0};
    uint64_t drawn_for;

    for (int i = 0; i < blocks; i++) {
        if (is_taken(&s, size, mean, &drawn_for))
            add_sample(&sums, size, drawn_for);
    }
    /* A standard deviation is 0.6 %. */
    ck_assert_double_lt(fabs(sums.objects / blocks - 1), 0.02);
}
END_TEST

START_TEST(every_block_is_sampled_at_a_mean_of_one)
{
    struct sampler s = begun(30, 1);
    uint64_t mean;

    for (uint64_t size = 0; size < 1000; size++) {
        ck_assert(is_taken(&s, size, 1, &mean));
        ck_assert_double_eq(estimator_chance(size, mean), 1);
    }
}
END_TEST

START_TEST(nothing_is_sampled_while_it_is_off)
{
    struct sampler s = begun(31, 0);
    uint64_t mean;

    for (int i = 0; i < 1000; i++)
        ck_assert(!is_taken(&s, 1 << 16, 0, &mean));
}
END_TEST

START_TEST(too_many_samples_a_second_widen_a_threads_mean_without_bias)
{
    const int blocks = 2000000;
    struct sampler s = begun(32, MEAN);
    struct sums sums = {0, 0};
    uint64_t widest = 0;
    int taken = 0;

    for (int i = 0; i < blocks; i++) {
        uint64_t second = (uint64_t)i / 100000; /* 2,000 samples, uncapped */
        uint64_t size = 163, mean;

        if (!is_taken(&s, size, sampler_capped(&s, MEAN, second, 100), &mean))
            continue;
        add_sample(&sums, size, mean);
        taken++;
        widest = mean > widest ? mean : widest;
    }
    ck_assert_uint_ge(widest, MEAN * 8);
    ck_assert_int_lt(taken, 20 * 600);
    /* A standard deviation is below 2 %. */
    ck_assert_double_lt(fabs(sums.objects / blocks - 1), 0.06);
}
END_TEST

START_TEST(chances_are_what_the_library_of_mathematics_says)
{
    for (double lg = -40; lg < 8; lg += 0.01) {
        uint64_t mean = 1ULL << 40, size = (uint64_t)(exp2(lg) * (double)mean);
        double x = ((double)size + 1) / (double)mean;

        ck_assert_double_lt(fabs(estimator_chance(size, mean) / -expm1(-x) - 1),
                            1e-12);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("estimator");
    TCase *tcase = tcase_create("estimator");

    tcase_add_test(tcase, no_size_is_estimated_with_bias);
    tcase_add_test(tcase, intervals_of_95_percent_hold_so_often);
    tcase_add_test(tcase, a_long_distance_is_cut_without_bias);
    tcase_add_test(tcase, every_block_is_sampled_at_a_mean_of_one);
    tcase_add_test(tcase, nothing_is_sampled_while_it_is_off);
    tcase_add_test(tcase,
                   too_many_samples_a_second_widen_a_threads_mean_without_bias);
    tcase_add_test(tcase, chances_are_what_the_library_of_mathematics_says);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
