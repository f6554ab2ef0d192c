/* test_time_forms.c - profiles of the processor and of the clock, in the forms
 * that the heap's have. */
#include <zlib.h>

#include "buffer.h"
#include "call_tree.h"
#include "calls.h"
#include "flamegraph.h"
#include "forms.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view_options.h"

static const struct fixture_name names[] = {
    {0x1000, "malloc", true, NULL, 0}, {0x2001, "load", false, NULL, 0},
    {0x3001, "serve", false, NULL, 0}, {0x4001, "main", false, NULL, 0},
    {0x3000, "serve", false, NULL, 0}, {0}};

/* 100 samples a second, for 2 seconds: one and a half processors. */
static const char text[] = "heap_v2/10000000\n"
                           "@ 0x1000 0x2001 0x4001\n"
                           "t*: 200: 2000000000 [0: 0]\n"
                           "@ 0x3000 0x4001\n"
                           "t*: 100: 1000000000 [0: 0]\n"
                           "MAPPED_LIBRARIES:\n\n";

static struct profile *
time_profile(enum profile_kind kind)
{
    return fixture_profile_of(kind, 2000, text, names, NULL);
}

typedef int write_form(const struct profile *profile,
                       const struct view_options *options, struct buffer *out,
                       struct error *err);

static struct buffer
form_of(write_form *form, enum profile_kind kind, enum measure measure)
{
    struct profile *profile = time_profile(kind);
    struct view_options options = view_defaults;
    struct error err = {0};
    struct buffer out;

    options.measure = measure;
    buffer_init(&out, 8 << 20);
    ck_assert_msg(form(profile, &options, &out, &err) == 0, "%s", err.text);
    profile_free(profile);
    return out;
}

static void
form_must_be(write_form *form, enum measure measure, const char *expected)
{
    struct buffer out = form_of(form, PROFILE_CPU, measure);

    ck_assert_str_eq(out.data, expected);
    buffer_fini(&out);
}

static void
form_must_have(write_form *form, enum profile_kind kind, enum measure measure,
               const char *part)
{
    struct buffer out = form_of(form, kind, measure);

    ck_assert_msg(strstr(out.data, part) != NULL, "no %s in\n%s", part,
                  out.data);
    buffer_fini(&out);
}

START_TEST(a_sample_stands_for_itself)
{
    struct profile *profile = time_profile(PROFILE_CPU);

    ck_assert_uint_eq(profile->samples, 300);
    ck_assert(profile->objects == 300);
    ck_assert(profile->bytes == 3e9);
    ck_assert(profile->bytes_ever == 0 && !profile->accumulated);
    ck_assert_uint_eq(profile->rate, 10000000);
    ck_assert_uint_eq(profile->duration_ms, 2000);
    /* 300 of 10 ms each: the root of 300 is 17.3. */
    ck_assert_double_eq_tol(profile_margin(profile), 1.96 * 173.205e6, 1e3);
    profile_free(profile);
}
END_TEST

/* Sleeping threads: some samples of a long time, of which a tick is not known.
 */
START_TEST(what_sleeps_is_known_but_for_a_tick)
{
    static const char sleeps[] = "heap_v2/50000000\n"
                                 "@ 0x1000 0x4001\n"
                                 "t*: 4: 8000000000 [0: 0]\n"
                                 "MAPPED_LIBRARIES:\n\n";
    struct profile *profile =
        fixture_profile_of(PROFILE_WALL, 2000, sleeps, names, NULL);
    struct buffer out;
    struct error err = {0};

    ck_assert_double_eq_tol(profile_margin(profile), 1.96 * 2 * 50e6, 1e3);
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(tree_write(profile, NULL, &out, &err), 0);
    ck_assert_msg(strncmp(out.data,
                          "db: 8.0 s of the clock in 2.0 s: 4.00 "
                          "threads\n",
                          46) == 0,
                  "%s", out.data);
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

START_TEST(text_counts_seconds_and_leaves_malloc_where_it_was)
{
    form_must_be(text_write, MEASURE_INUSE_SPACE,
                 "Total: 3.000 s\n"
                 "   2.000  66.7%  66.7%    2.000  66.7% malloc\n"
                 "   1.000  33.3% 100.0%    1.000  33.3% serve\n"
                 "   0.000   0.0% 100.0%    2.000  66.7% load\n"
                 "   0.000   0.0% 100.0%    3.000 100.0% main\n");
    form_must_be(text_write_top, MEASURE_SAMPLES,
                 "Total: 300 samples\n"
                 "     200  66.7%  66.7%      200  66.7% malloc\n"
                 "     100  33.3% 100.0%      100  33.3% serve\n"
                 "       0   0.0% 100.0%      300 100.0% main\n"
                 "       0   0.0% 100.0%      200  66.7% load\n");
}
END_TEST

START_TEST(tree_begins_with_how_many_processors)
{
    form_must_be(tree_write, MEASURE_TIME,
                 "db: 3.0 s on the processor in 2.0 s: 1.50 processors\n"
                 "     3.0 s 100.0%   main\n"
                 "     2.0 s  66.7%   \xe2\x94\x9c\xe2\x94\x80 load\n"
                 "     2.0 s  66.7%   \xe2\x94\x82  malloc\n"
                 "     1.0 s  33.3%   \xe2\x94\x94\xe2\x94\x80 serve\n");
    form_must_have(tree_write, PROFILE_WALL, MEASURE_INUSE_OBJECTS,
                   "db: 300 samples of the clock in 2.0 s: 1.50 threads\n"
                   "       300 100.0%   main\n");
}
END_TEST

START_TEST(collapsed_has_nanoseconds_unless_asked_for_samples)
{
    form_must_be(collapsed_write, MEASURE_INUSE_SPACE,
                 "main;load;malloc 2000000000\nmain;serve 1000000000\n");
    form_must_be(collapsed_write, MEASURE_INUSE_OBJECTS,
                 "main;load;malloc 200\nmain;serve 100\n");
    form_must_be(collapsed_write, MEASURE_TIME,
                 "main;load;malloc 2000000000\nmain;serve 1000000000\n");
}
END_TEST

START_TEST(flame_graphs_are_of_time)
{
    form_must_have(
        calls_write, PROFILE_CPU, MEASURE_INUSE_SPACE,
        "\"measure\":\"on the processor\",\"unit\":\"time\",\"space\":false,"
        "\"difference\":false,\n"
        "\"name\":[0,1,2,3,4],\n"
        "\"names\":[\"all\",\"main\",\"load\",\"malloc\","
        "\"serve\"],\n");
    form_must_have(
        calls_write, PROFILE_WALL, MEASURE_SAMPLES,
        "\"measure\":\"of the clock\",\"unit\":\"samples\",\"space\":false,");
    form_must_have(flamegraph_write, PROFILE_CPU, MEASURE_INUSE_SPACE,
                   "<title>load\n2.0 s, 66.67%</title>");
    form_must_have(flamegraph_write, PROFILE_CPU, MEASURE_INUSE_SPACE,
                   ">Width: time on the processor</text>");
    form_must_have(flamegraph_write, PROFILE_WALL, MEASURE_SAMPLES,
                   ">Width: samples of the clock</text>");
}
END_TEST

START_TEST(dot_is_in_seconds)
{
    form_must_have(dot_write, PROFILE_CPU, MEASURE_INUSE_SPACE,
                   "\\lTotal s: 3.000\\lFocusing on: 3.000\\l");
    form_must_have(dot_write, PROFILE_CPU, MEASURE_INUSE_SPACE,
                   "[label=\"malloc\\n2.000 (66.7%)\\r\"");
}
END_TEST

/* Of the tables, and of the numbers in profile.proto. */
START_TEST(pprof_has_the_sample_types_of_gos)
{
    static const char start[] = "\x0a\x04\x08\x01\x10\x02" /* sample_type */
                                "\x0a\x04\x08\x03\x10\x04"
                                "\x70\x03"; /* default_sample_type */
    static const char tail[] = "\x5a\x04\x08\x03\x10\x04"  /* period_type */
                               "\x60\x80\xad\xe2\x04"      /* 10 ms */
                               "\x50\x80\xa8\xd6\xb9\x07"; /* 2 s */
    static const char strings[] = "\x32\x00\x32\x07samples\x32\x05"
                                  "count"
                                  "\x32\x03"
                                  "cpu\x32\x0bnanoseconds";
    struct buffer file = form_of(pprof_write, PROFILE_CPU, MEASURE_INUSE_SPACE);
    static unsigned char bytes[1 << 16];
    z_stream stream = {.next_in = (Bytef *)file.data,
                       .avail_in = (uInt)file.size,
                       .next_out = bytes,
                       .avail_out = sizeof(bytes)};

    ck_assert_int_eq(inflateInit2(&stream, 15 + 16), Z_OK);
    ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
    ck_assert_ptr_nonnull(
        memmem(bytes, stream.total_out, strings + 1, sizeof(strings) - 2));
    ck_assert_ptr_nonnull(
        memmem(bytes, stream.total_out, tail, sizeof(tail) - 1));
    ck_assert_int_eq(memcmp(bytes, start, sizeof(start) - 1), 0);
    inflateEnd(&stream);
    buffer_fini(&file);
}
END_TEST

static void
must_refuse(write_form *form, enum profile_kind kind, enum measure measure,
            const char *why)
{
    struct profile *profile = time_profile(kind);
    struct view_options options = view_defaults;
    struct error err = {0};
    struct buffer out;

    options.measure = measure;
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(form(profile, &options, &out, &err), -1);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    buffer_fini(&out);
    profile_free(profile);
}

START_TEST(what_a_profile_does_not_count_is_refused)
{
    must_refuse(tree_write, PROFILE_CPU, MEASURE_ALLOC_SPACE,
                "a profile of time can be shown by time or samples, but not by "
                "alloc_space");
    must_refuse(text_write, PROFILE_HEAP, MEASURE_TIME, ", but not by time");
    must_refuse(raw_write, PROFILE_WALL, MEASURE_INUSE_SPACE,
                "use pprof or collapsed");
    must_refuse(raw_write_symbols, PROFILE_CPU, MEASURE_INUSE_SPACE,
                "use pprof or collapsed");
}
END_TEST

START_TEST(a_thread_that_never_ran_is_said_so)
{
    const struct profile_origin origin = {true, 1000, 0};
    struct profile *profile = fixture_profile_of(
        PROFILE_CPU, 2000, "heap_v2/1\nt*: 0: 0 [0: 0]\nMAPPED_LIBRARIES:\n\n",
        NULL, &origin);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(tree_write(profile, NULL, &out, &err), 0);
    ck_assert_str_eq(out.data,
                     "db, 1970-01-01 00:00:01 UTC: 0 ns on the processor in "
                     "2.0 s: 0.00 processors\n"
                     "nothing sampled: no thread was seen on the processor\n");
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

/* Of 500 stacks of the four functions, some of which are equal. */
static struct profile *
random_profile(void)
{
    static const char *const frames[] = {" 0x1000", " 0x2001", " 0x3001",
                                         " 0x4001"};
    struct profile *profile;
    struct buffer dump;
    uint32_t seed = 28;

    buffer_init(&dump, 1 << 20);
    buffer_text(&dump, "heap_v2/10000000\n");
    for (unsigned i = 0; i < 500; i++) {
        unsigned samples = 1 + i % 7, depth = 1 + i % 6;

        buffer_char(&dump, '@');
        while (depth-- > 0) {
            seed = seed * 1664525 + 1013904223;
            buffer_text(&dump, frames[seed >> 30]);
        }
        buffer_format(&dump, "\nt*: %u: %u [0: 0]\n", samples,
                      samples * 10000000);
    }
    buffer_text(&dump, "MAPPED_LIBRARIES:\n");
    profile = fixture_profile_of(PROFILE_CPU, 2000, dump.data, names, NULL);
    buffer_fini(&dump);
    return profile;
}

static void
path_of(const struct call_tree *tree, uint32_t at, char path[256])
{
    char below[256] = "";

    for (; at; at = tree->nodes[at].parent) {
        snprintf(path, 256, "%s%s%s", tree->nodes[at].name, *below ? ";" : "",
                 below);
        strcpy(below, path);
    }
}

/* What flamegraph.pl makes of the collapsed stacks: a frame has the sum of all
 * lines that begin with its path. */
static double
sum_of(const char *collapsed, const char *path)
{
    size_t size = strlen(path);
    double sum = 0;

    for (const char *at = collapsed; *at; at = strchr(at, '\n') + 1)
        if (strncmp(at, path, size) == 0 &&
            (at[size] == ';' || at[size] == ' '))
            sum += strtod(strchr(at, ' '), NULL);
    return sum;
}

START_TEST(frames_are_as_wide_as_flamegraph_pl_has_them)
{
    struct view_options options = {.measure = MEASURE_SAMPLES};
    struct profile *profile = random_profile();
    struct error err = {0};
    struct call_tree *tree = call_tree_new(profile, &options, CALL_TREE_FULL,
                                           CALL_TREE_BY_NAME, &err);
    struct buffer lines;
    char path[256];

    buffer_init(&lines, 1 << 20);
    ck_assert_int_eq(collapsed_write(profile, &options, &lines, &err), 0);
    ck_assert_uint_gt(tree->count, 300);
    for (uint32_t i = 1; i < tree->count; i++) {
        path_of(tree, i, path);
        ck_assert_msg(sum_of(lines.data, path) == tree->nodes[i].total, "%s",
                      path);
    }
    buffer_fini(&lines);
    call_tree_free(tree);
    profile_free(profile);
}
END_TEST

START_TEST(figures_have_units_of_time)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0 ns"},
                 {999, "999 ns"},
                 {1500, "1.5 us"},
                 {999960, "1.0 ms"},
                 {12.34e6, "12.3 ms"},
                 {-1e9, "-1.0 s"},
                 {123456e9, "123456.0 s"}};
    struct view_options options = {.measure = MEASURE_TIME};
    char out[FIGURE_TEXT];

    figure_text(cases[_i].value, &options, false, out);
    ck_assert_str_eq(out, cases[_i].text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("time_forms");
    TCase *tc = tcase_create("time_forms");

    tcase_add_test(tc, a_sample_stands_for_itself);
    tcase_add_test(tc, what_sleeps_is_known_but_for_a_tick);
    tcase_add_test(tc, text_counts_seconds_and_leaves_malloc_where_it_was);
    tcase_add_test(tc, tree_begins_with_how_many_processors);
    tcase_add_test(tc, collapsed_has_nanoseconds_unless_asked_for_samples);
    tcase_add_test(tc, flame_graphs_are_of_time);
    tcase_add_test(tc, dot_is_in_seconds);
    tcase_add_test(tc, pprof_has_the_sample_types_of_gos);
    tcase_add_test(tc, what_a_profile_does_not_count_is_refused);
    tcase_add_test(tc, a_thread_that_never_ran_is_said_so);
    tcase_add_test(tc, frames_are_as_wide_as_flamegraph_pl_has_them);
    tcase_add_loop_test(tc, figures_have_units_of_time, 0, 7);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
