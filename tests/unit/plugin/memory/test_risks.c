/* test_risks.c - which notes go with which jemalloc. */
#include <string.h>

#include "errors.h"
#include "risks.h"
#include "stats.h"
#include "suite.h"

/* Every text of a risk, one after the other. */
static const char *
told(const char *version, const char *statistics)
{
    static char all[8192];
    struct risk_options options = {0};
    const char *risks[RISKS_MAX];
    struct error err = {0};
    struct stats *stats = stats_parse(statistics, strlen(statistics), &err);
    size_t count;

    ck_assert_msg(stats != NULL, "%s", err.text);
    risks_read_options(stats, &options);
    ck_assert(options.known);
    stats_unref(stats);
    count = risks_list(version, &options, risks);
    all[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        strcat(all, risks[i]);
        strcat(all, "\n");
    }
    return all;
}

static const struct {
    const char *version, *has, *lacks;
} versions[] = {
    {"4.5.0-0-gf0f2b50", "older than any", "unreliable"},
    {"5.2.1-0-gea6b3e9", "unreliable", "epoch"},
    {"5.2.1-0-gea6b3e9", "biased", "(#2662"},
    {"5.2.1-0-gea6b3e9", "#2556", "newer"},
    {"5.3.0-0-g54eaed1d", "#2662, #2681", "biased"},
    {"5.3.0-0-g54eaed1d", "epoch", "unreliable"},
    {"5.3.0", "four pages", "#2981"},
    {"5.3.1-0-g1", "#2981", "four pages"},
    {"5.4.0-0-g1", "newer", "epoch"},
    {"6.0.0", "newer", "four pages"},
    {"", "cannot be read", "newer"},
    {"0.0.0-0-g000000missing_version", "cannot be read", "older"},
    {"a.b.c", "cannot be read", "pages"},
};

START_TEST(a_version_has_its_notes_and_no_others)
{
    const char *text = told(versions[_i].version, "");

    ck_assert_msg(strstr(text, versions[_i].has) != NULL, "%s", text);
    ck_assert_msg(strstr(text, versions[_i].lacks) == NULL, "%s", text);
}
END_TEST

static const struct {
    const char *statistics, *has; /* "": it names no option */
} options[] = {
    {"opt.abort 0\nopt.lg_prof_interval -1\nopt.prof_accum 0\n", ""},
    {"opt.abort 1\n", "opt.abort is set"},
    {"opt.prof_leak_error 1\n", "opt.prof_leak_error is set"},
    {"opt.prof_gdump 1\n", "opt.prof_gdump is set"},
    {"opt.lg_prof_interval 30\n", "opt.lg_prof_interval is set"},
    {"opt.lg_prof_interval 0\n", "opt.lg_prof_interval is set"},
    {"opt.prof_final 1\n", "opt.prof_final is set"},
    {"opt.prof_leak 1\n", "opt.prof_leak is set"},
    {"opt.prof_accum 1\n", "opt.prof_accum is set"},
    {"opt.prof_sys_thread_name 1\n", "opt.prof_sys_thread_name is set"},
    {"opt.prof_sys_thread_name 0\n", ""},
    {"opt.prof_accum yes\nopt.prof 1\nopt.abort_conf 1\n", ""},
};

START_TEST(a_dangerous_option_is_reported)
{
    const char *text = told("5.3.0", options[_i].statistics);

    if (*options[_i].has)
        ck_assert_msg(strstr(text, options[_i].has) != NULL, "%s", text);
    else
        ck_assert_msg(strstr(text, "opt.") == NULL, "%s", text);
}
END_TEST

START_TEST(an_option_is_dangerous_until_it_was_mended)
{
    static const char names[] = "opt.prof_sys_thread_name 1\n";

    ck_assert_ptr_nonnull(strstr(told("5.3.0-0-g54eaed1d", names), "opt."));
    ck_assert_ptr_null(strstr(told("5.3.1-0-g1", names), "opt."));
}
END_TEST

START_TEST(a_sampled_object_has_pages_of_its_own)
{
    ck_assert_uint_eq(risks_pages_per_sample("5.3.0-0-g54eaed1d"), 4);
    ck_assert_uint_eq(risks_pages_per_sample("5.3.1"), 1);
    ck_assert_uint_eq(risks_pages_per_sample("?"), 4);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("risks");
    TCase *tc = tcase_create("risks");

    tcase_add_loop_test(tc, a_version_has_its_notes_and_no_others, 0,
                        sizeof(versions) / sizeof(versions[0]));
    tcase_add_loop_test(tc, a_dangerous_option_is_reported, 0,
                        sizeof(options) / sizeof(options[0]));
    tcase_add_test(tc, an_option_is_dangerous_until_it_was_mended);
    tcase_add_test(tc, a_sampled_object_has_pages_of_its_own);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
