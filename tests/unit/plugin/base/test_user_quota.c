/* test_user_quota.c - a user that takes all that it may leaves some to others.
 */
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "user_quota.h"
#include "suite.h"

enum { MOST = 130 };

static const char *places[MOST];
static size_t taken;
static struct error err;

static unsigned
take_all(const char *user, size_t max)
{
    unsigned count = 0;

    while (
        user_quota_take(places, &taken, max, user, "seats", "leave one", &err))
        count++;
    return count;
}

/* _i: places */
START_TEST(each_takes_half_of_what_is_free)
{
    char users[MOST][8];
    size_t max = (size_t)_i, unused = max;
    int i = 0;

    memset(places, 0, sizeof(places));
    taken = 0;
    for (; unused > 0; i++) {
        snprintf(users[i], sizeof(users[i]), "u%d", i);
        ck_assert_uint_eq(take_all(users[i], max), (unused + 1) / 2);
        ck_assert_uint_eq(err.code, ER_USER_LIMIT_REACHED);
        unused /= 2;
    }
    ck_assert_uint_eq(take_all("late", max), 0);
    ck_assert_uint_eq(err.code, ER_OUT_OF_RESOURCES);
    for (i = (int)max; i < MOST; i++)
        ck_assert_ptr_null(places[i]);
}
END_TEST

START_TEST(a_refusal_says_which_limit_and_how_many)
{
    memset(places, 0, sizeof(places));
    taken = 0;
    ck_assert_uint_eq(take_all("ann", 20), 10);
    ck_assert_uint_eq(take_all("bob", 20), 5);
    ck_assert_str_eq(
        err.text,
        "User 'bob' has exceeded the 'seats' resource (current value: 5): "
        "users share 20, 5 of them are free, and one user gets at most as many "
        "as stay free for the others; leave one, or try again later");
    ck_assert_str_eq(err.sqlstate, "42000");
    for (size_t i = 0; i < 20; i++)
        places[i] = "cy";
    taken = 20;
    ck_assert_uint_eq(take_all("bob", 20), 0);
    ck_assert_str_eq(err.text, "Out of resources: others have all 20 'seats'; "
                               "try again later");
}
END_TEST

START_TEST(what_is_given_back_is_taken_again)
{
    const char **place;

    memset(places, 0, sizeof(places));
    taken = 0;
    ck_assert_uint_eq(take_all("ann", 8), 4);
    place =
        user_quota_take(places, &taken, 8, "bob", "seats", "leave one", &err);
    user_quota_release(place, &taken);
    user_quota_release(&places[1], &taken);
    ck_assert_ptr_eq(
        user_quota_take(places, &taken, 8, "ann", "seats", "leave one", &err),
        &places[1]);
    ck_assert_uint_eq(taken, 4);
    /* Those behind a gap count, too. */
    user_quota_release(&places[0], &taken);
    user_quota_release(&places[1], &taken);
    ck_assert_uint_eq(take_all("ann", 8), 2);
    ck_assert_uint_eq(taken, 4);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("user_quota");
    TCase *tc = tcase_create("user_quota");

    tcase_add_loop_test(tc, each_takes_half_of_what_is_free, 1, MOST);
    tcase_add_test(tc, a_refusal_says_which_limit_and_how_many);
    tcase_add_test(tc, what_is_given_back_is_taken_again);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
