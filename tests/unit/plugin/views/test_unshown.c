/* test_unshown.c - what is in use and not in the profile, in each form. */
#include <string.h>

#include "buffer.h"
#include "merge.h"
#include "profile_fixture.h"
#include "suite.h"
#include "headline.h"
#include "view.h"
#include "view_options.h"

static const struct fixture_name names[] = {{0x1000, "malloc", false, NULL, 0},
                                            {0x2001, "load", false, NULL, 0},
                                            {0x3001, "main", false, NULL, 0},
                                            {0}};

static struct profile *
sampled(unsigned times, double unseen)
{
    char text[256];
    struct profile *profile;

    snprintf(text, sizeof(text),
             "heap_v2/524288\n@ 0x1000 0x2001 0x3001\n"
             "t*: %u: %u [0: 0]\nMAPPED_LIBRARIES:\n\n",
             times, times * (16U << 20));
    profile = fixture_profile(text, names, NULL);
    profile->memory = "why it is not there";
    profile->unseen = (struct profile_unseen){unseen, "whyever"};
    return profile;
}

static struct buffer
render(const char *form, const struct profile *profile,
       const struct view_options *options)
{
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 32 << 20);
    ck_assert_msg(view_form_find(form)->render(profile, options, &out, &err) ==
                      0,
                  "%s: %s", form, err.text);
    buffer_char(&out, '\0');
    return out;
}

static void
look(const char *form, double unseen, const struct view_options *options,
     const char *wanted, bool there)
{
    struct profile *profile = sampled(1, unseen);
    struct buffer out = render(form, profile, options);

    ck_assert_msg((strstr(out.data, wanted) != NULL) == there,
                  "%s: %s is%s there:\n%.4000s", form, wanted,
                  there ? " not" : "", out.data);
    buffer_fini(&out);
    profile_free(profile);
}

static const struct {
    const char *form, *wanted;
    double unseen; /* MB; 0: as much as the profile has */
} shown[] = {
    {"text",
     UNSHOWN_NAME ": 16.0 MB, 50.0% of the 32.0 MB that are in use: whyever\n",
     0},
    {"top",
     UNSHOWN_NAME ": 16.0 MB, 50.0% of the 32.0 MB that are in use: whyever\n",
     0},
    {"tree",
     UNSHOWN_NAME ": 16.0 MB, 50.0% of the 32.0 MB that are in use: whyever\n",
     0},
    {"dot",
     "Unseen [label=\"" UNSHOWN_NAME
     "\\n16.0\",shape=box,style=filled,fillcolor=\"#d9d9d9\",fontsize=58.0];\n",
     0},
    /* Beside the frames, as wide, and as high as all of them. */
    {"flamegraph",
     "<g id=\"unseen\"><title>" UNSHOWN_NAME
     ": 16.0 MB, 50.0% of the 32.0 MB that are in use: whyever\n"
     "why it is not there</title><rect x=\"600.00\" y=\"76\" "
     "width=\"590.00\" height=\"50\" rx=\"1\" fill=\"#d9d9d9\"/><text "
     "x=\"603.00\" y=\"122\" textLength=\"203.0\">" UNSHOWN_NAME
     " 16.0 MB</text></g>",
     0},
    {"svg",
     "<title>" UNSHOWN_NAME
     ": 16.0 MB, 50.0% of the 32.0 MB that are in use: whyever</title>",
     0},
    /* The frames' figures are the profile's. */
    {"flamegraph", "<title>main\n16.0 MB (16777216 bytes), 100.00%</title>", 0},
    {"calls", "\"unseen\":16777216,", 0},
    {"calls", "\"total\":[16777216,16777216,16777216]", 0},
    /* Whatever part it is. */
    {"dot", "\\n100000.0\",shape=box", 100e3},
    {"flamegraph", "id=\"unseen\"", 1e-6},
};

START_TEST(each_picture_shows_it)
{
    double unseen =
        shown[_i].unseen > 0 ? shown[_i].unseen * (1 << 20) : 16 << 20;
    struct view_options few = view_defaults;

    look(shown[_i].form, unseen, NULL, shown[_i].wanted,
         shown[_i].unseen != 1e-6);
    /* Not beside a part of the profile, nor objects. */
    if (!strstr(shown[_i].wanted, "unseen") && !strstr(shown[_i].wanted, "not"))
        return;
    few.focus = "main";
    look(shown[_i].form, unseen, &few, shown[_i].wanted, false);
    few.focus = NULL;
    few.ignore = "nothing";
    look(shown[_i].form, unseen, &few, shown[_i].wanted, false);
    few.ignore = NULL;
    few.measure = MEASURE_INUSE_OBJECTS;
    look(shown[_i].form, unseen, &few, shown[_i].wanted, false);
}
END_TEST

START_TEST(what_tools_read_has_no_such_frame)
{
    static const char *const forms[] = {"collapsed", "raw", "address_names"};

    look(forms[_i], 16 << 20, NULL, "not in the profile", false);
}
END_TEST

START_TEST(differences_have_none_and_sums_that_of_all)
{
    struct profile *one = sampled(4, 5 << 20), *two = sampled(8, 3 << 20), *sum;
    struct merge *merge;
    struct error err = {0};

    merge = merge_new(false, &err);
    ck_assert_ptr_nonnull(merge);
    ck_assert_int_eq(merge_add(merge, 1, one, NULL, &err), 0);
    ck_assert_int_eq(merge_add(merge, 2, two, NULL, &err), 0);
    sum = merge_finish(merge, "", &err);
    ck_assert_ptr_nonnull(sum);
    ck_assert_double_eq(unshown_bytes(sum, &view_defaults), 8 << 20);
    one->difference = true;
    ck_assert_double_eq(unshown_bytes(one, &view_defaults), 0);
    merge_free(merge);
    profile_free(sum);
    profile_free(one);
    profile_free(two);
}
END_TEST

START_TEST(few_samples_are_said_first)
{
    static const struct {
        unsigned samples;
        const char *title;
    } cases[] = {
        {1, "db: 16.0 MB in use, estimated from 1 sample alone\n"},
        {2, "db: 32.0 MB in use, estimated from 2 samples alone\n"},
        {10, "db: 160.0 MB in use, estimated from 10 samples alone\n"},
        {11, "db: 176.0 MB in use\n"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct profile *profile = sampled(cases[i].samples, 0);
        struct buffer out = render("tree", profile, NULL);

        ck_assert_msg(
            strncmp(out.data, cases[i].title, strlen(cases[i].title)) == 0,
            "not %s:\n%.4000s", cases[i].title, out.data);
        buffer_fini(&out);
        profile_free(profile);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("unshown");
    TCase *tc = tcase_create("unshown");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, each_picture_shows_it, 0,
                        sizeof(shown) / sizeof(shown[0]));
    tcase_add_loop_test(tc, what_tools_read_has_no_such_frame, 0, 3);
    tcase_add_test(tc, differences_have_none_and_sums_that_of_all);
    tcase_add_test(tc, few_samples_are_said_first);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
