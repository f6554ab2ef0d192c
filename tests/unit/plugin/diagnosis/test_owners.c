/* test_owners.c - whose the part of RSS is that no jemalloc has, by a map. */
#include <string.h>

#include "memory_map.h"
#include "owners.h"
#include "suite.h"

#define MB_OF(n) ((uint64_t)(n) << 20)

static struct memory_map *map;
static struct owner_sums sums;

static struct memory_range *
add_range(enum range_kind kind, const char *name, uint64_t size, uint64_t rss)
{
    struct memory_range *range = memory_map_add(map);

    range->kind = kind;
    range->name = name;
    range->size = size;
    range->rss = rss;
    return range;
}

static void
begin_map(void)
{
    map = memory_map_new();
    map->taken_ms = 1700000000000;
}

static void
sum_map(void)
{
    ck_assert(owners_sum(map, &sums));
    memory_map_unref(map);
}

START_TEST(owners_are_summed_and_the_largest_come_first)
{
    begin_map();
    add_range(RANGE_JEMALLOC, "", MB_OF(900), MB_OF(900));
    for (int i = 0; i < 300; i++)
        add_range(RANGE_STACK, "[stack]", MB_OF(8), MB_OF(1));
    add_range(RANGE_FILE, "/usr/lib/a.so", MB_OF(20), MB_OF(10));
    add_range(RANGE_FILE, "/usr/lib/b.so", MB_OF(60), MB_OF(50));
    add_range(RANGE_FILE, "/usr/lib/a.so", MB_OF(30), MB_OF(20));
    add_range(RANGE_SHARED, "/dev/shm/x", MB_OF(64), MB_OF(40));
    add_range(RANGE_FILE, "/usr/lib/small.so", MB_OF(1), MB_OF(1));
    add_range(RANGE_PAGE_TABLES, "VmPTE", MB_OF(7), 0);
    sum_map();
    ck_assert_uint_eq(sums.count, 4);
    ck_assert_str_eq(sums.list[0].name, "thread stacks (300 mappings)");
    ck_assert_uint_eq(sums.list[0].bytes, MB_OF(300));
    ck_assert_str_eq(sums.list[1].name, "the file /usr/lib/b.so");
    ck_assert_str_eq(sums.list[2].name, "shared memory /dev/shm/x");
    ck_assert_str_eq(sums.list[3].name, "the file /usr/lib/a.so");
    ck_assert_uint_eq(sums.list[3].bytes, MB_OF(30));
    ck_assert_uint_eq(sums.more.value, MB_OF(1));
    ck_assert_uint_eq(sums.jemalloc.value, MB_OF(900));
    ck_assert_uint_eq(sums.page_tables.value, MB_OF(7));
    ck_assert_int_eq(sums.taken_ms, 1700000000000);
}
END_TEST

START_TEST(foreign_memory_is_told_one_by_one)
{
    begin_map();
    add_range(RANGE_FOREIGN, "", MB_OF(128), MB_OF(100))->first_seen_ms =
        1699999990000;
    add_range(RANGE_FOREIGN, "", MB_OF(64), MB_OF(64))->owner =
        "code made at run time";
    for (int i = 0; i < 200; i++)
        add_range(RANGE_FOREIGN, "", MB_OF(1), MB_OF(1));
    sum_map();
    ck_assert_uint_eq(sums.count, 2);
    ck_assert_str_eq(sums.list[0].name,
                     "anonymous memory (a mapping of 128.0 MB, seen since "
                     "2023-11-14 22:13:10 UTC)");
    ck_assert_str_eq(sums.list[1].name,
                     "anonymous memory of code made at run time (a mapping of "
                     "64.0 MB, since when is not known)");
    ck_assert_uint_eq(sums.more.value, MB_OF(200));
}
END_TEST

START_TEST(an_empty_map_has_none)
{
    begin_map();
    sum_map();
    ck_assert_uint_eq(sums.count, 0);
    ck_assert(!sums.more.known && !sums.jemalloc.known &&
              !sums.page_tables.known);
}
END_TEST

START_TEST(what_is_not_worth_it_is_not_asked_for)
{
    struct diagnosis_facts facts = {.has_jemalloc = true,
                                    .rss = {true, MB_OF(1000)},
                                    .outside = {true, MB_OF(200)},
                                    .least_outside = {true, MB_OF(160)}};

    ck_assert(owners_are_wanted(&facts));
    facts.least_outside.value = MB_OF(140);
    ck_assert(!owners_are_wanted(&facts));
    facts.has_jemalloc = false;
    ck_assert(owners_are_wanted(&facts));
    facts.rss.known = false;
    ck_assert(!owners_are_wanted(&facts));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("owners");
    TCase *tcase = tcase_create("owners");

    tcase_add_test(tcase, owners_are_summed_and_the_largest_come_first);
    tcase_add_test(tcase, foreign_memory_is_told_one_by_one);
    tcase_add_test(tcase, an_empty_map_has_none);
    tcase_add_test(tcase, what_is_not_worth_it_is_not_asked_for);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
