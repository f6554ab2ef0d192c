/* test_collapsed.c - a line per stack, whatever functions are called. */
#include "buffer.h"
#include "forms.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view_options.h"

static struct buffer
collapsed_of(const char *text, const struct fixture_name *names)
{
    struct profile *profile = fixture_profile(text, names, NULL);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_msg(collapsed_write(profile, NULL, &out, &err) == 0, "%s",
                  err.text);
    profile_free(profile);
    return out;
}

START_TEST(stacks_of_equal_names_are_one_line_and_the_heaviest_comes_first)
{
    static const struct fixture_name names[] = {
        {0x1000, "malloc", false, NULL, 0},
        {0x2001, "ns::put(int)|ns::Map<int>::all()", false, NULL, 0},
        {0x2101, "ns::put(int)|ns::Map<int>::all()", false, NULL, 0},
        {0x3001, "main", false, NULL, 0},
        {0}};
    struct buffer out = collapsed_of("heap_v2/1\n"
                                     "@ 0x1000 0x3001\n"
                                     "t*: 1: 500 [0: 0]\n"
                                     "@ 0x1000 0x2001 0x3001\n"
                                     "t*: 1: 1000 [0: 0]\n"
                                     "@ 0x1000 0x2101 0x3001\n"
                                     "t*: 1: 2000 [0: 0]\n",
                                     names);

    ck_assert_str_eq(out.data, "main;ns::Map<int>::all();ns::put(int)[inline] "
                               "3000\n"
                               "main 500\n");
    buffer_fini(&out);
}
END_TEST

START_TEST(a_stack_without_frames_is_called_so)
{
    static const struct fixture_name names[] = {
        {0x1000, "malloc", false, NULL, 0}, {0}};
    struct buffer out = collapsed_of("heap_v2/1\n"
                                     "@\n"
                                     "t*: 1: 7 [0: 0]\n"
                                     "@ 0x1000\n"
                                     "t*: 1: 8 [0: 0]\n",
                                     names);

    ck_assert_str_eq(out.data, "(no frames) 15\n");
    buffer_fini(&out);
}
END_TEST

START_TEST(an_empty_profile_is_no_lines)
{
    struct buffer out = collapsed_of("heap_v2/1\nt*: 0: 0 [0: 0]\n", NULL);

    ck_assert_uint_eq(out.size, 0);
    buffer_fini(&out);
}
END_TEST

static const struct {
    const char *name, *line;
} cleaned[] = {
    {"a;b", "a:b 1\n"},
    {"a\nb\r\x1b[31m", "a?b??[31m 1\n"},
    {"caf\xc3\xa9 \xff", "caf\xc3\xa9 ? 1\n"},
    {"turn\xe2\x80\xae", "turn??? 1\n"},
};

START_TEST(names_cannot_break_a_line)
{
    struct fixture_name names[] = {{0x1001, cleaned[_i].name, false, NULL, 0},
                                   {0}};
    struct buffer out =
        collapsed_of("heap_v2/1\n@ 0x1001\nt*: 1: 1 [0: 0]\n", names);

    ck_assert_str_eq(out.data, cleaned[_i].line);
    buffer_fini(&out);
}
END_TEST

START_TEST(a_cancel_request_is_obeyed)
{
    struct profile *profile =
        fixture_profile("heap_v2/1\n@ 1\nt*: 1: 1 [0: 0]\n", NULL, NULL);
    struct view_options options = view_defaults;
    atomic_bool cancelled = true;
    struct error err = {0};
    struct buffer out;

    options.cancelled = &cancelled;
    buffer_init(&out, 1000);
    ck_assert_int_eq(collapsed_write(profile, &options, &out, &err), -1);
    ck_assert_int_eq(err.code, ER_QUERY_INTERRUPTED);
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

START_TEST(what_was_not_counted_cannot_be_shown)
{
    struct profile *profile =
        fixture_profile("heap_v2/1\n@ 1\nt*: 1: 1 [0: 0]\n", NULL, NULL);
    struct view_options options = view_defaults;
    struct error err = {0};
    struct buffer out;

    options.measure = MEASURE_ALLOC_SPACE;
    buffer_init(&out, 1000);
    ck_assert_int_eq(collapsed_write(profile, &options, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "prof_accum"));
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

START_TEST(the_outputs_ceiling_is_an_error)
{
    struct profile *profile =
        fixture_profile("heap_v2/1\n@ 1\nt*: 1: 1 [0: 0]\n", NULL, NULL);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 3);
    ck_assert_int_eq(collapsed_write(profile, NULL, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "larger than 3 bytes"));
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("collapsed");
    TCase *tc = tcase_create("collapsed");

    tcase_add_test(
        tc, stacks_of_equal_names_are_one_line_and_the_heaviest_comes_first);
    tcase_add_test(tc, a_stack_without_frames_is_called_so);
    tcase_add_test(tc, an_empty_profile_is_no_lines);
    tcase_add_loop_test(tc, names_cannot_break_a_line, 0,
                        sizeof(cleaned) / sizeof(cleaned[0]));
    tcase_add_test(tc, a_cancel_request_is_obeyed);
    tcase_add_test(tc, what_was_not_counted_cannot_be_shown);
    tcase_add_test(tc, the_outputs_ceiling_is_an_error);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
