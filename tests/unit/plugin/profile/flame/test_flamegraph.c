/* test_flamegraph.c - flame graphs: what is drawn, and that names are text. */
#include "buffer.h"
#include "flamegraph.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view_options.h"

static struct buffer
flamegraph_of(struct profile *profile, const struct view_options *options)
{
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 32 << 20);
    ck_assert_msg(flamegraph_write(profile, options, &out, &err) == 0, "%s",
                  err.text);
    profile_free(profile);
    return out;
}

/* What is there without the script. */
static void
leave_the_picture(struct buffer *out)
{
    char *end = strstr(out->data, "<metadata id=\"calls\">");

    ck_assert_ptr_nonnull(end);
    *end = '\0';
}

static unsigned
count_of(const char *text, const char *what)
{
    unsigned n = 0;

    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

static const struct fixture_name names[] = {{0x1000, "malloc", false, NULL, 0},
                                            {0x2001, "load", false, NULL, 0},
                                            {0x3001, "serve", false, NULL, 0},
                                            {0x4001, "main", false, NULL, 0},
                                            {0}};

static const char text[] = "heap_v2/1\n"
                           "@ 0x1000 0x3001 0x4001\n"
                           "t*: 1: 3000 [0: 0]\n"
                           "@ 0x1000 0x2001 0x4001\n"
                           "t*: 1: 1000 [0: 0]\n"
                           "MAPPED_LIBRARIES:\n\n";

START_TEST(frames_are_as_wide_as_what_they_weigh_with_siblings_by_name)
{
    struct buffer out = flamegraph_of(fixture_profile(text, names, NULL), NULL);

    ck_assert_uint_eq(count_of(out.data, "<g><title>"), 4);
    ck_assert_ptr_nonnull(strstr(out.data, "<g><title>all\n"));
    ck_assert_msg(strstr(out.data, "<g><title>load"
                                   "\n1000 B, 25.00%</title><rect x=\"10.00\""),
                  "%s", out.data);
    ck_assert_msg(strstr(out.data, "<g><title>serve\n"
                                   "2.9 KB (3000 bytes), 75.00%</title>"
                                   "<rect x=\"305.00\""),
                  "%s", out.data);
    ck_assert_ptr_nonnull(strstr(out.data, ">serve</text>"));
    ck_assert_ptr_nonnull(strstr(out.data, ">db: 3.9 KB in use</text>"));
    buffer_fini(&out);
}
END_TEST

/* Of every width, as they are drawn before any script measures them. */
START_TEST(labels_end_within_their_frames)
{
    enum { STACKS = 40 };
    static char called[STACKS][80];
    struct fixture_name list[STACKS + 1] = {{0}};
    struct buffer stacks, out;
    unsigned labels = 0, cut = 0;

    buffer_init(&stacks, 16384);
    buffer_text(&stacks, "heap_v2/1\n");
    for (unsigned i = 0; i < STACKS; i++) {
        snprintf(called[i], sizeof(called[i]),
                 i % 2 ? "ns::Map<%u, std::pair<int, char> >::put"
                       : "f%u\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2",
                 i);
        list[i].address = 0x10000 + i * 0x100 + 1;
        list[i].functions = called[i];
        buffer_format(&stacks, "@ 0x%x\nt*: 1: %u [0: 0]\n",
                      0x10000 + i * 0x100 + 1, 10 + i * i * 20);
    }
    out = flamegraph_of(fixture_profile(stacks.data, list, NULL), NULL);
    for (const char *at = out.data; (at = strstr(at, "<rect x=\""));) {
        double x, width, text_x;
        char label[256];
        int y, height;

        if (sscanf(at++,
                   "<rect x=\"%lf\" y=\"%d\" width=\"%lf\" height=\"%d\" "
                   "rx=\"1\" fill=\"%*7c\"/><text x=\"%lf\" "
                   "y=\"%*d\" textLength=\"%*f\">%255[^<]",
                   &x, &y, &width, &height, &text_x, label) != 6)
            continue;
        for (char *lt;
             (lt = strstr(label, "&lt;")) || (lt = strstr(label, "&gt;"));)
            memmove(lt, lt + 3, strlen(lt + 3) + 1);
        ck_assert_double_ge(text_x, x);
        ck_assert_double_le(
            text_x + (double)shown_columns(label, strlen(label)) * 7.25,
            x + width);
        labels++;
        cut += strstr(label, "\xe2\x80\xa6") != NULL;
    }
    ck_assert_uint_gt(labels, 15);
    ck_assert_uint_gt(cut, 5);
    buffer_fini(&stacks);
    buffer_fini(&out);
}
END_TEST

START_TEST(it_needs_nothing_from_outside)
{
    static const char end[] = "})();\n]]></script>\n</svg>\n";
    struct buffer out = flamegraph_of(fixture_profile(text, names, NULL), NULL);

    ck_assert_uint_eq(count_of(out.data, "<script>"), 1);
    ck_assert_ptr_null(strstr(out.data, "href"));
    ck_assert_ptr_null(strstr(out.data, "src="));
    ck_assert_ptr_null(strstr(out.data, "url("));
    ck_assert_ptr_null(strstr(out.data, "@import"));
    ck_assert_ptr_null(strstr(out.data, "eval("));
    ck_assert_ptr_null(strstr(out.data, "innerHTML"));
    /* Where the script begins and ends is for us to say. */
    ck_assert_uint_eq(count_of(out.data, "<![CDATA["), 1);
    ck_assert_uint_eq(count_of(out.data, "]]>"), 1);
    ck_assert_uint_gt(out.size, sizeof(end));
    ck_assert_str_eq(out.data + out.size - (sizeof(end) - 1), end);
    buffer_fini(&out);
}
END_TEST

/* Names may be anything at all: nothing becomes markup. */
START_TEST(hostile_names_are_text)
{
    static const struct fixture_name hostile[] = {
        {0x1001, "]]><x onload='1'>", false, NULL, 0},
        {0x2001, "\"&\x1b\xff\xfe\n\t<b", false, NULL, 0},
        {0x3001, "</title></svg>", false, NULL, 0},
        {0}};
    struct buffer out = flamegraph_of(
        fixture_profile("heap_v2/1\n@ 0x1001 0x2001 0x3001\nt*: 1: 1 [0: 0]\n",
                        hostile, NULL),
        NULL);
    const char *frames = strstr(out.data, "<g id=\"frames\">");
    const char *script = strstr(out.data, "<metadata id=\"calls\">");

    ck_assert(frames && script && frames < script);
    for (const char *p = strchr(frames, '<'); p && p < script;
         p = strchr(p + 1, '<'))
        ck_assert_msg(!strncmp(p, "<g ", 3) || !strncmp(p, "<g>", 3) ||
                          !strncmp(p, "</g>", 4) || !strncmp(p, "<title>", 7) ||
                          !strncmp(p, "</title>", 8) ||
                          !strncmp(p, "<rect ", 6) ||
                          !strncmp(p, "<text ", 6) || !strncmp(p, "</text>", 7),
                      "%.40s", p);
    for (size_t i = 0; i < out.size; i++)
        ck_assert(out.data[i] == '\n' || (unsigned char)out.data[i] >= ' ');
    buffer_fini(&out);
}
END_TEST

START_TEST(what_is_no_function_is_grey)
{
    static const struct fixture_name some[] = {
        {0x1001, "(anonymous namespace)::put", false, NULL, 0},
        {0x2001, "(*table())", false, NULL, 0},
        {0}};
    struct buffer out = flamegraph_of(
        fixture_profile("heap_v2/1\n@ 0x1001 0x2001\nt*: 1: 1 [0: 0]\n", some,
                        NULL),
        NULL);
    unsigned grey = 0;

    for (const char *p = out.data; (p = strstr(p, "fill=\"#d9d9d9\"")); p++)
        grey++;
    ck_assert_uint_eq(grey, 1); /* all */
    buffer_fini(&out);
}
END_TEST

START_TEST(long_names_are_cut)
{
    static char name[100001];
    struct profile *profile;
    struct names *table = names_new(16 << 20);
    struct frame frame = {name, "", 0};
    struct error err = {0};
    struct heap_dump *dump;
    struct buffer out;
    const char *title;

    memset(name, 'x', sizeof(name) - 1);
    dump =
        heap_dump_parse("heap_v2/1\n@ 0x1000\nt*: 1: 1 [0: 0]\n",
                        strlen("heap_v2/1\n@ 0x1000\nt*: 1: 1 [0: 0]\n"), &err);
    ck_assert_int_eq(names_add(table, 0x1000, &frame, 1, false), 0);
    profile = profile_new(dump, table, "db", NULL, &err);
    heap_dump_free(dump);
    names_free(table);
    out = flamegraph_of(profile, NULL);
    title = strstr(out.data, "<title>xxx");
    ck_assert_uint_le(strcspn(title, "\n"),
                      strlen("<title>") + FLAMEGRAPH_NAME_MAX);
    ck_assert_uint_lt(out.size, flame_script_size + flame_style_size + 20000);
    buffer_fini(&out);
}
END_TEST

START_TEST(a_difference_is_red_and_blue_and_noise_grey)
{
    struct profile *profile = fixture_profile(text, names, NULL);
    struct profile_stack *stacks;
    struct buffer out;

    fixture_make_signed(profile);
    stacks = (struct profile_stack *)profile->stacks;
    stacks[0].variance = stacks[1].variance = 0;
    out = flamegraph_of(profile, NULL);
    leave_the_picture(&out);
    ck_assert_ptr_nonnull(strstr(out.data, "since the base"));
    ck_assert_ptr_nonnull(strstr(out.data,
                                 "<g><title>all\n"
                                 "+2.0 KB (2000 bytes), 3.9 KB changed\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "<title>load\n-1000 B\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "<title>serve\n+2.9 KB"));
    ck_assert_ptr_null(strstr(out.data, "within sampling noise"));
    buffer_fini(&out);

    profile = fixture_profile(text, names, NULL);
    fixture_make_signed(profile);
    stacks = (struct profile_stack *)profile->stacks;
    stacks[0].variance = 0;
    stacks[1].variance = 1000 * 1000;
    out = flamegraph_of(profile, NULL);
    ck_assert_ptr_nonnull(strstr(out.data,
                                 "<title>load\n-1000 B\n"
                                 "25.00% of what changed, within sampling noise"
                                 "</title>"));
    ck_assert_ptr_nonnull(strstr(out.data, "#e8e8e8"));
    buffer_fini(&out);
}
END_TEST

START_TEST(an_empty_profile_says_why)
{
    struct buffer out =
        flamegraph_of(fixture_profile("heap_v2/1\nt*: 0: 0 [0: 0]\n"
                                      "MAPPED_LIBRARIES:\n\n",
                                      NULL, NULL),
                      NULL);

    leave_the_picture(&out);
    ck_assert_ptr_nonnull(strstr(out.data, ">nothing sampled</text>"));
    ck_assert_ptr_null(strstr(out.data, "<g><title>"));
    ck_assert_ptr_null(strstr(out.data, "too narrow"));
    buffer_fini(&out);
}
END_TEST

/* A longer one of reconciliation.h, in lines of which none is cut. */
START_TEST(a_long_note_is_shown_to_its_end)
{
    static const char part[] = "1234567.8 MB of one kind or another; ";
    char memory[16 * sizeof(part)] = "";
    struct profile *profile = fixture_profile("heap_v2/1\nt*: 0: 0 [0: 0]\n"
                                              "MAPPED_LIBRARIES:\n\n",
                                              NULL, NULL);
    struct buffer out;

    for (int i = 0; i < 14; i++)
        strcat(memory, part);
    strcat(memory, "cgroup 1234567.8 of limit 7654321.0");
    profile->memory = memory;
    out = flamegraph_of(profile, NULL);
    ck_assert_ptr_nonnull(strstr(out.data, "cgroup 1234567.8 of limit"));
    ck_assert_ptr_nonnull(strstr(out.data, " 7654321.0</text>"));
    buffer_fini(&out);
}
END_TEST

/* More frames than are drawn, and deeper ones. */
START_TEST(its_size_is_bounded)
{
    struct buffer dump, out;

    buffer_init(&dump, 64 << 20);
    buffer_text(&dump, "heap_v2/1\n");
    for (unsigned i = 0; i < 60000; i++)
        buffer_format(&dump, "@ 0x%x 0x%x\nt*: 1: 1000 [0: 0]\n",
                      0x1000 + i * 16, 0x900000 + i % 100 * 16);
    buffer_text(&dump, "@");
    for (unsigned i = 0; i < 1020; i++)
        buffer_text(&dump, " 0x5001");
    buffer_text(&dump, "\nt*: 1: 100000000 [0: 0]\n");
    ck_assert(!dump.failed);
    out = flamegraph_of(fixture_profile(dump.data, NULL, NULL), NULL);
    ck_assert_uint_le(count_of(out.data, "<g><title>"), FLAMEGRAPH_FRAMES_MAX);
    ck_assert_uint_gt(count_of(out.data, "<g><title>"), 1000);
    ck_assert_ptr_nonnull(strstr(out.data, " too narrow to show</text>"));
    buffer_fini(&dump);
    buffer_fini(&out);
}
END_TEST

START_TEST(the_outputs_ceiling_is_an_error)
{
    struct profile *profile = fixture_profile(text, names, NULL);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 5000);
    ck_assert_int_eq(flamegraph_write(profile, NULL, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "larger than 5000 bytes"));
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("flamegraph");
    TCase *tc = tcase_create("flamegraph");

    tcase_set_timeout(tc, 30);
    tcase_add_test(tc,
                   frames_are_as_wide_as_what_they_weigh_with_siblings_by_name);
    tcase_add_test(tc, labels_end_within_their_frames);
    tcase_add_test(tc, it_needs_nothing_from_outside);
    tcase_add_test(tc, hostile_names_are_text);
    tcase_add_test(tc, what_is_no_function_is_grey);
    tcase_add_test(tc, long_names_are_cut);
    tcase_add_test(tc, a_difference_is_red_and_blue_and_noise_grey);
    tcase_add_test(tc, an_empty_profile_says_why);
    tcase_add_test(tc, a_long_note_is_shown_to_its_end);
    tcase_add_test(tc, its_size_is_bounded);
    tcase_add_test(tc, the_outputs_ceiling_is_an_error);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
