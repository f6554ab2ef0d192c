/* test_registry.c - ids, lists and kills. */
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "registry.h"
#include "suite.h"

static int wakes;
static struct registry registry;
static struct registry_entry entries[4];

static const struct sql_identity ann = {"ann", "localhost", PRIVILEGE_STATUS};
static const struct sql_identity bob = {"bob", "localhost", PRIVILEGE_STATUS};
static const struct sql_identity boss = {"eve", "localhost", PRIVILEGE_ADMIN};

static void
count_wake(void *arg)
{
    (void)arg;
    wakes++;
}

static void
setup(void)
{
    wakes = 0;
    registry_init(&registry, (struct waker){count_wake, NULL});
    for (int i = 0; i < 4; i++) {
        registry_add(&registry, &entries[i], "localhost", false);
        registry_set_user(&registry, &entries[i], i < 2 ? &ann : &bob);
    }
}

static void
teardown(void)
{
    for (int i = 0; i < 4; i++)
        registry_remove(&registry, &entries[i]);
    registry_fini(&registry);
}

START_TEST(ids_ascend_from_one_and_are_listed_so)
{
    struct sql_session_row rows[8];

    ck_assert_uint_eq(registry_list(&registry, rows, 8), 4);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(rows[i].id, i + 1);
    ck_assert_uint_eq(registry_list(&registry, rows, 2), 2);
    registry_remove(&registry, &entries[3]);
    registry_add(&registry, &entries[3], "localhost", false);
    ck_assert_uint_eq(entries[3].id, 5);
}
END_TEST

START_TEST(connections_count_per_protocol)
{
    struct registry_entry web;
    struct sql_counts counts;

    registry_add(&registry, &web, "x", true);
    registry_count(&registry, &counts);
    ck_assert_uint_eq(counts.mysql_open, 4);
    ck_assert_uint_eq(counts.http_open, 1);
    registry_remove(&registry, &web);
    registry_count(&registry, &counts);
    ck_assert_uint_eq(counts.mysql_open, 4);
    ck_assert_uint_eq(counts.http_open, 0);
}
END_TEST

START_TEST(ids_that_wrap_skip_those_in_use)
{
    struct registry_entry more[3];
    struct sql_session_row rows[8];

    registry.last_id = UINT32_MAX - 1;
    registry_add(&registry, &more[0], "x", false);
    registry_add(&registry, &more[1], "x", false);
    registry_add(&registry, &more[2], "x", false);
    ck_assert_uint_eq(more[0].id, UINT32_MAX);
    ck_assert_uint_eq(more[1].id, 5);
    ck_assert_uint_eq(more[2].id, 6);
    ck_assert_uint_eq(registry_list(&registry, rows, 8), 7);
    for (int i = 1; i < 7; i++)
        ck_assert_uint_lt(rows[i - 1].id, rows[i].id);
    for (int i = 0; i < 3; i++)
        registry_remove(&registry, &more[i]);
}
END_TEST

START_TEST(only_the_owner_and_admins_kill)
{
    struct error err;

    ck_assert_int_eq(registry_kill(&registry, 99, false, &boss, &err), -1);
    ck_assert_uint_eq(err.code, ER_NO_SUCH_THREAD);
    ck_assert_int_eq(registry_kill(&registry, 3, false, &ann, &err), -1);
    ck_assert_uint_eq(err.code, ER_KILL_DENIED);
    ck_assert_int_eq(wakes, 0);
    ck_assert_int_eq(registry_kill(&registry, 1, false, &ann, &err), 0);
    ck_assert_int_eq(registry_kill(&registry, 3, false, &boss, &err), 0);
    ck_assert_int_eq(wakes, 2);
    ck_assert_int_eq(registry_take_kill(&registry, &entries[0]), KILL_SESSION);
    ck_assert_int_eq(registry_take_kill(&registry, &entries[0]), KILL_NONE);
    ck_assert_int_eq(registry_take_kill(&registry, &entries[1]), KILL_NONE);
    ck_assert_int_eq(registry_take_kill(&registry, &entries[2]), KILL_SESSION);
}
END_TEST

/* The operating system's ann and an account of that name are two. */
START_TEST(a_name_alone_makes_no_owner)
{
    struct sql_identity local = ann;
    struct sql_session_row rows[4];
    struct error err;

    local.trusted = true;
    registry_set_user(&registry, &entries[0], &local);
    ck_assert_int_eq(registry_kill(&registry, 1, false, &ann, &err), -1);
    ck_assert_uint_eq(err.code, ER_KILL_DENIED);
    ck_assert_int_eq(registry_kill(&registry, 2, false, &local, &err), -1);
    ck_assert_int_eq(registry_kill(&registry, 1, false, &local, &err), 0);
    ck_assert_uint_eq(registry_count_user(&registry, "ann", NULL), 1);
    ck_assert_uint_eq(registry_list(&registry, rows, 4), 4);
    ck_assert(rows[0].trusted && !rows[1].trusted);
}
END_TEST

START_TEST(a_kill_never_hits_the_next_statement)
{
    struct span text = {"SELECT 1", 8};

    registry_set_command(&registry, &entries[0], "Query", "x", text, 0);
    ck_assert_int_eq(registry_kill(&registry, 1, true, &ann, NULL), 0);
    ck_assert_int_eq(registry_take_kill(&registry, &entries[0]), KILL_QUERY);
    ck_assert_int_eq(registry_kill(&registry, 1, true, &ann, NULL), 0);
    registry_set_command(&registry, &entries[0], "Query", "x", text, 0);
    ck_assert_int_eq(registry_take_kill(&registry, &entries[0]), KILL_NONE);
    ck_assert_int_eq(registry_kill(&registry, 1, false, &ann, NULL), 0);
    ck_assert_int_eq(registry_kill(&registry, 1, true, &ann, NULL), 0);
    registry_set_command(&registry, &entries[0], "Query", "x", text, 0);
    ck_assert_int_eq(registry_take_kill(&registry, &entries[0]), KILL_SESSION);
}
END_TEST

START_TEST(long_statements_are_cut_between_characters)
{
    char text[SQL_INFO_MAX + 8];
    struct sql_session_row rows[4];

    memset(text, 'a', sizeof(text));
    memcpy(text + SQL_INFO_MAX - 2, "\xe2\x82\xac", 3); /* a euro sign */
    registry_set_command(&registry, &entries[0], "Query", "x",
                         (struct span){text, sizeof(text)}, 0);
    ck_assert_uint_eq(registry_list(&registry, rows, 4), 4);
    ck_assert(rows[0].has_info);
    ck_assert_uint_eq(strlen(rows[0].info), SQL_INFO_MAX - 2);
    ck_assert(!rows[1].has_info);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("registry");
    TCase *tc = tcase_create("registry");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, ids_ascend_from_one_and_are_listed_so);
    tcase_add_test(tc, connections_count_per_protocol);
    tcase_add_test(tc, ids_that_wrap_skip_those_in_use);
    tcase_add_test(tc, only_the_owner_and_admins_kill);
    tcase_add_test(tc, a_name_alone_makes_no_owner);
    tcase_add_test(tc, a_kill_never_hits_the_next_statement);
    tcase_add_test(tc, long_statements_are_cut_between_characters);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
