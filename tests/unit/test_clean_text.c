/* test_clean_text.c - texts from outside, made harmless. */
#include <string.h>

#include "clean_text.h"
#include "suite.h"

static const struct {
    const char *in, *out;
} texts[] = {
    {"", ""},
    {"operator<<(int, char)", "operator<<(int, char)"},
    {"a\033]0;title\007b", "a?]0;title?b"},
    {"one\ntwo\r\t\x7f", "one?two???"},
    {"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80",
     "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80"},
    {"\xc2\x9b"
     "31m",
     "??31m"},                           /* C1: a terminal's CSI */
    {"\xc0\xaf \xe0\x80\xaf", "?? ???"}, /* overlong */
    {"\xed\xa0\x80", "???"},             /* a surrogate */
    {"\xf4\x90\x80\x80", "????"},        /* past U+10FFFF */
    {"\xe2\x82", "??"},                  /* cut */
    {"\xff\xfe"
     "x\x80",
     "??x?"},
};

START_TEST(only_printable_utf8_stays)
{
    struct span in = {texts[_i].in, strlen(texts[_i].in)};
    char out[64];

    clean_text(in, out);
    ck_assert_str_eq(out, texts[_i].out);
}
END_TEST

/* Sixteen bytes, or eight, are looked at as one. */
START_TEST(each_byte_is_judged_wherever_it_stands)
{
    char in[16], out[17];

    for (unsigned byte = 0; byte < 256; byte++)
        for (size_t at = 0; at < sizeof(in); at++)
            for (int around = 0; around < 2; around++) {
                bool plain = byte >= ' ' && byte <= '~';

                memset(in, around ? '~' : ' ', sizeof(in));
                in[at] = (char)byte;
                ck_assert(text_is_plain((struct span){in, sizeof(in)}) ==
                          plain);
                clean_text((struct span){in, sizeof(in)}, out);
                if (!plain)
                    in[at] = '?';
                ck_assert_mem_eq(out, in, sizeof(in));
                ck_assert_int_eq(out[16], '\0');
            }
}
END_TEST

START_TEST(a_text_is_plain_from_its_first_byte_to_its_last)
{
    static const char odd[] = {0, '\x1f', '\x7f', '\x80', '\xff'};
    char text[40];

    memset(text, 'x', sizeof(text));
    for (size_t size = 0; size < sizeof(text); size++) {
        ck_assert(text_is_plain((struct span){text, size}));
        for (size_t at = 0; at < sizeof(text); at++) {
            text[at] = odd[(at + size) % sizeof(odd)];
            ck_assert(text_is_plain((struct span){text, size}) == (at >= size));
            text[at] = 'x';
        }
    }
}
END_TEST

START_TEST(a_nul_does_not_hide_what_follows)
{
    char out[8];

    clean_text((struct span){"a\0b", 3}, out);
    ck_assert_str_eq(out, "a?b");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("clean_text");
    TCase *tc = tcase_create("clean_text");

    tcase_add_loop_test(tc, only_printable_utf8_stays, 0,
                        sizeof(texts) / sizeof(texts[0]));
    tcase_add_test(tc, each_byte_is_judged_wherever_it_stands);
    tcase_add_test(tc, a_text_is_plain_from_its_first_byte_to_its_last);
    tcase_add_test(tc, a_nul_does_not_hide_what_follows);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
