/* test_mappings.c - /proc/self/maps as it is, and as it should not be. */
#include <string.h>
#include <sys/sysmacros.h>

#include "arena.h"
#include "reader.h"
#include "mappings.h"
#include "suite.h"

static const char maps_text[] =
    "55d0c0a00000-55d0c0b00000 r--p 00000000 fe:01 42   /usr/bin/my db\n"
    "55d0c0b00000-55d0c0c00000 r-xp 00100000 fe:01 42   /usr/bin/my db\n"
    "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
    "7f0000002000-7f0000003000 r-xp 00000000 08:01 7    /lib/x.so (deleted)\n"
    "rubbish\n"
    "7f0000002800-7f0000004000 r-xp 00000000 08:01 7    /overlap\n"
    "7f0000005000-7f00";

START_TEST(lines_are_parsed_and_bad_ones_skipped)
{
    struct arena *arena = arena_new(1 << 20);
    struct mappings maps;
    size_t skipped;

    ck_assert_int_eq(mappings_parse(arena, maps_text, sizeof(maps_text) - 1,
                                    &maps, &skipped, NULL),
                     0);
    ck_assert_uint_eq(maps.count, 4);
    ck_assert_uint_eq(skipped, 3);
    ck_assert_str_eq(maps.list[1].path, "/usr/bin/my db");
    ck_assert(maps.list[1].executable && !maps.list[0].executable);
    ck_assert_uint_eq(maps.list[1].offset, 0x100000);
    ck_assert_uint_eq(maps.list[1].device, makedev(0xfe, 1));
    ck_assert_uint_eq(maps.list[1].inode, 42);
    ck_assert_str_eq(maps.list[2].path, "");
    ck_assert_str_eq(maps.list[3].path, "/lib/x.so");
    ck_assert(maps.list[3].deleted);
    ck_assert_str_eq(base_name(maps.list[3].path), "x.so");
    arena_free(arena);
}
END_TEST

START_TEST(an_address_finds_its_mapping)
{
    struct arena *arena = arena_new(1 << 20);
    struct mappings maps;

    ck_assert_int_eq(mappings_parse(arena, maps_text, sizeof(maps_text) - 1,
                                    &maps, NULL, NULL),
                     0);
    ck_assert_ptr_eq(mappings_find(&maps, 0x55d0c0b00000), &maps.list[1]);
    ck_assert_ptr_eq(mappings_find(&maps, 0x55d0c0bfffff), &maps.list[1]);
    ck_assert_ptr_null(mappings_find(&maps, 0x55d0c0c00000));
    ck_assert_ptr_null(mappings_find(&maps, 0));
    ck_assert_ptr_null(mappings_find(&maps, UINT64_MAX));
    arena_free(arena);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("mappings");
    TCase *tc = tcase_create("mappings");

    tcase_add_test(tc, lines_are_parsed_and_bad_ones_skipped);
    tcase_add_test(tc, an_address_finds_its_mapping);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
