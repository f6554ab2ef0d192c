/* test_raw.c - jemalloc's text from a profile, and a profile from it. */
#include "buffer.h"
#include "forms.h"
#include "profile_fixture.h"
#include "suite.h"

static const char text[] = "heap_v2/524288\n"
                           "  t*: 3: 1300 [6: 2600]\n"
                           "@ 0x1000 0x2001 0x3001\n"
                           "  t*: 2: 1000 [5: 2300]\n"
                           "@ 0x1000 0x3001\n"
                           "  t*: 1: 300 [1: 300]\n"
                           "@\n"
                           "  t*: 0: 0 [0: 0]\n"
                           "\n"
                           "MAPPED_LIBRARIES:\n"
                           "00001000-00009000 r-xp 00000010 00:00 1 /bin/d b\n"
                           "7f8bb0009000-7f8bb00af000 r-xp 00009000 00:00 2 "
                           "/lib/a?b\n";

static const struct profile_module modules[] = {
    {0x1000, 0x9000, 0x10, "/bin/d b", "c0ffee"},
    {0x7f8bb0009000, 0x7f8bb00af000, 0x9000, "/lib/a\nb", ""}};

START_TEST(the_text_comes_back)
{
    struct profile *profile = fixture_profile(text, NULL, NULL);
    struct error err = {0};
    struct buffer out;

    profile->modules = modules;
    profile->module_count = 2;
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(raw_write(profile, NULL, &out, &err), 0);
    ck_assert_str_eq(out.data, text);
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

START_TEST(a_difference_is_refused)
{
    struct profile *profile = fixture_profile(text, NULL, NULL);
    struct error err = {0};
    struct buffer out;

    fixture_make_signed(profile);
    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(raw_write(profile, NULL, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "jeprof --base"));
    ck_assert_uint_eq(out.size, 0);
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

/* As jeprof asks for them: callers less one, so that the call is named. */
START_TEST(each_address_has_its_names)
{
    static const struct fixture_name names[] = {
        {0x1000, "put"},
        {0x2001, "operator--|operator-"},
        {0x3001, "main"},
        {0}};
    struct profile *profile = fixture_profile(text, names, NULL);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(raw_write_symbols(profile, NULL, &out, &err), 0);
    ck_assert_str_eq(out.data, "0x0000000000001000 put\n"
                               "0x0000000000002000 operator~--operator~-\n"
                               "0x0000000000003000 main\n");
    buffer_fini(&out);
    buffer_init(&out, 30);
    ck_assert_int_eq(raw_write_symbols(profile, NULL, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "larger than 30 bytes"));
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

/* jeprof drops what is within jemalloc by name alone, and not what is above:
 * its own pthread_create has callers and callees that are not the allocator's.
 */
START_TEST(inner_functions_of_jemalloc_are_malloc)
{
    static const char stacks[] = "heap_v2/524288\n"
                                 "  t*: 2: 1000 [0: 0]\n"
                                 "@ 0x1000 0x2001 0x3001 0x4001 0x5001\n"
                                 "  t*: 1: 500 [0: 0]\n"
                                 "@ 0x6000 0x7001 0x5001\n"
                                 "  t*: 1: 500 [0: 0]\n";
    static const struct fixture_name names[] = {
        {0x1000, "libjemalloc.so.2+0xa2600", true},
        {0x2001, "prof_tctx_create|calloc", true},
        {0x3001, "put", false},
        {0x4001, "pthread_create", true},
        {0x5001, "main", false},
        {0x6000, "malloc|malloc_default", true},
        {0x7001, "zmalloc", false},
        {0}};
    struct profile *profile = fixture_profile(stacks, names, NULL);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 1 << 20);
    ck_assert_int_eq(raw_write_symbols(profile, NULL, &out, &err), 0);
    ck_assert_str_eq(out.data, "0x0000000000001000 malloc\n"
                               "0x0000000000002000 calloc--prof_tctx_create\n"
                               "0x0000000000003000 put\n"
                               "0x0000000000004000 pthread_create\n"
                               "0x0000000000005000 main\n"
                               "0x0000000000006000 malloc\n"
                               "0x0000000000007000 zmalloc\n");
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

START_TEST(the_outputs_ceiling_is_an_error)
{
    struct profile *profile = fixture_profile(text, NULL, NULL);
    struct error err = {0};
    struct buffer out;

    buffer_init(&out, 30);
    ck_assert_int_eq(raw_write(profile, NULL, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "larger than 30 bytes"));
    buffer_fini(&out);
    profile_free(profile);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("raw");
    TCase *tc = tcase_create("raw");

    tcase_add_test(tc, the_text_comes_back);
    tcase_add_test(tc, a_difference_is_refused);
    tcase_add_test(tc, each_address_has_its_names);
    tcase_add_test(tc, inner_functions_of_jemalloc_are_malloc);
    tcase_add_test(tc, the_outputs_ceiling_is_an_error);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
