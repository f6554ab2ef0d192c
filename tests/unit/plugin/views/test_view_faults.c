/* test_view_faults.c - every form without memory, cancelled, and cut off. */
#include <stdlib.h>

#include "buffer.h"
#include "failing_memory.h"
#include "profile_fixture.h"
#include "suite.h"
#include "view.h"

static const struct fixture_name names[] = {
    {0x1000, "malloc", false, NULL, 0},
    {0x2001, "ns::put(int)|ns::Map<int>::all()", false, NULL, 0},
    {0x3001, "DoneCallback::Run()", false, NULL, 0},
    {0x4001, "main", false, NULL, 0},
    {0}};

static const char text[] = "heap_v2/1\n"
                           "@ 0x1000 0x2001 0x3001 0x4001\n"
                           "t*: 2: 100000 [2: 100000]\n"
                           "@ 0x1000 0x3001 0x4001\n"
                           "t*: 1: 300000 [1: 300000]\n"
                           "@ 0x1000\n"
                           "t*: 1: 300 [1: 300]\n"
                           "MAPPED_LIBRARIES:\n\n";

/* Forms come and go: whatever the table has. */
START_TEST(every_allocation_may_fail)
{
    for (size_t i = 0; i < view_form_count; i++) {
        struct profile *profile = fixture_profile(text, names, NULL);
        struct error err;
        struct buffer out;
        int rc = -1;

        for (failing = 1; rc != 0; failing++) {
            memset(&err, 0, sizeof(err));
            buffer_init(&out, 8 << 20);
            allocations = 0;
            rc = view_forms[i].render(profile, &view_defaults, &out, &err);
            if (rc != 0)
                ck_assert_msg(err.code == ER_OUT_OF_MEMORY, "%s %u: %d %s",
                              view_forms[i].name, failing, err.code, err.text);
            buffer_fini(&out);
            ck_assert_uint_lt(failing, 1000);
        }
        /* At least the one that was found to succeed, and one before. */
        ck_assert_uint_gt(failing, 2);
        failing = 0;
        profile_free(profile);
    }
}
END_TEST

START_TEST(every_form_obeys_a_cancel_request)
{
    struct profile *profile = fixture_profile(text, names, NULL);
    struct view_options options = view_defaults;
    atomic_bool cancelled = true;

    options.cancelled = &cancelled;
    for (size_t i = 0; i < view_form_count; i++) {
        struct error err = {0};
        struct buffer out;

        buffer_init(&out, 8 << 20);
        ck_assert_msg(view_forms[i].render(profile, &options, &out, &err) == -1,
                      "%s", view_forms[i].name);
        ck_assert_msg(err.code == ER_QUERY_INTERRUPTED, "%s: %s",
                      view_forms[i].name, err.text);
        buffer_fini(&out);
    }
    profile_free(profile);
}
END_TEST

START_TEST(every_form_stops_at_its_ceiling)
{
    struct profile *profile = fixture_profile(text, names, NULL);

    for (size_t i = 0; i < view_form_count; i++) {
        struct error err = {0};
        struct buffer out;

        buffer_init(&out, 20);
        ck_assert_msg(
            view_forms[i].render(profile, &view_defaults, &out, &err) == -1,
            "%s", view_forms[i].name);
        ck_assert_msg(err.code == ER_OUT_OF_MEMORY, "%s: %s",
                      view_forms[i].name, err.text);
        ck_assert_uint_le(out.size, 20);
        buffer_fini(&out);
    }
    profile_free(profile);
}
END_TEST

/* Stacks that are nothing but the allocator, or nothing at all. */
START_TEST(every_form_shows_profiles_of_nothing)
{
    static const char *const dumps[] = {
        "heap_v2/1\nt*: 0: 0 [0: 0]\nMAPPED_LIBRARIES:\n\n",
        "heap_v2/1\n@\nt*: 1: 1 [0: 0]\nMAPPED_LIBRARIES:\n\n",
        "heap_v2/1\n@ 0x1000\nt*: 1: 1 [0: 0]\nMAPPED_LIBRARIES:\n\n",
        "heap_v2/1\n@ 0x1000\nt*: 0: 0 [0: 0]\n"};

    for (size_t i = 0; i < view_form_count; i++) {
        for (size_t k = 0; k < sizeof(dumps) / sizeof(dumps[0]); k++) {
            struct profile *profile = fixture_profile(dumps[k], names, NULL);
            struct error err = {0};
            struct buffer out;

            buffer_init(&out, 8 << 20);
            ck_assert_msg(
                view_forms[i].render(profile, &view_defaults, &out, &err) == 0,
                "%s: %s", view_forms[i].name, err.text);
            ck_assert_msg(!out.data || !strstr(out.data, "nan%"), "%s: %s",
                          view_forms[i].name, out.data);
            buffer_fini(&out);
            profile_free(profile);
        }
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("view_faults");
    TCase *tc = tcase_create("view_faults");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, every_allocation_may_fail);
    tcase_add_test(tc, every_form_obeys_a_cancel_request);
    tcase_add_test(tc, every_form_stops_at_its_ceiling);
    tcase_add_test(tc, every_form_shows_profiles_of_nothing);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
