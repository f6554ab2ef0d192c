/* test_like.c - LIKE as MySQL has it. */
#include <string.h>

#include "collate.h"
#include "suite.h"

static const struct {
    const char *text, *pattern;
    bool matches;
} cases[] = {
    {"", "", true},
    {"a", "", false},
    {"", "%", true},
    {"abc", "abc", true},
    {"ABC", "abc", true},
    {"abc", "ab", false},
    {"abc", "a%", true},
    {"abc", "%c", true},
    {"abc", "%b%", true},
    {"abc", "a_c", true},
    {"abc", "a_", false},
    {"abc", "____", false},
    {"a%c", "a\\%c", true},
    {"abc", "a\\%c", false},
    {"a_c", "a\\_c", true},
    {"abc", "a\\_c", false},
    {"\xc3\xa9t\xc3\xa9", "_t_", true},
    {"\xc3\xa9", "__", false},
    {"aXbXc", "a%b%c", true},
    {"mississippi", "m%iss%pi", true},
    {"mississippi", "m%iss%x", false},
    {"\\", "\\\\", true},
    {"\xc3\x84rger", "a%R", true},
    {"\xc3\xa4", "\xc3\x84", true},
    {"\xc3\xa4", "\\a", true},
    {"a", "a ", false},
    {"lower_case_table_names", "lower_case_%", true},
};

START_TEST(patterns_match_or_not)
{
    struct span text = {cases[_i].text, strlen(cases[_i].text)};
    struct span pattern = {cases[_i].pattern, strlen(cases[_i].pattern)};

    ck_assert_int_eq(like_match(text, pattern, '\\'), cases[_i].matches);
}
END_TEST

START_TEST(another_escape_makes_the_backslash_a_letter)
{
    struct span text = {"a%\\", 3}, pattern = {"a!%\\", 4};

    ck_assert(like_match(text, pattern, '!'));
}
END_TEST

START_TEST(patterns_have_a_ceiling)
{
    static char many[LIKE_PATTERN_MAX + 1];
    struct span text = {"a", 1}, pattern = {many, sizeof(many)};

    memset(many, '%', sizeof(many));
    ck_assert(!like_match(text, pattern, '\\'));
    pattern.size--;
    ck_assert(like_match(text, pattern, '\\'));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("like");
    TCase *tc = tcase_create("like");

    tcase_add_loop_test(tc, patterns_match_or_not, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tc, another_escape_makes_the_backslash_a_letter);
    tcase_add_test(tc, patterns_have_a_ceiling);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
