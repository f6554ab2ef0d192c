/* test_address_map.c - which of overlapping ranges has an address. */
#include "address_map.h"

#include <string.h>

#include "memory.h"
#include "suite.h"

enum { RANGES = 5 };

/* Ranges {start, end, rank, value}, ended by a zero end, and what comes out. */
static const struct row {
    const char *what;
    struct address_range in[RANGES], out[RANGES + 2];
} rows[] = {
    {"one stays as it is", {{1, 5, 0, 7}}, {{1, 5, 0, 7}}},
    {"order does not matter",
     {{20, 30, 0, 2}, {0, 10, 0, 1}},
     {{0, 10, 0, 1}, {20, 30, 0, 2}}},
    {"a better one inside splits",
     {{0, 30, 2, 1}, {10, 20, 1, 2}},
     {{0, 10, 0, 1}, {10, 20, 0, 2}, {20, 30, 0, 1}}},
    {"a worse one inside is lost",
     {{0, 30, 1, 1}, {10, 20, 2, 2}},
     {{0, 30, 0, 1}}},
    {"of equal ranks the lower value wins",
     {{0, 20, 1, 2}, {10, 30, 1, 1}},
     {{0, 10, 0, 2}, {10, 30, 0, 1}}},
    {"the worse one goes on where the better one ends",
     {{0, 20, 1, 1}, {10, 30, 2, 2}},
     {{0, 20, 0, 1}, {20, 30, 0, 2}}},
    {"neighbours of one value are one",
     {{0, 10, 1, 1}, {10, 20, 2, 1}},
     {{0, 20, 0, 1}}},
    {"the same range twice", {{0, 10, 1, 4}, {0, 10, 1, 3}}, {{0, 10, 0, 3}}},
    {"deep inside, then out again",
     {{0, 50, 5, 1}, {10, 40, 4, 2}, {20, 30, 3, 3}, {35, 60, 6, 4}},
     {{0, 10, 0, 1},
      {10, 20, 0, 2},
      {20, 30, 0, 3},
      {30, 40, 0, 2},
      {40, 50, 0, 1},
      {50, 60, 0, 4}}},
    {"up to the last address",
     {{UINT64_MAX - 1, UINT64_MAX, 0, 1}, {0, UINT64_MAX, 1, 2}},
     {{0, UINT64_MAX - 1, 0, 2}, {UINT64_MAX - 1, UINT64_MAX, 0, 1}}},
};

START_TEST(the_best_range_has_the_address)
{
    const struct row *row = &rows[_i];
    struct address_range in[RANGES], *made;
    size_t count = 0, made_count, want = 0;

    memcpy(in, row->in, sizeof(in));
    while (count < RANGES && in[count].end != 0)
        count++;
    while (row->out[want].end != 0)
        want++;
    made = address_map_make(in, count, &made_count);
    ck_assert_ptr_nonnull(made);
    ck_assert_msg(made_count == want, "%s: %zu ranges", row->what, made_count);
    for (size_t i = 0; i < want; i++)
        ck_assert_msg(made[i].start == row->out[i].start &&
                          made[i].end == row->out[i].end &&
                          made[i].value == row->out[i].value,
                      "%s: range %zu", row->what, i);
    mem_free(made);
}
END_TEST

/* The slow way to the same: for each address the best of all ranges. */
static uint32_t
best_at(const struct address_range *ranges, size_t count, uint64_t address)
{
    const struct address_range *best = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct address_range *r = &ranges[i];

        if (address >= r->start && address < r->end &&
            (!best || r->rank < best->rank ||
             (r->rank == best->rank && r->value < best->value)))
            best = r;
    }
    return best ? best->value : UINT32_MAX;
}

START_TEST(any_ranges_agree_with_a_look_at_each_of_them)
{
    enum { COUNT = 40, SPACE = 200 };
    struct address_range in[COUNT], *made;
    const struct address_range *found;
    size_t made_count;

    srand((unsigned)_i);
    for (size_t i = 0; i < COUNT; i++) {
        in[i].start = (uint64_t)(rand() % SPACE);
        in[i].end = in[i].start + 1 + (uint64_t)(rand() % 50);
        in[i].rank = (uint64_t)(rand() % 6);
        in[i].value = (uint32_t)(rand() % 20);
    }
    made = address_map_make(in, COUNT, &made_count);
    ck_assert_uint_le(made_count, 2 * COUNT - 1);
    for (uint64_t at = 0; at < SPACE + 60; at++) {
        found = address_map_find(made, made_count, at);
        ck_assert_uint_eq(found ? found->value : UINT32_MAX,
                          best_at(in, COUNT, at));
    }
    mem_free(made);
}
END_TEST

/* So many that they are sorted by digits: of few, of all, of low ones. */
START_TEST(many_ranges_agree_with_a_look_at_each_of_them)
{
    enum { COUNT = 3000, LOOKS = 500 };
    static struct address_range in[COUNT];
    static const unsigned shifts[] = {0, 13, 33};
    const struct address_range *found;
    struct address_range *made;
    size_t made_count;
    uint64_t at;

    srand((unsigned)_i);
    for (size_t i = 0; i < COUNT; i++) {
        in[i].start = (uint64_t)rand() << shifts[_i];
        in[i].end = in[i].start + 1 + ((uint64_t)rand() << shifts[_i]) / 500;
        in[i].rank = (uint64_t)(rand() % 6);
        in[i].value = (uint32_t)(rand() % 200);
    }
    made = address_map_make(in, COUNT, &made_count);
    ck_assert_uint_le(made_count, 2 * COUNT - 1);
    for (size_t i = 0; i < LOOKS; i++) {
        at = i % 2 ? in[i].end - i % 3 : in[i].start - (i % 4 == 0);
        found = address_map_find(made, made_count, at);
        ck_assert_uint_eq(found ? found->value : UINT32_MAX,
                          best_at(in, COUNT, at));
    }
    mem_free(made);
}
END_TEST

START_TEST(of_no_ranges_there_is_no_map)
{
    size_t count = 1;

    ck_assert_ptr_null(address_map_make(NULL, 0, &count));
    ck_assert_uint_eq(count, 0);
    ck_assert_ptr_null(address_map_find(NULL, 0, 5));
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("address map");
    TCase *tc = tcase_create("map");

    tcase_add_loop_test(tc, the_best_range_has_the_address, 0,
                        sizeof(rows) / sizeof(*rows));
    tcase_add_loop_test(tc, any_ranges_agree_with_a_look_at_each_of_them, 0,
                        50);
    tcase_add_loop_test(tc, many_ranges_agree_with_a_look_at_each_of_them, 0,
                        3);
    tcase_add_test(tc, of_no_ranges_there_is_no_map);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
