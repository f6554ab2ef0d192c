/* test_reader.c - the bounded reader. */
#include <string.h>

#include "reader.h"
#include "suite.h"

START_TEST(u24_refuses_to_run_off_the_end)
{
    static const uint8_t two[] = {1, 2};
    struct reader r = reader_of(two, sizeof(two));

    ck_assert_uint_eq(reader_u24(&r), 0);
    ck_assert(r.failed);
    ck_assert_uint_eq(reader_u8(&r), 0);
    ck_assert(!reader_done(&r));
}
END_TEST

START_TEST(integers_are_little_endian)
{
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct reader r = reader_of(bytes, sizeof(bytes));

    ck_assert_uint_eq(reader_u64(&r), 0x0807060504030201ULL);
    ck_assert(reader_done(&r));
    r = reader_of(bytes, sizeof(bytes));
    ck_assert_uint_eq(reader_u24(&r), 0x030201);
    ck_assert_uint_eq(reader_u16(&r), 0x0504);
    ck_assert_uint_eq(reader_left(&r), 3);
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
    bool ok;
    uint64_t value;
} lenencs[] = {
    {"\xfa", 1, true, 0xfa},
    {"\xfc\x01\x02", 3, true, 0x0201},
    {"\xfd\x01\x02\x03", 4, true, 0x030201},
    {"\xfe\x01\0\0\0\0\0\0\x80", 9, true, 0x8000000000000001ULL},
    {"\xfb", 1, false, 0},
    {"\xff", 1, false, 0},
    {"\xfc\x01", 2, false, 0},
    {"", 0, false, 0},
};

START_TEST(lenenc_integers)
{
    struct reader r = reader_of(lenencs[_i].bytes, lenencs[_i].size);
    uint64_t value = reader_lenenc(&r);

    ck_assert_int_eq(reader_done(&r), lenencs[_i].ok);
    ck_assert_uint_eq(value, lenencs[_i].value);
}
END_TEST

START_TEST(lenenc_bytes_never_reach_past_the_end)
{
    struct reader r = reader_of("\xfe\xff\xff\xff\xff\xff\xff\xff\xff"
                                "ab",
                                11);
    struct span s = reader_lenenc_bytes(&r);

    ck_assert(r.failed);
    ck_assert_uint_eq(s.size, 0);
}
END_TEST

START_TEST(text_needs_its_nul)
{
    struct reader r = reader_of("ab\0cd", 5);

    ck_assert(span_is(reader_text(&r), "ab"));
    ck_assert_uint_eq(reader_text(&r).size, 0);
    ck_assert(r.failed);
}
END_TEST

START_TEST(lines_end_at_newline_or_end)
{
    struct reader r = reader_of("a\n\nlast", 7);
    struct span line;

    ck_assert(reader_line(&r, &line) && span_is(line, "a"));
    ck_assert(reader_line(&r, &line) && span_is(line, ""));
    ck_assert(reader_line(&r, &line) && span_is(line, "last"));
    ck_assert(!reader_line(&r, &line));
}
END_TEST

START_TEST(what_is_around_a_text_is_trimmed)
{
    ck_assert(span_is(span_trim((struct span){" \ta b\r\n", 7}), "a b"));
    ck_assert(span_is(span_trim((struct span){" \t\n", 3}), ""));
    ck_assert(span_is(span_trim((struct span){"", 0}), ""));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("reader");
    TCase *tc = tcase_create("reader");

    tcase_add_test(tc, u24_refuses_to_run_off_the_end);
    tcase_add_test(tc, integers_are_little_endian);
    tcase_add_loop_test(tc, lenenc_integers, 0,
                        sizeof(lenencs) / sizeof(lenencs[0]));
    tcase_add_test(tc, lenenc_bytes_never_reach_past_the_end);
    tcase_add_test(tc, text_needs_its_nul);
    tcase_add_test(tc, lines_end_at_newline_or_end);
    tcase_add_test(tc, what_is_around_a_text_is_trimmed);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
