/* test_types.c - what columns are declared to be, and values that keep to it.
 */
#include <stdio.h>
#include <string.h>

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

static const char *const names[] = {
    [COLUMN_NULL] = "null",          [COLUMN_TEXT] = "text",
    [COLUMN_LONGTEXT] = "long",      [COLUMN_BLOB] = "blob",
    [COLUMN_TINYINT] = "tinyint",    [COLUMN_INT] = "int",
    [COLUMN_BIGINT] = "bigint",      [COLUMN_DOUBLE] = "double",
    [COLUMN_DECIMAL] = "decimal",    [COLUMN_DATE] = "date",
    [COLUMN_TIME] = "time",          [COLUMN_DATETIME] = "datetime",
    [COLUMN_TIMESTAMP] = "timestamp"};

static const struct {
    const char *query, *types;
} cases[] = {
    /* literals */
    {"select 1, -1, +1, 1.5, 1e3, 'x', \"x\", 'a' 'b', null, true, false",
     "bigint bigint bigint decimal double text text text null bigint bigint"},
    {"select 9223372036854775807, 9223372036854775808, 0x41, x'41', _utf8'x'",
     "bigint bigint blob blob text"},
    {"select _binary'x' a, _BINARY 'x' 'y' b, _binary x'ff' c, _utf8mb4 x'41' "
     "d,"
     " ifnull(_binary'a', 'b') e",
     "blob blob blob text blob"},
    /* operators */
    {"select 1 + 1, 1 + 1.5, 7 / 2, 7 div 2, 7.5 div 2, 7 % 4, 7 mod 4, 2 * 3",
     "bigint decimal decimal bigint bigint bigint bigint bigint"},
    {"select 1 = 1, 'a' < 'b', 1 <> 2, null <=> null, 1 and 0, not 1, !1",
     "bigint bigint bigint bigint bigint bigint bigint"},
    {"select 'a' like 'b', 'a' not like 'b', 1 in (1, 2), 1 not in (1), "
     "1 is null, 1 is not null, 1 between 0 and 2, 1 not between 0 and 2",
     "bigint bigint bigint bigint bigint bigint bigint bigint"},
    {"select 1 | 2, 1 & 2, 1 << 2, ~1, '1' + 1, -'1', 1 + null, 1 || 0",
     "bigint bigint bigint bigint double double bigint bigint"},
    {"select 1 + 2 = 3, 1.5 > 1 and 2, 1 + 2 * 1.5, (1 + 2) * 3, (1.5)",
     "bigint bigint decimal bigint decimal"},
    {"select @a := 1, @a, @b := @a + 1.5, @b, @c := 'x', @c, @unset, @a := "
     "'y', @a",
     "bigint bigint decimal decimal text text text text text"},
    {"select 'a' collate utf8mb4_bin, binary 'a', 'x' x, 1 'y', 2 as `z`",
     "text blob text bigint bigint"},
    {"(select 1 a, 'x') union (select 2, now()) order by a limit 1",
     "bigint text"},
    {"(select 1.5) union all (select 2)", "decimal"},
    {"select 1 union (select 2 union select 3)", "bigint"},
    {"((select curdate()))", "date"},
    {"select case (1) when (2) then 3 else 4 end, "
     "case (null is null) when 1 then curdate() end, "
     "cast(case ('a') when 'b' then 1 end as date), cast('1' as int)",
     "bigint date date bigint"},
    {"values row(1, 'a', null), row(2.5, 'b', now())", "decimal text datetime"},
    {"select * from (values row(1), row(2)) t (a)", "bigint"},
    {"table information_schema.schemata", "text text text text text text"},
    {"select date '2026-01-31', time '10:00', timestamp '2026-01-31', "
     "date '2026-01-31' d",
     "date time datetime date"},
    {"select straight_join sum(id) over w, id from heapwire.nodes window w as "
     "(order by id)",
     "decimal bigint"},
    /* functions */
    {"select connection_id(), version(), database(), user(), found_rows()",
     "bigint text text text bigint"},
    {"select now(), curdate(), curtime(), utc_timestamp, current_date, "
     "current_time, unix_timestamp()",
     "datetime date time datetime date time bigint"},
    {"select timediff(now(), utc_timestamp())", "time"},
    {"select unix_timestamp(now()), unix_timestamp('2026-01-01 10:00'), "
     "unix_timestamp('2026-01-01 10:00:00.5'), unix_timestamp(now(6)), "
     "curdate() + 0, now() + 0, -curtime(), now(3) + 0, sum(since), "
     "max(since) + interval 1 hour - 0, cast(now() as datetime(3)) * 1 from "
     "heapwire.nodes",
     "bigint bigint double double bigint bigint bigint double decimal bigint "
     "double"},
    {"select {d '2026-01-01'}, {t '10:00'}, {ts '2026-01-01 10:00'}, {fn "
     "now()}",
     "date time datetime datetime"},
    {"select concat(1, 2), length('a'), upper('a'), replace('a', 'b', 'c'), "
     "left('a', 1), hex(1)",
     "text bigint text text text text"},
    {"select if(1, 1, 2), if(1, 1, 2.5), if(1, 1, 'a'), ifnull(null, 1), "
     "coalesce(null, 1.5), nullif(1, 2), coalesce(null, now())",
     "bigint decimal text bigint decimal bigint datetime"},
    {"select abs(-1), abs(1.5), round(1), round(1.5), ceil(1.5), floor(1), "
     "sqrt(4)",
     "bigint decimal bigint decimal bigint bigint double"},
    {"select count(*), count(distinct id), sum(id), avg(id), max(id), "
     "max(user), min(id + 1), sum(id + 0.5) from heapwire.sessions",
     "bigint bigint decimal decimal bigint text bigint decimal"},
    {"select case when 1 then 2 end, case 1 when 1 then 'a' else 2 end, "
     "case when 1 then null else 1.5 end, case when 1 then case when 1 then 1 "
     "end end",
     "bigint text decimal bigint"},
    {"select cast('1' as signed), cast(1 as char(9)), cast(1 as "
     "decimal(10,2)), cast('2026-01-01' as date), cast('x' as binary), "
     "cast(now() as datetime), cast('10:00:00' as time), cast(1 as double)",
     "bigint text decimal date blob datetime time double"},
    {"select convert('1', unsigned), convert('x' using utf8mb4), "
     "cast(cast('1' as signed) as char)",
     "bigint text text"},
    {"select exists(select 1), not exists (select 'a')", "bigint bigint"},
    /* variables */
    {"select @@version, @@port, @@autocommit, @@session.wait_timeout, "
     "@@sql_select_limit",
     "text bigint bigint bigint text"},
    {"select @i, @d, @t, @unset, @i + 1", "bigint decimal text text bigint"},
    /* columns */
    {"select id, address, since from heapwire.nodes", "bigint text datetime"},
    {"select svg('a'), flamegraph('a'), top('a'), pprof('a'), pdf('a'), "
     "calls('a') from dual where 1 = 0",
     "long long long blob blob long"},
    {"select date_add(now(), interval 1 day), date_add(curdate(), interval 1 "
     "day), date_add(curdate(), interval 1 hour), date_sub(curtime(), interval "
     "1 hour), date_add('2026-01-01', interval 1 day), adddate(curdate(), 1), "
     "timestampadd(hour, 1, curdate()), timestampadd(day, 1, curdate())",
     "datetime date datetime time text date datetime date"},
    {"select from_unixtime(1), from_unixtime(1, '%Y'), str_to_date('x', "
     "'%Y-%m'), str_to_date('x', '%H'), str_to_date('x', '%X%V %W %H'), "
     "str_to_date('x', '%X%V %W'), str_to_date('x', concat('%Y'))",
     "datetime text date time datetime date datetime"},
    {"select reloadable, reloadable + 1, max(reloadable), not reloadable from "
     "heapwire.settings",
     "tinyint bigint tinyint bigint"},
    {"select * from heapwire.nodes",
     "bigint text bigint text tinyint datetime text text"
     " tinyint text datetime double text"},
    {"select n.*, 1, n.id from heapwire.nodes n limit 0",
     "bigint text bigint text tinyint datetime text text"
     " tinyint text datetime double text bigint bigint"},
    {"select heapwire.nodes.id, `nodes`.`since`, max(since) from "
     "heapwire.nodes",
     "bigint datetime datetime"},
    {"select s.id, n.since, concat(n.id), n.id + s.id from heapwire.sessions "
     "s join heapwire.nodes as n on n.id > s.id and (1 = 1)",
     "bigint datetime text bigint"},
    {"select s.*, n.port p from heapwire.nodes n, heapwire.sessions s limit 0",
     NULL},
    {"select id from heapwire.nodes natural join heapwire.sessions limit 0",
     "bigint"},
    {"select * from heapwire.nodes a join heapwire.nodes b using (id) limit 0",
     "bigint text bigint text tinyint datetime text text"
     " tinyint text datetime double text"
     " text bigint text tinyint datetime text text"
     " tinyint text datetime double text"},
    /* derived tables and common ones */
    {"select * from (select 1 as a, 'x' as b, now() as c) t",
     "bigint text datetime"},
    {"select t.b, a + 1, `x y` from (select 1 as a, 'x' as b, 2 `x y`) t",
     "text bigint bigint"},
    {"select `1+1` from (select 1+1) t", "bigint"},
    {"select x, y from (select 1, 1.5) as t(x, y)", NULL},
    {"select * from (select * from (select id from heapwire.nodes) a) b",
     "bigint"},
    {"with c as (select 1 as n, 'a' as s) select s, n, n / 2 from c",
     "text bigint decimal"},
    {"with a(x) as (select 1), b(y) as (select x + 0.5 from a) select x, y "
     "from a, b",
     "bigint decimal"},
    {"with recursive c(n) as (select 1 union all select n + 1 from c where n "
     "< 3) select n, n * n, hex(n) from c",
     "bigint bigint text"},
    {"with recursive c(n) as (select 1 union all select n * 1.5 from c where "
     "n < 3) select n from c",
     "decimal"},
    {"with recursive d as (select cast('2026-01-01' as date) as day) select "
     "day from d",
     "date"},
    {"select (select 1), (select 'a'), (select max(id) from heapwire.nodes), "
     "(select n.since from heapwire.sessions limit 1) from heapwire.nodes n",
     "bigint text bigint datetime"},
    /* unions */
    {"select 1 union select 2.5", "decimal"},
    {"select null union all select 'a'", "text"},
    {"select id from heapwire.nodes union select 'a'", "text"},
    {"select 1, 'a' union select 2, 'b' union all select 3, 'c' limit 1",
     "bigint text"},
    /* no rows */
    {"select 1, 'a', 1.5, now() from dual where 1 = 0",
     "bigint text decimal datetime"},
    {"select max(id), count(*) from heapwire.nodes where id < 0",
     "bigint bigint"},
    {"show processlist", NULL},
};

static const char *
types_of(const struct column *columns, size_t count)
{
    static char out[512];
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s",
                                 i ? " " : "", names[columns[i].type]);
    return out;
}

/* A value is NULL or what its column says. */
static void
check_values(const struct rows *rows)
{
    for (size_t i = 0; i < rows->count * h.cursor->column_count; i++) {
        const struct column *c = &h.cursor->columns[i % h.cursor->column_count];
        enum value_type type = rows->values[i].type;

        if (type == VALUE_NULL)
            continue;
        switch (c->type) {
        case COLUMN_NULL:
            ck_abort_msg("%s is not NULL", c->name);
            break;
        case COLUMN_TINYINT:
        case COLUMN_INT:
        case COLUMN_BIGINT:
            ck_assert_msg(type == VALUE_INT || (type == VALUE_TEXT &&
                                                c->flags & COLUMN_UNSIGNED),
                          "%s", c->name);
            break;
        case COLUMN_DOUBLE:
            ck_assert_msg(type == VALUE_DOUBLE, "%s", c->name);
            break;
        case COLUMN_BLOB:
            ck_assert_msg(type == VALUE_BLOB, "%s", c->name);
            break;
        default:
            ck_assert_msg(type == VALUE_TEXT, "%s", c->name);
            break;
        }
    }
}

static void
pull_checked(void)
{
    static struct value values[32 * CURSOR_BATCH];
    struct rows rows = {values, 0, CURSOR_BATCH};
    enum step step = STEP_MORE;

    ck_assert_uint_le(h.cursor->column_count, 32);
    while (step == STEP_MORE) {
        step = h.cursor->ops->step(h.cursor, &rows, &h.error);
        check_values(&rows);
    }
    ck_assert_int_eq(step, STEP_DONE);
}

START_TEST(types_are_known_before_any_row)
{
    struct sql_description description;
    struct span text = {cases[_i].query, strlen(cases[_i].query)};

    ck_assert_str_eq(harness_run(&h, "set @i = 1, @d = 1.5, @t = 'x'"), "OK");
    if (!harness_open_span(&h, text)) {
        ck_assert_ptr_null(cases[_i].types);
        return;
    }
    if (cases[_i].types)
        ck_assert_str_eq(types_of(h.cursor->columns, h.cursor->column_count),
                         cases[_i].types);
    for (size_t i = 0; i < h.cursor->column_count; i++)
        ck_assert(h.cursor->columns[i].width > 0 ||
                  h.cursor->columns[i].type == COLUMN_NULL);
    ck_assert_int_eq(
        sql_describe(h.session, text, NULL, &description, &h.error), 0);
    if (cases[_i].types)
        ck_assert_str_eq(
            types_of(description.columns, description.column_count),
            cases[_i].types);
    sql_description_fini(&description);
    pull_checked();
}
END_TEST

static const struct {
    const char *query, *answer;
} values[] = {
    {"select 7 div 2 d, 7/2 q, 6/2 r, sum(1) s, avg(2) a, round(2) o",
     "d|q|r|s|a|o\n#3|3.5000|3.0000|1|2.0000|#2"},
    {"select if(1, 1, 'a') a, if(0, 1, 'a') b, if(1, 1, 2.5) c",
     "a|b|c\n1|a|1.0"},
    {"select 1 as x union all select 2.5 union all select 3",
     "x\n1.0\n2.5\n3.0"},
    {"select 0.1 + 0.2 a, 1.50 * 2 b, -1 / 32 c, 1.5e0 + 1 d, ~0 e, "
     "1.00000000000001 f, 1.0000000000000001 g",
     "a|b|c|d|e|f|g\n0.3|3.00|-0.0313|~2.5|18446744073709551615|"
     "1.00000000000001|1.0000000000000001"},
    {"select avg(n) a, avg(n * 0.5) b, sum(n * 0.5) c, avg(n * 1e0) d from "
     "(select 1 n union all select 2) t",
     "a|b|c|d\n1.5000|0.75000|1.5|~1.5"},
    {"select round(7 / 2, 3) a, round(1.25, 1) b, truncate(1.999, 1) c, "
     "round(7 / 2, 1 + 1) d, 1 / 0 e",
     "a|b|c|d|e\n3.500|1.3|1.9|3.5000|\\N"},
    {"select round(12.345, '1.9') a, round(12.345, 1.9) b, "
     "truncate(12.345, 'x') c",
     "a|b|c\n12.3|12.35|12"},
    {"select 1 as x union all select 'a'", "x\n1\na"},
    {"select cast(1 as decimal(10,2)) a, cast(1.005 as decimal(5,1)) b, "
     "cast(7 as decimal) c, cast(-3 as decimal(9,3)) d",
     "a|b|c|d\n1.00|1.0|7|-3.000"},
    {"select cast('abc' as date) a, cast('2026-01-02 03:04:05' as date) b, "
     "cast('2026-01-02' as datetime) c, cast('2026-01-02 03:04:05' as time) d",
     "a|b|c|d\n\\N|2026-01-02|2026-01-02 00:00:00|03:04:05"},
    {"select ceil(1e30) x", "x\n~1e+30"},
    {"select cast(1 as unsigned) - 5 + (~0 - ~0) x",
     "1690/22003 BIGINT UNSIGNED value is out of range in a column of the "
     "result"},
    {"select x'00ff' = x'00ff' a, length(x'00ff') b", "a|b\n#1|#2"},
};

START_TEST(values_keep_to_their_type)
{
    ck_assert_str_eq(harness_run(&h, values[_i].query), values[_i].answer);
}
END_TEST

START_TEST(a_parameters_type_is_its_values)
{
    static const struct value given[] = {{VALUE_INT, NULL, 0, 1, 0},
                                         {VALUE_DOUBLE, NULL, 0, 0, 1.5},
                                         {VALUE_TEXT, "abc", 3, 0, 0},
                                         {VALUE_BLOB, "abc", 3, 0, 0},
                                         {VALUE_NULL, NULL, 0, 0, 0}};
    struct sql_description description;
    struct span text = {"select ?, (select ?), if(1, ?, ?), ?", 36};

    h.parameters = given;
    h.parameter_count = 5;
    ck_assert_ptr_nonnull(harness_open_span(&h, text));
    ck_assert_str_eq(types_of(h.cursor->columns, h.cursor->column_count),
                     "bigint double blob text");
    pull_checked();
    ck_assert_int_eq(
        sql_describe(h.session, text, NULL, &description, &h.error), 0);
    ck_assert_str_eq(types_of(description.columns, description.column_count),
                     "text text text text");
    sql_description_fini(&description);
}
END_TEST

/* Texts that SQLite takes and that are hard to follow: whatever their types,
 * the values keep to them. */
static const char *const strange[] = {
    "select ((((((((((1))))))))))",
    "select - - + - 1, not not not 1, !!1",
    "select (1, 2) = (1, 2), (1, 2) in (select 1, 2)",
    "select count(*) over (), sum(id) over (order by id) from "
    "heapwire.sessions",
    "select group_concat(id order by id desc) from heapwire.sessions",
    "select 1 a, 2 'b', 3 \"c\", 4 `d e`, 5f",
    "select id id, id as `select`, nodes.id from heapwire.nodes",
    "select case id when 1 then 'x' else id end from heapwire.nodes",
    "select * from heapwire.nodes n left join (select 1 x union select 2) y "
    "on (n.id = y.x) where n.id in (select id from heapwire.nodes)",
    "select * from (heapwire.nodes a join heapwire.sessions b)",
    "select (with q as (select 1 z) select z from q)",
    "with a as (with b as (select 1 i) select i from b) select * from a",
    "select 1 as `from`, `from` from (select 2 as `from`) t",
    "select 1 limit 1 offset 0",
    "select id from heapwire.nodes group by id having count(*) > 0 order by 1",
};

START_TEST(strange_texts_keep_to_their_types)
{
    if (harness_open(&h, strange[_i]))
        pull_checked();
    else
        ck_assert_msg(h.error.code != 0, "%s", strange[_i]);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("types");
    TCase *tc = tcase_create("types");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, types_are_known_before_any_row, 0,
                        (int)COUNT(cases));
    tcase_add_loop_test(tc, values_keep_to_their_type, 0, (int)COUNT(values));
    tcase_add_test(tc, a_parameters_type_is_its_values);
    tcase_add_loop_test(tc, strange_texts_keep_to_their_types, 0,
                        (int)COUNT(strange));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
