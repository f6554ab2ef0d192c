/* test_jemalloc_known.c - how the agent parses HEAPWIRE_JEMALLOC. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jemalloc_known.h"
#include "suite.h"

#define CODE   "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define NAME16 "abcdefghijklmnop"
#define NAME64 NAME16 NAME16 NAME16 NAME16

static const char good[] = "3f0c,1a2b30,je_,JE_MALLOC_CONF,scan";

/* Parses a copy in a block of exactly that size. */
static size_t
parse(const char *text, struct known out[KNOWN_MAX])
{
    char *copy = strdup(text);
    size_t count = known_parse(copy, out);

    free(copy);
    return count;
}

START_TEST(an_entry_is_a_file_and_a_place)
{
    struct known known[KNOWN_MAX];

    ck_assert_uint_eq(parse(good, known), 1);
    ck_assert_uint_eq(known[0].mark_size, 2);
    ck_assert_uint_eq(known[0].mark[0], 0x3f);
    ck_assert_uint_eq(known[0].mark[1], 0x0c);
    ck_assert(!known[0].is_code);
    ck_assert_uint_eq(known[0].address, 0x1a2b30);
    ck_assert_str_eq(known[0].prefix, "je_");
    ck_assert_str_eq(known[0].variable, "JE_MALLOC_CONF");
    ck_assert_str_eq(known[0].how, "scan");
    ck_assert_uint_eq(
        parse("3F,0,,,symtab;-" CODE ",FFFFFFFFFFFFFFFF,_rjem_,A,given", known),
        2);
    ck_assert_uint_eq(known[0].mark[0], 0x3f);
    ck_assert_uint_eq(known[0].address, 0);
    ck_assert_str_eq(known[0].prefix, "");
    ck_assert(known[1].is_code);
    ck_assert_uint_eq(known[1].mark_size, KNOWN_CODE_BYTES);
    ck_assert_uint_eq(known[1].mark[1], 0x11);
    ck_assert_uint_eq(known[1].address, UINT64_MAX);
}
END_TEST

static const char *const wrong[] = {
    "",
    ";",
    ";;;;;",
    "3f0c",
    "3f0c,1,je_,A",
    "3f0c,1,je_,A,scan,more",
    "3f0,1,je_,A,scan",
    ",1,je_,A,scan",
    "-,1,je_,A,scan",
    "-3f,1,je_,A,scan",
    "zz,1,je_,A,scan",
    "3f 0,1,je_,A,scan",
    "3f,,je_,A,scan",
    "3f,0x1,je_,A,scan",
    "3f,-1,je_,A,scan",
    "3f,10000000000000000,je_,A,scan",
    "3f,1,je-,A,scan",
    "3f,1,je_,A=B,scan",
    "3f,1,je_,A,sc\tan",
    "3f,1," NAME64 ",A,scan",
    "3f,1,je_," NAME64 ",scan",
    "3f,1,je_,A," NAME16,
    CODE CODE "00,1,je_,A,scan",
    "-" CODE "00,1,je_,A,scan",
};

START_TEST(what_is_malformed_is_passed_over)
{
    struct known known[KNOWN_MAX];
    char both[512];

    ck_assert_uint_eq(parse(wrong[_i], known), 0);
    snprintf(both, sizeof(both), "%s;%s;%s", wrong[_i], good, wrong[_i]);
    ck_assert_uint_eq(parse(both, known), 1);
    ck_assert_uint_eq(known[0].address, 0x1a2b30);
}
END_TEST

/* Cut anywhere, the text is no entry, or one with a shorter last word. */
START_TEST(what_is_cut_off_means_nothing_else)
{
    struct known known[KNOWN_MAX];
    char text[sizeof(good)];

    for (size_t size = 0; size < sizeof(good) - 1; size++) {
        memcpy(text, good, size);
        text[size] = '\0';
        if (parse(text, known) == 1)
            ck_assert_str_eq(known[0].variable, "JE_MALLOC_CONF");
    }
}
END_TEST

START_TEST(there_is_a_most)
{
    struct known known[KNOWN_MAX];
    char text[(KNOWN_MAX + 4) * sizeof(good)] = "";

    for (int i = 0; i < KNOWN_MAX + 3; i++)
        sprintf(text + strlen(text), "3f,%x,je_,A,scan;", i + 1);
    ck_assert_uint_eq(parse(text, known), KNOWN_MAX);
    ck_assert_uint_eq(known[KNOWN_MAX - 1].address, KNOWN_MAX);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("jemalloc_known");
    TCase *tc = tcase_create("jemalloc_known");

    tcase_add_test(tc, an_entry_is_a_file_and_a_place);
    tcase_add_loop_test(tc, what_is_malformed_is_passed_over, 0,
                        sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tc, what_is_cut_off_means_nothing_else);
    tcase_add_test(tc, there_is_a_most);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
