/* test_buffer.c - growable buffers and arenas keep their ceilings. */
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "reader.h"
#include "suite.h"

START_TEST(appending_past_the_ceiling_fails_and_sticks)
{
    struct buffer b;

    buffer_init(&b, 4);
    buffer_text(&b, "abcd");
    ck_assert(!b.failed);
    buffer_char(&b, 'e');
    ck_assert(b.failed);
    ck_assert_str_eq(b.data, "abcd");
    buffer_clear(&b);
    buffer_text(&b, "x");
    ck_assert(!b.failed);
    ck_assert_str_eq(b.data, "x");
    buffer_fini(&b);
}
END_TEST

static const uint64_t lenencs[] = {0,       0xfa,     0xfb,      0xffff,
                                   0x10000, 0xffffff, 0x1000000, UINT64_MAX};

START_TEST(lenenc_reads_back)
{
    struct buffer b;
    struct reader r;

    buffer_init(&b, 64);
    buffer_lenenc(&b, lenencs[_i]);
    r = reader_of(b.data, b.size);
    ck_assert_uint_eq(reader_lenenc(&r), lenencs[_i]);
    ck_assert(reader_done(&r));
    buffer_fini(&b);
}
END_TEST

START_TEST(format_grows_as_needed)
{
    struct buffer b;

    buffer_init(&b, 10000);
    buffer_format(&b, "%0*d", 5000, 7);
    ck_assert_uint_eq(b.size, 5000);
    ck_assert_int_eq(b.data[4999], '7');
    buffer_drop_front(&b, 4999);
    ck_assert_str_eq(b.data, "7");
    buffer_fini(&b);
}
END_TEST

START_TEST(arena_keeps_its_limit)
{
    struct arena *arena = arena_new(100000);

    ck_assert_ptr_nonnull(arena);
    ck_assert_ptr_nonnull(arena_alloc(arena, 90000));
    ck_assert_ptr_null(arena_alloc(arena, 20000));
    ck_assert_ptr_null(arena_alloc(arena, SIZE_MAX));
    ck_assert_str_eq(arena_strndup(arena, "hello", 4), "hell");
    arena_free(arena);
}
END_TEST

START_TEST(a_cleared_arena_is_as_new)
{
    struct arena *arena = arena_new(4 << 20);

    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 100; i++) {
            size_t size = 100 + (size_t)i * (size_t)round * 100;
            unsigned char *place = arena_alloc(arena, size);

            ck_assert_ptr_nonnull(place);
            ck_assert(!place[0] && memcmp(place, place + 1, size - 1) == 0);
            memset(place, 0xff, size);
        }
        ck_assert_str_eq(arena_strndup(arena, "hello", 4), "hell");
        ck_assert_ptr_nonnull(arena_alloc(arena, 2 << 20));
        ck_assert_ptr_null(arena_alloc(arena, 4 << 20));
        arena_clear(arena);
        ck_assert_uint_eq(arena_used(arena), 0);
    }
    arena_free(arena);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("buffer");
    TCase *tc = tcase_create("buffer");

    tcase_add_test(tc, appending_past_the_ceiling_fails_and_sticks);
    tcase_add_loop_test(tc, lenenc_reads_back, 0,
                        sizeof(lenencs) / sizeof(lenencs[0]));
    tcase_add_test(tc, format_grows_as_needed);
    tcase_add_test(tc, arena_keeps_its_limit);
    tcase_add_test(tc, a_cleared_arena_is_as_new);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
