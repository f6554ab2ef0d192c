/* test_ring.c - which snapshots that are kept by default stay, over weeks of a
 * made-up clock. */
#include <string.h>

#include "ring.h"
#include "suite.h"

enum { HOUR_MS = 3600 * 1000, ROOM = 512 };

static struct ring_item ring[ROOM];
static size_t count;
static int64_t now_ms;

static void
set_up(void)
{
    count = 0;
    now_ms = 1795228267 * (int64_t)1000;
}

/* As the store does. */
static void
add(uint64_t bytes, uint64_t most)
{
    size_t kept = 0, at;

    ck_assert_uint_lt(count, ROOM);
    for (at = count; at > 0 && ring[at - 1].taken_ms > now_ms; at--)
        ring[at] = ring[at - 1];
    ring[at] = (struct ring_item){now_ms, bytes, RING_ADDED, false};
    count++;
    ring_thin(ring, count, now_ms, HOUR_MS, most);
    ck_assert(!ring[at].goes);
    for (size_t i = 0; i < count; i++)
        if (!ring[i].goes) {
            ring[i].index = kept;
            ring[kept++] = ring[i];
        }
    count = kept;
}

static uint64_t
bytes_of_all(void)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += ring[i].bytes;
    return sum;
}

static size_t
count_between(int64_t from_h, int64_t to_h)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t age_h = (now_ms - ring[i].taken_ms + HOUR_MS / 2) / HOUR_MS;

        found += age_h >= from_h && age_h < to_h;
    }
    return found;
}

START_TEST(each_hour_of_two_days_and_each_day_of_two_weeks)
{
    for (int hour = 0; hour < 24 * 60; hour++) {
        add(1000, RING_BYTES_MAX);
        ck_assert_uint_le(count, RING_MAX);
        if (hour >= 24 * 20) {
            ck_assert_uint_eq(count_between(0, 48), 48);
            ck_assert_uint_ge(count_between(49, 24 * 15), 11);
            ck_assert_uint_le(count_between(49, 24 * 15), 13);
            ck_assert_uint_eq(count_between(24 * 14 + 1, 24 * 1000), 0);
        }
        now_ms += HOUR_MS + hour % 3 * 700; /* each a little late */
    }
}
END_TEST

/* What is old is not lost at once when a program grows. */
START_TEST(they_are_within_the_ceiling)
{
    const uint64_t most = 64 << 20;

    for (int hour = 0; hour < 24 * 30; hour++) {
        add(((uint64_t)hour % 7 + 1) << 20, most);
        ck_assert_uint_le(bytes_of_all(), most);
        ck_assert_uint_ge(count, hour < 12 ? (size_t)hour + 1 : 12);
        now_ms += HOUR_MS;
    }
    ck_assert_uint_ge(count_between(24 * 7, 24 * 15), 1);
    ck_assert_uint_ge(count_between(0, 24), 4);
    add(most, most); /* one alone fills it */
    ck_assert_uint_eq(count, 1);
}
END_TEST

/* After a pause of a week, or by a clock that is set, too. */
START_TEST(a_clock_that_jumps_does_no_harm)
{
    for (int hour = 0; hour < 60; hour++) {
        add(1000, RING_BYTES_MAX);
        now_ms += HOUR_MS;
    }
    now_ms += 7 * 24 * (int64_t)HOUR_MS;
    add(1000, RING_BYTES_MAX);
    ck_assert_uint_ge(count, 3);
    now_ms += 30 * 24 * (int64_t)HOUR_MS;
    add(1000, RING_BYTES_MAX);
    ck_assert_uint_eq(count, 1);
    ring[0].taken_ms += 1000 * (int64_t)HOUR_MS; /* it was in the future */
    ring[1] = (struct ring_item){now_ms, 1000, RING_ADDED, false};
    ring_thin(ring, 2, now_ms, HOUR_MS, RING_BYTES_MAX);
    ck_assert(!ring[1].goes);
}
END_TEST

/* Those of before, which are of a time to come, make room for it. */
START_TEST(a_clock_that_is_set_back_has_its_two_days)
{
    for (int hour = 0; hour < 24 * 7; hour++) {
        add(1000, RING_BYTES_MAX);
        now_ms += HOUR_MS;
    }
    now_ms -= 365 * 24 * (int64_t)HOUR_MS;
    for (int hour = 0; hour < 24 * 7; hour++) {
        add(1000, RING_BYTES_MAX);
        ck_assert_uint_le(count, RING_MAX);
        ck_assert_uint_eq(count_between(0, 48), hour < 48 ? hour + 1 : 48);
        now_ms += HOUR_MS;
    }
}
END_TEST

START_TEST(more_than_the_ring_has_room_for_are_thinned)
{
    for (int i = 0; i < 300; i++) { /* the interval was shorter before */
        add(1000, RING_BYTES_MAX);
        now_ms += HOUR_MS / 2;
        ck_assert_uint_le(count, RING_MAX);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("ring");
    TCase *tc = tcase_create("ring");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, each_hour_of_two_days_and_each_day_of_two_weeks);
    tcase_add_test(tc, they_are_within_the_ceiling);
    tcase_add_test(tc, a_clock_that_jumps_does_no_harm);
    tcase_add_test(tc, a_clock_that_is_set_back_has_its_two_days);
    tcase_add_test(tc, more_than_the_ring_has_room_for_are_thinned);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
