/* test_page.c - the page's files: small, and safe under its policy. */
#include <string.h>

#include "page_files.h"
#include "suite.h"

enum { PAGE_BYTES_MAX = 110 << 10 };

START_TEST(it_is_small)
{
    ck_assert_uint_lt(page_html_size + page_css_size + page_js_size,
                      PAGE_BYTES_MAX);
    ck_assert_uint_eq(page_js_size, strlen(page_js));
}
END_TEST

START_TEST(nothing_is_inline_or_from_elsewhere)
{
    static const char *const wrong[] = {"style=",  "onclick",  "onload",
                                        "http://", "https://", "<style"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_msg(!strstr(page_html, wrong[i]), "%s", wrong[i]);
    ck_assert_ptr_nonnull(strstr(page_html, "<script src=\"page.js\" defer>"
                                            "</script>"));
    ck_assert_ptr_null(strstr(page_css, "@import"));
    ck_assert_ptr_null(strstr(page_css, "url("));
}
END_TEST

START_TEST(no_text_becomes_markup_or_code)
{
    static const char *const wrong[] = {
        "innerHTML",    "outerHTML",      "insertAdjacentHTML", "eval(",
        "new Function", "document.write", "DOMParser",          "srcdoc"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_msg(!strstr(page_js, wrong[i]), "%s", wrong[i]);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("page");
    TCase *tc = tcase_create("page");

    tcase_add_test(tc, it_is_small);
    tcase_add_test(tc, nothing_is_inline_or_from_elsewhere);
    tcase_add_test(tc, no_text_becomes_markup_or_code);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
