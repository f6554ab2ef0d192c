/* test_graphviz.c - graphviz, and programs that behave worse than it. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view.h"
#include "view_options.h"

enum { LONG_MS = 60000 };

static char program[64];

/* A shell script in the place of dot. */
static void
write_program(const char *script)
{
    FILE *file;

    snprintf(program, sizeof(program), "/tmp/hw_graphviz.%d", (int)getpid());
    file = fopen(program, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_gt(fprintf(file, "#!/bin/sh\n%s\n", script), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(program, 0700), 0);
}

static enum graphviz_format format; /* SVG's, but for a test of others */

static int
render(uint32_t deadline_ms, const atomic_bool *cancelled, const char *source,
       size_t size, struct buffer *out, struct error *err)
{
    struct graphviz_run run = {program, format, deadline_ms, cancelled};
    int rc = graphviz_render(&run, source, size, out, err);

    unlink(program);
    /* Whatever became of it, it is gone. */
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    return rc;
}

static const char graph[] = "digraph { a -> b }\n";

START_TEST(what_it_answers_is_the_picture)
{
    struct error err = {0};
    struct buffer out;

    write_program("[ \"$*\" = -Tsvg ] && cat && echo '</svg>'");
    buffer_init(&out, 1 << 20);
    buffer_text(&out, "before ");
    ck_assert_msg(render(LONG_MS, NULL, graph, sizeof(graph) - 1, &out, &err) ==
                      0,
                  "%s", err.text);
    ck_assert_str_eq(out.data, "before digraph { a -> b }\n</svg>\n");
    buffer_fini(&out);
}
END_TEST

START_TEST(a_pdf_is_asked_for_and_must_be_whole)
{
    struct error err = {0};
    struct buffer out;

    format = GRAPHVIZ_PDF;
    buffer_init(&out, 1 << 20);
    write_program("[ \"$*\" = -Tpdf ] && cat && printf 'a\\0b%%%%EOF\\n'");
    ck_assert_msg(render(LONG_MS, NULL, "c", 1, &out, &err) == 0, "%s",
                  err.text);
    ck_assert_uint_eq(out.size, sizeof("ca?b%%EOF\n") - 1);
    ck_assert_mem_eq(out.data, "ca\0b%%EOF\n", out.size);
    write_program("cat && echo '</svg>'");
    ck_assert_int_eq(render(LONG_MS, NULL, "c", 1, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "not answer with a whole picture"));
    ck_assert_uint_eq(out.size, sizeof("ca?b%%EOF\n") - 1);
    buffer_fini(&out);
}
END_TEST

START_TEST(nothing_of_ours_goes_over)
{
    struct error err = {0};
    struct buffer out;
    int fd = open("/dev/null", O_RDONLY); /* not O_CLOEXEC, as others' may be */

    ck_assert_int_ge(fd, 3);
    ck_assert_int_eq(setenv("HW_SECRET", "password", 1), 0); // NOLINT
    write_program("cat >/dev/null; env; ls /proc/self/fd | tr '\\n' ' '; "
                  "echo nice $(cut -d' ' -f19 /proc/self/stat) '</svg>'");
    buffer_init(&out, 1 << 20);
    ck_assert_msg(render(LONG_MS, NULL, graph, sizeof(graph) - 1, &out, &err) ==
                      0,
                  "%s", err.text);
    ck_assert_ptr_null(strstr(out.data, "HW_SECRET"));
    ck_assert_ptr_nonnull(strstr(out.data, "LC_ALL=C.UTF-8"));
    ck_assert_msg(strstr(out.data, "0 1 2 3 nice") != NULL, "%s", out.data);
    buffer_fini(&out);
    close(fd);
}
END_TEST

START_TEST(large_sources_and_answers_do_not_block_each_other)
{
    static char source[4 << 20];
    struct error err = {0};
    struct buffer out;

    memset(source, 'x', sizeof(source));
    write_program("cat; echo '</svg>'");
    buffer_init(&out, 8 << 20);
    ck_assert_msg(render(LONG_MS, NULL, source, sizeof(source), &out, &err) ==
                      0,
                  "%s", err.text);
    ck_assert_uint_eq(out.size, sizeof(source) + 7);
    buffer_fini(&out);
}
END_TEST

static const struct {
    const char *script;
    uint32_t deadline_ms;
    size_t ceiling;
    const char *says;
} failures[] = {
    {"sleep 100", 300, 1000, "graphviz needed more than 0 seconds"},
    {"while :; do :; done", 300, 1000, "needed more than"},
    {"exec >&-; sleep 100", 300, 1000, "graphviz needed more than"},
    {"exec <&- >&-; sleep 100", 300, 1000, "graphviz did not end in time"},
    {"trap '' TERM; sleep 100", 300, 1000, "needed more than"},
    {"cat >/dev/null; exit 3", LONG_MS, 1000, "ended with status 3"},
    {"exit 0", LONG_MS, 1000, "not answer with a whole picture"},
    {"cat >/dev/null; echo '<svg>'", LONG_MS, 1000, "a whole picture"},
    {"kill -SEGV $$", LONG_MS, 1000, "killed by signal 11"},
    {"exec cat /dev/zero", LONG_MS, 100000, "larger than 99994 bytes"},
    {"exec cat /dev/zero", LONG_MS, (size_t)1 << 30,
     "larger than 67108864 bytes"},
};

START_TEST(what_goes_wrong_is_said_and_changes_nothing)
{
    uint32_t deadline_ms = failures[_i].deadline_ms;
    struct error err = {0};
    struct buffer out;
    uint64_t before = clock_ms();

    buffer_init(&out, failures[_i].ceiling);
    buffer_text(&out, "before");
    do { /* a busy machine's script may not have begun in a short time */
        write_program(failures[_i].script);
        ck_assert_int_eq(
            render(deadline_ms, NULL, graph, sizeof(graph) - 1, &out, &err),
            -1);
        deadline_ms *= 4;
    } while (!strstr(err.text, failures[_i].says) && deadline_ms < LONG_MS);
    ck_assert_msg(strstr(err.text, failures[_i].says) != NULL, "%s", err.text);
    ck_assert_str_eq(out.data, "before");
    ck_assert_uint_lt(clock_ms() - before, 90000); /* theirs is 100 s */
    buffer_fini(&out);
}
END_TEST

START_TEST(a_cancel_request_is_obeyed)
{
    atomic_bool cancelled = true;
    struct error err = {0};
    struct buffer out;

    write_program("sleep 100");
    buffer_init(&out, 1000);
    ck_assert_int_eq(
        render(20000, &cancelled, graph, sizeof(graph) - 1, &out, &err), -1);
    ck_assert_int_eq(err.code, ER_QUERY_INTERRUPTED);
    buffer_fini(&out);
}
END_TEST

START_TEST(a_program_that_is_not_there_is_named)
{
    struct graphviz_run run = {"/nonexistent/dot", GRAPHVIZ_SVG, 1000, NULL};
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1000);
    ck_assert_int_eq(
        graphviz_render(&run, graph, sizeof(graph) - 1, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot start graphviz's "
                                           "/nonexistent/dot"));
    buffer_fini(&out);
}
END_TEST

static const struct fixture_name names[] = {
    {0x1001, "a\"];<script>--&", false, NULL, 0},
    {0x2001, "main", false, NULL, 0},
    {0x3001, "N1", false, NULL, 0},
    {0x4001, "ns::Map<std::pair<int, char>, 42>::put(int)", false, NULL, 0},
    {0x5001, "</title><title>N2</title>", false, NULL, 0},
    {0x6001, "ends in \\", false, NULL, 0},
    {0x7001, "&#1;&#x202e;&lt;", false, NULL, 0},
    {0}};

static void
draw(const char *stacks, struct buffer *out)
{
    struct profile *profile = fixture_profile(stacks, names, NULL);
    struct error err = {0};
    int rc = -1;

    buffer_init(out, 1 << 20);
    ck_assert_ptr_nonnull(graphviz_program());
    /* 30 s are few beside others, which go before it. */
    for (int i = 0; i < 3 && rc != 0; i++)
        rc = graphviz_svg(profile, NULL, out, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
    profile_free(profile);
}

static void
must_have(const struct buffer *out, const char *text)
{
    ck_assert_msg(strstr(out->data, text) != NULL, "no %s in\n%s", text,
                  out->data);
}

START_TEST(a_profile_is_drawn_by_graphviz_itself)
{
    struct buffer out;

    draw("heap_v2/1\n@ 0x1001 0x2001\nt*: 1: 3145728 [0: 0]\n"
         "@ 0x4001 0x2001\nt*: 1: 1048576 [0: 0]\n",
         &out);
    must_have(&out, ">main</text>");
    must_have(&out, "<title>main\nitself 0 B, 0.0%\n"
                    "with what it called 4.0 MB, 100.0%</title>");
    must_have(&out, "<title>main\ncalls ns::Map&lt;std::pair&lt;int, char&gt;, "
                    "42&gt;::put\n1.0 MB, 25.0%</title>");
    must_have(&out, "fill=\"#ffffff\"");         /* main's, which has nothing */
    must_have(&out, "font-size=\"15.50\"");      /* a quarter */
    must_have(&out, "Boxes: larger and darker"); /* the legend */
    ck_assert_ptr_null(strstr(out.data, "<script"));
    ck_assert_ptr_null(strstr(out.data, "<title>N"));
    buffer_fini(&out);
}
END_TEST

/* Names that look like what is looked for. */
START_TEST(titles_are_text_whatever_functions_are_called)
{
    struct buffer out;

    draw("heap_v2/1\n@ 0x1001 0x3001 0x5001 0x6001 0x7001\n"
         "t*: 1: 1048576 [0: 0]\n",
         &out);
    must_have(&out, "<title>a&quot;];&lt;script&gt;--&amp;\nitself 1.0 MB");
    must_have(&out, "<title>N1\nitself 0 B");
    must_have(&out, "<title>&lt;/title&gt;&lt;title&gt;N2&lt;/title&gt;\n"
                    "itself 0 B");
    must_have(&out, "<title>ends in \\\nitself 0 B");
    must_have(&out, ">&amp;#1;&amp;#x202e;&amp;lt;</text>");
    ck_assert_ptr_null(strstr(out.data, "<script"));
    buffer_fini(&out);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("graphviz");
    TCase *tc = tcase_create("graphviz");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_it_answers_is_the_picture);
    tcase_add_test(tc, a_pdf_is_asked_for_and_must_be_whole);
    tcase_add_test(tc, nothing_of_ours_goes_over);
    tcase_add_test(tc, large_sources_and_answers_do_not_block_each_other);
    tcase_add_loop_test(tc, what_goes_wrong_is_said_and_changes_nothing, 0,
                        sizeof(failures) / sizeof(failures[0]));
    tcase_add_test(tc, a_cancel_request_is_obeyed);
    tcase_add_test(tc, a_program_that_is_not_there_is_named);
    tcase_add_test(tc, a_profile_is_drawn_by_graphviz_itself);
    tcase_add_test(tc, titles_are_text_whatever_functions_are_called);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
