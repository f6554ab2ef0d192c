/* test_environment.c - what the database and heapwired find in theirs. */
#include "environment.h"

#include <stdint.h>
#include <string.h>

#include "errors.h"
#include "suite.h"

static char *base[] = {
    "PATH=/bin",      "LD_PRELOAD=/u.so", "MALLOC_CONF=narenas:1",
    "LD_PRELOADER=x", "EMPTY=",           NULL};

static struct environment env;
static struct error err;

static void
setup(void)
{
    ck_assert_int_eq(environment_init(&env, base, &err), 0);
}

static void
teardown(void)
{
    environment_fini(&env);
}

START_TEST(a_copy_has_every_entry)
{
    for (size_t i = 0; base[i]; i++)
        ck_assert_str_eq(env.list[i], base[i]);
    ck_assert_ptr_null(env.list[env.count]);
    ck_assert_str_eq(environment_get(&env, "EMPTY"), "");
    ck_assert_ptr_null(environment_get(&env, "PAT"));
}
END_TEST

START_TEST(setting_replaces_and_appends)
{
    size_t count = env.count;

    ck_assert_int_eq(environment_set(&env, "PATH", "/x", &err), 0);
    ck_assert_uint_eq(env.count, count);
    ck_assert_int_eq(environment_set(&env, "NEW", "", &err), 0);
    ck_assert_uint_eq(env.count, count + 1);
    ck_assert_str_eq(environment_get(&env, "PATH"), "/x");
    ck_assert_str_eq(environment_get(&env, "NEW"), "");
    ck_assert_ptr_null(env.list[env.count]);
}
END_TEST

START_TEST(a_name_that_occurs_twice_is_unset_twice)
{
    char *twice[] = {"A=1", "B=2", "A=3", NULL};
    struct environment two;

    ck_assert_int_eq(environment_init(&two, twice, &err), 0);
    environment_unset(&two, "A");
    ck_assert_uint_eq(two.count, 1);
    ck_assert_str_eq(two.list[0], "B=2");
    environment_fini(&two);
}
END_TEST

START_TEST(what_is_prepended_leaves_what_was_there)
{
    ck_assert_int_eq(
        environment_prepend(&env, "MALLOC_CONF", "prof:true", &err), 0);
    ck_assert_str_eq(environment_get(&env, "MALLOC_CONF"),
                     "prof:true,narenas:1");
    ck_assert_int_eq(environment_prepend(&env, "JEMALLOC_CONF", "a:1", &err),
                     0);
    ck_assert_str_eq(environment_get(&env, "JEMALLOC_CONF"), "a:1");
    ck_assert_int_eq(environment_prepend(&env, "EMPTY", "a:1", &err), 0);
    ck_assert_str_eq(environment_get(&env, "EMPTY"), "a:1");
}
END_TEST

START_TEST(preloads_come_after_the_users)
{
    ck_assert_int_eq(environment_preload(&env, "/a.so", false, &err), 0);
    ck_assert_int_eq(environment_preload(&env, "/b.so", false, &err), 0);
    ck_assert_str_eq(environment_get(&env, "LD_PRELOAD"), "/u.so:/a.so:/b.so");
    ck_assert_str_eq(environment_get(&env, "LD_PRELOADER"), "x");
}
END_TEST

START_TEST(a_name_that_the_loader_would_split_is_refused)
{
    ck_assert_int_eq(environment_preload(&env, "/with space.so", false, &err),
                     -1);
    ck_assert_ptr_nonnull(strstr(err.text, "space"));
    ck_assert_int_eq(environment_preload(&env, "/a:b.so", false, &err), -1);
    ck_assert_str_eq(environment_get(&env, "LD_PRELOAD"), "/u.so");
}
END_TEST

START_TEST(cleaning_leaves_what_is_not_the_databases)
{
    static const char *const databases[] = {
        "HEAPWIRE_EXE",  "HEAPWIRE_PROFILING", "HEAPWIRE_ANYTHING",
        "JEMALLOC_CONF", "_RJEM_MALLOC_CONF",  "LD_AUDIT",
        "JE_MALLOC_CONF"};

    for (size_t i = 0; i < sizeof(databases) / sizeof(databases[0]); i++)
        ck_assert_int_eq(environment_set(&env, databases[i], "x", &err), 0);
    environment_clean(&env);
    ck_assert_uint_eq(env.count, 3);
    ck_assert_str_eq(env.list[0], "PATH=/bin");
    ck_assert_str_eq(env.list[1], "LD_PRELOADER=x");
    ck_assert_str_eq(env.list[2], "EMPTY=");
}
END_TEST

START_TEST(settings_for_another_agent_are_dropped)
{
    size_t before = env.count;

    ck_assert_int_eq(environment_set(&env, "HEAPWIRE_PROCESS", "x", &err), 0);
    ck_assert_int_eq(environment_set(&env, "JEMALLOC_CONF", "x", &err), 0);
    ck_assert_int_eq(environment_set(&env, "HEAPWIRE_NEW", "x", &err), 0);
    environment_drop_agents(&env);
    ck_assert_uint_eq(env.count, before + 1);
    ck_assert_str_eq(environment_get(&env, "JEMALLOC_CONF"), "x");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("environment");
    TCase *tcase = tcase_create("environment");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_copy_has_every_entry);
    tcase_add_test(tcase, setting_replaces_and_appends);
    tcase_add_test(tcase, a_name_that_occurs_twice_is_unset_twice);
    tcase_add_test(tcase, what_is_prepended_leaves_what_was_there);
    tcase_add_test(tcase, preloads_come_after_the_users);
    tcase_add_test(tcase, a_name_that_the_loader_would_split_is_refused);
    tcase_add_test(tcase, cleaning_leaves_what_is_not_the_databases);
    tcase_add_test(tcase, settings_for_another_agent_are_dropped);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
