/* test_text.c - a profile as lines, as "jeprof --text" has them. */
#include "buffer.h"
#include "forms.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view_options.h"

static const struct fixture_name names[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "ns::put(int)|ns::Map<int>::all()", false, NULL, 0},
    {0x3001, "main", false, NULL, 0},
    {0x5001, "ns::inlined()|ns::hook(unsigned long)", false, "malloc", 0x5000},
    {0x6001, "ns::hook2()", false, "ns::hook2()", 0x6000},
    {0x4001, "say \x1b[31m\nmore", false, NULL, 0},
    {0}};

static const char two[] = "heap_v2/1\n"
                          "@ 0x1000 0x2001 0x3001\n"
                          "t*: 1: 1048576 [4: 8388608]\n"
                          "@ 0x1000 0x3001\n"
                          "t*: 3: 3145728 [4: 4194304]\n"
                          "MAPPED_LIBRARIES:\n\n";

static void
check_text(const char *dump, const struct view_options *options,
           const struct profile_origin *origin, const char *expected)
{
    struct profile *profile = fixture_profile(dump, names, origin);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_msg(text_write(profile, options, &out, &err) == 0, "%s",
                  err.text);
    ck_assert_str_eq(out.data ? out.data : "", expected);
    buffer_fini(&out);
    profile_free(profile);
}

START_TEST(lines_are_those_of_jeprof)
{
    check_text(two, NULL, NULL,
               "Total: 4.0 MB\n"
               "     3.0  75.0%  75.0%      4.0 100.0% main\n"
               "     1.0  25.0% 100.0%      1.0  25.0% ns::put (inline)\n"
               "     0.0   0.0% 100.0%      1.0  25.0% ns::Map::all\n");
}
END_TEST

START_TEST(a_function_that_is_malloc_to_others_is_left_out)
{
    static const char hooked[] = "heap_v2/1\n"
                                 "@ 0x1000 0x5001 0x3001\n"
                                 "t*: 1: 1048576 [0: 0]\n"
                                 "@ 0x1000 0x6001 0x3001\n"
                                 "t*: 3: 3145728 [0: 0]\n"
                                 "MAPPED_LIBRARIES:\n\n";

    check_text(hooked, NULL, NULL,
               "Total: 4.0 MB\n"
               "     3.0  75.0%  75.0%      3.0  75.0% ns::hook2\n"
               "     1.0  25.0% 100.0%      4.0 100.0% main\n");
}
END_TEST

static const struct {
    enum measure measure;
    bool show_bytes;
    const char *first; /* lines */
} measured[] = {
    {MEASURE_INUSE_SPACE, true,
     "Total: 4194304 B\n 3145728  75.0%  75.0%  4194304 100.0% main\n"},
    {MEASURE_INUSE_OBJECTS, false,
     "Total: 4 objects\n       3  75.0%  75.0%        4 100.0% main\n"},
    {MEASURE_ALLOC_SPACE, false,
     "Total: 12.0 MB\n     8.0  66.7%  66.7%      8.0  66.7% ns::put (inline)"},
    {MEASURE_ALLOC_OBJECTS, true,
     "Total: 8 objects\n       4  50.0%  50.0%        8 100.0% main\n"},
};

START_TEST(what_is_measured_can_be_chosen)
{
    struct view_options options = view_defaults;
    struct profile *profile = fixture_profile(two, names, NULL);
    struct error err = {0};
    struct buffer out;

    options.measure = measured[_i].measure;
    options.show_bytes = measured[_i].show_bytes;
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(text_write(profile, &options, &out, &err), 0);
    ck_assert_msg(
        strncmp(out.data, measured[_i].first, strlen(measured[_i].first)) == 0,
        "%s", out.data);
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

START_TEST(what_was_not_counted_is_an_error)
{
    struct view_options options = view_defaults;
    struct profile *profile = fixture_profile(
        "heap_v2/1\n@ 0x1000 0x3001\nt*: 1: 10 [0: 0]\n", names, NULL);
    struct error err = {0};
    struct buffer out;

    options.measure = MEASURE_ALLOC_SPACE;
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(text_write(profile, &options, &out, &err), -1);
    ck_assert_int_eq(err.code, ER_UNKNOWN);
    ck_assert_ptr_nonnull(strstr(err.text, "prof_accum:true"));
    ck_assert_uint_eq(out.size, 0);
    profile_free(profile);
}
END_TEST

START_TEST(top_is_the_first_lines)
{
    struct view_options options = view_defaults;
    struct profile *profile = fixture_profile(two, names, NULL);
    struct error err = {0};
    struct buffer out;

    options.nodecount = 1;
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(text_write_top(profile, &options, &out, &err), 0);
    ck_assert_str_eq(out.data, "Total: 4.0 MB\n"
                               "     3.0  75.0%  75.0%      4.0 100.0% main\n");
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

/* Every line of a terminal's form is at most as wide; text has whole names. */
START_TEST(top_fits_a_terminal)
{
    static const struct fixture_name longs[] = {
        {0x1000, "malloc", false, NULL, 0},
        {0x2001,
         "std::map<std::string, std::vector<std::pair<int, unsigned long> >, "
         "std::less<std::string> >::operator[](std::string const&)",
         false, NULL, 0},
        {0}};
    static const struct profile_origin live = {.live = true};
    struct profile *profile =
        fixture_profile("heap_v2/1\n@ 0x1000 0x2001\nt*: 1: 1048576 [0: 0]\n"
                        "MAPPED_LIBRARIES:\n\n",
                        longs, &live);
    struct error err = {0};
    struct buffer out;
    char *rest, *line;
    unsigned lines = 0;

    profile->memory = "allocated 34.7 MB, active 36.0 MB, resident 41.2 MB, "
                      "RSS 58.9 MB of a limit of 512.0 MB; the profile "
                      "explains 97.3% of allocated, jemalloc's own metadata "
                      "4.1 MB, files and stacks 13.6 MB";
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(text_write_top(profile, NULL, &out, &err), 0);
    ck_assert_ptr_nonnull(strstr(out.data, "\xe2\x80\xa6"));
    ck_assert_ptr_nonnull(strstr(out.data, "::operator[]\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "std::map<std::string"));
    for (rest = out.data; (line = strsep(&rest, "\n")); lines++)
        ck_assert_msg(shown_columns(line, strlen(line)) <= TEXT_COLUMNS,
                      "too wide: %s", line);
    ck_assert_uint_ge(lines, 5); /* the memory takes several */
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

START_TEST(names_do_not_reach_the_terminal)
{
    check_text("heap_v2/1\n@ 0x1000 0x4001\nt*: 1: 1048576 [0: 0]\n"
               "MAPPED_LIBRARIES:\n\n",
               NULL, NULL,
               "Total: 1.0 MB\n"
               "     1.0 100.0% 100.0%      1.0 100.0% say ?[31m?more\n");
}
END_TEST

START_TEST(an_empty_profile_says_why)
{
    static const char empty[] = "heap_v2/1\nMAPPED_LIBRARIES:\n\n";
    const struct profile_origin live = {.live = true},
                                active = {.live = true,
                                          .active_since_ms = 1000};

    check_text(empty, NULL, NULL, "nothing sampled\n");
    check_text(empty, NULL, &live, "profiling is not active\n");
    check_text(empty, NULL, &active,
               "nothing sampled since 1970-01-01 00:00:01 UTC (active)\n");
}
END_TEST

START_TEST(what_the_memory_is_comes_first)
{
    struct profile *profile = fixture_profile(two, names, NULL);
    struct error err = {0};
    struct buffer out;

    profile->memory = "RSS 12 MB";
    profile->note = "libx has no \x1b names";
    profile->origin.live = true;
    profile->truncated = true;
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(text_write(profile, NULL, &out, &err), 0);
    ck_assert_ptr_eq(strstr(out.data, "RSS 12 MB\nThe profile was cut off\n"
                                      "libx has no ? names\nTotal: 4.0 MB\n"),
                     out.data);
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

START_TEST(the_ceiling_is_an_error)
{
    struct profile *profile = fixture_profile(two, names, NULL);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 40);
    ck_assert_int_eq(text_write(profile, NULL, &out, &err), -1);
    ck_assert_int_eq(err.code, ER_OUT_OF_MEMORY);
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

START_TEST(cancelling_ends_it)
{
    atomic_bool yes = true;
    struct view_options options = view_defaults;
    struct profile *profile = fixture_profile(two, names, NULL);
    struct error err = {0};
    struct buffer out;

    options.cancelled = &yes;
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(text_write(profile, &options, &out, &err), -1);
    ck_assert_int_eq(err.code, ER_QUERY_INTERRUPTED);
    profile_free(profile);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("text");
    TCase *tc = tcase_create("text");

    tcase_add_test(tc, lines_are_those_of_jeprof);
    tcase_add_test(tc, a_function_that_is_malloc_to_others_is_left_out);
    tcase_add_loop_test(tc, what_is_measured_can_be_chosen, 0,
                        sizeof(measured) / sizeof(measured[0]));
    tcase_add_test(tc, what_was_not_counted_is_an_error);
    tcase_add_test(tc, top_is_the_first_lines);
    tcase_add_test(tc, top_fits_a_terminal);
    tcase_add_test(tc, names_do_not_reach_the_terminal);
    tcase_add_test(tc, an_empty_profile_says_why);
    tcase_add_test(tc, what_the_memory_is_comes_first);
    tcase_add_test(tc, the_ceiling_is_an_error);
    tcase_add_test(tc, cancelling_ends_it);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
