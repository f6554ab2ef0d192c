/* test_hostile.c - statements made to crash, to see or to take too much. */
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "profile_fixture.h"
#include "scripted_controller.h"
#include "sql_harness.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The time that opening may take, on a busy machine with sanitizers.  Each of
 * these statements once took more, or seconds, or never came back; one search
 * took a minute. */
enum { OPEN_MAX_MS = 3000, SEARCH_MAX_MS = 10000 };

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

/* Clauses where no SELECT stands made the deparser write in front of its
 * buffers. */
static const char *const senseless[] = {
    "select 1 where (1 having 1)",
    "show databases where 1 having 1",
    "do 1 having 1",
    "select 1 having 1 select 2",
    "select 1 having 1 having 2",
    "select (1 select 2 having 1)",
    "select is not 1",
    "do is not null",
    "show databases where is not 1",
    "select 1 select 2",
    "select ((having 1))",
};

START_TEST(what_makes_no_sense_is_a_syntax_error)
{
    harness_run(&h, senseless[_i]);
    ck_assert_msg(h.error.code == ER_PARSE, "%s: %s", senseless[_i],
                  h.answer.data);
}
END_TEST

START_TEST(a_number_ends_where_the_statement_does)
{
    static const char text[] = "kill 79";
    char *exact = malloc(6);
    struct span span = {exact, 6};

    ck_assert_ptr_nonnull(exact);
    memcpy(exact, text, 6); /* its last digit is not in the packet */
    ck_assert_ptr_nonnull(harness_open_span(&h, span));
    ck_assert_uint_eq(h.killed, 7);
    free(exact);
    ck_assert_str_eq(harness_run(&h, "kill 99999999999999999999999999"),
                     "1094/HY000 Unknown thread id: 4294967295");
}
END_TEST

/* By the 12th column, which there is not, SQLite sorts bytes. */
START_TEST(a_place_to_sort_by_ends_where_the_statement_does)
{
    static const char text[] =
        "select concat(x) y from (select 'b' x union all "
        "select 'A' union all select 'C') t order by 12";

    ck_assert_ptr_nonnull(
        harness_open_span(&h, (struct span){text, sizeof(text) - sizeof("2")}));
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    ck_assert_str_eq(h.answer.data, "\nA\nb\nC");
}
END_TEST

/* ---- tables that are SQLite's ---- */

static const char *const inner[] = {
    "select * from pragma_function_list",
    "select * from sqlite_master",
    "select * from main.sqlite_schema",
    "select * from json_each('[1]')",
    "select * from temp.x",
    "select 1 in sqlite_master",
    "select 1 in pragma_database_list",
    "select * from bytecode('x')",
    "select load_extension('x')",
    "select readfile('/etc/passwd')",
    "select sqlite_version()",
    "select randomblob(1000000000)",
    "select zeroblob(1000000000)",
    "select fts3_tokenizer('a')",
    "select printf('%1000000d', 1)",
};

START_TEST(what_is_sqlites_own_is_not_reached)
{
    ck_assert_str_eq(harness_run(&h, "use heapwire"), "OK");
    harness_run(&h, inner[_i]);
    ck_assert_msg(h.error.code == ER_NO_SUCH_TABLE ||
                      h.error.code == ER_BAD_DB || h.error.code == ER_PARSE ||
                      h.error.code == ER_FUNCTION_UNKNOWN,
                  "%s: %s", inner[_i], h.answer.data);
}
END_TEST

/* Functions that only the deparser may call: hw_assign would run on the event
 * loop, and from a plan that belongs to no session. */
static const char *const calls[] = {
    "select hw_assign('x', 1)",      "select `hw_assign`('x', 1)",
    "select HW_ASSIGN ('x', 1)",     "select 1 + hw_variable(1, 99)",
    "do hw_assign('x', 1)",          "select 1 where not hw_user_variable('x')",
    "select hw_group_concat(1,2,3)", "show databases where hw_assign('x', 1)",
    "select hw_cast(1, 'CHAR', 1)",  "set @a = hw_assign('x', 1)",
};

START_TEST(what_the_deparser_calls_is_not_called)
{
    for (int i = 0; i < 2; i++) {
        harness_run(&h, calls[_i]);
        ck_assert_msg(h.error.code == ER_FUNCTION_UNKNOWN, "%s: %s", calls[_i],
                      h.answer.data);
    }
    ck_assert_str_eq(harness_run(&h, "select @x"), "@x\n\\N");
}
END_TEST

/* ---- time ---- */

/* start, then repeated so often with a number for %d, then end. */
static char *
build(const char *start, const char *repeated, int times, const char *end)
{
    struct buffer text;
    char *out;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, start);
    for (int i = 0; i < times; i++)
        for (const char *p = repeated; *p; p++) {
            if (p[0] == '#' || p[0] == '$')
                buffer_format(&text, "%d", p[0] == '#' ? i : i + 1);
            else
                buffer_char(&text, *p);
        }
    buffer_text(&text, end);
    ck_assert(!text.failed);
    out = mem_strdup(text.data);
    ck_assert_ptr_nonnull(out);
    buffer_fini(&text);
    return out;
}

static const struct {
    const char *start, *repeated;
    int times;
    const char *end;
    enum error_code code; /* 0: it opens */
} slow[] = {
    /* each view is read twice by the next */
    {"with c0 as (select 1 x)", ", c$ as (select a.x from c# a, c# b)", 30,
     " select x from c30", ER_NOT_SUPPORTED},
    {"with c0 as (select 1 x)",
     ", c$ as (select x from c# union all select x from c#)", 30,
     " select x from c30", ER_NOT_SUPPORTED},
    {"select sum(1) over (order by 0)", ", sum(1) over (order by $)", 250, "",
     ER_NOT_SUPPORTED},
    {"do (with recursive c(n) as (select 1 union all select n + 1 from c) "
     "select sum(n) from c)",
     "", 0, "", (enum error_code)0},
    {"do sleep(1000)", "", 0, "", (enum error_code)0},
};

START_TEST(what_would_take_long_is_not_begun)
{
    char *text =
        build(slow[_i].start, slow[_i].repeated, slow[_i].times, slow[_i].end);
    uint64_t start = suite_cpu_ms();

    harness_open(&h, text);
    ck_assert_uint_lt(suite_cpu_ms() - start, OPEN_MAX_MS);
    ck_assert_uint_eq(h.error.code, slow[_i].code);
    mem_free(text);
}
END_TEST

/* Every place of the text is nearly one. */
/* A thousand times a thousand times a thousand columns. */
START_TEST(columns_that_are_too_many_are_not_counted)
{
    char *text = mem_strdup("select 1 a");
    uint64_t start;

    for (int i = 0; i < 3; i++) {
        char *stars = build("select ", "t.*, ", 1000, "1 from (");
        char *next = build(stars, text, 1, ") t");

        mem_free(stars);
        mem_free(text);
        text = next;
    }
    start = suite_cpu_ms();
    harness_open(&h, text);
    ck_assert_uint_lt(suite_cpu_ms() - start, OPEN_MAX_MS);
    ck_assert_uint_eq(h.error.code, ER_TOO_MANY_FIELDS);
    mem_free(text);
}
END_TEST

START_TEST(a_search_takes_no_longer_where_much_is_alike)
{
    uint64_t start = suite_cpu_ms();

    ck_assert_str_eq(harness_run(&h, "select locate(repeat('\xc3\xa4', 30000), "
                                     "repeat('a', 240000)) x"),
                     "x\n#0");
    ck_assert_str_eq(
        harness_run(&h, "select locate(concat(repeat('a', 60000), 'b'), "
                        "concat(repeat('A', 120000), 'B')) x"),
        "x\n#60001");
    ck_assert_uint_lt(suite_cpu_ms() - start, SEARCH_MAX_MS);
}
END_TEST

START_TEST(many_parameters_are_prepared_at_once)
{
    char *text = build("select 1 in (?", ",?", 60000, ")");
    struct span span = {text, strlen(text)};
    struct sql_description description;
    uint64_t start = suite_cpu_ms();

    ck_assert_int_eq(
        sql_describe(h.session, span, NULL, &description, &h.error), 0);
    ck_assert_uint_lt(suite_cpu_ms() - start, OPEN_MAX_MS);
    ck_assert_uint_eq(description.parameter_count, 60001);
    sql_description_fini(&description);
    mem_free(text);
}
END_TEST

START_TEST(parameters_keep_their_positions)
{
    static const struct value values[] = {{VALUE_INT, NULL, 0, 1},
                                          {VALUE_INT, NULL, 0, 2}};

    h.parameters = values;
    h.parameter_count = 2;
    ck_assert_str_eq(
        harness_run(&h, "select id, ? x from heapwire.nodes having x < ?"),
        "id|x\n#10001|#1");
    /* SQLite reads them the other way round */
    ck_assert_str_eq(
        harness_run(&h,
                    "select id x from heapwire.nodes having x > ? order by ?"),
        "x\n#10001");
    ck_assert_str_eq(harness_run(&h, "select 1 x having x < ? order by ?"),
                     "x");
    harness_run(&h, "select ? from heapwire.nodes use index (?)");
    ck_assert_uint_eq(h.error.code, ER_PARSE);
}
END_TEST

/* ---- memory ---- */

START_TEST(groups_take_of_the_statements_memory)
{
    char *text = build("select 1",
                       ", (select group_concat(repeat('x', 100000)) from (with "
                       "recursive c(n) as (select 1 union all select n + 1 "
                       "from c where n < 150) select n from c) q)",
                       1, "");

    /* one is too long; sixteen take too much */
    harness_run(&h, text);
    ck_assert_uint_eq(h.error.code, ER_NOT_SUPPORTED);
    mem_free(text);
    text = build("select 1", ", group_concat(concat(repeat('x', 99000), n, #))",
                 16,
                 " from (with recursive c(n) as (select 1 union all select n + "
                 "1 from c where n < 150) select n from c) q");
    harness_run(&h, text);
    ck_assert_uint_eq(h.error.code, ER_OUT_OF_SORT_MEMORY);
    mem_free(text);
    ck_assert_str_eq(harness_run(&h, "select group_concat(1, 2) x"), "x\n12");
}
END_TEST

/* The values that a group keeps of each row, in any order. */
static const char *const kept[] = {
    "repeat('x', 250000)",
    "repeat('x', 250000) order by n",
    "repeat('x', 250000) order by n desc, n, n",
    "distinct concat(n, repeat('x', 200000)) order by n",
    "n order by repeat('x', 250000)",
    "n order by repeat('x', 250000), n, repeat('y', 250000) desc",
    "distinct n order by concat(n, repeat('x', 250000))",
};

START_TEST(groups_that_are_too_large_are_given_up_whole)
{
    char text[400];

    snprintf(text, sizeof(text),
             "select length(group_concat(%s)) from (with recursive c(n) as "
             "(select 1 union all select n + 1 from c where n < 200) select n "
             "from c) q",
             kept[_i]);
    for (int i = 0; i < 2; i++) {
        harness_run(&h, text);
        ck_assert_msg(h.error.code == ER_NOT_SUPPORTED ||
                          h.error.code == ER_OUT_OF_SORT_MEMORY,
                      "%s: %s", kept[_i], h.answer.data);
    }
    ck_assert_str_eq(
        harness_run(&h, "select group_concat(n order by n) x from (select 1 n "
                        "where 0) t"),
        "x\n\\N");
}
END_TEST

/* ---- DO ---- */

START_TEST(do_answers_ok_whatever_the_expressions_give)
{
    ck_assert_str_eq(harness_run(&h, "do 1, 'a', null"), "OK");
    ck_assert_uint_eq(h.error.code, 0);
    ck_assert_str_eq(harness_run(&h, "do sleep(0.01)"), "OK");
    harness_run(&h, "do nope()");
    ck_assert_uint_eq(h.error.code, ER_FUNCTION_UNKNOWN);
    ck_assert_ptr_nonnull(harness_open(&h, "do 1"));
    ck_assert_uint_eq(h.cursor->column_count, 0);
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    ck_assert_uint_eq(h.cursor->affected_rows, 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("hostile");
    TCase *tcase = tcase_create("statements");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, what_makes_no_sense_is_a_syntax_error, 0,
                        COUNT(senseless));
    tcase_add_test(tcase, a_number_ends_where_the_statement_does);
    tcase_add_test(tcase, a_place_to_sort_by_ends_where_the_statement_does);
    tcase_add_loop_test(tcase, what_is_sqlites_own_is_not_reached, 0,
                        COUNT(inner));
    tcase_add_loop_test(tcase, what_the_deparser_calls_is_not_called, 0,
                        COUNT(calls));
    tcase_add_loop_test(tcase, what_would_take_long_is_not_begun, 0,
                        COUNT(slow));
    tcase_add_test(tcase, columns_that_are_too_many_are_not_counted);
    tcase_add_test(tcase, a_search_takes_no_longer_where_much_is_alike);
    tcase_add_test(tcase, many_parameters_are_prepared_at_once);
    tcase_add_test(tcase, parameters_keep_their_positions);
    tcase_add_test(tcase, groups_take_of_the_statements_memory);
    tcase_add_loop_test(tcase, groups_that_are_too_large_are_given_up_whole, 0,
                        COUNT(kept));
    tcase_add_test(tcase, do_answers_ok_whatever_the_expressions_give);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
