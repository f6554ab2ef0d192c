/* test_map_seen.c - since when memory has been there. */
#include <string.h>
#include <unistd.h>

#include "map_seen.h"
#include "memory_map.h"
#include "suite.h"

enum { PID = 1, TICKS = 5 };

static struct map_seen seen;

/* When that one was seen first, of a map with it and another one at 1 MB. */
static int64_t
note(uint64_t ticks, uint64_t start, uint64_t end, int64_t now_ms)
{
    struct memory_map *map = memory_map_new();
    const uint64_t places[2][2] = {{1 << 20, 2 << 20}, {start, end}};
    int64_t first_ms;

    for (int i = 0; i < 2; i++) {
        struct memory_range *range = memory_map_add(map);

        range->start = places[i][0];
        range->end = places[i][1];
        range->bare = true;
        memcpy(range->permissions, "rw-p", 5);
    }
    map_seen_note(&seen, PID, ticks, map, now_ms);
    first_ms = map->list[1].first_seen_ms;
    memory_map_unref(map);
    return first_ms;
}

START_TEST(a_mapping_is_as_old_as_half_of_it)
{
    map_seen_init(&seen);
    ck_assert_int_eq(note(TICKS, 0x1000000, 0x2000000, 100), 100);
    ck_assert_int_eq(note(TICKS, 0x1000000, 0x2000000, 200), 100);
    ck_assert_int_eq(note(TICKS, 0x0800000, 0x2000000, 300), 100); /* grew */
    ck_assert_int_eq(note(TICKS, 0x1800000, 0x2000000, 400), 100); /* shrank */
    ck_assert_int_eq(note(TICKS, 0x1800000, 0x4000000, 500), 500); /* another */
    ck_assert_int_eq(note(TICKS, 0x9000000, 0xa000000, 600), 600); /* moved */
    ck_assert_int_eq(note(TICKS, 0x1800000, 0x4000000, 700), 700); /* forgot */
    map_seen_fini(&seen);
}
END_TEST

/* A list with owners has pieces of what is one mapping at the next look, which
 * a thread's stack or an allocator's memory may have joined. */
START_TEST(pieces_keep_their_times)
{
    static const struct {
        int64_t now_ms, first_ms[3]; /* 0: it is not there */
        uint64_t ends[4];
    } looks[] = {
        {100, {100}, {0x1000000, 0x2000000}},
        {200, {100, 100, 100}, {0x1000000, 0x1500000, 0x1a00000, 0x2000000}},
        {300, {100}, {0x1000000, 0x2000000}},
        {400, {100}, {0x1000000, 0x2800000}}, /* something came behind it */
        {500, {100, 400}, {0x1000000, 0x2000000, 0x2800000}},
        {600, {100}, {0x1000000, 0x2800000}},
        {700, {100, 400}, {0x1000000, 0x2000000, 0x2800000}},
    };

    map_seen_init(&seen);
    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
        struct memory_map *map = memory_map_new();

        for (size_t k = 0; k < 3 && looks[i].first_ms[k]; k++) {
            struct memory_range *range = memory_map_add(map);

            range->start = looks[i].ends[k];
            range->end = looks[i].ends[k + 1];
            range->bare = true;
            memcpy(range->permissions, "rw-p", 5);
        }
        map_seen_note(&seen, PID, TICKS, map, looks[i].now_ms);
        for (size_t k = 0; k < map->count; k++)
            ck_assert_int_eq(map->list[k].first_seen_ms, looks[i].first_ms[k]);
        memory_map_unref(map);
    }
    ck_assert_uint_eq(seen.count, 2);
    map_seen_fini(&seen);
}
END_TEST

START_TEST(another_process_begins_anew)
{
    map_seen_init(&seen);
    ck_assert_int_eq(note(TICKS, 0x1000000, 0x2000000, 100), 100);
    ck_assert_int_eq(note(TICKS + 1, 0x1000000, 0x2000000, 200), 200);
    map_seen_fini(&seen);
}
END_TEST

START_TEST(the_largest_are_remembered)
{
    struct memory_map *map = memory_map_new();

    map_seen_init(&seen);
    for (uint64_t i = 1; i <= MAP_SEEN_MAX + 100; i++) {
        struct memory_range *range = memory_map_add(map);

        range->start = i << 20;
        range->end = range->start + (i % 50 == 0 ? 0x1000 : 0x2000);
        range->bare = true;
        memcpy(range->permissions, "rw-p", 5);
    }
    map_seen_note(&seen, PID, TICKS, map, 100);
    map_seen_note(&seen, PID, TICKS, map, 200);
    ck_assert_int_eq(map->list[0].first_seen_ms, 100);
    ck_assert_uint_eq(seen.count, MAP_SEEN_MAX);
    memory_map_unref(map);
    map_seen_fini(&seen);
}
END_TEST

START_TEST(a_look_is_due_at_first_and_at_another_process)
{
    map_seen_init(&seen);
    ck_assert(map_seen_is_due(&seen, getpid(), TICKS));
    map_seen_scan(&seen, getpid(), TICKS);
    ck_assert_uint_gt(seen.count, 0);
    ck_assert(!map_seen_is_due(&seen, getpid(), TICKS));
    ck_assert(map_seen_is_due(&seen, getpid(), TICKS + 1));
    map_seen_scan(&seen, 0, TICKS + 1); /* it cannot be read: it is gone */
    ck_assert_uint_eq(seen.count, 0);
    ck_assert(!map_seen_is_due(&seen, 0, TICKS + 1));
    map_seen_fini(&seen);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("map_seen");
    TCase *tc = tcase_create("map_seen");

    tcase_add_test(tc, a_mapping_is_as_old_as_half_of_it);
    tcase_add_test(tc, pieces_keep_their_times);
    tcase_add_test(tc, another_process_begins_anew);
    tcase_add_test(tc, the_largest_are_remembered);
    tcase_add_test(tc, a_look_is_due_at_first_and_at_another_process);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
