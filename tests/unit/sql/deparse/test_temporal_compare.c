/* test_temporal_compare.c - dates and times in comparisons.  temporal_values.py
 * compares many more with a MariaDB. */
#include <stdio.h>
#include <string.h>

#include "sql_harness.h"
#include "sql_session.h"
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

static const struct {
    const char *query, *answer;
} cases[] = {
    /* an offset from UTC counts; Z is UTC */
    {"select timestamp'2026-01-01 01:30:00' = '2026-01-01T03:30:00+02:00' a, "
     "timestamp'2026-01-01 01:30:00' = '2025-12-31 20:00:00.0-05:30' b, "
     "timestamp'2026-01-01 01:30:00' = '2026-01-01T01:30:00.000Z' c, "
     "cast('2026-03-01 00:30:00+01:00' as datetime) d, "
     "timestamp'2026-01-01 00:00:00+14:00' e",
     "a|b|c|d|e\n#1|#1|#1|2026-02-28 23:30:00|2025-12-31 10:00:00"},
    /* a number that is none is NULL; 0 is before all of them */
    {"select now() > 0 a, now() > 1 b, curdate() = 20261301 c, now() > -1 d",
     "a|b|c|d\n#1|\\N|\\N|\\N"},
    /* a value that is none */
    {"select now() > concat('gar', 'bage') a, now() <=> concat('x') b",
     "a|b\n\\N|#0"},
    /* times of more than two digits, and negative ones */
    {"select time'100:00:00' > time'99:00:00' a, time'-01:00:00' < "
     "time'00:00:00' b, time'-02:00:00' between '-3:00' and '-1:00' c, "
     "time'100:00:00' in ('100:0:0') d, case time'100:00:00' when '100:00' "
     "then 1 end e, time'100:00:00' > all (select '99:00') f",
     "a|b|c|d|e|f\n#1|#1|#1|#1|#1|#1"},
    /* a time of day is one of today */
    {"select curtime() = now() a, curtime() + interval 1 hour < now() b, "
     "time'24:00:00' > curdate() + interval 1 hour c",
     "a|b|c\n#1|#0|#1"},
    /* tables and queries; a label is not a column of the same name */
    {"select id x from heapwire.nodes where since >= '2026-01-01T00:00' and "
     "since < 21000101 and not since in ('2026-1-1', '2026-1-2')",
     "x\n#10001"},
    {"select id x from heapwire.nodes where exists (select 1 from (select "
     "'2026-01-01T00:00' t) q where q.t < since)",
     "x\n#10001"},
    {"select date'2026-01-01' t having t = '2026-1-1'", "t\n2026-01-01"},
    {"select x from (select 1 x, now() t) q group by x, t having max(t) > "
     "'2026-1-1'",
     "x\n#1"},
    {"select a.x from (select 1 x, date'2026-01-01' d) a join (select "
     "'2026-1-1T00:00' s) b on a.d = b.s order by a.d > b.s",
     "x\n#1"},
    {"select sum(x) over (partition by d = '2026-1-1') s from (select 1 x, "
     "date'2026-01-01' d union select 2, date'2026-01-01') q",
     "s\n3\n3"},
    {"select group_concat(x order by d = '2026-1-2' desc) s from (select 1 x, "
     "date'2026-01-01' d union select 2, date'2026-01-02') q",
     "s\n2,1"},
    {"select date'2026-01-01' d union select date'2026-01-02' order by d",
     "d\n2026-01-01\n2026-01-02"},
    {"values row(date'2026-01-01', '2026-1-1' = date'2026-01-01')",
     "column_0|column_1\n2026-01-01|#1"},
    {"set @r = now() > '2026-1-1'", "OK"},
    /* as numbers */
    {"select timestamp'2026-01-01 10:11:12' + 0 a, -time'10:11:12' b, "
     "unix_timestamp(timestamp'1970-01-02 00:00:00') c",
     "a|b|c\n#20260101101112|#-101112|#86400"},
    /* ODBC's literals */
    {"select {d '2026-1-1'} a, {t '10:11'} b, {ts '2026-1-1 1:2:3'} c, "
     "{fn concat('a', 'b')} d, {d date'2026-01-01'} e",
     "a|b|c|d|e\n2026-01-01|10:11:00|2026-01-01 01:02:03|ab|2026-01-01"},
    {"select {d '2026-01-01'}", "{d '2026-01-01'}\n2026-01-01"},
};

START_TEST(temporal_values_compare_as_such)
{
    ck_assert_str_eq(harness_run(&h, cases[_i].query), cases[_i].answer);
}
END_TEST

static const struct {
    const char *query, *value;
} wrong[] = {
    {"select since <= 'garbage' from heapwire.nodes", "DATETIME value: 'gar"},
    {"select 1 from heapwire.nodes where 'garbage' > since", "DATETIME value"},
    {"select curdate() = ''", "DATE value: ''"},
    {"select curtime() = 'x'", "TIME value: 'x'"},
    {"select now() between '2026-1-1' and '2026-02-30'", "'2026-02-30'"},
    {"select now() in ('2026-1-1', '2026-13-1')", "'2026-13-1'"},
    {"select case now() when 'x' then 1 end", "'x'"},
    {"select (now(), 1) = ('x', 1)", "'x'"},
    {"select (1, now()) in ((1, '2026-1-1'), (1, 'x'))", "'x'"},
    {"select nullif(now(), 'x')", "'x'"},
    {"select greatest('x', now())", "'x'"},
    {"select now() > 'x' collate utf8mb4_bin", "'x'"},
    {"select d = 'x' from (select curdate() d) t", "DATE value: 'x'"},
    {"select 1 from (select 1) t having now() > 'x'", "'x'"},
    {"select timestamp'2026-01-01 10:00:00 x'", "DATETIME value: '2026-01-01"},
    {"select timestamp'2026-01-01 10:00:00+15:00'", "DATETIME value"},
    {"select {ts 'x'}", "DATETIME value: 'x'"},
    {"show table status from heapwire where create_time > 'x'", "'x'"},
    {"explain select now() > 'x'", "'x'"},
    {"set @r = now() > 'x'", "'x'"},
};

START_TEST(a_constant_that_is_none_is_refused)
{
    const char *answer = harness_run(&h, wrong[_i].query);

    ck_assert_int_eq(h.error.code, ER_WRONG_TEMPORAL);
    ck_assert_msg(strstr(answer, wrong[_i].value), "%s", answer);
}
END_TEST

/* The plan of such a statement is not kept, since the next value may be wrong;
 * a variable's value counts as it is when the statement begins. */
START_TEST(a_parameter_is_a_constant)
{
    static const struct {
        struct value value;
        const char *answer; /* NULL: refused */
    } values[] = {
        {{VALUE_TEXT, "2026-01-01", 10, 0, 0}, "x\n#1"},
        {{VALUE_TEXT, "garbage", 7, 0, 0}, NULL},
        {{VALUE_TEXT, "2026-01-01 00:00:00.000000", 26, 0, 0}, "x\n#1"},
        {{VALUE_BLOB, "2026-01-01T00:00:00Z", 20, 0, 0}, "x\n#1"},
        {{VALUE_BLOB, "x", 1, 0, 0}, NULL},
        {{VALUE_INT, NULL, 0, 20260101, 0}, "x\n#1"},
        {{VALUE_DOUBLE, NULL, 0, 0, 20260101000000.0}, "x\n#1"},
        {{VALUE_NULL, NULL, 0, 0, 0}, "x\n\\N"},
    };
    static const char *const queries[] = {
        "select now() >= ? x", "select since >= ? x from heapwire.nodes",
        "select '2026-01-01' <= date(?) and now() > ? x"};
    const char *answer;

    for (size_t q = 0; q < COUNT(queries); q++)
        for (size_t i = 0; i < COUNT(values); i++) {
            struct value given[] = {values[i].value, values[i].value};

            h.parameters = given;
            h.parameter_count = q == 2 ? 2 : 1;
            answer = harness_run(&h, queries[q]);
            if (values[i].answer)
                ck_assert_str_eq(answer, values[i].answer);
            else
                ck_assert_int_eq(h.error.code, ER_WRONG_TEMPORAL);
        }
    h.parameters = NULL;
    h.parameter_count = 0;
    harness_run(&h, "set @a = 'x'");
    harness_run(&h, "select now() > @a");
    ck_assert_int_eq(h.error.code, ER_WRONG_TEMPORAL);
    ck_assert_str_eq(harness_run(&h, "set @a = '2026-1-1'"), "OK");
    ck_assert_str_eq(harness_run(&h, "select now() > @a x"), "x\n#1");
}
END_TEST

START_TEST(other_values_leave_a_warning)
{
    harness_run(&h, "select since > concat('a', 'b'), since > '2026-1-1 0:0 x' "
                    "from heapwire.nodes");
    ck_assert_str_eq(
        harness_run(&h, "show warnings"),
        "Level|Code|Message\n"
        "Warning|#1292|Incorrect datetime value: 'ab'\n"
        "Warning|#1292|Truncated incorrect datetime value: '2026-1-1 0:0 x'");
}
END_TEST

/* Each value is looked at once. */
START_TEST(a_long_list_of_temporals_opens_at_once)
{
    struct buffer text;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "select now() in ('2026-1-1'");
    for (int i = 0; i < 8000; i++)
        buffer_text(&text, ",'2026-1-2 10:00'");
    buffer_text(&text, ") x");
    ck_assert_str_eq(harness_run(&h, text.data), "x\n#0");
    buffer_clear(&text);
    buffer_text(&text, "select (1, now()) in ((1, '2026-1-1')");
    for (int i = 0; i < 4000; i++)
        buffer_text(&text, ",(1, '2026-1-2 10:00')");
    buffer_text(&text, ") x");
    ck_assert_str_eq(harness_run(&h, text.data), "x\n#0");
    buffer_fini(&text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("temporal_compare");
    TCase *tc = tcase_create("temporal_compare");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, temporal_values_compare_as_such, 0, COUNT(cases));
    tcase_add_loop_test(tc, a_constant_that_is_none_is_refused, 0,
                        COUNT(wrong));
    tcase_add_test(tc, a_parameter_is_a_constant);
    tcase_add_test(tc, other_values_leave_a_warning);
    tcase_add_test(tc, a_long_list_of_temporals_opens_at_once);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
