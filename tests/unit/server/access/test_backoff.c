/* test_backoff.c - addresses that have to wait. */
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

START_TEST(a_unix_socket_never_counts)
{
    struct sockaddr local = {.sa_family = AF_UNIX};
    struct backoff b = {0};

    ck_assert_uint_eq(backoff_key(&local), 0);
    for (int i = 0; i < 100; i++)
        backoff_failed(&b, 0, "ann", FREE, SECOND);
    ck_assert_uint_eq(backoff_left_ms(&b, 0, SECOND), 0);
}
END_TEST

START_TEST(the_wait_doubles_up_to_a_minute)
{
    static const unsigned seconds[] = {0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60};
    struct backoff b = {0};
    uint64_t k = key("10.0.0.1"), now_ms = 5;

    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        backoff_failed(&b, k, "ann", FREE, now_ms);
        ck_assert_uint_eq(backoff_left_ms(&b, k, now_ms),
                          (uint64_t)seconds[i] * SECOND);
        ck_assert_uint_eq(backoff_left_ms(&b, key("10.0.0.2"), now_ms), 0);
        now_ms += (uint64_t)seconds[i] * SECOND;
        ck_assert_uint_eq(backoff_left_ms(&b, k, now_ms), 0);
    }
}
END_TEST

START_TEST(success_and_time_clear)
{
    struct backoff b = {0};
    uint64_t k = key("10.0.0.1"), now_ms = 5;

    for (int i = 0; i < FREE; i++)
        backoff_failed(&b, k, "ann", FREE, now_ms);
    ck_assert_uint_eq(backoff_left_ms(&b, k, now_ms + 1), SECOND - 1);
    backoff_succeeded(&b, k, "ann");
    ck_assert_uint_eq(backoff_left_ms(&b, k, now_ms), 0);
    for (int i = 0; i < FREE - 1; i++)
        backoff_failed(&b, k, "ann", FREE, now_ms);
    now_ms += BACKOFF_FORGET_MS;
    backoff_failed(&b, k, "ann", FREE, now_ms);
    ck_assert_uint_eq(backoff_left_ms(&b, k, now_ms), 0);
    backoff_succeeded(&b, key("10.9.9.9"), "ann"); /* never seen */
}
END_TEST

/* A user could guess another's password without end. */
START_TEST(only_their_own_user_clears)
{
    struct backoff b = {0};
    uint64_t k = key("10.0.0.1");

    for (int i = 0; i < FREE; i++) {
        ck_assert_uint_eq(backoff_left_ms(&b, k, 5), 0);
        backoff_failed(&b, k, "ann", FREE, 5);
        backoff_succeeded(&b, k, "eve");
    }
    ck_assert_uint_eq(backoff_left_ms(&b, k, 5), SECOND);
    backoff_failed(&b, k, "eve", FREE, 5); /* a lure */
    backoff_succeeded(&b, k, "eve");
    ck_assert_uint_eq(backoff_left_ms(&b, k, 5), 2 * SECOND);
    backoff_succeeded(&b, k, "ann");
    ck_assert_uint_eq(backoff_left_ms(&b, k, 5), 2 * SECOND);
}
END_TEST

START_TEST(zero_free_failures_means_no_limit)
{
    struct backoff b = {0};

    for (int i = 0; i < 100; i++)
        backoff_failed(&b, key("10.0.0.1"), "ann", 0, 5);
    ck_assert_uint_eq(backoff_left_ms(&b, key("10.0.0.1"), 5), 0);
}
END_TEST

START_TEST(a_full_table_forgets_the_oldest)
{
    static struct backoff b;
    size_t blocked = 0;
    char text[32];

    memset(&b, 0, sizeof(b));
    for (unsigned i = 0; i < 100000; i++) {
        snprintf(text, sizeof(text), "10.%u.%u.%u", i >> 16, i >> 8 & 255,
                 i & 255);
        backoff_failed(&b, key(text), "ann", 1, 5 + i);
        ck_assert_uint_eq(backoff_left_ms(&b, key(text), 5 + i), SECOND);
    }
    for (unsigned i = 0; i < BACKOFF_SETS; i++)
        for (unsigned j = 0; j < BACKOFF_WAYS; j++)
            blocked += b.entries[i][j].until_ms > 100000;
    /* Those of late are spread over the table, not in a corner of it. */
    ck_assert_uint_gt(blocked, BACKOFF_SETS * BACKOFF_WAYS * 3 / 4);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("backoff");
    TCase *tc = tcase_create("backoff");

    tcase_add_loop_test(tc, addresses_count_as_what_they_are, 0,
                        sizeof(pairs) / sizeof(pairs[0]));
    tcase_add_test(tc, a_unix_socket_never_counts);
    tcase_add_test(tc, the_wait_doubles_up_to_a_minute);
    tcase_add_test(tc, success_and_time_clear);
    tcase_add_test(tc, only_their_own_user_clears);
    tcase_add_test(tc, zero_free_failures_means_no_limit);
    tcase_add_test(tc, a_full_table_forgets_the_oldest);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
