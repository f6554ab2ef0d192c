/* test_dot_fit.c - texts of graphviz's pictures stay within their boxes. */
#include <stdlib.h>

#include "buffer.h"
#include "dot_fit.h"
#include "suite.h"

#define BOX(width)                                                             \
    "</title>\n<polygon fill=\"#fff\" points=\"" width                         \
    ",-116 0,-116 0,-78 " width ",-78 " width ",-116\"/>\n"
#define TEXT(size, text)                                                       \
    "<text text-anchor=\"middle\" x=\"1\" font-size=\"" size "\">" text        \
    "</text>\n"

static struct buffer
fit(const char *svg)
{
    struct buffer out;

    buffer_init(&out, 1 << 16);
    dot_fit_texts(svg, strlen(svg), &out);
    buffer_char(&out, '\0');
    ck_assert(!out.failed);
    return out;
}

/* The width that the text got; -1: none. */
static double
fitted(const char *svg)
{
    struct buffer out = fit(svg);
    const char *at = strstr(out.data, "textLength=\"");
    double width = at ? strtod(at + strlen("textLength=\""), NULL) : -1;

    buffer_fini(&out);
    return width;
}

START_TEST(a_text_is_as_wide_as_in_helvetica)
{
    ck_assert_double_eq_tol(fitted(BOX("200") TEXT("10.00", "main")),
                            8.33 + 5.56 + 2.22 + 5.56, 0.06);
    ck_assert_double_eq_tol(fitted(BOX("200") TEXT("20.00", "a&amp;&lt;")),
                            2 * (5.56 + 6.67 + 5.56), 0.06);
    ck_assert_double_eq_tol(
        fitted(BOX("200") TEXT("10.00", "\xc3\xa9\xe6\x97\xa5")), 5.56 + 10,
        0.06);
}
END_TEST

START_TEST(none_is_wider_than_its_box)
{
    ck_assert_double_eq(fitted(BOX("30") TEXT("10.00", "WWWWWWWW")), 24);
    ck_assert_double_eq(fitted(BOX("2") TEXT("10.00", "WWWWWWWW")), 1);
}
END_TEST

START_TEST(an_arrow_is_no_box)
{
    ck_assert_double_eq_tol(
        fitted("<path d=\"M1,2\"/>" BOX("7") TEXT("10.00", "mmmm")), 33.3,
        0.06);
}
END_TEST

START_TEST(all_else_stays)
{
    static const char svg[] = BOX("200") TEXT("10.00", "a") "<g>" TEXT("9", "");
    struct buffer out = fit(svg);
    static const char more[] =
        " textLength=\"5.6\" lengthAdjust=\"spacingAndGlyphs\"";
    char *at = strstr(out.data, more);

    ck_assert_ptr_nonnull(at);
    memmove(at, at + strlen(more), strlen(at + strlen(more)) + 1);
    ck_assert_str_eq(out.data, svg);
    buffer_fini(&out);
}
END_TEST

/* Whatever graphviz was stopped in. */
START_TEST(a_part_of_a_picture_is_read_to_its_end)
{
    static const char svg[] = BOX("200") TEXT("10.00", "a&amp;b");
    char *cut;

    for (size_t size = 0; size <= strlen(svg); size++) {
        struct buffer out;

        cut = strndup(svg, size);
        buffer_init(&out, 1 << 16);
        dot_fit_texts(cut, size, &out);
        ck_assert_uint_ge(out.size, size);
        buffer_fini(&out);
        free(cut);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dot_fit");
    TCase *tc = tcase_create("dot_fit");

    tcase_add_test(tc, a_text_is_as_wide_as_in_helvetica);
    tcase_add_test(tc, none_is_wider_than_its_box);
    tcase_add_test(tc, an_arrow_is_no_box);
    tcase_add_test(tc, all_else_stays);
    tcase_add_test(tc, a_part_of_a_picture_is_read_to_its_end);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
