/* test_smaps.c - the text of smaps: as the kernel writes it, and as it should
 * not be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapping_line.h"
#include "memory_map.h"
#include "smaps.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define HEAD(place, name) place " rw-p 00000000 fe:00 7    " name "\n"
#define BODY(rss)                                                              \
    "Size:                  8 kB\nKernelPageSize: 4 kB\nRss: " rss " kB\n"     \
    "Pss: 1 kB\nShared_Dirty: 1 kB\nPrivate_Dirty: 2 kB\nAnonymous: 3 kB\n"    \
    "AnonHugePages: 0 kB\nSwap: 3 kB\nSwapPss: 1 kB\nVmFlags: rd wr\n"

static const char sample[] = HEAD("7f0000000000-7f0000002000",
                                  "/lib/a b.so (deleted)")
    BODY("4") "7f0000002000-7f0000004000 ---s 00000000 00:00 0 \n" BODY("8")
        HEAD("7f0000005000-7f0000007000", "[anon:it is]")
            BODY("0") "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0"
                      "                  [vsyscall]\n";

static struct memory_map *
parse(const char *text, size_t size)
{
    struct memory_map *map = memory_map_new();
    struct smaps smaps;

    ck_assert_ptr_nonnull(map);
    smaps_begin(&smaps, map);
    smaps_take(&smaps, (struct span){text, size});
    ck_assert(!smaps.no_memory);
    return map;
}

START_TEST(what_the_kernel_writes_is_read)
{
    struct memory_map *map = parse(sample, sizeof(sample) - 1);
    const struct memory_range *r = map->list;

    ck_assert_uint_eq(map->count, 4);
    ck_assert_uint_eq(map->bad_lines, 0);
    ck_assert_uint_eq(r[0].start, 0x7f0000000000);
    ck_assert_uint_eq(r[0].size, 8192);
    ck_assert_uint_eq(r[0].rss, 4096);
    ck_assert_uint_eq(r[0].dirty, 3072);
    ck_assert_uint_eq(r[0].anonymous, 3072);
    ck_assert_uint_eq(r[0].swap, 3072);
    ck_assert_str_eq(r[0].name, "/lib/a b.so (deleted)");
    ck_assert_str_eq(r[0].permissions, "rw-p");
    ck_assert(!r[0].bare && r[1].bare && !r[2].bare);
    ck_assert_str_eq(r[1].permissions, "---s");
    ck_assert_str_eq(r[2].name, "[anon:it is]");
    ck_assert_str_eq(r[3].name, "[vsyscall]");
    memory_map_unref(map);
}
END_TEST

START_TEST(cut_anywhere_it_is_read_as_far_as_it_goes)
{
    for (size_t size = 0; size < sizeof(sample); size++) {
        struct memory_map *map = parse(sample, size);

        ck_assert_uint_le(map->count, 4);
        ck_assert_uint_eq(map->bad_lines, 0);
        memory_map_unref(map);
    }
}
END_TEST

START_TEST(pieces_give_the_same)
{
    struct memory_map *map = memory_map_new();
    struct smaps smaps;
    size_t at = 0;

    smaps_begin(&smaps, map);
    for (size_t end = 1; end < sizeof(sample); end++)
        at += smaps_take(&smaps, (struct span){sample + at, end - at});
    ck_assert_uint_eq(at, sizeof(sample) - 1);
    ck_assert_uint_eq(map->count, 4);
    ck_assert_uint_eq(map->list[1].rss, 8192);
    memory_map_unref(map);
}
END_TEST

/* Each line is left out, and the one mapping that is good stays. */
static const char *const bad[] = {
    "7f0000002000-7f0000001000 rw-p 0 0:0 0\n",           /* ends before */
    "7f0000002000-7f0000002000 rw-p 0 0:0 0\n",           /* is empty */
    "1ffffffffffffffff-2ffffffffffffffff rw-p 0 0:0 0\n", /* past 64 bits */
    "7f0000002000 rw-p 0 0:0 0\n",                        /* has no end */
    "-7f0000002000 rw-p 0 0:0 0\n",                       /* has no start */
    "7f0000002000-7f0000003000 rw? 0 0:0 0\n",            /* permissions */
    "7f0000002000-7f0000003000 rw-pp 0 0:0 0\n",          /* more of them */
    "7f0000002000-7f0000003000\n",                        /* that is all */
    "7f0000002000-7f0000003000 rw-p 0 0:0\n",             /* no inode */
    "1000-7f0000000001 rw-p 0 0:0 0\n",                   /* overlaps */
    "0-1000 rw-p 0 0:0 0\n",                              /* comes too late */
    "\x01\x02\x03\n",
    "Rss: 5 kB\n",                       /* more than there is */
    "Rss: 99999999999999999999999 kB\n", /* than 64 bits have */
    "Rss: 18014398509481984 kB\n",       /* as bytes */
    "Swap: -1 kB\n",
    "Private_Dirty: 4 kB\nShared_Dirty: 1 kB\n", /* together */
};

START_TEST(what_makes_no_sense_is_left_out_and_counted)
{
    char text[512];
    int size = snprintf(text, sizeof(text),
                        "7f0000000000-7f0000001000 rw-p 0 0:0 0\n%s", bad[_i]);
    struct memory_map *map = parse(text, (size_t)size);

    ck_assert_uint_eq(map->count, 1);
    ck_assert_uint_eq(map->bad_lines, 1);
    ck_assert_uint_eq(map->list[0].rss, 0);
    ck_assert_uint_le(map->list[0].dirty, 4096);
    memory_map_unref(map);
}
END_TEST

/* What follows a line that is left out belongs to nobody. */
START_TEST(figures_of_a_bad_mapping_are_nobodys)
{
    static const char text[] = "1000-2000 rw-p 0 0:0 0 /a\nRss: 4 kB\n"
                               "nonsense\nRss: 4 kB\nSwap: 4 kB\n";
    struct memory_map *map = parse(text, sizeof(text) - 1);

    ck_assert_uint_eq(map->count, 1);
    ck_assert_uint_eq(map->list[0].rss, 4096);
    ck_assert_uint_eq(map->list[0].swap, 0);
    memory_map_unref(map);
}
END_TEST

START_TEST(names_are_made_fit_for_rows)
{
    static const char text[] =
        "1000-2000 rw-p 0 0:0 1 /a\\012b\x01\x1b[31m\xff\r\n"
        "2000-3000 rw-p 0 0:0 1 /\xc3\xa4\n";
    struct memory_map *map = parse(text, sizeof(text) - 1);

    ck_assert_uint_eq(map->count, 2);
    ck_assert_str_eq(map->list[0].name, "/a\\012b??[31m??");
    ck_assert_str_eq(map->list[1].name, "/\xc3\xa4");
    memory_map_unref(map);
}
END_TEST

START_TEST(a_long_name_is_cut_and_a_longer_line_skipped)
{
    enum { LONG = RANGE_NAME_MAX + 100, LONGER = MAPPING_LINE_MAX + 2 };
    char *text = malloc(LONG + LONGER + 100);
    size_t size = (size_t)sprintf(text, "1000-2000 rw-p 0 0:0 1 /");
    struct memory_map *map;

    memset(text + size, 'x', LONG);
    text[size + LONG] = '\n';
    map = parse(text, size + LONG + 1);
    ck_assert_uint_eq(strlen(map->list[0].name), RANGE_NAME_MAX);
    memory_map_unref(map);
    memset(text, 'x', LONGER); /* it never ends */
    map = parse(text, LONGER);
    ck_assert_uint_eq(map->count, 0);
    ck_assert_uint_eq(map->bad_lines, 1);
    memory_map_unref(map);
    free(text);
}
END_TEST

START_TEST(mappings_past_the_ceiling_are_summed_up)
{
    enum { ALL = 100000, ROOM = ALL * 64 };
    char *text = malloc(ROOM);
    struct memory_map *map;
    uint64_t rss = 0;
    size_t size = 0;

    for (unsigned i = 1; i <= ALL; i++)
        size += (size_t)sprintf(
            text + size, "%x000-%x000 rw-p 0 0:0 0\nRss: 4 kB\n", i, i + 1);
    map = parse(text, size);
    ck_assert_uint_eq(map->count, MEMORY_MAP_MAX);
    ck_assert_uint_eq(map->rest_count, ALL - MEMORY_MAP_MAX);
    for (size_t i = 0; i < map->count; i++)
        rss += map->list[i].rss;
    ck_assert_uint_eq(rss + map->rest.rss, ALL * 4096ull);
    memory_map_unref(map);
    free(text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("smaps");
    TCase *tc = tcase_create("smaps");

    tcase_add_test(tc, what_the_kernel_writes_is_read);
    tcase_add_test(tc, cut_anywhere_it_is_read_as_far_as_it_goes);
    tcase_add_test(tc, pieces_give_the_same);
    tcase_add_loop_test(tc, what_makes_no_sense_is_left_out_and_counted, 0,
                        COUNT(bad));
    tcase_add_test(tc, figures_of_a_bad_mapping_are_nobodys);
    tcase_add_test(tc, names_are_made_fit_for_rows);
    tcase_add_test(tc, a_long_name_is_cut_and_a_longer_line_skipped);
    tcase_add_test(tc, mappings_past_the_ceiling_are_summed_up);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
