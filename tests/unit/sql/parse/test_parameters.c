/* test_parameters.c - ? and its values, and describing without running. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "sql_harness.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct harness h;

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
}

static void
tear_down(void)
{
    harness_fini(&h);
}

#define TEXT(text)                                                             \
    {                                                                          \
        VALUE_TEXT, text, sizeof(text) - 1, 0, 0                               \
    }
#define BLOB(text)                                                             \
    {                                                                          \
        VALUE_BLOB, text, sizeof(text) - 1, 0, 0                               \
    }
#define INT(number)                                                            \
    {                                                                          \
        VALUE_INT, NULL, 0, number, 0                                          \
    }
#define DOUBLE(number)                                                         \
    {                                                                          \
        VALUE_DOUBLE, NULL, 0, 0, number                                       \
    }
#define NOTHING                                                                \
    {                                                                          \
        VALUE_NULL, NULL, 0, 0, 0                                              \
    }
#define SYNTAX(near)                                                           \
    "1064/42000 You have an error in your SQL syntax; check the manual that "  \
    "corresponds to your heapwire version for the right syntax to use near "   \
    "'" near "' at line 1"
#define ARGUMENTS "1210/HY000 Incorrect arguments to EXECUTE: "

static const struct {
    const char *query;
    size_t count;
    struct value values[4];
    const char *answer;
} cases[] = {
    {"SELECT ?", 1, {INT(5)}, "?\n#5"},
    {"SELECT ? AS x", 1, {TEXT("it's")}, "x\nit's"},
    {"SELECT ?, ?, ?, ?",
     4,
     {INT(-1), DOUBLE(1.5), NOTHING, BLOB("b")},
     "?|?|?|?\n#-1|~1.5|\\N|b"},
    {"SELECT 1", 0, {NOTHING}, "1\n#1"},
    {"SELECT '?', `?` FROM (SELECT 1 AS `?`) t /* ? */",
     0,
     {NOTHING},
     "?|?\n?|#1"},
    {"SELECT id FROM heapwire.sessions WHERE id = ? AND command LIKE ?",
     2,
     {INT(8), TEXT("S%")},
     "id\n#8"},
    {"SELECT id FROM heapwire.sessions WHERE id = ?", 1, {TEXT("8")}, "id\n#8"},
    {"SELECT id FROM heapwire.sessions ORDER BY id LIMIT ?, ?",
     2,
     {INT(1), INT(5)},
     "id\n#8"},
    {"SELECT 1 LIMIT ?", 1, {TEXT("1")}, "1\n#1"},
    {"SELECT 1 LIMIT ? OFFSET ?", 2, {INT(1), INT(0)}, "1\n#1"},
    {"SELECT id FROM heapwire.sessions WHERE id IN (?, ?) ORDER BY id",
     2,
     {INT(8), INT(7)},
     "id\n#7\n#8"},
    {"SELECT (SELECT ?) + ? AS s", 2, {INT(1), INT(2)}, "s\n#3"},
    {"WITH c AS (SELECT ? AS x) SELECT x, ? FROM c",
     2,
     {INT(1), INT(2)},
     "x|?\n#1|#2"},
    {"SHOW DATABASES LIKE ?", 1, {TEXT("heap%")}, "Database (heap%)\nheapwire"},
    {"SHOW VARIABLES WHERE Variable_name = ?",
     1,
     {TEXT("port")},
     "Variable_name|Value\nport|9036"},
    {"SHOW WARNINGS LIMIT ?", 1, {INT(1)}, "Level|Code|Message"},
    {"DO ?", 1, {INT(1)}, "OK"},
    {"KILL QUERY ?", 1, {INT(7)}, "OK"},
    {"KILL ?", 1, {TEXT("8")}, "OK"},
    {"SET NAMES ?", 1, {TEXT("utf8mb4")}, "OK"},
    {"SET @a = ?, autocommit = ?", 2, {TEXT("x"), INT(0)}, "OK"},
    {"ADMIN EXECUTE ON ? ?",
     2,
     {INT(HARNESS_SELF), TEXT("System.print(\"a\")")},
     "result\na"},
    {"ADMIN EXECUTE ON (?, 5) ?",
     2,
     {TEXT("10001"), TEXT("System.print(\"a\")")},
     "node_id|status|result\n5|ERROR|node not found\n10001|OK|a"},
    {"ADMIN EXECUTE ON ALL 'System.print(\"a\")'",
     0,
     {NOTHING},
     "node_id|status|result\n10001|OK|a"},
    /* faults */
    {"SELECT 1 LIMIT ?",
     1,
     {INT(-1)},
     "1210/HY000 Incorrect arguments to LIMIT: a count of rows is 0 or more"},
    {"SELECT ?", 0, {NOTHING}, ARGUMENTS "one value is needed for each ?"},
    {"SELECT ?",
     2,
     {INT(1), INT(2)},
     ARGUMENTS "one value is needed for each ?"},
    {"SELECT 1", 1, {INT(1)}, ARGUMENTS "one value is needed for each ?"},
    {"KILL ?", 0, {NOTHING}, ARGUMENTS "one value is needed for each ?"},
    {"KILL ?", 1, {TEXT("x")}, ARGUMENTS "this ? must be a number"},
    {"KILL ?", 1, {INT(-1)}, ARGUMENTS "this ? must be a number"},
    {"KILL ?", 1, {NOTHING}, ARGUMENTS "this ? cannot be NULL"},
    {"SHOW DATABASES LIKE ?", 1, {NOTHING}, ARGUMENTS "this ? cannot be NULL"},
    {"ADMIN EXECUTE ON ? ?",
     2,
     {INT(5), TEXT("1 +")},
     "1064/42000 script line 1, column 4: an expression is expected here"},
    {"SELECT * FROM ?", 1, {TEXT("nodes")}, SYNTAX("?")},
    {"SELECT 1 AS ?", 1, {TEXT("x")}, SYNTAX("?")},
    {"USE ?", 1, {TEXT("heapwire")}, SYNTAX("?")},
    {"SHOW TABLES FROM ?", 1, {TEXT("heapwire")}, SYNTAX("?")},
    {"SET ? = 1", 1, {TEXT("x")}, SYNTAX("? = 1")},
    {"SELECT ?; SELECT ?",
     2,
     {INT(1), INT(2)},
     SYNTAX("SELECT ?") ": one statement at a time"},
};

START_TEST(values_stand_for_question_marks)
{
    h.parameters = cases[_i].values;
    h.parameter_count = cases[_i].count;
    ck_assert_str_eq(harness_run(&h, cases[_i].query), cases[_i].answer);
}
END_TEST

START_TEST(set_and_kill_do_what_the_values_say)
{
    static const struct value set[] = {TEXT("it's \\ x"), INT(0)};
    static const struct value id[] = {INT(8)};

    h.parameters = set;
    h.parameter_count = 2;
    ck_assert_str_eq(harness_run(&h, "SET @a = CONCAT(?, '!'), autocommit = ?"),
                     "OK");
    ck_assert(!sql_session_autocommit(h.session));
    h.parameters = id;
    h.parameter_count = 1;
    ck_assert_str_eq(harness_run(&h, "KILL QUERY ?"), "OK");
    ck_assert_uint_eq(h.killed, 8);
    ck_assert(h.killed_query);
    h.parameters = NULL;
    ck_assert_str_eq(harness_run(&h, "SELECT @a"), "@a\nit's \\ x!");
    ck_assert_str_eq(harness_run(&h, "SELECT ?"), SYNTAX("?"));
    ck_assert_str_eq(harness_run(&h, "KILL ?"), SYNTAX("?"));
}
END_TEST

/* Whatever the caller does with its bytes once the cursor is open. */
START_TEST(values_are_copied)
{
    char text[] = "abc";
    struct value value = {VALUE_TEXT, text, 3, 0, 0};

    h.parameters = &value;
    h.parameter_count = 1;
    ck_assert_ptr_nonnull(harness_open(&h, "SELECT ? AS x"));
    memset(text, 'z', 3);
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\nabc");
}
END_TEST

START_TEST(parameters_have_ceilings)
{
    enum { MANY = SQL_PARAMETERS_MAX + 1 };
    static struct value values[MANY];
    struct sql_description description;
    struct buffer text;
    struct span span;
    char *large = calloc(1, SELECT_VALUE_MAX + 1);
    struct value value = {VALUE_TEXT, large, SELECT_VALUE_MAX + 1, 0, 0};

    memset(large, 'x', SELECT_VALUE_MAX + 1);
    h.parameters = &value;
    h.parameter_count = 1;
    harness_run(&h, "SELECT ?");
    ck_assert_uint_eq(h.error.code, ER_WRONG_ARGUMENTS);
    free(large);
    buffer_init(&text, 1 << 20);
    buffer_text(&text, "SELECT 1 IN (0");
    for (int i = 0; i < MANY; i++)
        buffer_text(&text, ",?");
    buffer_text(&text, ")");
    h.parameters = values;
    h.parameter_count = MANY;
    harness_run(&h, text.data);
    ck_assert_uint_eq(h.error.code, ER_PS_MANY_PARAM);
    span.data = text.data;
    span.size = text.size;
    ck_assert_int_eq(
        sql_describe(h.session, span, NULL, &description, &h.error), -1);
    ck_assert_uint_eq(h.error.code, ER_PS_MANY_PARAM);
    buffer_fini(&text);
}
END_TEST

/* ---- describing ---- */

static const struct {
    const char *query, *answer; /* parameters: labels, or an error */
} described[] = {
    {"SELECT ?, id AS x FROM heapwire.nodes WHERE id > ? LIMIT ?", "3: ? x"},
    {"SELECT 1 + 1", "0: 1 + 1"},
    {"SELECT * FROM heapwire.nodes LIMIT 0",
     "0: id address port role alive since version state self last_error "
     "last_error_at round_trip_ms profiling"},
    {"SHOW DATABASES LIKE ?", "1: Database ()"},
    {"SHOW VARIABLES WHERE Value > ?", "1: Variable_name Value"},
    {"SHOW TABLES FROM heapwire", "0: Tables_in_heapwire"},
    {"SET @a = ?, autocommit = ?", "2:"},
    {"SET NAMES utf8mb4", "0:"},
    {"USE heapwire", "0:"},
    {"KILL ?", "1:"},
    {"DO ?", "1:"},
    {"BEGIN", "0:"},
    {"ADMIN EXECUTE ON ? ?", "2: result"},
    {"ADMIN EXECUTE ON 10001 'System.print(\"a\")'", "0: result"},
    {"ADMIN EXECUTE ON (?) ?", "2: node_id status result"},
    {"ADMIN EXECUTE ON ALL ?", "1: node_id status result"},
    {"SELECT nope", "1054"},
    {"SELECT 1 +", "1064"},
    {"SELECT 1; SELECT 2", "1064"},
    {"SELECT * FROM ?", "1064"},
    {"SELECT * FROM heapwire.nope WHERE x = ?", "1146"},
    {"SET nope = ?", "1193"},
    {"SET autocommit = nope(?)", "1305"},
    {"SET version = '1'", "1238"},
    {"SET version = ?", "1238"},
    {"SET autocommit = 7", "1231"},
    {"USE nope", "1049"},
    {"DO nope(?)", "1305"},
    {"ADMIN EXECUTE ON ? '1 +'", "1064"},
    {"ADMIN EXECUTE ON 5 ?", "1: result"},
    {"INSERT INTO x VALUES (?)", "1290"},
    {"", "1065"},
};

START_TEST(statements_are_described)
{
    struct span span = {described[_i].query, strlen(described[_i].query)};
    struct sql_description description;
    char answer[256];
    size_t used;

    if (sql_describe(h.session, span, NULL, &description, &h.error) != 0) {
        snprintf(answer, sizeof(answer), "%u", h.error.code);
    } else {
        used = (size_t)snprintf(answer, sizeof(answer),
                                "%zu:", description.parameter_count);
        for (size_t i = 0; i < description.column_count; i++)
            used += (size_t)snprintf(answer + used, sizeof(answer) - used,
                                     " %s", description.columns[i].name);
        sql_description_fini(&description);
    }
    ck_assert_str_eq(answer, described[_i].answer);
    /* nothing was done */
    ck_assert(sql_session_autocommit(h.session));
    ck_assert(!sql_session_in_transaction(h.session));
    ck_assert_str_eq(sql_session_database(h.session), "");
    ck_assert_uint_eq(h.killed, 0);
    ck_assert_str_eq(harness_run(&h, "SELECT @a"), "@a\n\\N");
}
END_TEST

START_TEST(describing_holds_no_handle)
{
    struct sql_description description[HANDLES_MAX + 1];
    struct span text = {"SELECT ?", 8};

    for (size_t i = 0; i < COUNT(description); i++)
        ck_assert_int_eq(
            sql_describe(h.session, text, NULL, &description[i], &h.error), 0);
    for (size_t i = 0; i < COUNT(description); i++)
        sql_description_fini(&description[i]);
}
END_TEST

START_TEST(describing_takes_the_privilege)
{
    static const char *const denied[] = {
        "SELECT ? FROM heapwire.nodes", "SHOW BACKENDS",
        "ADMIN EXECUTE ON 10001 'HeapProf.getInstance().enable_prof()'"};
    struct sql_description description;

    harness_fini(&h);
    harness_init(&h, 0);
    for (size_t i = 0; i < COUNT(denied); i++) {
        struct span text = {denied[i], strlen(denied[i])};

        ck_assert_int_eq(
            sql_describe(h.session, text, NULL, &description, &h.error), -1);
        ck_assert_uint_eq(h.error.code, ER_PRIVILEGE);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("parameters");
    TCase *tc = tcase_create("parameters");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, values_stand_for_question_marks, 0,
                        (int)COUNT(cases));
    tcase_add_test(tc, set_and_kill_do_what_the_values_say);
    tcase_add_test(tc, values_are_copied);
    tcase_add_test(tc, parameters_have_ceilings);
    tcase_add_loop_test(tc, statements_are_described, 0, (int)COUNT(described));
    tcase_add_test(tc, describing_holds_no_handle);
    tcase_add_test(tc, describing_takes_the_privilege);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
