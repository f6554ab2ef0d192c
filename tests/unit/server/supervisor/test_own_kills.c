/* test_own_kills.c - which kills are taken for heapwired's own. */
#include "process_facts.h"

#include "suite.h"

static struct own_kills own;

static struct stats_figure
count(uint64_t kills)
{
    return (struct stats_figure){true, kills};
}

static void
set_up(void)
{
    own_kills_start(&own, 1000, count(5));
}

START_TEST(what_goes_with_heapwired_is_its_own)
{
    uint64_t now_ms = 1000;

    ck_assert_uint_eq(own_kills_of(&own, count(5), false), 0);
    ck_assert_uint_eq(own_kills_of(&own, count(7), false), 2);
    ck_assert_uint_eq(own_kills_of(&own, count(7), true), 1);
    ck_assert_uint_eq(own_kills_of(&own, count(50), true), 3);
    /* Also where it is counted before its end is seen. */
    for (int i = 0; i < 10; i++)
        own_kills_follow(&own, now_ms += OWN_KILLS_STEP_MS, count(5));
    own_kills_follow(&own, now_ms += OWN_KILLS_STEP_MS, count(7));
    ck_assert_uint_eq(own_kills_of(&own, count(7), false), 2);
}
END_TEST

START_TEST(what_went_long_before_is_not)
{
    own_kills_follow(&own, 1000 + OWN_KILLS_STEP_MS, count(7));
    own_kills_follow(&own, 1000 + 2 * OWN_KILLS_STEP_MS, count(7));
    ck_assert_uint_eq(own_kills_of(&own, count(7), false), 0);
    ck_assert_uint_eq(own_kills_of(&own, count(8), false), 1);
    own_kills_start(&own, 1000 + 2 * OWN_KILLS_STEP_MS, count(9));
    ck_assert_uint_eq(own_kills_of(&own, count(9), false), 0);
}
END_TEST

START_TEST(nothing_is_known_without_a_count)
{
    static const struct stats_figure unknown;

    ck_assert_uint_eq(own_kills_of(&own, unknown, false), 0);
    own_kills_start(&own, 1000, unknown);
    ck_assert_uint_eq(own_kills_of(&own, count(9), false), 0);
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("own_kills");
    Suite *suite = suite_create("own_kills");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, what_goes_with_heapwired_is_its_own);
    tcase_add_test(tc, what_went_long_before_is_not);
    tcase_add_test(tc, nothing_is_known_without_a_count);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
