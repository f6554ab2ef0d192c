/* test_unseen.c - what a profile does not see, and why. */
#include "profile.h"
#include "snapshot.h"
#include "suite.h"
#include "reconciliation.h"

#define MB(n) ((uint64_t)(n) << 20)

enum { STARTED_MS = 500, SINCE_MS = 1000, TAKEN_MS = 9000 };

static const struct {
    unsigned bytes, margin, allocated, elsewhere; /* MB; allocated 0: unknown */
    uint64_t samples;
    int64_t since_ms;
    unsigned unseen; /* MB */
    const char *why;
} cases[] = {
    {48, 1, 95, 0, 1, SINCE_MS, 47, "allocated while profiling was off"},
    {48, 1, 95, 0, 1, STARTED_MS, 47,
     "free in caches of threads, or grown while the profile was taken"},
    {48, 1, 95, 212, 1, SINCE_MS, 259, "in jemallocs that are not profiled"},
    {0, 0, 95, 0, 0, SINCE_MS, 95, "nothing is sampled"},
    {90, 10, 95, 0, 400, SINCE_MS, 0, ""},
    {95, 1, 90, 0, 400, SINCE_MS, 0, ""},
    {95, 1, 0, 3, 400, SINCE_MS, 3, "in jemallocs that are not profiled"},
};

START_TEST(what_is_beyond_chance_has_a_reason)
{
    const double error = (double)MB(cases[_i].margin) / PROFILE_95;
    const struct profile_stack stack = {.variance = error * error};
    struct profile profile = {.bytes = (double)MB(cases[_i].bytes),
                              .samples = cases[_i].samples,
                              .stacks = &stack,
                              .stack_count = 1,
                              .origin = {true, TAKEN_MS, cases[_i].since_ms}};
    struct snapshot snapshot = {
        .profile = &profile,
        .hello = {.started_ms = STARTED_MS, .version = "5.3.1"},
        .memory = {
            .allocator_ms = TAKEN_MS,
            .allocated = {cases[_i].allocated > 0, MB(cases[_i].allocated)},
            .elsewhere = {cases[_i].elsewhere > 0, MB(cases[_i].elsewhere)}}};

    unseen_fill(&snapshot);
    ck_assert_double_eq_tol(profile.unseen.bytes, (double)MB(cases[_i].unseen),
                            cases[_i].samples * 4096.0 + 1);
    ck_assert_str_eq(profile.unseen.why, cases[_i].why);
}
END_TEST

START_TEST(what_is_of_two_moments_is_not_subtracted)
{
    struct profile profile = {.bytes = (double)MB(1),
                              .samples = 2,
                              .origin = {true, TAKEN_MS, SINCE_MS}};
    struct snapshot snapshot = {
        .profile = &profile,
        .memory = {.allocator_ms = TAKEN_MS + STATS_TOGETHER_MS + 1,
                   .allocated = {true, MB(95)}}};

    unseen_fill(&snapshot);
    ck_assert_double_eq(profile.unseen.bytes, 0);
    ck_assert_str_eq(profile.unseen.why, "");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("unseen");
    TCase *tc = tcase_create("unseen");

    tcase_add_loop_test(tc, what_is_beyond_chance_has_a_reason, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tc, what_is_of_two_moments_is_not_subtracted);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
