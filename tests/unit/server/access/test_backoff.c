/* test_backoff.c - logins that have to wait. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "backoff.h"
#include "suite.h"

enum { FREE = 3, SECOND = 1000 };

static uint64_t
key(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return backoff_key((struct sockaddr *)&v4);
    ck_assert_int_eq(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return backoff_key((struct sockaddr *)&v6);
}

static const struct {
    const char *one, *other;
    bool same;
} pairs[] = {
    {"10.0.0.1", "10.0.0.1", true},
    {"10.0.0.1", "10.0.0.2", false},
    {"10.0.0.1", "::ffff:10.0.0.1", true},
    {"127.0.0.1", "127.8.9.10", true},
    {"127.0.0.1", "::1", true},
    {"127.0.0.1", "::ffff:127.0.0.2", true},
    {"127.0.0.1", "128.0.0.1", false},
    {"2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true},
    {"2001:db8::1", "2001:db8:0:1::1", false},
    {"::1", "::2", false},
    {"::", "0.0.0.0", false},
};

START_TEST(addresses_count_as_what_they_are)
{
    uint64_t one = key(pairs[_i].one), other = key(pairs[_i].other);

    ck_assert_uint_ne(one, 0);
    ck_assert_uint_ne(other, 0);
    ck_assert_msg((one == other) == pairs[_i].same, "%s, %s", pairs[_i].one,
                  pairs[_i].other);
}
END_TEST

enum { REFUSED = -1 };

static int64_t
wait_of(struct backoff *b, uint64_t address, const char *user, uint64_t now_ms)
{
    uint64_t wait_ms;

    return backoff_admit(b, address, user, FREE, now_ms, &wait_ms)
               ? (int64_t)wait_ms
               : REFUSED;
}

static void
guess_wrong(struct backoff *b, uint64_t address, const char *user, int times,
            uint64_t now_ms)
{
    for (int i = 0; i < times; i++)
        backoff_failed(b, address, user, FREE, now_ms);
}

START_TEST(local_users_are_told_apart)
{
    struct backoff b = {0};
    uint64_t one = backoff_key_of_user(0), other = backoff_key_of_user(65534);

    ck_assert(backoff_is_loopback(key("127.1.2.3")));
    ck_assert(backoff_is_loopback(key("::1")));
    ck_assert(!backoff_is_loopback(key("10.0.0.1")));
    ck_assert(!backoff_is_loopback(one));
    for (int i = 0; i < 100; i++)
        backoff_failed(&b, other, "ann", FREE, SECOND);
    ck_assert_uint_gt(wait_of(&b, other, "ann", SECOND), 0);
    ck_assert_uint_eq(wait_of(&b, one, "ann", SECOND), 0);
}
END_TEST

START_TEST(a_unix_socket_never_counts)
{
    struct sockaddr local = {.sa_family = AF_UNIX};
    struct backoff b = {0};

    ck_assert_uint_eq(backoff_key(&local), 0);
    for (int i = 0; i < 100; i++)
        backoff_failed(&b, 0, "ann", FREE, SECOND);
    ck_assert_uint_eq(wait_of(&b, 0, "ann", SECOND), 0);
}
END_TEST

START_TEST(logins_of_a_pair_take_turns)
{
    struct backoff b = {0};
    uint64_t k = key("10.0.0.1");

    guess_wrong(&b, k, "ann", FREE - 1, SECOND);
    ck_assert_int_eq(wait_of(&b, k, "ann", SECOND), 0);
    guess_wrong(&b, k, "ann", 1, SECOND);
    ck_assert_int_eq(wait_of(&b, k, "ann", SECOND), BACKOFF_STEP_MS);
    ck_assert_int_eq(wait_of(&b, k, "ann", SECOND), 2 * BACKOFF_STEP_MS);
    ck_assert_int_eq(wait_of(&b, k, "ann", SECOND), REFUSED);
    ck_assert_int_eq(wait_of(&b, k, "ann", 2 * SECOND), 5 * SECOND);
    ck_assert_int_eq(wait_of(&b, k, "boss", SECOND), 0);
    ck_assert_int_eq(wait_of(&b, key("10.0.0.2"), "ann", SECOND), 0);
}
END_TEST

START_TEST(success_and_time_clear)
{
    struct backoff b = {0};
    uint64_t k = key("10.0.0.1"), now_ms = SECOND;

    guess_wrong(&b, k, "ann", FREE, now_ms);
    backoff_succeeded(&b, k, "eve");
    ck_assert_int_gt(wait_of(&b, k, "ann", now_ms), 0);
    backoff_succeeded(&b, k, "ann");
    ck_assert_int_eq(wait_of(&b, k, "ann", now_ms), 0);
    guess_wrong(&b, k, "ann", FREE - 1, now_ms);
    ck_assert_int_eq(wait_of(&b, k, "ann", now_ms), 0);
    guess_wrong(&b, k, "ann", 1, now_ms);
    now_ms += BACKOFF_RESET_MS;
    ck_assert_int_eq(wait_of(&b, k, "ann", now_ms), 0);
    guess_wrong(&b, k, "ann", FREE - 1, now_ms);
    ck_assert_int_eq(wait_of(&b, k, "ann", now_ms), 0);
}
END_TEST

START_TEST(zero_free_failures_means_no_limit)
{
    struct backoff b = {0};
    uint64_t wait_ms = 1;

    for (int i = 0; i < 100; i++)
        backoff_failed(&b, key("10.0.0.1"), "ann", 0, 5);
    ck_assert(backoff_admit(&b, key("10.0.0.1"), "ann", 0, 5, &wait_ms));
    ck_assert_uint_eq(wait_ms, 0);
}
END_TEST

/* The figures that backoff.h states: connections without end guess for an hour,
 * whatever names there are. */
START_TEST(guesses_of_an_hour)
{
    static const struct {
        unsigned names, most;
    } rows[] = {{1, 1800 + 10}, {2, 3600 + 20}, {64, 18000 + 500}};
    struct backoff b = {.secret = 7};
    uint64_t k = key("10.0.0.1");
    char name[16];
    size_t guesses = 0;
    int64_t wait_ms;

    for (uint64_t now_ms = 0; now_ms < 3600 * SECOND; now_ms += 100)
        for (unsigned i = 0; i < rows[_i].names; i++) {
            snprintf(name, sizeof(name), "user%u", i);
            wait_ms = wait_of(&b, k, name, now_ms);
            if (wait_ms == REFUSED)
                continue;
            guesses++;
            guess_wrong(&b, k, name, 1, now_ms);
        }
    ck_assert_uint_le(guesses, rows[_i].most);
    ck_assert_uint_ge(guesses, 1700);
}
END_TEST

START_TEST(an_address_with_many_failures_has_no_free_ones)
{
    struct backoff b = {0};
    uint64_t k = key("10.0.0.1");
    char name[16];

    for (int i = 0; i < FREE * BACKOFF_ADDRESS_TIMES; i++) {
        snprintf(name, sizeof(name), "user%d", i);
        guess_wrong(&b, k, name, 1, SECOND);
    }
    ck_assert_int_eq(wait_of(&b, k, "ann", SECOND), 0);
    guess_wrong(&b, k, "ann", 1, SECOND);
    ck_assert_int_eq(wait_of(&b, k, "ann", SECOND), 0); /* its first turn */
    ck_assert_int_eq(wait_of(&b, k, "ann", SECOND), BACKOFF_STEP_MS);
}
END_TEST

START_TEST(many_names_push_nobody_out)
{
    static struct backoff b;
    uint64_t k = key("10.0.0.1");
    char name[16];

    b.secret = 7;
    guess_wrong(&b, k, "ann", FREE, 5);
    for (unsigned i = 0; i < 100000; i++) {
        snprintf(name, sizeof(name), "user%u", i);
        guess_wrong(&b, k, name, 1, 6 + i);
    }
    ck_assert_int_gt(wait_of(&b, k, "ann", 6), 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("backoff");
    TCase *tc = tcase_create("backoff");

    tcase_add_loop_test(tc, addresses_count_as_what_they_are, 0,
                        sizeof(pairs) / sizeof(pairs[0]));
    tcase_add_test(tc, local_users_are_told_apart);
    tcase_add_test(tc, a_unix_socket_never_counts);
    tcase_add_test(tc, logins_of_a_pair_take_turns);
    tcase_add_test(tc, success_and_time_clear);
    tcase_add_test(tc, zero_free_failures_means_no_limit);
    tcase_add_loop_test(tc, guesses_of_an_hour, 0, 3);
    tcase_add_test(tc, an_address_with_many_failures_has_no_free_ones);
    tcase_add_test(tc, many_names_push_nobody_out);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
