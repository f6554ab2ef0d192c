/* test_shown_name.c - what fits into so many columns. */
#include "view_options.h"

#include <string.h>

#include "buffer.h"
#include "suite.h"

static const struct {
    const char *text;
    size_t columns;
    const char *shown;
} middles[] = {
    {"", 5, ""},
    {"abcde", 5, "abcde"},
    {"abcdef", 5,
     "ab\xe2\x80\xa6"
     "ef"},
    {"abcdefg", 6,
     "abc\xe2\x80\xa6"
     "fg"},
    {"abcdef", 3,
     "a\xe2\x80\xa6"
     "f"},
    {"std::vector<int>::push_back", 15,
     "std::ve\xe2\x80\xa6"
     "sh_back"},
    /* Two columns each: there is no half of one. */
    {"\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 8,
     "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"},
    {"\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 7,
     "\xe6\xbc\xa2\xe2\x80\xa6\xe6\xbc\xa2"},
    {"a\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"
     "b",
     6,
     "a\xe6\xbc\xa2\xe2\x80\xa6"
     "b"},
};

START_TEST(what_is_too_wide_loses_its_middle)
{
    const char *text = middles[_i].text;
    struct buffer out;

    buffer_init(&out, 1024);
    shown_middle(text, strlen(text), middles[_i].columns, &out);
    buffer_char(&out, '\0');
    ck_assert(!out.failed);
    ck_assert_str_eq(out.data, middles[_i].shown);
    ck_assert_uint_le(shown_columns(out.data, strlen(out.data)),
                      middles[_i].columns);
    buffer_fini(&out);
}
END_TEST

START_TEST(lines_break_at_blanks)
{
    static const char text[] = "allocated 34.7 MB, resident 41.2 MB";

    ck_assert_uint_eq(shown_line(text, strlen(text), 100), strlen(text));
    ck_assert_uint_eq(shown_line(text, strlen(text), 20),
                      strlen("allocated 34.7 MB, "));
    ck_assert_uint_eq(shown_line("abcdef", 6, 4), 4);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("shown_name");
    TCase *tc = tcase_create("shown_name");

    tcase_add_loop_test(tc, what_is_too_wide_loses_its_middle, 0,
                        sizeof(middles) / sizeof(middles[0]));
    tcase_add_test(tc, lines_break_at_blanks);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
