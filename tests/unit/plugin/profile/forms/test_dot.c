/* test_dot.c - DOT stays DOT, whatever symbols are called. */
#include "buffer.h"
#include "forms.h"
#include "graph.h"
#include "profile_fixture.h"
#include "suite.h"

static struct buffer
dot_of(const char *text, const struct fixture_name *names,
       const struct profile_origin *origin)
{
    struct profile *profile = fixture_profile(text, names, origin);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_msg(dot_write(profile, NULL, &out, &err) == 0, "%s", err.text);
    profile_free(profile);
    return out;
}

START_TEST(a_graph_is_printed_as_jeprof_prints_it)
{
    static const struct fixture_name names[] = {
        {0x1000, "malloc", false, NULL, 0},
        {0x2001, "ns::put(int)|ns::Map<int>::all()", false, NULL, 0},
        {0x3001, "main", false, NULL, 0},
        {0}};
    struct buffer out = dot_of("heap_v2/1\n"
                               "@ 0x1000 0x2001 0x3001\n"
                               "t*: 1: 1048576 [0: 0]\n"
                               "@ 0x1000 0x3001\n"
                               "t*: 1: 3145728 [0: 0]\n"
                               "MAPPED_LIBRARIES:\n\n",
                               names, NULL);

    ck_assert_str_eq(
        out.data,
        "digraph \"/usr/bin/db; 4.0 MB\" {\n"
        "node [width=0.375,height=0.25];\n"
        "Legend [shape=box,fontsize=24,shape=plaintext,label=\"/usr/bin/db\\l"
        "Total MB: 4.0\\lFocusing on: 4.0\\lDropped nodes with <= 0.0 abs(MB)"
        "\\lDropped edges with <= 0.0 MB\\l\"];\n"
        "N1 [label=\"main\\n3.0 (75.0%)\\rof 4.0 (100.0%)\\r\",shape=box,"
        "fontsize=51.3];\n"
        "N2 [label=\"ns\\nMap\\nall\\n0.0 (0.0%)\\rof 1.0 (25.0%)\\r\","
        "shape=box,fontsize=8.0];\n"
        "N3 [label=\"ns\\nput\\n(inline)\\n1.0 (25.0%)\\r\",shape=box,"
        "fontsize=33.0];\n"
        "N1 -> N2 [label=1.0, weight=16383, "
        "style=\"setlinewidth(1.500000)\"];\n"
        "N2 -> N3 [label=1.0, weight=16383, "
        "style=\"setlinewidth(1.500000),dashed\"];\n"
        "}\n");
    buffer_fini(&out);
}
END_TEST

/* What a function may be called, and what its label says. */
static const struct {
    const char *name, *label;
} escapes[] = {
    {"say \"hi\"", "say\\n\\\"hi\\\""},
    {"back\\slash\\", "back\\\\slash\\\\"},
    {"two\nlines\r\n\tand", "two\\nlines\\nand"},
    {"bell\a esc\x1b del\x7f", "bell?\\nesc?\\ndel?"},
    {"a::b:c::", "a\\nb:c\\n"},
    {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
     "caf\xc3\xa9\\n\xe2\x82\xac\\n\xf0\x9f\x98\x80"},
    {"bad \xff \xc3 \xc0\x80 \xed\xa0\x80 \xf5\x80\x80\x80",
     "bad\\n?\\n?\\n??\\n???\\n????"},
    {"end\xe2\x82", "end??"},
    {"];}", "];}"},
};

START_TEST(names_are_escaped)
{
    struct fixture_name names[] = {{0x1001, escapes[_i].name, false, NULL, 0},
                                   {0}};
    struct buffer out =
        dot_of("heap_v2/1\n@ 0x1001\nt*: 1: 1 [0: 0]\n", names, NULL);
    char expected[256];

    snprintf(expected, sizeof(expected), "N1 [label=\"%s\\n0.0 (100.0%%)\\r\"",
             escapes[_i].label);
    ck_assert_msg(strstr(out.data, expected) != NULL, "%s", out.data);
    buffer_fini(&out);
}
END_TEST

START_TEST(long_names_are_cut_between_characters)
{
    char name[2 * DOT_NAME_MAX + 1];
    struct fixture_name names[] = {{0x1001, name, false, NULL, 0}, {0}};
    struct buffer out;
    const char *label;

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memcpy(name + DOT_NAME_MAX - 2, "\xe2\x82\xac", 3);
    out = dot_of("heap_v2/1\n@ 0x1001\nt*: 1: 1 [0: 0]\n", names, NULL);
    label = strstr(out.data, "[label=\"xxx");
    ck_assert_ptr_nonnull(label);
    label += strlen("[label=\"");
    ck_assert_uint_eq(strspn(label, "x"), DOT_NAME_MAX - 2);
    ck_assert_int_eq(strncmp(label + DOT_NAME_MAX - 2, "...\\n", 5), 0);
    buffer_fini(&out);
}
END_TEST

static const struct {
    struct profile_origin origin;
    const char *legend;
} empties[] = {
    {{false, 0, 0}, "\\lnothing sampled\\l\"];\n}\n"},
    {{true, 1795228267000, 0}, "\\lprofiling is not active\\l\"];\n}\n"},
    {{true, 1795228267000, 1795228207000},
     "\\lnothing sampled since 2026-11-21 02:30:07 UTC (active)\\l\"];\n}\n"},
};

START_TEST(a_profile_without_samples_says_so)
{
    struct buffer out =
        dot_of("heap_v2/524288\n  t*: 0: 0 [0: 0]\nMAPPED_LIBRARIES:\n\n", NULL,
               &empties[_i].origin);

    ck_assert_ptr_nonnull(strstr(out.data, "digraph \"/usr/bin/db; 0.0 MB\""));
    ck_assert_msg(strstr(out.data, empties[_i].legend) != NULL, "%s", out.data);
    buffer_fini(&out);
}
END_TEST

START_TEST(a_profile_that_was_cut_off_says_so)
{
    struct buffer out = dot_of("heap_v2/1\n@ 1\nt*: 1: 1 [0: 0]\n", NULL, NULL);

    ck_assert_ptr_nonnull(strstr(out.data, "\\lThe profile was cut off\\l\""));
    ck_assert_ptr_null(strstr(out.data, "nothing sampled"));
    buffer_fini(&out);
}
END_TEST

START_TEST(the_line_on_memory_is_in_the_legend_in_its_parts)
{
    struct profile *profile =
        fixture_profile("heap_v2/1\n@ 1\nt*: 1: 1 [0: 0]\n", NULL, NULL);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    profile->memory = "profile 1.0 MB; active \"2\\\n\xff\"; RSS 3.0; ";
    ck_assert_int_eq(dot_write(profile, NULL, &out, &err), 0);
    ck_assert_msg(strstr(out.data, "\\lprofile 1.0 MB\\lactive \\\"2\\\\??\\\""
                                   "\\lRSS 3.0; \\l") != NULL,
                  "%s", out.data);
    buffer_clear(&out);
    profile->memory = "resident 18.9: 2.9 metadata (3.0) and free pages not "
                      "given back yet; RSS";
    ck_assert_int_eq(dot_write(profile, NULL, &out, &err), 0);
    ck_assert_msg(strstr(out.data,
                         "\\lresident 18.9: 2.9 metadata (3.0) and free pages"
                         "\\l    not given back yet\\lRSS\\l") != NULL,
                  "%s", out.data);
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

    buffer_init(&out, 100);
    ck_assert_int_eq(dot_write(profile, NULL, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "larger than 100 bytes"));
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dot");
    TCase *tc = tcase_create("dot");

    tcase_add_test(tc, a_graph_is_printed_as_jeprof_prints_it);
    tcase_add_loop_test(tc, names_are_escaped, 0,
                        sizeof(escapes) / sizeof(escapes[0]));
    tcase_add_test(tc, long_names_are_cut_between_characters);
    tcase_add_loop_test(tc, a_profile_without_samples_says_so, 0,
                        sizeof(empties) / sizeof(empties[0]));
    tcase_add_test(tc, a_profile_that_was_cut_off_says_so);
    tcase_add_test(tc, the_line_on_memory_is_in_the_legend_in_its_parts);
    tcase_add_test(tc, the_outputs_ceiling_is_an_error);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
