/* test_parser.c - texts to statements, faults to MySQL's errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "errors.h"
#include "parse_statement.h"
#include "suite.h"

static struct arena *arena;
static struct error err;
static struct sql_statement st;

static void
set_up(void)
{
    arena = arena_new(32 << 20);
}

static void
tear_down(void)
{
    arena_free(arena);
}

static int
parse(const char *text)
{
    struct parsing how = {arena, PARAMETERS_NONE, NULL};
    struct span span = {text, strlen(text)};

    memset(&err, 0, sizeof(err));
    return statement_parse(span, &how, &st, &err);
}

static const struct {
    const char *text;
    enum statement_kind kind;
} good[] = {
    {"ADMIN EXECUTE ON 10001 'x'", STATEMENT_ADMIN_EXECUTE},
    {"ADMIN EXECUTE ON '10001' 'x'", STATEMENT_ADMIN_EXECUTE},
    {"admin execute on 10001 \"x\";", STATEMENT_ADMIN_EXECUTE},
    {"/* ApplicationName=DBeaver */ select 1", STATEMENT_SELECT},
    {"select 1 ;  -- end", STATEMENT_SELECT},
    {"WITH a AS (SELECT 1) SELECT * FROM a", STATEMENT_SELECT},
    {"SHOW BACKENDS", STATEMENT_SHOW},
    {"SHOW COMPUTE NODES", STATEMENT_SHOW},
    {"SHOW FULL PROCESSLIST", STATEMENT_SHOW},
    {"show /*!50002 FULL*/ TABLES FROM `heapwire`", STATEMENT_SHOW},
    {"SHOW SCHEMAS LIKE 'x'", STATEMENT_SHOW},
    {"SHOW SESSION VARIABLES WHERE Variable_name = 'x'", STATEMENT_SHOW},
    {"SHOW LOCAL STATUS", STATEMENT_SHOW},
    {"SHOW WARNINGS LIMIT 1, 2", STATEMENT_SHOW},
    {"set names utf8mb4", STATEMENT_SET},
    {"/*!40101 SET NAMES utf8 */", STATEMENT_SET},
    {"use `heapwire`", STATEMENT_USE},
    {"KILL /*!50000 QUERY */ 5", STATEMENT_KILL},
    {"begin", STATEMENT_BEGIN},
    {"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", STATEMENT_BEGIN},
    {"commit", STATEMENT_END},
    {"ROLLBACK WORK", STATEMENT_END},
    {"DO 1", STATEMENT_DO},
};

START_TEST(statements_are_distinguished)
{
    ck_assert_msg(parse(good[_i].text) == 0, "%s: %s", good[_i].text, err.text);
    ck_assert_int_eq(st.kind, good[_i].kind);
}
END_TEST

/* near NULL: another error than 1064. */
static const struct {
    const char *text;
    unsigned code;
    const char *near;
    unsigned line;
} bad[] = {
    {"", ER_EMPTY_QUERY, NULL, 0},
    {"  ", ER_EMPTY_QUERY, NULL, 0},
    {";", ER_EMPTY_QUERY, NULL, 0},
    {"-- nothing", ER_EMPTY_QUERY, NULL, 0},
    {"/* nothing */ # at all", ER_EMPTY_QUERY, NULL, 0},
    {";;", ER_PARSE, ";", 1},
    {"FROB x", ER_PARSE, "FROB x", 1},
    {"select $$", ER_PARSE, "$$", 1},
    {"select 1; select 2", ER_PARSE, "select 2", 1},
    {"select (1", ER_PARSE, "", 1},
    {"select 1)", ER_PARSE, ")", 1},
    {"select 'abc", ER_PARSE, "'abc", 1},
    {"select\n1 ?", ER_PARSE, "?", 2},
    {"ADMIN", ER_PARSE, "", 1},
    {"ADMIN FROB", ER_PARSE, "FROB", 1},
    {"ADMIN EXECUTE 'x'", ER_PARSE, "'x'", 1},
    {"ADMIN EXECUTE ON 'x'", ER_PARSE, "'x'", 1},
    {"ADMIN EXECUTE ON 1", ER_PARSE, "", 1},
    {"ADMIN EXECUTE ON 1, 'x'", ER_PARSE, "'x'", 1},
    {"ADMIN EXECUTE ON (1, 2 'x'", ER_PARSE, "'x'", 1},
    {"ADMIN EXECUTE ON -1 'x'", ER_PARSE, "-1 'x'", 1},
    {"ADMIN EXECUTE ON 1.5 'x'", ER_PARSE, "1.5 'x'", 1},
    {"ADMIN EXECUTE ON 18446744073709551616 'x'", ER_PARSE,
     "18446744073709551616 'x'", 1},
    {"ADMIN EXECUTE ON ALL NODES 'x'", ER_PARSE, "NODES 'x'", 1},
    {"ADMIN EXECUTE ON ALL COMPUTE 'x'", ER_PARSE, "'x'", 1},
    {"ADMIN EXECUTE ON 1 'x' 'y'", ER_PARSE, "'y'", 1},
    {"ADMIN EXECUTE ON 1\n\n'x' y", ER_PARSE, "y", 3},
    {"ADMIN EXECUTE ON FRONTEND 'x'", ER_NOT_SUPPORTED, NULL, 0},
    {"SHOW", ER_PARSE, "", 1},
    {"SHOW FROB", ER_PARSE, "FROB", 1},
    {"SHOW TABLES FROM", ER_PARSE, "", 1},
    {"SHOW TABLES LIKE x", ER_PARSE, "x", 1},
    {"SHOW VARIABLES WHERE", ER_PARSE, "", 1},
    {"SHOW PROCESSLIST LIKE 'x'", ER_PARSE, "LIKE 'x'", 1},
    {"SET", ER_PARSE, "", 1},
    {"SET x", ER_PARSE, "", 1},
    {"SET x =", ER_PARSE, "", 1},
    {"SET x = 1,", ER_PARSE, "", 1},
    {"SET x = 1 2)", ER_PARSE, "2)", 1},
    {"SET NAMES", ER_PARSE, "", 1},
    {"SET NAMES utf8 COLLATE", ER_PARSE, "", 1},
    {"SET TRANSACTION", ER_PARSE, "", 1},
    {"SET TRANSACTION READ", ER_PARSE, "", 1},
    {"SET TRANSACTION ISOLATION LEVEL FROB", ER_PARSE, "FROB", 1},
    {"SET TRANSACTION READ ONLY, x = 1", ER_PARSE, "x = 1", 1},
    {"USE", ER_PARSE, "", 1},
    {"USE 'x'", ER_PARSE, "'x'", 1},
    {"KILL", ER_PARSE, "", 1},
    {"KILL ;", ER_PARSE, ";", 1},
    {"BEGIN 1", ER_PARSE, "1", 1},
    {"START", ER_PARSE, "", 1},
    {"DO", ER_PARSE, "", 1},
    {"INSERT INTO t VALUES (1)", ER_READ_ONLY, NULL, 0},
    {"update t set a = 1", ER_READ_ONLY, NULL, 0},
    {"DELETE FROM t", ER_READ_ONLY, NULL, 0},
    {"CREATE TABLE t (a int)", ER_READ_ONLY, NULL, 0},
    {"DROP TABLE t", ER_READ_ONLY, NULL, 0},
};

START_TEST(faults_have_mysqls_errors)
{
    char expected[200];

    ck_assert_msg(parse(bad[_i].text) == -1, "%s", bad[_i].text);
    ck_assert_uint_eq(err.code, bad[_i].code);
    ck_assert_str_eq(err.sqlstate, error_sqlstate(bad[_i].code));
    if (!bad[_i].near)
        return;
    snprintf(expected, sizeof(expected), "use near '%s' at line %u",
             bad[_i].near, bad[_i].line);
    ck_assert_msg(strstr(err.text, expected) != NULL, "%s: %s", bad[_i].text,
                  err.text);
}
END_TEST

/* 1235, with this behind "support '...':". */
static const struct {
    const char *text, *why;
} unsupported[] = {
    {"select match(a, b) against ('x' in boolean mode)", "use LIKE or REGEXP"},
    {"select 1 from t where match a against ('x')", "use LIKE or REGEXP"},
    {"select 'a' sounds like 'b'", "compare the SOUNDEX of both"},
    {"select 1 from t where a sounds like 'b'", "compare the SOUNDEX of both"},
    {"select 1 member of ('[1]')", "use JSON_CONTAINS"},
    {"select json_value(a, '$' returning signed)", "use JSON_EXTRACT and CAST"},
    {"select cast(a as point)", "there is no spatial data"},
    {"select cast(a at time zone '+00:00' as datetime)", "all times are UTC"},
    {"select weight_string(a as char(3))", "use HEX"},
    {"select values(a) from t", "nothing is inserted"},
    {"select nth_value(a, 1) from last over () from t",
     "reverse the window's ORDER BY"},
    {"select lag(a) ignore nulls over () from t", "leave them out by WHERE"},
    {"select sum(a) over (order by a groups between 1 preceding and 1 "
     "following) from t",
     "use ROWS or RANGE"},
    {"select sum(a) over (order by a rows 1 preceding exclude ties) from t",
     "use a narrower frame"},
    {"select sum(a) over (order by a range interval 1 day preceding) from t",
     "order by UNIX_TIMESTAMP(), and give seconds"},
    {"select * from t partition (p)", "no table has partitions"},
    {"select * from {oj t left join u on 1}", "leave out the braces"},
    {"select * from t procedure analyse()", "DESCRIBE has the types"},
    {"select * from t, lateral (select 1) u",
     "a table in FROM cannot depend on another one"},
    {"select * from json_table('[]', '$' columns (a int path '$')) t",
     "a table in FROM cannot depend on another one"},
    {"select 1 group by a with rollup", "add the totals with UNION ALL"},
    {"select 1 into a", "write it with @"},
    {"explain analyze select 1", "leave out ANALYZE"},
    {"explain format = json for connection 1",
     "SHOW FULL PROCESSLIST has the statement"},
    {"show grants for a using b", "there are no roles"},
    {"show relaylog events", "it replicates nothing"},
    {"show create trigger a", "there are no triggers"},
    {"show create event a", "there are no events"},
    {"show profile cpu for query 1", "EXPLAIN says how a SELECT runs"},
    {"xa start 'x'", "no statement changes data"},
    {"get diagnostics @a = number", "SHOW WARNINGS has the conditions"},
};

START_TEST(what_mysql_has_and_heapwire_has_not_has_a_reason)
{
    const char *why;

    ck_assert_int_eq(parse(unsupported[_i].text), -1);
    ck_assert_msg(err.code == ER_NOT_SUPPORTED, "%s", err.text);
    why = strstr(err.text, "': ");
    ck_assert_ptr_nonnull(why);
    ck_assert_str_eq(why + 3, unsupported[_i].why);
}
END_TEST

START_TEST(the_words_of_what_is_missing_are_names)
{
    static const char *const texts[] = {
        "select 1 member, 2 sounds, 3 at, 4 against, 5 groups, 6 exclude",
        "select at, member, sounds from against at, groups member",
        "select count(*) from t exclude group by a",
        "select nth_value(a, 1) from first respect nulls over () from first",
        "explain table t",
        "explain values row(1)",
        "analyze table t update histogram on a with 10 buckets",
        "flush relay logs for channel 'x'",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        ck_assert_msg(parse(texts[i]) == 0, "%s: %s", texts[i], err.text);
    ck_assert_int_eq(parse("explain format = json update t set a = 1"), -1);
    ck_assert_uint_eq(err.code, ER_READ_ONLY);
    ck_assert_int_eq(parse("with a as (select 1) delete from t"), -1);
    ck_assert_uint_eq(err.code, ER_READ_ONLY);
    ck_assert_int_eq(parse("select convert(a as char)"), -1);
    ck_assert_uint_eq(err.code, ER_PARSE);
}
END_TEST

/* Whatever the place of the end, a statement or an error comes back. */
START_TEST(statements_may_end_anywhere)
{
    struct parsing how = {arena, PARAMETERS_NONE, NULL};
    size_t size = strlen(good[_i].text);

    for (size_t cut = 0; cut < size; cut++) {
        char *copy = malloc(cut ? cut : 1);
        struct span span = {copy, cut};

        memcpy(copy, good[_i].text, cut);
        memset(&err, 0, sizeof(err));
        if (statement_parse(span, &how, &st, &err) != 0)
            ck_assert_uint_ne(err.code, 0);
        free(copy);
    }
}
END_TEST

START_TEST(targets_are_sorted_and_distinct)
{
    ck_assert_int_eq(parse("ADMIN EXECUTE ON 7, 3, 7, 5 'x'"), 0);
    ck_assert_int_eq(st.admin.target, TARGET_LIST);
    ck_assert_uint_eq(st.admin.id_count, 3);
    ck_assert_uint_eq(st.admin.ids[0], 3);
    ck_assert_uint_eq(st.admin.ids[1], 5);
    ck_assert_uint_eq(st.admin.ids[2], 7);
    ck_assert_int_eq(parse("ADMIN EXECUTE ON (7) 'x'"), 0);
    ck_assert_int_eq(st.admin.target, TARGET_LIST);
    ck_assert_int_eq(parse("ADMIN EXECUTE ON 7 'x\\n'"), 0);
    ck_assert_int_eq(st.admin.target, TARGET_ONE);
    ck_assert(span_is(st.admin.script, "x\n"));
    ck_assert_int_eq(parse("ADMIN EXECUTE ON ALL 'x'"), 0);
    ck_assert_int_eq(st.admin.target, TARGET_ALL);
    ck_assert_int_eq(parse("ADMIN EXECUTE ON ALL BACKENDS 'x'"), 0);
    ck_assert_int_eq(st.admin.target, TARGET_BACKENDS);
    ck_assert_int_eq(parse("ADMIN EXECUTE ON ALL COMPUTE NODES 'x'"), 0);
    ck_assert_int_eq(st.admin.target, TARGET_COMPUTE_NODES);
}
END_TEST

START_TEST(kill_knows_what)
{
    ck_assert_int_eq(parse("KILL 5"), 0);
    ck_assert(!st.kill.query_only);
    ck_assert_uint_eq(st.kill.id, 5);
    ck_assert_int_eq(parse("KILL CONNECTION 5"), 0);
    ck_assert(!st.kill.query_only);
    ck_assert_int_eq(parse("KILL QUERY 6;"), 0);
    ck_assert(st.kill.query_only);
    ck_assert_uint_eq(st.kill.id, 6);
    ck_assert_int_eq(parse("KILL 99999999999999999999"), 0);
    ck_assert_uint_eq(st.kill.id, UINT32_MAX);
}
END_TEST

/* prefix, then count times part. */
static int
parse_many(const char *prefix, const char *part, size_t count)
{
    size_t first = strlen(prefix), step = strlen(part);
    char *text = malloc(first + step * count + 1);
    int rc;

    memcpy(text, prefix, first + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(text + first + i * step, part, step + 1);
    rc = parse(text);
    free(text);
    return rc;
}

START_TEST(nesting_and_lists_have_ceilings)
{
    ck_assert_int_eq(parse_many("select ", "(", 100000), -1);
    ck_assert_uint_eq(err.code, ER_STACK_OVERRUN);
    ck_assert_int_eq(parse_many("select ", "((", 8000000), -1);
    ck_assert_int_eq(parse_many("set a=1", ",a=1", 100000), -1);
    ck_assert_int_eq(parse_many("ADMIN EXECUTE ON 1", ",1", 100000), -1);
    ck_assert_uint_eq(err.code, ER_UNKNOWN);
    ck_assert_int_eq(parse_many("select 1", "+1", 8000000), -1);
    ck_assert_uint_eq(err.code, ER_STACK_OVERRUN);
    ck_assert_int_eq(parse_many("select 1", ",1", 8000000), -1);
    ck_assert_uint_eq(err.code, ER_NOT_SUPPORTED);
    ck_assert_int_eq(parse_many("select 1", ",1", 100000), 0);
}
END_TEST

START_TEST(a_small_arena_is_an_error)
{
    struct arena *small = arena_new(16);
    struct parsing how = {small, PARAMETERS_NONE, NULL};
    struct span text = {"ADMIN EXECUTE ON 1 'abcdefghijklmnopqrstuvwxyz'", 47};

    ck_assert_int_eq(statement_parse(text, &how, &st, &err), -1);
    ck_assert_uint_eq(err.code, ER_OUT_OF_MEMORY);
    arena_free(small);
}
END_TEST

START_TEST(a_select_may_limit_its_own_time)
{
    static const struct {
        const char *text;
        uint32_t ms;
    } hints[] = {
        {"SELECT /*+ MAX_EXECUTION_TIME(250) */ 1", 250},
        {"select/*+NO_ICP(t) SET_VAR(a = 'b') max_execution_time( 7 )*/1", 7},
        {"SELECT /*+ MAX_EXECUTION_TIME(99999999999999999999) */ 1", 0},
        {"SELECT /*+ MAX_EXECUTION_TIME(99999999999) */ 1", UINT32_MAX},
        {"SELECT /*+ MAX_EXECUTION_TIME(-1) */ 1", 0},
        {"SELECT /*+ MAX_EXECUTION_TIME */ 1", 0},
        {"SELECT /*+ ' */ 1", 0},
        {"SELECT /* MAX_EXECUTION_TIME(250) */ 1", 0},
        {"SELECT 1 /*+ MAX_EXECUTION_TIME(250) */", 0},
    };

    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        ck_assert_int_eq(parse(hints[i].text), 0);
        ck_assert_uint_eq(st.max_ms, hints[i].ms);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("parser");
    TCase *tc = tcase_create("parser");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, statements_are_distinguished, 0,
                        sizeof(good) / sizeof(good[0]));
    tcase_add_loop_test(tc, faults_have_mysqls_errors, 0,
                        sizeof(bad) / sizeof(bad[0]));
    tcase_add_loop_test(tc, statements_may_end_anywhere, 0,
                        sizeof(good) / sizeof(good[0]));
    tcase_add_loop_test(tc, what_mysql_has_and_heapwire_has_not_has_a_reason, 0,
                        sizeof(unsupported) / sizeof(unsupported[0]));
    tcase_add_test(tc, the_words_of_what_is_missing_are_names);
    tcase_add_test(tc, targets_are_sorted_and_distinct);
    tcase_add_test(tc, kill_knows_what);
    tcase_add_test(tc, nesting_and_lists_have_ceilings);
    tcase_add_test(tc, a_small_arena_is_an_error);
    tcase_add_test(tc, a_select_may_limit_its_own_time);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
