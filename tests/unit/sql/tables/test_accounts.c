/* test_accounts.c - the tables of accounts, and what each privilege opens. */
#include <stdio.h>
#include <string.h>

#include "catalog.h"
#include "script.h"
#include "sql_harness.h"
#include "suite.h"

static struct harness h;

static const struct {
    const char *statement, *answer;
} cases[] = {
    {"select * from heapwire.settings",
     "name|value|reloadable\nid|10001|#0\nstatement_timeout|60|#1"},
    {"select * from heapwire.users",
     "name|privileges|auth|connections\nann|STATUS|native+sha2|#2\n"
     "bob|STATUS,PROFILE,CONTROL,CLUSTER,ADMIN,TUNE|sha2|#0"},
    {"select * from heapwire.audit_log",
     "at|connection_id|user|host|error|rows|bytes|milliseconds|statement\n"
     "2026-11-21 02:31:00|#7|ann|10.0.0.1|#1227|#0|#21|#3|ADMIN EXECUTE x"},
    {"select @@wait_timeout, @@interactive_timeout",
     "@@wait_timeout|@@interactive_timeout\n#28800|#28800"},
};

START_TEST(the_tables_show_what_the_host_lists)
{
    harness_init(&h, PRIVILEGE_ALL);
    ck_assert_str_eq(harness_run(&h, cases[_i].statement), cases[_i].answer);
    harness_fini(&h);
}
END_TEST

static const struct {
    const char *set;
    uint32_t seconds;
} idle[] = {
    {"set wait_timeout = 5", 5},
    {"set session wait_timeout = 600", 600},
    {"set wait_timeout = 0", 1},
    {"set wait_timeout = -3", 1},
    {"set wait_timeout = 99999999999", 31536000},
    {"set wait_timeout = '99999999999999999999999'", 31536000},
    {"set wait_timeout = '7'", 7},
    {"set wait_timeout = 5, wait_timeout = default", 28800},
    {"set interactive_timeout = 5", 28800},
    {"set @wait_timeout = 5", 28800},
    {"set wait_timeout = 'soon'", 28800}, /* an error */
};

START_TEST(the_idle_time_follows_wait_timeout)
{
    harness_init(&h, PRIVILEGE_ALL);
    harness_run(&h, idle[_i].set);
    ck_assert_uint_eq(sql_session_idle_s(h.session), idle[_i].seconds);
    sql_session_reset(h.session);
    ck_assert_uint_eq(sql_session_idle_s(h.session), 28800);
    harness_fini(&h);
}
END_TEST

static const struct {
    const char *set;
    uint32_t ms;
} limits[] = {
    {"set max_execution_time = 500", 500},
    {"set session max_execution_time = '7'", 7},
    {"set max_execution_time = 0", 0},
    {"set max_execution_time = -1", 0},
    {"set max_execution_time = 18446744073709551615", UINT32_MAX},
    {"set max_execution_time = 5, max_execution_time = default", 0},
    {"set @max_execution_time = 5", 0},
    {"set max_execution_time = 'soon'", 0}, /* an error */
};

START_TEST(the_limit_of_time_follows_max_execution_time)
{
    harness_init(&h, PRIVILEGE_ALL);
    harness_run(&h, limits[_i].set);
    ck_assert_uint_eq(sql_session_timeout_ms(h.session), limits[_i].ms);
    sql_session_reset(h.session);
    ck_assert_uint_eq(sql_session_timeout_ms(h.session), 0);
    harness_fini(&h);
}
END_TEST

static const struct {
    const char *statement;
    bool timed;
} timed[] = {
    {"select 1", true},
    {"select 1", true}, /* a plan */
    {"select id from heapwire.nodes", true},
    {"select 1 into @a", true},
    {"do 1", false},
    {"show databases", false},
    {"show databases where 1", false},
    {"admin execute on 10001 'System.print(1)'", false},
};

START_TEST(it_holds_for_selects_alone)
{
    harness_init(&h, PRIVILEGE_ALL);
    for (size_t i = 0; i < sizeof(timed) / sizeof(timed[0]); i++) {
        ck_assert_ptr_nonnull(harness_open(&h, timed[i].statement));
        ck_assert_int_eq(h.cursor->timed, timed[i].timed);
        harness_close(&h);
    }
    harness_fini(&h);
}
END_TEST

START_TEST(a_default_timeout_is_the_nodes_again)
{
    harness_init(&h, PRIVILEGE_ALL);
    harness_run(&h, "set wait_timeout = 5");
    ck_assert_str_eq(harness_run(&h, "select @@wait_timeout"),
                     "@@wait_timeout\n#5");
    harness_run(&h, "set wait_timeout = default");
    ck_assert_str_eq(harness_run(&h, "select @@wait_timeout"),
                     "@@wait_timeout\n#28800");
    harness_fini(&h);
}
END_TEST

static const uint32_t singles[] = {0,
                                   PRIVILEGE_STATUS,
                                   PRIVILEGE_PROFILE,
                                   PRIVILEGE_CONTROL,
                                   PRIVILEGE_CLUSTER,
                                   PRIVILEGE_ADMIN};

/* Which one, sql/REFERENCE.md says, and the case reference holds it to that. */
START_TEST(each_table_takes_a_privilege)
{
    sql_start();
    for (size_t i = 0; i < catalog_count(); i++) {
        const struct catalog_table *t = catalog_at(i);

        if (strcmp(t->database, "heapwire") != 0)
            continue;
        ck_assert_msg(t->of ? t->privilege ==
                                  (t->of->privilege | PRIVILEGE_CLUSTER)
                            : !t->privilege == !strcmp(t->name, "sessions"),
                      "%s: %u", t->name, t->privilege);
    }
}
END_TEST

static void
opens(const char *text, bool may)
{
    struct cursor *cursor = harness_open(&h, text);

    ck_assert_msg((cursor != NULL) == may, "%s: %s", text, h.error.text);
    ck_assert_uint_eq(h.error.code, may ? 0 : ER_PRIVILEGE);
}

/* Each way to a table must ask for its privilege: reading, joining,
 * COM_FIELD_LIST. */
START_TEST(no_table_is_read_without_its_privilege)
{
    uint32_t has = singles[_i];
    char text[256];

    harness_init(&h, has);
    for (size_t i = 0; i < catalog_count(); i++) {
        const struct catalog_table *t = catalog_at(i);
        bool may = (t->privilege & ~has) == 0;
        struct span name = {t->name, strlen(t->name)};
        struct cursor *fields;

        if (strcmp(t->database, CATALOG_HIDDEN) == 0)
            continue;
        snprintf(text, sizeof(text), "select * from %s.%s", t->database,
                 t->name);
        opens(text, may);
        snprintf(text, sizeof(text),
                 "select 1 where exists (select 1 from %s.%s)", t->database,
                 t->name);
        opens(text, may);
        if (catalog_unlisted(t->database))
            continue; /* never a session's own */
        snprintf(text, sizeof(text), "use %s", t->database);
        harness_run(&h, text);
        fields = sql_open_fields(h.session, name, &h.error);
        ck_assert_msg((fields != NULL) == may, "%u: fields of %s", has,
                      t->name);
        cursor_free(fields);
    }
    harness_fini(&h);
}
END_TEST

/* All calls of a script are checked before any of them runs. */
START_TEST(no_method_is_called_without_its_privilege)
{
    uint32_t has = singles[_i];
    char text[256];

    harness_init(&h, has);
    for (size_t i = 0; i < script_method_count(); i++) {
        struct script_method m = script_method(i);
        bool may = (m.privilege & ~has) == 0;
        const char *argument = *m.takes == 's' || *m.takes == 'm' ? "\"a\""
                               : *m.takes == 'n'                  ? "1"
                                                                  : "";

        if (may || strcmp(m.class_name, "HeapProf") != 0)
            continue;
        snprintf(text, sizeof(text),
                 "admin execute on 10001 'HeapProf.getInstance().%s(%s)'",
                 m.name, argument);
        harness_run(&h, text);
        ck_assert_msg(h.error.code == ER_PRIVILEGE, "%u: %s: %s", has, text,
                      h.error.text);
    }
    harness_fini(&h);
}
END_TEST

/* Statements that every user may run, and one that asks. */
START_TEST(a_session_without_privileges_can_still_connect)
{
    static const char *const free[] = {"select 1",       "set names utf8mb4",
                                       "use heapwire",   "begin",
                                       "commit",         "do 1",
                                       "show databases", "show tables",
                                       "show variables", "show processlist",
                                       "show warnings"};

    harness_init(&h, 0);
    for (size_t i = 0; i < sizeof(free) / sizeof(free[0]); i++) {
        harness_run(&h, free[i]);
        ck_assert_msg(h.error.code == 0, "%s: %s", free[i], h.error.text);
    }
    harness_run(&h, "show backends");
    ck_assert_uint_eq(h.error.code, ER_PRIVILEGE);
    harness_fini(&h);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("accounts");
    TCase *tc = tcase_create("accounts");
    int count = sizeof(singles) / sizeof(singles[0]);

    tcase_add_loop_test(tc, the_tables_show_what_the_host_lists, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_loop_test(tc, the_idle_time_follows_wait_timeout, 0,
                        sizeof(idle) / sizeof(idle[0]));
    tcase_add_loop_test(tc, the_limit_of_time_follows_max_execution_time, 0,
                        sizeof(limits) / sizeof(limits[0]));
    tcase_add_test(tc, it_holds_for_selects_alone);
    tcase_add_test(tc, a_default_timeout_is_the_nodes_again);
    tcase_add_test(tc, each_table_takes_a_privilege);
    tcase_add_loop_test(tc, no_table_is_read_without_its_privilege, 0, count);
    tcase_add_loop_test(tc, no_method_is_called_without_its_privilege, 0,
                        count);
    tcase_add_test(tc, a_session_without_privileges_can_still_connect);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
