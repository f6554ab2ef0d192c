/* test_allocators.c - what the jemallocs of a program are given. */
#include "allocators.h"

#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "errors.h"
#include "suite.h"

static struct allocators found;
static struct environment env;
static struct error err;

static void
setup(void)
{
    char *none[] = {NULL};

    ck_assert_int_eq(environment_init(&env, none, &err), 0);
}

static void
teardown(void)
{
    allocators_fini(&found);
    environment_fini(&env);
}

static void
find(const char *program)
{
    allocators_fini(&found);
    ck_assert_int_eq(allocators_find(&found, program, &env, &err), 0);
}

enum {
    OWN = LOCATE_JEMALLOC | LOCATE_PROFILES,
    COUNTS = OWN | LOCATE_COUNTS,
    NAMES = OWN | LOCATE_NAMES
};

static const struct {
    unsigned marks;
    const char *own;
    bool active;
    const char *options;
} cases[] = {
    {COUNTS, NULL, false, "prof:true,prof_active:false,prof_stats:true"},
    {COUNTS, NULL, true, "prof:true,prof_active:true,prof_stats:true"},
    {OWN, "", false, "prof:true,prof_active:false"},
    /* built without: nothing */
    {LOCATE_JEMALLOC | LOCATE_COUNTS, NULL, false, ""},
    {LOCATE_JEMALLOC, "narenas:1", true, ""},
    /* what the program says by itself stays */
    {OWN, "prof_active:true", false, "prof:true"},
    {OWN, "narenas:1,prof_active:true", true, "prof:true"},
    {OWN, "lg_prof_active:1,xprof_active:true", false,
     "prof:true,prof_active:false"},
    {OWN, "prof:true,lg_prof_sample:19", false, "prof:true"},
    {COUNTS, "prof_stats:false", false, "prof:true,prof_active:false"},
    {NAMES, NULL, false,
     "prof:true,prof_active:false,prof_sys_thread_name:true"},
    {NAMES, "x:1,prof_sys_thread_name:false", false,
     "prof:true,prof_active:false"},
    {NAMES | LOCATE_SETS_NAMES, NULL, false, "prof:true,prof_active:false"},
    {COUNTS | LOCATE_NAMES | LOCATE_SETS_THREADS, NULL, false,
     "prof:true,prof_active:false,prof_thread_active_init:true,prof_stats:true,"
     "prof_sys_thread_name:true"},
    {OWN | LOCATE_SETS_ACTIVE, NULL, false, "prof:true"},
    {OWN | LOCATE_SETS_PROF, NULL, false, "prof:true"},
    {OWN | LOCATE_SETS_PROF, NULL, true, "prof:true,prof_active:true"},
    {OWN | LOCATE_SETS_THREADS, NULL, false,
     "prof:true,prof_active:false,prof_thread_active_init:true"},
    {COUNTS | LOCATE_SETS_PROF | LOCATE_SETS_ACTIVE | LOCATE_SETS_THREADS, NULL,
     true,
     "prof:true,prof_active:true,prof_thread_active_init:true,prof_stats:true"},
    {OWN | LOCATE_SETS_THREADS, "prof_thread_active_init:false", false,
     "prof:true,prof_active:false"},
    {COUNTS | LOCATE_SETS_STATS, NULL, false, "prof:true,prof_active:false"},
};

START_TEST(only_what_is_needed_is_set)
{
    char options[ALLOCATOR_OPTIONS_MAX];

    allocators_options(cases[_i].marks, cases[_i].own, cases[_i].active,
                       options);
    ck_assert_str_eq(options, cases[_i].options);
}
END_TEST

START_TEST(the_right_variable_is_set_and_no_other)
{
    ck_assert_int_eq(environment_set(&env, "JEMALLOC_CONF", "narenas:1", &err),
                     0);
    find(HW_TEST_HOSTS "/host_je.stripped");
    ck_assert_int_eq(allocators_prepare(&found, false, &env, &err), 0);
    ck_assert_str_eq(environment_get(&env, "JEMALLOC_CONF"),
                     "prof:true,prof_active:false,narenas:1");
    ck_assert_str_eq(environment_get(&env, "HEAPWIRE_PROFILING"),
                     "prof:true,prof_active:false");
    ck_assert_uint_eq(env.count, 2);
}
END_TEST

/* Of another build than Debian's library; its own archive is in the host. */
START_TEST(threads_of_an_unknown_5_3_0_are_not_named)
{
    find(HW_TEST_HOSTS "/host_real");
    ck_assert_uint_ne(found.list[0].file.marks & LOCATE_NAMES, 0);
    ck_assert_int_eq(strncmp(found.list[0].file.version, "5.3.0", 5), 0);
    ck_assert_int_eq(allocators_prepare(&found, false, &env, &err), 0);
    ck_assert_str_eq(environment_get(&env, "MALLOC_CONF"),
                     "prof:true,prof_active:false,prof_stats:true");
    environment_unset(&env, "MALLOC_CONF");
    snprintf(found.list[0].file.version, sizeof(found.list[0].file.version),
             "5.3.1");
    ck_assert_int_eq(allocators_prepare(&found, false, &env, &err), 0);
    ck_assert_ptr_nonnull(strstr(environment_get(&env, "MALLOC_CONF"),
                                 ",prof_sys_thread_name:true"));
}
END_TEST

START_TEST(the_agent_hears_where_each_is)
{
    char expected[256];

    find(HW_TEST_HOSTS "/host_je.stripped");
    ck_assert_int_eq(allocators_export(&found, &env, &err), 0);
    snprintf(expected, sizeof(expected), "%s,%llx,je,JEMALLOC_CONF,scan",
             found.list[0].file.build_id,
             (unsigned long long)found.list[0].file.jemallocs[0].mallctl);
    ck_assert_str_eq(environment_get(&env, "HEAPWIRE_JEMALLOC"), expected);
    find("/bin/sh");
    environment_unset(&env, "HEAPWIRE_JEMALLOC");
    ck_assert_int_eq(allocators_export(&found, &env, &err), 0);
    ck_assert_ptr_null(environment_get(&env, "HEAPWIRE_JEMALLOC"));
}
END_TEST

START_TEST(linked_and_preloaded_ones_are_found)
{
    find("/bin/sh");
    ck_assert_uint_eq(found.count, 0);
    ck_assert_uint_gt(found.files_scanned, 1);
    ck_assert_int_eq(
        environment_set(&env, "LD_PRELOAD", "libjemalloc.so.2", &err), 0);
    find("/bin/sh");
    ck_assert_uint_eq(found.count, 1);
    ck_assert_int_eq(found.list[0].origin, ALLOCATOR_USERS);
    ck_assert_int_eq(found.list[0].file.jemallocs[0].how, LOCATE_EXPORTED);
    environment_unset(&env, "LD_PRELOAD");
    find("/usr/bin/redis-server");
    ck_assert_uint_eq(found.count, 1);
    ck_assert_int_eq(found.list[0].origin, ALLOCATOR_LINKED);
}
END_TEST

START_TEST(a_library_beside_the_program_is_found_by_its_origin)
{
    find(HW_TEST_HOSTS "/host_user");
    ck_assert_uint_eq(found.count, 1);
    ck_assert_int_eq(found.list[0].origin, ALLOCATOR_LINKED);
    ck_assert_ptr_nonnull(strstr(found.list[0].path, "libhost_library.so"));
    ck_assert_str_eq(found.list[0].file.jemallocs[0].prefix, "je_");
    ck_assert_int_eq(found.list[0].file.kind, LOCATE_LIBRARY);
}
END_TEST

START_TEST(the_user_may_say_where_it_is)
{
    const char *host = HW_TEST_HOSTS "/host_je";
    const struct locate_jemalloc *j;
    char setting[256];
    uint64_t mallctl;

    find(host);
    j = &found.list[0].file.jemallocs[0];
    mallctl = j->mallctl;
    ck_assert_int_eq(allocators_give(&found, host, "jemallctl", &err), 0);
    ck_assert_int_eq(j->how, LOCATE_GIVEN);
    ck_assert_uint_eq(j->mallctl, mallctl);
    ck_assert_int_eq(allocators_give(&found, host, "host_je:main", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "does not take five arguments"));
    snprintf(setting, sizeof(setting), "%s:0x%llx", host,
             (unsigned long long)mallctl);
    ck_assert_int_eq(allocators_give(&found, host, setting, &err), 0);
    ck_assert_uint_eq(j->mallctl, mallctl);

    ck_assert_int_eq(allocators_give(&found, host, "nothing", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "no function nothing"));
    ck_assert_int_eq(allocators_give(&found, host, "0x10", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "no mallctl at 0x10"));
    ck_assert_int_eq(allocators_give(&found, host, "12x", &err), -1);
    ck_assert_int_eq(allocators_give(&found, host, "/no/such:main", &err), -1);
    ck_assert_uint_eq(j->mallctl, mallctl);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("allocators");
    TCase *tcase = tcase_create("allocators");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, only_what_is_needed_is_set, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tcase, the_right_variable_is_set_and_no_other);
    tcase_add_test(tcase, threads_of_an_unknown_5_3_0_are_not_named);
    tcase_add_test(tcase, the_agent_hears_where_each_is);
    tcase_add_test(tcase, linked_and_preloaded_ones_are_found);
    tcase_add_test(tcase, a_library_beside_the_program_is_found_by_its_origin);
    tcase_add_test(tcase, the_user_may_say_where_it_is);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
