/* test_tree.c - a call tree to read, whatever functions are called. */
#include "buffer.h"
#include "forms.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view_options.h"

static const struct fixture_name names[] = {
    {0x1000, "malloc", false, NULL, 0},  {0x2001, "load", false, NULL, 0},
    {0x3001, "serve", false, NULL, 0},   {0x4001, "main", false, NULL, 0},
    {0x5001, "reserve", false, NULL, 0}, {0x6001, "small", false, NULL, 0},
    {0x7001, "smaller", false, NULL, 0}, {0}};

static const char text[] = "heap_v2/1\n"
                           "@ 0x1000 0x5001 0x2001 0x4001\n"
                           "t*: 1: 3145728 [0: 0]\n"
                           "@ 0x1000 0x3001 0x4001\n"
                           "t*: 1: 1048576 [0: 0]\n"
                           "@ 0x1000 0x6001 0x4001\n"
                           "t*: 1: 16384 [0: 0]\n"
                           "@ 0x1000 0x7001 0x4001\n"
                           "t*: 1: 8192 [0: 0]\n"
                           "MAPPED_LIBRARIES:\n\n";

static struct buffer
tree_of(struct profile *profile, const struct view_options *options)
{
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_msg(tree_write(profile, options, &out, &err) == 0, "%s",
                  err.text);
    profile_free(profile);
    return out;
}

START_TEST(only_branches_are_indented_and_small_ones_folded)
{
    struct buffer out = tree_of(fixture_profile(text, names, NULL), NULL);

    ck_assert_str_eq(
        out.data, "db: 4.0 MB in use\n"
                  "    4.0 MB 100.0%   main\n"
                  "    3.0 MB  74.6%   \xe2\x94\x9c\xe2\x94\x80 load\n"
                  "    3.0 MB  74.6%   \xe2\x94\x82  reserve\n"
                  "    1.0 MB  24.9%   \xe2\x94\x9c\xe2\x94\x80 serve\n"
                  "   24.0 KB   0.6%   \xe2\x94\x94\xe2\x94\x80 \xe2\x80\xa6 "
                  "2 more\n");
    buffer_fini(&out);
}
END_TEST

START_TEST(a_functions_own_allocations_are_shown)
{
    struct buffer out = tree_of(fixture_profile("heap_v2/1\n"
                                                "@ 0x1000 0x2001 0x4001\n"
                                                "t*: 1: 100 [0: 0]\n"
                                                "@ 0x1000 0x4001\n"
                                                "t*: 1: 300 [0: 0]\n"
                                                "MAPPED_LIBRARIES:\n\n",
                                                names, NULL),
                                NULL);

    ck_assert_msg(strstr(out.data,
                         "     400 B 100.0%   main\n"
                         "     300 B  75.0%   \xe2\x94\x9c\xe2\x94\x80 "
                         "(itself)\n"
                         "     100 B  25.0%   \xe2\x94\x94\xe2\x94\x80 load\n"),
                  "%s", out.data);
    buffer_fini(&out);
}
END_TEST

START_TEST(at_most_nodecount_lines_are_shown)
{
    struct view_options options = view_defaults;
    struct buffer out;

    options.nodecount = 2;
    out = tree_of(fixture_profile(text, names, NULL), &options);
    ck_assert_ptr_nonnull(strstr(out.data, "main"));
    ck_assert_ptr_nonnull(strstr(out.data, "load"));
    ck_assert_ptr_null(strstr(out.data, "reserve"));
    ck_assert_ptr_nonnull(strstr(out.data, "3 more"));
    buffer_fini(&out);
}
END_TEST

START_TEST(objects_are_counted_where_asked_for)
{
    struct view_options options = view_defaults;
    struct buffer out;

    options.measure = MEASURE_INUSE_OBJECTS;
    out = tree_of(fixture_profile(text, names, NULL), &options);
    ck_assert_msg(strstr(out.data, "db: 4 objects in use\n"
                                   "         4 100.0%   main\n"),
                  "%s", out.data);
    buffer_fini(&out);
}
END_TEST

START_TEST(a_difference_has_signs_and_marks_noise)
{
    struct profile *profile = fixture_profile(text, names, NULL);
    struct profile_stack *stacks;
    struct buffer out;

    fixture_make_signed(profile);
    stacks = (struct profile_stack *)profile->stacks;
    for (size_t i = 0; i < profile->stack_count; i++)
        stacks[i].variance = 0;
    stacks[1].variance = stacks[1].bytes * stacks[1].bytes;
    out = tree_of(profile, NULL);
    ck_assert_msg(strstr(out.data, "db: +2.0 MB in use since the base\n"), "%s",
                  out.data);
    ck_assert_ptr_nonnull(strstr(out.data, "   +3.0 MB  74.6%   "));
    ck_assert_msg(strstr(out.data, "   -1.0 MB -24.9% ~ "), "%s", out.data);
    buffer_fini(&out);
}
END_TEST

/* Of what was ever allocated it is not known. */
START_TEST(noise_is_of_what_is_in_use)
{
    struct profile *profile = fixture_profile(text, names, NULL);
    struct view_options options = view_defaults;
    struct profile_stack *stacks;
    struct buffer out;

    fixture_make_signed(profile);
    stacks = (struct profile_stack *)profile->stacks;
    profile->accumulated = true;
    for (size_t i = 0; i < profile->stack_count; i++) {
        stacks[i].bytes_ever = 1 << 20;
        stacks[i].variance = 1e18;
    }
    profile->bytes_ever = 4 << 20;
    options.measure = MEASURE_ALLOC_SPACE;
    out = tree_of(profile, &options);
    ck_assert_ptr_nonnull(strstr(out.data, "   +1.0 MB  25.0%   "));
    ck_assert_msg(!strstr(out.data, "% ~ "), "%s", out.data);
    buffer_fini(&out);
}
END_TEST

START_TEST(an_empty_profile_says_why)
{
    struct buffer out = tree_of(fixture_profile("heap_v2/1\nt*: 0: 0 [0: 0]\n"
                                                "MAPPED_LIBRARIES:\n\n",
                                                NULL, NULL),
                                NULL);

    ck_assert_str_eq(out.data, "db: 0 B in use\nnothing sampled\n");
    buffer_fini(&out);
}
END_TEST

START_TEST(the_memory_line_comes_before_the_tree)
{
    struct profile *profile = fixture_profile(text, names, NULL);
    struct buffer out;

    profile->memory = "RSS 58.9 MB\x1b[2J";
    out = tree_of(profile, NULL);
    ck_assert_ptr_nonnull(strstr(out.data, "in use\nRSS 58.9 MB?[2J\n   "));
    buffer_fini(&out);
}
END_TEST

START_TEST(a_long_memory_line_is_broken_at_blanks)
{
    struct profile *profile = fixture_profile(text, names, NULL);
    char memory[400];
    struct buffer out;

    for (size_t i = 0; i < sizeof(memory) - 1; i++)
        memory[i] = i % 8 == 7 ? ' ' : 'm';
    memory[sizeof(memory) - 1] = '\0';
    profile->memory = memory;
    out = tree_of(profile, NULL);
    for (char *line = out.data, *end; (end = strchr(line, '\n'));
         line = end + 1) {
        ck_assert_int_le(end - line, 100);
        if (*line == 'm')
            ck_assert_int_eq(strncmp(line, "mmmmmmm ", 8), 0);
    }
    buffer_fini(&out);
}
END_TEST

START_TEST(a_terminal_is_safe_and_lines_are_not_too_long)
{
    char name[4000];
    struct fixture_name hostile[] = {{0x1001, name, false, NULL, 0}, {0}};
    struct buffer out;
    const char *line, *end;

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memcpy(name, "\x1b]0;pwned\x07\xc2\x9b", 12);
    out = tree_of(fixture_profile("heap_v2/1\n@ 0x1001\nt*: 1: 1 [0: 0]\n",
                                  hostile, NULL),
                  NULL);
    line = strstr(out.data, "?]0;pwned???xxx");
    ck_assert_msg(line != NULL, "%s", out.data);
    for (size_t i = 0; i < out.size; i++)
        ck_assert(out.data[i] == '\n' || (unsigned char)out.data[i] >= ' ');
    while (line > out.data && line[-1] != '\n')
        line--;
    end = strchr(line, '\n');
    ck_assert_int_le(end - line, TREE_COLUMNS + 2); /* "…" has three bytes */
    buffer_fini(&out);
}
END_TEST

/* Each function calls the next and one more, as deep as can be. */
START_TEST(a_tree_of_branches_within_branches_stays_in_bounds)
{
    struct view_options options = view_defaults;
    struct fixture_name list[62] = {{0}};
    static char functions[60][8];
    struct buffer dump, out;

    buffer_init(&dump, 1 << 20);
    buffer_text(&dump, "heap_v2/1\n");
    for (unsigned i = 0; i < 60; i++) {
        snprintf(functions[i], sizeof(functions[i]), "f%u", i);
        list[i] = (struct fixture_name){0x1001 + i * 16, functions[i], false,
                                        NULL, 0};
        buffer_text(&dump, "@");
        for (unsigned k = i + 1; k-- > 0;)
            buffer_format(&dump, " 0x%x", 0x1001 + k * 16);
        buffer_text(&dump, "\nt*: 1: 1000 [0: 0]\n");
    }
    options.nodecount = 1000;
    options.nodefraction = 0;
    out = tree_of(fixture_profile(dump.data, list, NULL), &options);
    ck_assert_ptr_nonnull(strstr(out.data, "branches deeper\n"));
    buffer_fini(&dump);
    buffer_fini(&out);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("tree");
    TCase *tc = tcase_create("tree");

    tcase_add_test(tc, only_branches_are_indented_and_small_ones_folded);
    tcase_add_test(tc, a_functions_own_allocations_are_shown);
    tcase_add_test(tc, at_most_nodecount_lines_are_shown);
    tcase_add_test(tc, objects_are_counted_where_asked_for);
    tcase_add_test(tc, a_difference_has_signs_and_marks_noise);
    tcase_add_test(tc, noise_is_of_what_is_in_use);
    tcase_add_test(tc, an_empty_profile_says_why);
    tcase_add_test(tc, the_memory_line_comes_before_the_tree);
    tcase_add_test(tc, a_long_memory_line_is_broken_at_blanks);
    tcase_add_test(tc, a_terminal_is_safe_and_lines_are_not_too_long);
    tcase_add_test(tc, a_tree_of_branches_within_branches_stays_in_bounds);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
