/* test_phase.c - a request to end, which may be taken back. */
#include "agent.h"

#include <check.h>

#include "suite.h"

START_TEST(a_request_that_was_not_seen_is_taken_back)
{
    phase_reset();
    phase_stop(true);
    ck_assert(phase_stay());
    ck_assert(!phase_stopping());
    ck_assert(!phase_hands_over());
}
END_TEST

/* Between the check that ends the thread's loop and the one that asks what
 * for. */
START_TEST(a_thread_that_has_seen_the_request_goes)
{
    phase_reset();
    phase_stop(_i);
    ck_assert(phase_stopping());
    ck_assert(!phase_stay());
    ck_assert(phase_stopping());
    ck_assert_int_eq(phase_hands_over(), _i);
    phase_stop(!_i); /* asked again, for something else */
    ck_assert(!phase_stay());
    ck_assert_int_eq(phase_hands_over(), !_i);
    phase_reset();
    ck_assert(!phase_stopping());
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("phase");
    TCase *tc = tcase_create("phase");

    tcase_add_test(tc, a_request_that_was_not_seen_is_taken_back);
    tcase_add_loop_test(tc, a_thread_that_has_seen_the_request_goes, 0, 2);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
