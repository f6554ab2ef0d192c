/* test_overhead_estimate.c - what profiling is said to cost, and when it is
 * ended. */
#include <string.h>

#include "overhead_limit.h"
#include "suite.h"

#define KNOWN(n)                                                               \
    {                                                                          \
        true, (uint64_t)(n)                                                    \
    }
#define MB 1048576.0

enum { LG = 19 };

static const struct overhead_settings one_percent = {.budget_percent = 1,
                                                     .cpus = 8};

/* A reading at second s, after so many MB. */
static struct overhead_reading
at(double s, double megabytes)
{
    return (struct overhead_reading){.at_ms = 1000000 + (int64_t)(s * 1000),
                                     .active = true,
                                     .lg_sample = LG,
                                     .frames = 10,
                                     .allocated_ever = KNOWN(megabytes * MB),
                                     .allocated = KNOWN(100 * MB),
                                     .metadata = KNOWN(5 * MB)};
}

static bool
reads(struct overhead_estimate *overhead, struct overhead_reading reading)
{
    return overhead_estimate_read(overhead, &one_percent, &reading);
}

START_TEST(the_budget_is_of_each_eight_cpus_begun)
{
    static const struct {
        double percent;
        unsigned cpus;
        double budget;
    } budgets[] = {
        {1, 1, .01},  {1, 2, .01},  {1, 8, .01},   {1, 9, .02},
        {1, 64, .08}, {0, 64, 0.0}, {25, 16, 0.5}, {1, 0, .01},
    };

    for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
        struct overhead_settings settings = {budgets[i].percent,
                                             budgets[i].cpus};

        ck_assert_double_eq_tol(overhead_estimate_budget_cpus(&settings),
                                budgets[i].budget, 1e-9);
    }
}
END_TEST

START_TEST(the_overhead_is_samples_times_what_one_costs)
{
    struct overhead_estimate overhead = {0};

    ck_assert(!reads(&overhead, at(0, 1000)));
    ck_assert(!overhead.report.estimated); /* two readings make one figure */
    ck_assert(!reads(&overhead, at(4, 1400)));
    ck_assert(overhead.report.estimated);
    ck_assert_double_eq_tol(overhead.report.bytes_per_second, 100 * MB, 1);
    ck_assert_double_eq_tol(overhead.report.samples_per_second, 200, 1e-6);
    ck_assert_double_eq_tol(overhead.report.sample_us,
                            overhead_estimate_sample_us(10), 1e-9);
    ck_assert_double_eq_tol(overhead.report.cpus,
                            200e-6 * overhead_estimate_sample_us(10), 1e-9);
    ck_assert_double_eq_tol(overhead.report.budget_cpus, .01, 1e-9);
    /* A sample costs more where stacks are deep; an unknown depth is not
     * free. */
    ck_assert_double_gt(overhead_estimate_sample_us(120),
                        2 * overhead_estimate_sample_us(30));
    ck_assert_double_gt(overhead_estimate_sample_us(0), 5);
}
END_TEST

START_TEST(samples_that_jemalloc_counts_are_not_estimated)
{
    struct overhead_estimate overhead = {0};
    struct overhead_reading reading = at(0, 1000);
    char text[OVERHEAD_SAMPLES_MAX];

    reading.sampled_ever = (struct stats_figure)KNOWN(5000);
    reads(&overhead, reading);
    reading = at(4, 1004); /* of the 800 MB most came from threads' caches */
    reading.sampled_ever = (struct stats_figure)KNOWN(6600);
    reads(&overhead, reading);
    ck_assert(overhead.report.estimated && overhead.report.counted);
    ck_assert_double_eq_tol(overhead.report.samples_per_second, 400, 1e-6);
    ck_assert_double_eq_tol(overhead.report.cpus,
                            400e-6 * overhead_estimate_sample_us(10), 1e-9);
    overhead_estimate_samples_text(&overhead.report, text, sizeof(text));
    ck_assert_str_eq(text, "400 samples a second, counted, 5.8 us "
                           "each");
    /* Fewer than before: the count is another process's. */
    reading = at(8, 1008);
    reading.sampled_ever = (struct stats_figure)KNOWN(10);
    reads(&overhead, reading);
    ck_assert(!overhead.report.counted);
    ck_assert_double_eq_tol(overhead.report.samples_per_second, 2, 1e-6);
}
END_TEST

START_TEST(stacks_by_tables_cost_less)
{
    static const struct {
        uint64_t by_library; /* of 800 */
        double us;
    } cases[] = {{0, 2.7}, {400, 4.25}, {800, 5.8}, {900, 5.8}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct overhead_estimate overhead = {0};
        struct overhead_reading reading = at(0, 1000);

        reading.by_library = (struct stats_figure)KNOWN(7);
        reads(&overhead, reading);
        reading = at(4, 1400);
        reading.by_library =
            (struct stats_figure)KNOWN(7 + cases[i].by_library);
        reads(&overhead, reading);
        ck_assert_double_eq_tol(overhead.report.sample_us, cases[i].us, 1e-6);
        /* There are at least as many samples as were counted. */
        ck_assert_double_eq_tol(overhead.report.samples_per_second,
                                i == 3 ? 225 : 200, 1e-6);
        /* Stacks are not walked by tables any more. */
        reads(&overhead, at(8, 1800));
        ck_assert_double_eq_tol(overhead.report.sample_us, 5.8, 1e-6);
    }
}
END_TEST

START_TEST(only_readings_in_a_row_end_it)
{
    /* MB a second: 1000 are 2000 samples, 11.6 ms of CPU. */
    static const double rates[] = {1000, 1000, 10, 1000, 1000, 1000};
    struct overhead_estimate overhead = {0};
    double megabytes = 0;
    size_t i;

    reads(&overhead, at(0, 0));
    for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        megabytes += rates[i] * 3;
        if (reads(&overhead, at(3 * (double)(i + 1), megabytes)))
            break;
        ck_assert_str_eq(overhead.report.reason, "");
    }
    ck_assert_uint_eq(i, 5);
    ck_assert_str_eq(
        overhead.report.reason,
        "its estimated overhead, 1.16 % of a CPU (2000 samples a "
        "second of 1000.0 MB a second or more, 5.8 us each), was above "
        "the budget of 1.00 % in 3 readings");
    /* It stays on: the verdict is repeated. */
    ck_assert(reads(&overhead, at(21, megabytes + 3000)));
}
END_TEST

START_TEST(without_a_budget_it_goes_on)
{
    struct overhead_settings none = {.budget_percent = 0, .cpus = 4};
    struct overhead_estimate overhead = {0};
    struct overhead_reading reading;

    for (int i = 0; i < 10; i++) {
        reading = at(i, i * 1e6);
        reading.metadata.value = (uint64_t)(i * 1000 * MB);
        ck_assert(!overhead_estimate_read(&overhead, &none, &reading));
    }
    ck_assert_double_gt(overhead.report.cpus, 1);
}
END_TEST

START_TEST(metadata_that_grows_ends_it)
{
    /* The growth of metadata in MB, the heap in MB, and whether that is too
     * much. */
    static const struct {
        double growth, heap;
        bool ends;
    } cases[] = {{63, 100, false},
                 {65, 100, true},
                 {65, 2000, false},
                 {101, 2000, true}};
    struct overhead_estimate overhead = {0};
    bool ended = false;

    reads(&overhead, at(0, 0));
    for (int i = 1; i <= OVERHEAD_READINGS; i++) {
        struct overhead_reading reading = at(3 * i, 0);

        reading.metadata.value += (uint64_t)(cases[_i].growth * MB);
        reading.allocated.value = (uint64_t)(cases[_i].heap * MB);
        ended = reads(&overhead, reading);
    }
    ck_assert_int_eq(ended, cases[_i].ends);
    ck_assert_uint_eq(overhead.report.metadata_growth,
                      (uint64_t)(cases[_i].growth * MB));
    if (ended)
        ck_assert_ptr_nonnull(
            strstr(overhead.report.reason, "metadata has grown by"));
}
END_TEST

START_TEST(cpu_time_is_measured_before_and_since)
{
    struct overhead_estimate overhead = {0};
    struct overhead_reading reading = {.at_ms = 1000, .cpu_ms = KNOWN(5000)};

    reads(&overhead, reading);
    ck_assert(!overhead.report.measured_before);
    reading.at_ms = 5000;
    reading.cpu_ms.value = 7000; /* half a CPU */
    reads(&overhead, reading);
    ck_assert(overhead.report.measured_before);
    ck_assert_double_eq_tol(overhead.report.cpus_before, .5, 1e-9);
    reading = at(0, 0);
    reading.cpu_ms = (struct stats_figure)KNOWN(9000);
    reads(&overhead, reading);
    reading = at(2, 0);
    reading.cpu_ms = (struct stats_figure)KNOWN(11000);
    reads(&overhead, reading);
    ck_assert(overhead.report.measured_since &&
              overhead.report.measured_before);
    ck_assert_double_eq_tol(overhead.report.cpus_since, 1, 1e-9);
    /* Off again: the figures from while it was on do not count any more. */
    reading.active = false;
    reads(&overhead, reading);
    ck_assert(!overhead.report.measured_since && !overhead.report.estimated);
}
END_TEST

START_TEST(figures_that_are_not_there_decide_nothing)
{
    struct overhead_estimate overhead = {0};
    struct overhead_reading reading;

    reads(&overhead, at(0, 1e6));
    ck_assert(!reads(&overhead, at(3, 1e3))); /* counts backwards */
    ck_assert(!overhead.report.estimated);
    for (int i = 2; i < 8; i++) {
        reading = at(3 * i, i * 1e6);
        reading.allocated_ever.known = false;
        reading.metadata.known = false;
        ck_assert(!reads(&overhead, reading));
        ck_assert(!overhead.report.estimated);
    }
    ck_assert(!reads(&overhead, at(24.1, 1e9))); /* the one before has none */
    ck_assert(!reads(&overhead, at(24.2, 2e9))); /* too soon after it */
    ck_assert(!overhead.report.estimated);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("overhead_estimate");
    TCase *tc = tcase_create("overhead_estimate");

    tcase_add_test(tc, the_budget_is_of_each_eight_cpus_begun);
    tcase_add_test(tc, the_overhead_is_samples_times_what_one_costs);
    tcase_add_test(tc, samples_that_jemalloc_counts_are_not_estimated);
    tcase_add_test(tc, stacks_by_tables_cost_less);
    tcase_add_test(tc, only_readings_in_a_row_end_it);
    tcase_add_test(tc, without_a_budget_it_goes_on);
    tcase_add_loop_test(tc, metadata_that_grows_ends_it, 0, 4);
    tcase_add_test(tc, cpu_time_is_measured_before_and_since);
    tcase_add_test(tc, figures_that_are_not_there_decide_nothing);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
