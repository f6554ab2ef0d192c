/* test_select_plan.c - a SELECT that was seen before is answered as before. */
#include <stdio.h>
#include <string.h>

#include "select_query.h"
#include "sql_harness.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct harness h;

static void
set_up(void)
{
    select_plan_clear();
    harness_init(&h, PRIVILEGE_ALL);
}

static void
tear_down(void)
{
    harness_fini(&h);
}

static bool
is_kept(const char *text)
{
    struct span span = {text, strlen(text)};
    struct sql_parameters parameters = {h.parameters, h.parameter_count};
    struct select_plan *plan =
        select_plan_find(h.session, span, h.parameters ? &parameters : NULL);

    select_plan_unref(plan);
    return plan != NULL;
}

static const struct {
    const char *text;
    bool kept;
} texts[] = {
    {"SELECT 1", true},
    {"SELECT 'a' AS b, 2.5, NULL, @none", true},
    {"SELECT @@version, @@max_allowed_packet, DATABASE(), connection_id()",
     true},
    {"SELECT 1 UNION ALL SELECT 2 LIMIT 1;", true},
    {"SELECT id FROM heapwire.nodes", false},
    {"SELECT (SELECT COUNT(*) FROM heapwire.nodes)", false},
    {"SELECT 1 INTO @a", false},
    {"SELECT @a := 1", false},
    {"SELECT ?", false}, /* an error, in the text protocol */
    {"SELECT nothing", false},
    {"SHOW WARNINGS", false},
    {"SET @a = 1", false},
};

START_TEST(the_second_answer_is_the_first)
{
    const char *text = texts[_i].text;
    char first[2048];
    struct column column = {0}, again = {0};

    ck_assert_uint_lt(strlen(harness_run(&h, text)), sizeof(first));
    strncpy(first, h.answer.data, sizeof(first) - 1);
    first[sizeof(first) - 1] = '\0';
    sql_session_reset(h.session);
    ck_assert_int_eq(is_kept(text), texts[_i].kept);
    ck_assert_str_eq(harness_run(&h, text), first);
    if (!texts[_i].kept)
        return;
    select_plan_clear();
    ck_assert_ptr_nonnull(harness_open(&h, text));
    column = h.cursor->columns[0];
    harness_close(&h);
    ck_assert_ptr_nonnull(harness_open(&h, text));
    again = h.cursor->columns[0];
    ck_assert_int_eq(again.type, column.type);
    ck_assert_uint_eq(again.width, column.width);
    ck_assert_uint_eq(again.flags, column.flags);
    ck_assert_uint_eq(again.decimals, column.decimals);
    ck_assert_str_eq(again.name, h.cursor->columns[0].name);
    harness_close(&h);
}
END_TEST

static enum column_type
type_with(const struct value *value)
{
    enum column_type type;

    h.parameters = value;
    h.parameter_count = 1;
    ck_assert_ptr_nonnull(harness_open(&h, "SELECT ?"));
    type = h.cursor->columns[0].type;
    harness_close(&h);
    return type;
}

START_TEST(parameters_decide_by_their_types)
{
    static char long_text[PLAN_VALUE_MAX + 1];
    static const struct value number = {VALUE_INT, NULL, 0, 1, 0};
    static const struct value real = {VALUE_DOUBLE, NULL, 0, 0, 1};
    static const struct value text = {VALUE_TEXT, "a", 1, 0, 0};
    static const struct value longer = {VALUE_TEXT, long_text,
                                        sizeof(long_text), 0, 0};

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(type_with(&number), COLUMN_BIGINT);
        ck_assert(is_kept("SELECT ?"));
        ck_assert_int_eq(type_with(&number), COLUMN_BIGINT);
        ck_assert_int_eq(type_with(&real), COLUMN_DOUBLE);
        ck_assert_int_eq(type_with(&text), COLUMN_TEXT);
        ck_assert_int_eq(type_with(&text), COLUMN_TEXT);
        ck_assert_int_eq(type_with(&longer), COLUMN_TEXT);
        ck_assert(!is_kept("SELECT ?"));
    }
    h.parameters = &number;
    ck_assert_str_eq(harness_run(&h, "SELECT ?"), "?\n#1");
    h.parameter_count = 2;
    harness_run(&h, "SELECT ?");
    ck_assert_uint_eq(h.error.code, ER_WRONG_ARGUMENTS);
}
END_TEST

START_TEST(a_session_with_variables_reads_for_itself)
{
    ck_assert_str_eq(harness_run(&h, "SELECT \"a\", 1 || 0"), "a|1 || 0\na|#1");
    ck_assert_str_eq(harness_run(&h, "SET sql_mode = 'PIPES_AS_CONCAT'"), "OK");
    ck_assert_str_eq(harness_run(&h, "SELECT \"a\", 1 || 0"), "a|1 || 0\na|10");
    harness_run(&h, "SELECT 2 || 0");
    ck_assert(!is_kept("SELECT 2 || 0"));
    harness_run(&h, "SELECT @@version");
    ck_assert(!is_kept("SELECT @@version"));
    sql_session_reset(h.session);
    ck_assert(!is_kept("SELECT 2 || 0"));
    ck_assert_str_eq(harness_run(&h, "SELECT \"a\", 1 || 0"), "a|1 || 0\na|#1");
}
END_TEST

START_TEST(variables_that_cannot_matter_do_not)
{
    static const char text[] = "SELECT 1 UNION ALL SELECT 2";

    harness_run(&h, "SET @a = 1, sql_mode = 'ANSI_QUOTES'");
    harness_run(&h, text);
    ck_assert(is_kept(text));
    ck_assert_str_eq(harness_run(&h, text), "1\n#1\n#2");
    harness_run(&h, "SET sql_select_limit = 1");
    ck_assert(is_kept(text));
    ck_assert_str_eq(harness_run(&h, text), "1\n#1");
}
END_TEST

START_TEST(a_plan_lives_as_long_as_its_cursor)
{
    harness_run(&h, "SELECT 1 AS one");
    ck_assert_ptr_nonnull(harness_open(&h, "SELECT 1 AS one"));
    select_plan_clear();
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    ck_assert_str_eq(h.cursor->columns[0].name, "one");
    harness_close(&h);
}
END_TEST

START_TEST(plans_have_ceilings)
{
    char text[PLAN_TEXT_MAX + 32];

    for (int i = 0; i < 4 * PLANS_KEPT; i++) {
        snprintf(text, sizeof(text), "SELECT %d", i);
        harness_run(&h, text);
        ck_assert(is_kept(text));
    }
    snprintf(text, sizeof(text), "SELECT '%0*d'", PLAN_TEXT_MAX, 1);
    harness_run(&h, text);
    ck_assert_uint_eq(h.error.code, 0);
    ck_assert(!is_kept(text));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("select_plan");
    TCase *tc = tcase_create("select_plan");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, the_second_answer_is_the_first, 0,
                        (int)COUNT(texts));
    tcase_add_test(tc, parameters_decide_by_their_types);
    tcase_add_test(tc, a_session_with_variables_reads_for_itself);
    tcase_add_test(tc, variables_that_cannot_matter_do_not);
    tcase_add_test(tc, a_plan_lives_as_long_as_its_cursor);
    tcase_add_test(tc, plans_have_ceilings);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
