/* test_filter.c - which stacks are shown, and at which granularity. */
#include <time.h>

#include "buffer.h"
#include "clock.h"
#include "forms.h"
#include "filter.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view_options.h"

static const struct fixture_name names[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "ns::put(int)\037put.h\0377|ns::all<int>()\037all.cc\03720", false,
     NULL, 0},
    {0x3001, "main\037main.cc\0373", false, NULL, 0},
    {0x4001, "main\037main.cc\0374", false, NULL, 0},
    {0x5001, "nowhere", false, NULL, 0},
    {0x9001, "DoneCallback::Run()\037done.h\0379", false, NULL, 0},
    {0}};

static const char dump[] = "heap_v2/1\n"
                           "@ 0x1000 0x2001 0x3001\n"
                           "t*: 1: 1048576 [0: 0]\n"
                           "@ 0x1000 0x4001\n"
                           "t*: 1: 2097152 [0: 0]\n"
                           "@ 0x1000 0x5001 0x9001\n"
                           "t*: 1: 4194304 [0: 0]\n"
                           "MAPPED_LIBRARIES:\n\n";

/* The product's clock: here time goes by as many times as fast. */
static uint64_t speed = 1;

uint64_t __real_clock_ms(void);

uint64_t
clock_ms(void)
{
    return __real_clock_ms() * speed;
}

/* The names in the report, each with a newline, and what is before them. */
static void
names_of(const struct view_options *options, char *out, size_t size)
{
    struct profile *profile = fixture_profile(dump, names, NULL);
    struct error err = {0};
    struct buffer text;
    char *rest, *line;
    size_t used = 0;

    buffer_init(&text, 1 << 20);
    ck_assert_msg(text_write(profile, options, &text, &err) == 0, "%s",
                  err.text);
    out[0] = '\0';
    for (rest = text.data; (line = strsep(&rest, "\n")) && *line;)
        if (strncmp(line, "Total: ", 7) != 0)
            used += (size_t)snprintf(out + used, size - used, "%s\n",
                                     *line == ' ' ? line + 39 : line);
    buffer_fini(&text);
    profile_free(profile);
}

static const struct {
    enum granularity granularity;
    const char *expected;
} granular[] = {
    {GRANULARITY_FUNCTIONS,
     "nowhere\nmain\nns::put (inline)\nRun#1\nns::all\n"},
    {GRANULARITY_LINES,
     "nowhere ??:0\nmain main.cc:4\nns::put (inline) put.h:7\n"
     "Run#1 done.h:9\nmain main.cc:3\nns::all all.cc:20\n"},
    {GRANULARITY_FILES, "0000000000005000\nmain.cc\nput.h\nall.cc\ndone.h\n"},
    {GRANULARITY_ADDRESSES,
     "0000000000005000 nowhere ??:0\n0000000000004000 main main.cc:4\n"
     "0000000000002000 ns::put (inline) put.h:7\n"
     "0000000000002000 ns::all all.cc:20\n0000000000003000 main main.cc:3\n"
     "0000000000009000 Run#1 done.h:9\n"},
};

START_TEST(frames_are_called_by_what_was_asked_for)
{
    struct view_options options = view_defaults;
    char found[1024];

    options.granularity = granular[_i].granularity;
    names_of(&options, found, sizeof(found));
    ck_assert_str_eq(found, granular[_i].expected);
}
END_TEST

static const struct {
    const char *focus, *ignore, *expected;
} filters[] = {
    {"", "", "nowhere\nmain\nns::put (inline)\nRun#1\nns::all\n"},
    {"put", NULL, "ns::put (inline)\nmain\nns::all\n"},
    {"^main$", NULL, "main\nns::put (inline)\nns::all\n"},
    {"main\\.cc:4", NULL, "main\n"},
    {"^0000000000004000$", NULL, "main\n"},
    {NULL, "ns::all$", "nowhere\nmain\nRun#1\n"},
    {"main", "(?i)ALL", "main\n"},
    {"Callback", NULL, "nowhere\nRun#1\n"},
    {"no such", NULL, "no stack matches\n"},
    {NULL, ".", "no stack matches\n"},
    {"malloc", NULL, "no stack matches\n"}, /* the allocator's: not there */
    {"\\(inline\\)", NULL, "no stack matches\n"}, /* no part of the name */
};

START_TEST(stacks_are_shown_by_what_matches)
{
    struct view_options options = view_defaults;
    char found[1024];

    options.focus = filters[_i].focus;
    options.ignore = filters[_i].ignore;
    names_of(&options, found, sizeof(found));
    ck_assert_str_eq(found, filters[_i].expected);
}
END_TEST

START_TEST(a_graph_in_which_nothing_matches_says_so)
{
    struct view_options options = view_defaults;
    struct profile *profile = fixture_profile(dump, names, NULL);
    struct error err = {0};
    struct buffer out;

    options.focus = "no such";
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(dot_write(profile, &options, &out, &err), 0);
    ck_assert_ptr_nonnull(strstr(out.data, "Total MB: 7.0\\l"));
    ck_assert_ptr_nonnull(strstr(out.data, "Focusing on: 0.0\\l"));
    ck_assert_ptr_nonnull(strstr(out.data, "no stack matches\\l"));
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

static const struct {
    const char *pattern, *complaint;
} bad[] = {
    {"a(b", "focus: bad regular expression at offset 3: "},
    {"[z-a]", "focus: bad regular expression at offset 3: "},
    {"*", "focus: bad regular expression at offset 0: "},
    {"\xff", "focus: bad regular expression at offset 0: UTF-8 error"},
    {"\\C", "focus: bad regular expression at offset 2: "},
    {"(?:(?:a{0,65535}){0,65535}){0,65535}", "focus: bad regular expression"},
};

START_TEST(malformed_expressions_are_errors)
{
    struct view_options options = view_defaults;
    struct profile *profile = fixture_profile(dump, names, NULL);
    struct error err = {0};
    struct buffer out;

    options.focus = bad[_i].pattern;
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(text_write(profile, &options, &out, &err), -1);
    ck_assert_int_eq(err.code, ER_REGEX);
    ck_assert_msg(
        strncmp(err.text, bad[_i].complaint, strlen(bad[_i].complaint)) == 0,
        "%s", err.text);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_int_eq(dot_write(profile, &options, &out, &err), -1);
    ck_assert_int_eq(err.code, ER_REGEX);
    profile_free(profile);
}
END_TEST

START_TEST(long_expressions_are_errors)
{
    char text[PATTERN_SIZE_MAX + 2] = "";
    struct error err = {0};
    struct pattern *pattern;

    memset(text, 'a', PATTERN_SIZE_MAX);
    pattern = pattern_new("ignore", text, NULL, &err);
    ck_assert_ptr_nonnull(pattern);
    pattern_free(pattern);
    text[PATTERN_SIZE_MAX] = 'a';
    ck_assert_ptr_null(pattern_new("ignore", text, NULL, &err));
    ck_assert_str_eq(err.text,
                     "ignore: the regular expression is longer than 4096 "
                     "bytes");
}
END_TEST

static const char *const exploding[] = {
    "(a+)+$", "^(a|aa)*$", "^(?:a?){30}a{30}$", "^(a*)*\\1$", "^((a*)*)*$",
};

START_TEST(exploding_expressions_end_with_an_error)
{
    char text[2001];
    clock_t start = clock(); /* the processor's: a busy machine has none left */
    struct error err = {0};
    struct pattern *pattern = pattern_new("focus", exploding[_i], NULL, &err);

    memset(text, 'a', 2000);
    strcpy(text + 1999, "!");
    ck_assert_msg(pattern != NULL, "%s", err.text);
    ck_assert_int_eq(pattern_match(pattern, text, &err), -1);
    ck_assert_int_eq(err.code, ER_REGEX);
    ck_assert_ptr_nonnull(strstr(err.text, "takes too long"));
    ck_assert_int_lt(clock() - start, 2 * CLOCKS_PER_SEC);
    pattern_free(pattern);
}
END_TEST

/* From no place do they need too many steps, but from all together. */
static const char *const slow[] = {
    ".{0,900}?.{0,900}?[xy]",
    "[^xy]*[xy]",
};

START_TEST(slow_expressions_end_with_an_error)
{
    static char text[4 << 20];
    clock_t start = clock();
    struct error err = {0};
    struct pattern *pattern = pattern_new("focus", slow[_i], NULL, &err);
    int rc = 0;

    speed = 10;
    memset(text, 'a', sizeof(text) - 1);
    ck_assert_msg(pattern != NULL, "%s", err.text);
    for (int i = 0; i < 100000 && rc == 0; i++)
        rc = pattern_match(pattern, text, &err);
    ck_assert_int_eq(rc, -1);
    ck_assert_ptr_nonnull(strstr(err.text, "takes too long"));
    ck_assert_int_lt(clock() - start,
                     3 * PATTERN_MS_MAX / speed * (CLOCKS_PER_SEC / 1000));
    pattern_free(pattern);
}
END_TEST

static const struct {
    const char *expression, *end; /* of a long text of u umlaut */
    int found;
} ends[] = {
    {"b.r", "bar", 1},
    {"b.r$", "bar", 1},
    {"^b.r", "bar", 0},
    {"(?<=\\x{fc})bar", "bar", 1},
    {"(?<!\\x{fc})bar", "bar", 0},
    {"z", "bar", 0},
    {"$", "", 1},
    {"\\x{fc}bar", "bar", 1},
    {"\\x{fd}bar", "bar", 0},
};

START_TEST(long_texts_are_looked_at_from_all_places)
{
    struct error err = {0};
    struct pattern *pattern =
        pattern_new("focus", ends[_i].expression, NULL, &err);
    char text[1000];

    ck_assert_msg(pattern != NULL, "%s", err.text);
    for (size_t size = 0; size < 400; size += 2) {
        memcpy(text + size, ends[_i].end, strlen(ends[_i].end) + 1);
        if (size > 0)
            ck_assert_int_eq(pattern_match(pattern, text, &err),
                             ends[_i].found);
        memcpy(text + size, "\xc3\xbc", 2);
    }
    pattern_free(pattern);
}
END_TEST

START_TEST(bytes_that_are_not_text_are_survived)
{
    char text[1000];
    struct error err = {0};
    struct pattern *pattern = pattern_new("focus", "b.r", NULL, &err);

    ck_assert_int_eq(pattern_match(pattern, "\xff\xc3 bar", &err), 1);
    ck_assert_int_eq(pattern_match(pattern, "b\xc3\xa4r", &err), 1);
    ck_assert_int_eq(pattern_match(pattern, "b\xffr", &err), 0);
    ck_assert_int_eq(pattern_match(pattern, "", &err), 0);
    memset(text, 0x80, sizeof(text) - 4);
    memcpy(text + sizeof(text) - 4, "bar", 4);
    ck_assert_int_eq(pattern_match(pattern, text, &err), 1);
    pattern_free(pattern);
    pattern_free(NULL);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("filter");
    TCase *tc = tcase_create("filter");

    tcase_set_timeout(tc, 20);
    tcase_add_loop_test(tc, frames_are_called_by_what_was_asked_for, 0,
                        sizeof(granular) / sizeof(granular[0]));
    tcase_add_loop_test(tc, stacks_are_shown_by_what_matches, 0,
                        sizeof(filters) / sizeof(filters[0]));
    tcase_add_test(tc, a_graph_in_which_nothing_matches_says_so);
    tcase_add_loop_test(tc, malformed_expressions_are_errors, 0,
                        sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(tc, long_expressions_are_errors);
    tcase_add_loop_test(tc, exploding_expressions_end_with_an_error, 0,
                        sizeof(exploding) / sizeof(exploding[0]));
    tcase_add_loop_test(tc, slow_expressions_end_with_an_error, 0,
                        sizeof(slow) / sizeof(slow[0]));
    tcase_add_loop_test(tc, long_texts_are_looked_at_from_all_places, 0,
                        sizeof(ends) / sizeof(ends[0]));
    tcase_add_test(tc, bytes_that_are_not_text_are_survived);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
