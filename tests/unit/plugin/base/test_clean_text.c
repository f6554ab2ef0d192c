/* test_clean_text.c - texts from outside, made harmless. */
#include <string.h>

#include "buffer.h"
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

/* Blocks of 16 or 8 bytes are checked at once: each byte of one must count. */
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

static size_t
encode(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Errors are counted: one assertion each would take longer than all the
 * rest. */
START_TEST(every_character_is_utf8_and_no_part_of_one)
{
    unsigned wrong = 0;
    char text[32];

    for (uint32_t code = 0; code < 0x1fffff; code++) {
        bool known = code < 0xd800 || (code > 0xdfff && code <= 0x10ffff);
        size_t at = code % 17, size;

        memset(text, 'x', sizeof(text));
        size = encode(code, text + at);
        wrong += text_is_utf8((struct span){text, sizeof(text)}) != known;
        for (size_t cut = 1; cut < size; cut++) {
            wrong += text_is_utf8((struct span){text, at + cut});
            text[at + cut] = 'x';
            wrong += text_is_utf8((struct span){text, sizeof(text)});
            size = encode(code, text + at);
        }
    }
    ck_assert_uint_eq(wrong, 0);
    ck_assert(text_is_utf8((struct span){text, 0}));
}
END_TEST

/* A sequence is UTF-8 only if decoding and encoding it again gives the same. */
START_TEST(nothing_else_is_utf8)
{
    unsigned wrong = 0;
    char out[4];

    for (uint32_t bits = 0x800000; bits < 1 << 24; bits++) {
        char in[3] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
        uint32_t code =
            (bits >> 16 & 15) << 12 | (bits >> 8 & 0x3f) << 6 | (bits & 0x3f);
        bool known = encode(code, out) == 3 && memcmp(in, out, 3) == 0 &&
                     (code < 0xd800 || code > 0xdfff);

        if ((bits & 0xe00000) != 0xc00000) /* two bytes: below */
            wrong += text_is_utf8((struct span){in, 3}) != known;
    }
    for (uint32_t bits = 0xc000; bits < 0xe000; bits++) {
        char in[2] = {(char)(bits >> 8), (char)bits};
        bool known = (bits & 0xc0) == 0x80 && bits >= 0xc200;

        wrong += text_is_utf8((struct span){in, 2}) != known;
    }
    ck_assert_uint_eq(wrong, 0);
    ck_assert(!text_is_utf8((struct span){"\xc0\x80", 2}));
    ck_assert(!text_is_utf8((struct span){"\xf0\x80\x80\x80", 4}));
    ck_assert(!text_is_utf8((struct span){"\xf8\x88\x80\x80\x80", 5}));
}
END_TEST

static const struct {
    const char *text, *json;
} jsons[] = {
    {"", "\"\""},
    {"a", "\"a\""},
    {"<script>&", "\"\\u003cscript\\u003e\\u0026\""},
    {"]]>\"\\", "\"]]\\u003e\\u0022\\u005c\""},
    {"a\nb\x01", "\"a\\u000ab\\u0001\""},
    {"caf\xc3\xa9", "\"caf\xc3\xa9\""},
    {"\xef\xbf\xbe.\xef\xbf\xbf", "\"\\ufffd.\\ufffd\""},
    {"\xef\xbf", "\"??\""},
    {"a\xff<caf\xc3\xa9\n", "\"a?\\u003ccaf\xc3\xa9?\""},
};

START_TEST(json_is_escaped)
{
    struct buffer out;

    buffer_init(&out, 1000);
    json_append_string(jsons[_i].text, strlen(jsons[_i].text), &out);
    ck_assert_str_eq(out.data, jsons[_i].json);
    buffer_fini(&out);
}
END_TEST

static const struct {
    const char *text;
    bool bare, bare_double;
} numbers[] = {
    {"0", true, true},
    {"-1.50", true, true},
    {"9007199254740991", true, true},
    {"-9007199254740991", true, true},
    {"9007199254740992", false, true}, /* as 2^53 + 1 would be read, too */
    {"18446744073709551615", false, true},
    {"0.123456789012345", false, true},
    {"0.12345678901234", true, true},
    {"1e300", false, true},
    {"-2.5e-7", false, true},
    {"1e", false, false},
    {"1e+", false, false},
    {"007", false, false},
    {"1.", false, false},
    {".5", false, false},
    {"--1", false, false},
    {"-", false, false},
    {"1 ", false, false},
    {"nan", false, false},
    {"", false, false},
};

START_TEST(a_number_is_bare_where_javascript_reads_it_as_it_is)
{
    struct span text = {numbers[_i].text, strlen(numbers[_i].text)};

    ck_assert_int_eq(json_is_number(text, false), numbers[_i].bare);
    ck_assert_int_eq(json_is_number(text, true), numbers[_i].bare_double);
}
END_TEST

static const struct {
    const char *text, *escaped;
} xmls[] = {
    {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
    {"]]>", "]]&gt;"},
    {"a&b", "a&amp;b"},
    {"\"'", "&quot;&#39;"},
    {"\xef\xbf\xbe!\xef\xbf\xbf", "\?\?\?!\?\?\?"},
    {"caf\xc3\xa9", "caf\xc3\xa9"},
    {"", ""},
};

START_TEST(xml_is_escaped)
{
    struct buffer out;

    buffer_init(&out, 1000);
    xml_text(xmls[_i].text, strlen(xmls[_i].text), &out);
    ck_assert_str_eq(out.data ? out.data : "", xmls[_i].escaped);
    buffer_fini(&out);
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
    tcase_add_test(tc, every_character_is_utf8_and_no_part_of_one);
    tcase_add_test(tc, nothing_else_is_utf8);
    tcase_add_loop_test(tc, json_is_escaped, 0,
                        sizeof(jsons) / sizeof(jsons[0]));
    tcase_add_loop_test(tc, a_number_is_bare_where_javascript_reads_it_as_it_is,
                        0, sizeof(numbers) / sizeof(numbers[0]));
    tcase_add_loop_test(tc, xml_is_escaped, 0, sizeof(xmls) / sizeof(xmls[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
