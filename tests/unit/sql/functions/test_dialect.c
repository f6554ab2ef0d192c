/* test_dialect.c - expressions and their values; bounds of what they take. */
#include <stdio.h>
#include <string.h>

#include "clock.h"
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

/* dialect.sql compares many more with a MariaDB. */
static const struct {
    const char *query, *answer; /* the label is x */
} cases[] = {
    {"select '1' = 1 x", "x\n#1"},
    {"select 'a' = 'A' x", "x\n#1"},
    {"select binary 'a' = 'A' x", "x\n#0"},
    {"select 0x10 = 16 a, 16 < 0x11 b, 0x4142 = 'AB' c, 'a' = 0x41 d",
     "a|b|c|d\n#1|#1|#1|#0"},
    {"select 1 xor 1 x", "x\n#0"},
    {"select 7 div 2 + 7 % 4 x", "x\n#6"},
    {"select mod(7, 2.25) x", "x\n0.25"},
    {"select format(1e23, 0) a, format(0.1e0, 20) b",
     "a|b\n100,000,000,000,000,000,000,000|0.10000000000000000000"},
    /* more digits than there are: none is cut off */
    {"select truncate(1.5e0, 40) = 1.5 x, "
     "truncate(123456.789e0, 30) = 123456.789e0 y",
     "x|y\n#1|#1"},
    /* a divisor whose last eight bytes are zero */
    {"select 5 % 0x010000000000000000 a, 5 div x'010000000000000000' b, "
     "5 / 0x010000000000000000 c, mod(5, 0x10000000000000000) d",
     "a|b|c|d\n\\N|\\N|\\N|\\N"},
    /* one collation for =, sorting, groups, sets and what is distinct */
    {"select x from (select 'Zo' x union all select '\xc3\xa4' union all "
     "select 'b') t order by x",
     "x\n\xc3\xa4\n"
     "b\nZo"},
    {"select x from (select 'Zo' x union all select '\xc3\xa4' union all "
     "select 'b') t order by concat(x, 'x') desc",
     "x\nZo\nb\n\xc3\xa4"},
    {"select count(*) x from (select concat(a, '') a from (select '\xc3\xa4"
     "' a "
     "union all select 'A ') t group by 1) u",
     "x\n#1"},
    {"select count(*) x from (select 'a' union select '\xc3\x84 ') t", "x\n#1"},
    {"select concat('a', 'b') union select concat('A', 'B') order by 1 desc",
     "concat('a', 'b')\nAB"},
    {"select concat(a, '') b from (select 'b' a union all select 'C') t order "
     "by b collate utf8mb4_bin",
     "b\nC\nb"},
    {"select concat(a, '') collate utf8mb4_bin b from (select 'b' a union all "
     "select 'B') t group by b order by b",
     "b\nB\nb"},
    {"select table_name x from information_schema.tables where table_name = "
     "'N\xc3\xb6"
     "des ' and table_schema = 'heapwire' order by x",
     "x\nnodes"},
    {"select x'10' + 1 x, 0xff + 0 y", "x|y\n#17|#255"},
    {"select json_array(true, 1 = 2, null, 1.50) x",
     "x\n[true, false, null, 1.50]"},
    {"select format_bytes('2048x') x", "x\n2.00 KiB"},
    {"select sum(a) over (order by a rows 1 preceding) x from (select 1.5 a "
     "union select 2 union select '3x') t",
     "x\n~1.5\n~3.5\n~5"},
    {"select 8 ^ 2 * 3 x", "x\n#30"},
    {"select !1 + 1 x", "x\n#1"},
    {"select (1, 2) in ((1, 2), (3, 4)) x", "x\n#1"},
    {"select (1, '2') = ('1', 2) a, (1, null) = (2, 3) b, (1, null) <> (2, 3) "
     "c, (1, null) <=> (1, null) d, (1, 2) = (select 1, 2) e",
     "a|b|c|d|e\n#1|#0|#1|#1|#1"},
    {"select 1 = 2 like 0 x", "x\n#0"},
    {"select 1 union select 1 intersect select 2", "1\n#1"},
    {"select a from (select 1, 2) t(a, b)", "a\n#1"},
    {"with t as (select 1 a) select b from (select a from t) t(b)", "b\n#1"},
    {"select a from (select b from (select 1) t(b) union select 2) t(a)",
     "a\n#1\n#2"},
    {"select a from (select 1, 2) t(a)",
     "1353/HY000 In definition of view, derived table or common table "
     "expression, SELECT list and column names list have different column "
     "counts"},
    {"with c(a, b) as (select 1) select a from c",
     "1353/HY000 In definition of view, derived table or common table "
     "expression, SELECT list and column names list have different column "
     "counts"},
    {"values row('a'), row('b')", "column_0\na\nb"},
    {"select interval 1 day + '2026-01-31' x", "x\n2026-02-01"},
    {"select (a) from (select 1 a) t", "a\n#1"},
    {"select '1' in (1) a, 1 in ('2', '1') b, 1 not in (2, null) c, 'a' in "
     "('A') d, binary 'a' in ('A') e, 0x41 in ('A') f",
     "a|b|c|d|e|f\n#1|#1|\\N|#1|#0|#1"},
    {"select 2 in ((select 1 union select 2)) a, 2 in ((select 1), 2) b, 3 in "
     "((select 1)) c, 1 in ((select 1 union select 2) + 0) d",
     "1242/21000 Subquery returns more than 1 row"},
    {"select 2 in ((select 1 union select 2)) a, 2 in ((select 1), 2) b, 3 in "
     "((select 1)) c",
     "a|b|c\n#1|#1|#0"},
    {"select (select a from (select 1 a union select 2) t where a > 1) x",
     "x\n#2"},
    {"select (select a from (select 1 a union select 2) t where a > 2) x",
     "x\n\\N"},
    {"select (select a from (select 1 a union all select 1) t limit 1) x",
     "x\n#1"},
    {"select (select id from heapwire.nodes n where n.id = o.id) x from "
     "heapwire.nodes o where (select 1 from heapwire.nodes) in (1)",
     "x\n#10001"},
    {"select 2 between 1 and 3 and 0 x", "x\n#0"},
    {"select 'abc' regexp 'B' x", "x\n#1"},
    {"select trim(leading 'x' from 'xxa') x", "x\na"},
    {"select substring('abcdef' from -3 for 2) x", "x\nde"},
    {"select upper('\xc3\xa9') x", "x\n\xc3\x89"},
    {"select '2026-01-31' + interval 1 month x", "x\n2026-02-28"},
    {"select '2026-02-30' + interval 1 day x", "x\n\\N"},
    {"select '2026-13-01' - interval 1 hour x", "x\n\\N"},
    {"select '26/02/30' + interval 1 day x", "x\n\\N"},
    {"select 20260230 + interval 1 day x", "x\n\\N"},
    {"select '10' + interval 1 hour x", "x\n\\N"},
    {"select '2026-02-30 10:00:00' + interval 1 hour x", "x\n\\N"},
    {"select extract(hour from '2026-02-30') x", "x\n\\N"},
    {"select extract(hour from '-10:00:00') x", "x\n#-10"},
    {"select extract(minute from '1011') x", "x\n#10"},
    {"select length(curtime() + interval 1 day) > 0 x", "x\n#1"},
    {"select date '2026-01-31' x", "x\n2026-01-31"},
    {"select date '2026-01-31'", "date '2026-01-31'\n2026-01-31"},
    {"select date '2026-01-31' + interval 1 month x", "x\n2026-02-28"},
    {"select timestamp '2026-1-2 3:4' x", "x\n2026-01-02 03:04:00"},
    {"select time '1 2:03' 'x'", "x\n26:03:00"},
    {"select id x from heapwire.nodes where since > date '2026-01-31'",
     "x\n#10001"},
    {"select date x from (select 'y' date) t", "x\ny"},
    {"select straight_join a.id x from heapwire.nodes a straight_join "
     "heapwire.nodes b",
     "x\n#10001"},
    {"select regexp_like('aB', 'b$') x", "x\n#1"},
    {"select regexp_like('aB', 'b$', 'c') x", "x\n#0"},
    {"select regexp_like('C', y, y) x from (select 'c' y union all select "
     "'i') t",
     "x\n#0\n#0"},
    {"select regexp_like(null, 'b') x", "x\n\\N"},
    {"select concat_ws(',', format_bytes(512), format_bytes(1536), "
     "format_bytes(18446744073709551615), format_bytes(null)) x",
     "x\n512 bytes,1.50 KiB,16.00 EiB"},
    {"select sum(n) over w x from (select 1 n union select 2) t window w as "
     "(order by n)",
     "x\n1\n3"},
    {"select sum(n) over w * 10 x, count(*) over (w2 order by n) from (select "
     "1 n union select 2) t where 1 window w as (order by n), w2 as () "
     "order by 1 desc limit 1",
     "x|count(*) over (w2 order by n)\n30|#2"},
    {"select 1 x limit 18446744073709551615", "x\n#1"},
    {"select 1 x limit 1, 18446744073709551615", "x"},
    {"select 1 x union select 2 order by x limit 1 offset 1", "x\n#2"},
    {"select 1 x limit 1 for update", "x\n#1"},
    {"select sql_calc_found_rows a x from (select 1 a limit 1) t", "x\n#1"},
    {"select extract(day_minute from '2026-07-02 01:02:03') x", "x\n#20102"},
    {"select timestampdiff(month, '2026-01-31', '2026-03-01') x", "x\n#1"},
    {"select date_format('2026-02-03 04:05:06', '%W %D %b %k') x",
     "x\nTuesday 3rd Feb 4"},
    {"select group_concat(distinct a order by a desc separator '/') x from "
     "(select 1 a union all select 2 union all select 1) t",
     "x\n2/1"},
    {"select count(distinct a, b) x from (select 1 a, 'p' b union all select "
     "1, 'P') t",
     "x\n#1"},
    {"select a x from (select 1 a union select 2) t having x > 1", "x\n#2"},
    {"(select 1 x) union (select 2) order by x desc", "x\n#2\n#1"},
    {"select 1 as offset", "offset\n#1"},
    {"select md5('a') x", "x\n0cc175b9c0f1b6a831c399e269772661"},
    {"select sleep(0) x", "x\n#0"},
    {"select '{\"a\": \"b\"}'->'$.a' x", "x\n\"b\""},
    {"select '{\"a\": \"b\"}'->>'$.a' x", "x\nb"},
    {"select 1 x for update", "x\n#1"},
    {"select id x from heapwire.nodes use index (p) where 1", "x\n#10001"},
};

START_TEST(expressions_have_mysqls_values)
{
    ck_assert_str_eq(harness_run(&h, cases[_i].query), cases[_i].answer);
}
END_TEST

static const struct {
    const char *query;
    unsigned code;
} faults[] = {
    {"select sql_calc_found_rows 1 limit 1", ER_NOT_SUPPORTED},
    {"(select sql_calc_found_rows 1) limit 1", ER_NOT_SUPPORTED},
    {"(select sql_calc_found_rows 1 limit 1)", ER_NOT_SUPPORTED},
    {"select date '2026-02-30'", ER_WRONG_TEMPORAL},
    {"select date '2026-01-01 10:00:00'", ER_WRONG_TEMPORAL},
    {"select time 'x'", ER_WRONG_TEMPORAL},
    {"select timestamp '2026-01-01 25:00:00'", ER_WRONG_TEMPORAL},
    {"select regexp_like('a', 'a', 'x')", ER_WRONG_ARGUMENTS},
    {"select 1 limit -1", ER_PARSE},
    {"select 1 limit 1, -1", ER_PARSE},
    {"select 1 limit 1 offset -1", ER_PARSE},
    {"select 1 limit 1 + 1", ER_PARSE},
    {"select 1 limit 1 or 1", ER_PARSE},
    {"select 1 limit '1'", ER_PARSE},
    {"select 1 limit", ER_PARSE},
    {"select benchmark(1, 1)", ER_FUNCTION_UNKNOWN},
    {"select concat()", ER_PARAMETER_COUNT},
    {"select 'a' regexp '('", ER_REGEX},
    {"select repeat('a', 5000) regexp '^(a+)+$b'", ER_REGEX},
    {"select repeat('a', 262145)", ER_NOT_SUPPORTED},
    {"select lpad('', 300000, 'x')", ER_NOT_SUPPORTED},
    {"select group_concat(repeat('a', 200000)) from (select 1 union all select "
     "2) t",
     ER_NOT_SUPPORTED},
    {"select json_group_array(a) from (select repeat('a', 200000) a union all "
     "select 2 union all select repeat('b', 200000)) t",
     ER_NOT_SUPPORTED},
    {"select strcmp('a')", ER_PARAMETER_COUNT},
    {"select bit_or(1, 2)", ER_PARSE},
    {"select cot(0)", ER_DATA_OUT_OF_RANGE},
    {"select degrees(1e308)", ER_DATA_OUT_OF_RANGE},
    {"select (select 1, 2)", ER_OPERAND_COLUMNS},
    {"select (select * from (select 1 a, 2 b) t)", ER_OPERAND_COLUMNS},
    {"select (select 1 union select 2)", ER_SUBQUERY_ROWS},
    {"select 1 + (select a from (select 1 a union all select 1) t)",
     ER_SUBQUERY_ROWS},
    {"select 1 from heapwire.nodes where id < (select max(a) from (select 1 a "
     "union select 2) t group by a)",
     ER_SUBQUERY_ROWS},
    {"select 1 in ()", ER_PARSE},
    {"select id from heapwire.nodes group by id with rollup", ER_NOT_SUPPORTED},
    {"select 1 union select 1, 2", ER_COLUMN_COUNT},
    {"select 1 from (select 1)", ER_DERIVED_ALIAS},
    {"select 1 from heapwire.nodes where sum(id) > 1", ER_GROUP_FUNCTION},
    {"select 1 into @a, @b", ER_COLUMN_COUNT},
    {"select 1 union select 2 into @a", ER_TOO_MANY_ROWS},
    {"select 1 into outfile 'x'", ER_READ_ONLY},
    {"select 1 > all (select 1, 2)", ER_OPERAND_COLUMNS},
    {"select 1 > all (1)", ER_PARSE},
    {"select sleep(-1)", ER_WRONG_ARGUMENTS},
    {"select 1e400", ER_ILLEGAL_NUMBER},
    {"select exp('1000')", ER_DATA_OUT_OF_RANGE},
    {"select pow(10, 400)", ER_DATA_OUT_OF_RANGE},
    {"select abs(-9223372036854775808)", ER_DATA_OUT_OF_RANGE},
    {"select 99999999999999999999 * 99999999999999999999",
     ER_DATA_OUT_OF_RANGE},
    {"select cast(repeat('9', 39) as decimal(50))", ER_DATA_OUT_OF_RANGE},
    {"select sum(a) from (select 99999999999999999999999999999999999999 a "
     "union all select 1) t",
     ER_DATA_OUT_OF_RANGE},
    {"select sum(a) from (select 1.5e308 a union all select 1.6e308) t",
     ER_DATA_OUT_OF_RANGE},
    {"select avg(a) from (select 1.5e308 a union all select 1.6e308) t",
     ER_DATA_OUT_OF_RANGE},
};

/* Past max_allowed_packet the answer is NULL, and a warning says so. */
START_TEST(what_exceeds_a_packet_is_null_with_a_warning)
{
    static const char *const calls[] = {
        "repeat('a', 18446744073709551615)", "space(18446744073709551615)",
        "repeat('ab', 10000000)", "lpad('a', 18446744073709551615, 'b')",
        "rpad('a', 9223372036854775807, 'b')"};
    char text[100];

    snprintf(text, sizeof(text), "select %s x", calls[_i]);
    ck_assert_str_eq(harness_run(&h, text), "x\n\\N");
    ck_assert_uint_eq(h.session->warnings.total, 1);
    ck_assert_uint_eq(h.session->warnings.first->code, ER_PACKET_OVERFLOWED);
}
END_TEST

START_TEST(the_limit_of_a_value_is_named)
{
    harness_run(&h, "select repeat('a', 300000)");
    ck_assert_str_eq(h.error.text,
                     "The result of repeat() is too long: a value has at most "
                     "262144 bytes; select a part of it, or fewer rows into "
                     "it");
}
END_TEST

START_TEST(faults_have_mysqls_codes)
{
    uint64_t start = suite_cpu_ms();

    harness_run(&h, faults[_i].query);
    ck_assert_uint_eq(h.error.code, faults[_i].code);
    ck_assert_uint_lt(suite_cpu_ms() - start, 5000);
}
END_TEST

START_TEST(the_clause_of_an_unknown_column_is_named)
{
    static const struct {
        const char *query, *where;
    } list[] = {
        {"select nope from heapwire.nodes", "field list"},
        {"select id from heapwire.nodes where nope = 1", "where clause"},
        {"select 1 from heapwire.nodes a join heapwire.nodes b on a.nope = 1",
         "on clause"},
        {"select id from heapwire.nodes group by nope", "group statement"},
        {"select id from heapwire.nodes order by nope", "order clause"},
    };

    for (size_t i = 0; i < COUNT(list); i++) {
        harness_run(&h, list[i].query);
        ck_assert_uint_eq(h.error.code, ER_BAD_FIELD);
        ck_assert_ptr_nonnull(strstr(h.error.text, list[i].where));
    }
}
END_TEST

START_TEST(a_count_of_rows_is_a_number)
{
    static const struct {
        struct value value;
        unsigned code;
    } list[] = {
        {{VALUE_INT, NULL, 0, 0, 0}, 0},
        {{VALUE_INT, NULL, 0, 1, 0}, 0},
        {{VALUE_TEXT, "1", 1, 0, 0}, 0},
        {{VALUE_DOUBLE, NULL, 0, 0, 1}, 0},
        {{VALUE_NULL, NULL, 0, 0, 0}, ER_WRONG_ARGUMENTS},
        {{VALUE_INT, NULL, 0, -1, 0}, ER_WRONG_ARGUMENTS},
        {{VALUE_DOUBLE, NULL, 0, 0, 1.5}, ER_WRONG_ARGUMENTS},
        {{VALUE_TEXT, "abc", 3, 0, 0}, ER_WRONG_ARGUMENTS},
        {{VALUE_TEXT, "1x", 2, 0, 0}, ER_WRONG_ARGUMENTS},
        {{VALUE_TEXT, "", 0, 0, 0}, ER_WRONG_ARGUMENTS},
    };

    for (size_t i = 0; i < COUNT(list); i++) {
        h.parameters = &list[i].value;
        h.parameter_count = 1;
        harness_run(&h, "select 1 limit ?");
        ck_assert_uint_eq(h.error.code, list[i].code);
    }
    h.parameters = NULL;
}
END_TEST

/* SQLite takes less than none for an offset of none. */
START_TEST(an_offset_past_63_bits_leaves_no_rows)
{
    static const struct value offsets[] = {
        {VALUE_TEXT, "9223372036854775808", 19, 0, 0},
        {VALUE_TEXT, "18446744073709551615", 20, 0, 0},
        {VALUE_INT, NULL, 0, INT64_MAX, 0},
    };

    for (size_t i = 0; i < COUNT(offsets); i++) {
        h.parameters = &offsets[i];
        h.parameter_count = 1;
        ck_assert_str_eq(
            harness_run(&h, "select 1 x union select 2 limit 5 offset ?"), "x");
        harness_run(&h, "select 1 x union select 2 limit ?");
        ck_assert_str_eq(h.answer.data, "x\n#1\n#2");
    }
    h.parameters = NULL;
}
END_TEST

START_TEST(a_variable_keeps_the_digits_of_its_number)
{
    ck_assert_str_eq(harness_run(&h, "set @d = 1.50, @u = "
                                     "18446744073709551615, @q = 2 / 3"),
                     "OK");
    ck_assert_str_eq(harness_run(&h, "select @d x, @u y, @q z, @d * 2 d"),
                     "x|y|z|d\n1.50|18446744073709551615|0.666666666|3.00");
}
END_TEST

START_TEST(select_into_sets_user_variables)
{
    ck_assert_str_eq(harness_run(&h, "SELECT SLEEP(0) INTO @__Sleep;"), "OK");
    ck_assert_str_eq(harness_run(&h, "select 0.1 + 0.2 into @d"), "OK");
    ck_assert_str_eq(harness_run(&h, "select @d x"), "x\n0.3");
    ck_assert_str_eq(harness_run(&h, "select -18446744073709551615 into @e"),
                     "OK");
    ck_assert_str_eq(harness_run(&h, "select @e < 0 x, @e + 0 < 0 y"),
                     "x|y\n#1|#1");
    ck_assert_str_eq(harness_run(&h, "select 1, 'b' into @a, @b"), "OK");
    ck_assert_str_eq(harness_run(&h, "select @a + 1 x, @b y, @__Sleep z"),
                     "x|y|z\n#2|b|#0");
    /* a failed one changes nothing */
    harness_run(&h, "select 5 union select 6 into @a");
    ck_assert_str_eq(harness_run(&h, "select @a x"), "x\n#1");
}
END_TEST

/* SELECTs and SHOWs alone tell it, each its own rows, and none that ran on a
 * worker, or again as a plan, more than were given. */
START_TEST(found_rows_are_those_of_the_last_select)
{
    static const struct {
        const char *query, *found;
    } list[] = {
        {"select 1 union select 2 union select 3", "3"},
        {"select 1 union select 2 union select 3", "3"},
        {"select found_rows()", "1"},
        {"select id from heapwire.sessions", "2"},
        {"select id from heapwire.sessions where id = 0", "0"},
        {"select sql_calc_found_rows id from heapwire.sessions", "2"},
        {"select id from heapwire.sessions limit 1", "1"},
        {"show databases", "2"},
        {"do 1", "2"},
        {"use heapwire", "1"}, /* of the one that asked */
        {"show tables where 1 = 0", "0"},
        {"select 1 into @a", "1"},
    };

    for (size_t i = 0; i < COUNT(list); i++) {
        char expected[64];

        ck_assert_ptr_nonnull(harness_run(&h, list[i].query));
        ck_assert_int_eq(h.error.code, 0);
        snprintf(expected, sizeof(expected), "found_rows()\n#%s",
                 list[i].found);
        ck_assert_str_eq(harness_run(&h, "select found_rows()"), expected);
        harness_run(&h, list[i].query);
    }
}
END_TEST

START_TEST(found_rows_stay_as_they_were_while_rows_are_given)
{
    harness_run(&h, "select 1 union select 2");
    ck_assert_str_eq(
        harness_run(&h, "with recursive c(n) as (select 1 union all select n "
                        "+ 1 from c where n < 50000) select "
                        "count(distinct found_rows()) x from c"),
        "x\n#1");
    ck_assert_str_eq(
        harness_run(&h, "select found_rows() x from heapwire.sessions"),
        "x\n#1\n#1");
}
END_TEST

/* The places in which a name may stand. */
static const char *const named[] = {
    "select \"heapwire\".\"nodes\".*, \"nodes\".* from \"heapwire\".\"nodes\"",
    ("select \"n\".\"id\" \"x\" from \"heapwire\".\"nodes\" as \"n\" use index "
     "(\"a\") order by \"x\""),
    "with \"c\" (\"x\") as (select 1) select \"count\"(\"c\".\"x\") from \"c\"",
    "use \"heapwire\"",
    "describe \"nodes\"",
    "show columns from \"nodes\" from \"heapwire\" like \"i%\"",
    "prepare \"p\" from \"select 1\"",
    "table \"nodes\"",
};

START_TEST(double_quotes_are_names_when_the_session_says_so)
{
    ck_assert_str_eq(harness_run(&h, "select \"id\" x"), "x\nid");
    ck_assert_str_eq(harness_run(&h, "set sql_mode = 'ANSI_QUOTES'"), "OK");
    ck_assert_str_eq(harness_run(&h, "select \"id\" x from heapwire.nodes"),
                     "x\n#10001");
    for (size_t i = 0; i < COUNT(named); i++) {
        ck_assert_ptr_nonnull(harness_run(&h, named[i]));
        ck_assert_msg(h.error.code == 0, "%s: %s", named[i], h.error.text);
    }
    ck_assert_str_eq(
        harness_run(&h, "admin execute on 10001 \"System.print(1)\""),
        "result\n1");
}
END_TEST

START_TEST(an_unknown_locale_is_named)
{
    harness_run(&h, "select format(1, 0, 'xx'), format(1, 0, null)");
    ck_assert_str_eq(harness_run(&h, "show warnings"),
                     "Level|Code|Message\n"
                     "Warning|#1649|Unknown locale: 'xx'\n"
                     "Warning|#1649|Unknown locale: 'NULL'");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dialect");
    TCase *tc = tcase_create("dialect");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, expressions_have_mysqls_values, 0,
                        (int)COUNT(cases));
    tcase_add_loop_test(tc, faults_have_mysqls_codes, 0, (int)COUNT(faults));
    tcase_add_loop_test(tc, what_exceeds_a_packet_is_null_with_a_warning, 0, 5);
    tcase_add_test(tc, the_limit_of_a_value_is_named);
    tcase_add_test(tc, the_clause_of_an_unknown_column_is_named);
    tcase_add_test(tc, a_count_of_rows_is_a_number);
    tcase_add_test(tc, an_offset_past_63_bits_leaves_no_rows);
    tcase_add_test(tc, a_variable_keeps_the_digits_of_its_number);
    tcase_add_test(tc, select_into_sets_user_variables);
    tcase_add_test(tc, found_rows_are_those_of_the_last_select);
    tcase_add_test(tc, found_rows_stay_as_they_were_while_rows_are_given);
    tcase_add_test(tc, an_unknown_locale_is_named);
    tcase_add_test(tc, double_quotes_are_names_when_the_session_says_so);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
