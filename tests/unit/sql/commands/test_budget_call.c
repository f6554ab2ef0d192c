/* test_budget_call.c - CALL heapwire.budget(), and its table. */
#include <string.h>

#include "budgets.h"
#include "parts_fixture.h"
#include "scripted_controller.h"
#include "sql_harness.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TABLE        "SELECT name, limit_bytes FROM heapwire.budgets"

static struct harness h;

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
    h.node.budgets = budgets_open(NULL, NULL);
    ck_assert_ptr_nonnull(h.node.budgets);
    scripted.status.hello.active = true;
    scripted.profile = fixture_parts; /* cache, leak, main; pool io-* */
}

static void
tear_down(void)
{
    budgets_close(h.node.budgets);
    harness_fini(&h);
}

static const struct {
    const char *statement, *answer, *table;
} cases[] = {
    {"CALL heapwire.budget('cache', '2G')", "OK", "cache|#2147483648"},
    {"call `heapwire`.`budget`('leak', 4096);", "OK", "leak|#4096"},
    {"CALL budget(('ca*'), ('64k'))", "OK", "ca*|#65536"},
    {"CALL BUDGET('function a b(int)*', '1')", "OK", "a b(int)*|#1"},
    {"CALL budget('io-*', '1M')", "OK", "pool io-*|#1048576"},
    {"CALL budget('pool worker-*', '1M')", "OK", "pool worker-*|#1048576"},
    {"CALL heapwire.budget('pool io-1', '1M')",
     "1210/HY000 'io-1' is a thread's name: a pool's has a * in the place of "
     "each number; write 'pool io-*'",
     NULL},
    {"CALL heapwire.budget('nowhere', '1M')",
     "1210/HY000 no function and no pool of threads called 'nowhere' has "
     "memory in use: heapwire.heap_functions and heap_threads list them; for "
     "one that is still to come, write 'function NAME' or 'pool NAME'",
     NULL},
    {"CALL heapwire.budget('f', NULL)",
     "1032/HY000 there is no budget of 'f': SELECT name FROM heapwire.budgets "
     "lists them",
     NULL},
    {"CALL heapwire.budget('f', '2X')",
     "1210/HY000 '2X' is no size: a budget is a number of bytes such as "
     "2147483648, 512M or '2G', or NULL to remove it",
     NULL},
    {"CALL mysql.budget('f', '2G')",
     "1305/42000 PROCEDURE mysql.budget does not exist", NULL},
};

START_TEST(calls_as_people_write_them)
{
    char table[256];

    ck_assert_str_eq(harness_run(&h, cases[_i].statement), cases[_i].answer);
    snprintf(table, sizeof(table), "name|limit_bytes%s%s",
             cases[_i].table ? "\n" : "",
             cases[_i].table ? cases[_i].table : "");
    ck_assert_str_eq(harness_run(&h, TABLE), table);
}
END_TEST

static const char *const wrong[] = {
    "CALL heapwire.budget('f')",     "CALL heapwire.budget('f', )",
    "CALL heapwire.budget('f', -1)", "CALL heapwire.budget('f', 1, 2)",
    "CALL heapwire.budget('f', 1",   "CALL heapwire.budget(f, 1)",
    "CALL heapwire.budget(NULL, 1)", "CALL heapwire.budget",
};

START_TEST(what_does_not_parse)
{
    ck_assert_ptr_nonnull(strstr(harness_run(&h, wrong[_i]), "1064/42000"));
}
END_TEST

START_TEST(it_is_set_changed_and_removed)
{
    ck_assert_str_eq(harness_run(&h, "CALL budget('function b', 1)"), "OK");
    ck_assert_str_eq(harness_run(&h, "CALL budget('function a', '1M')"), "OK");
    ck_assert_str_eq(harness_run(&h, "CALL budget('function b', 2)"), "OK");
    ck_assert_str_eq(harness_run(&h, TABLE),
                     "name|limit_bytes\na|#1048576\nb|#2");
    ck_assert_str_eq(harness_run(&h, "CALL budget('function b', NULL)"), "OK");
    ck_assert_str_eq(
        harness_run(&h, "SELECT now_bytes, margin, state, crossed_at, "
                        "crossings, snapshot, looked_at FROM heapwire.budgets"),
        "now_bytes|margin|state|crossed_at|crossings|snapshot|looked_at\n"
        "\\N|\\N|not looked at yet|\\N|#0|\\N|\\N");
}
END_TEST

START_TEST(without_a_profile_the_name_says_its_kind)
{
    scripted.status.hello.active = false;
    ck_assert_str_eq(harness_run(&h, "CALL budget('cache', 1)"),
                     "1210/HY000 whether 'cache' is a function or a pool of "
                     "threads is not known: profiling is not active; write "
                     "'function NAME' or 'pool NAME'");
    scripted.status.hello.active = true;
    scripted.answer = ANSWER_FAIL;
    ck_assert_ptr_nonnull(
        strstr(harness_run(&h, "CALL budget('cache', 1)"), "is not known: "));
    ck_assert_str_eq(harness_run(&h, "CALL budget('function cache', 1)"), "OK");
    ck_assert_str_eq(harness_run(&h, "CALL budget('pool io-*', 1)"), "OK");
    ck_assert_str_eq(harness_run(&h, TABLE),
                     "name|limit_bytes\ncache|#1\npool io-*|#1");
    ck_assert_str_eq(harness_run(&h, "CALL budget('io-*', NULL)"), "OK");
    ck_assert_str_eq(harness_run(&h, "CALL budget('function cache', NULL)"),
                     "OK");
    ck_assert_str_eq(harness_run(&h, TABLE), "name|limit_bytes");
}
END_TEST

START_TEST(both_may_be_parameters)
{
    struct value given[] = {
        {.type = VALUE_TEXT, .data = "leak", .size = 4},
        {.type = VALUE_INT, .integer = 4096},
    };

    h.parameters = given;
    h.parameter_count = COUNT(given);
    ck_assert_str_eq(harness_run(&h, "CALL budget(?, ?)"), "OK");
    given[1].type = VALUE_NULL;
    h.parameters = NULL;
    h.parameter_count = 0;
    ck_assert_str_eq(harness_run(&h, TABLE), "name|limit_bytes\nleak|#4096");
    h.parameters = given;
    h.parameter_count = COUNT(given);
    ck_assert_str_eq(harness_run(&h, "CALL budget(?, ?)"), "OK");
    h.parameters = NULL;
    h.parameter_count = 0;
    ck_assert_str_eq(harness_run(&h, TABLE), "name|limit_bytes");
}
END_TEST

START_TEST(describing_it_sets_nothing)
{
    static const char text[] = "CALL budget(?, ?)";
    struct sql_description told;

    ck_assert_int_eq(sql_describe(h.session,
                                  (struct span){text, sizeof(text) - 1}, NULL,
                                  &told, &h.error),
                     0);
    ck_assert_uint_eq(told.parameter_count, 2);
    ck_assert_uint_eq(told.column_count, 0);
    sql_description_fini(&told);
    ck_assert_str_eq(harness_run(&h, TABLE), "name|limit_bytes");
}
END_TEST

START_TEST(it_needs_control)
{
    struct budgets *budgets = h.node.budgets;

    harness_fini(&h);
    harness_init(&h, PRIVILEGE_ALL & ~PRIVILEGE_CONTROL);
    h.node.budgets = budgets;
    ck_assert_ptr_nonnull(
        strstr(harness_run(&h, "CALL budget('f', 1)"), "1227/42000"));
    ck_assert_str_eq(harness_run(&h, TABLE), "name|limit_bytes");
}
END_TEST

START_TEST(hostile_names_are_cleaned)
{
    ck_assert_ptr_nonnull(
        strstr(harness_run(&h, "CALL budget(x'66ff66', 1)"), "1064/42000"));
    ck_assert_int_eq(
        budgets_set(h.node.budgets, (struct span){"f\xff", 2}, 1, &h.error), 0);
    ck_assert_str_eq(harness_run(&h, TABLE), "name|limit_bytes\nf?|#1");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("budget_call");
    TCase *t = tcase_create("budget_call");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, calls_as_people_write_them, 0, COUNT(cases));
    tcase_add_loop_test(t, what_does_not_parse, 0, COUNT(wrong));
    tcase_add_test(t, it_is_set_changed_and_removed);
    tcase_add_test(t, without_a_profile_the_name_says_its_kind);
    tcase_add_test(t, both_may_be_parameters);
    tcase_add_test(t, describing_it_sets_nothing);
    tcase_add_test(t, it_needs_control);
    tcase_add_test(t, hostile_names_are_cleaned);
    suite_add_tcase(s, t);
    return suite_run(s);
}
