/* test_json.c - functions of JSON: answers and faults of MySQL 8.0. */
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

/* An expression, and its value. */
static const struct {
    const char *expression, *answer;
} cases[] = {
    /* the form: blanks, the order of names, the last of equal ones, escapes */
    {"json_extract('{\"bb\":1,\"a\":[1,2],\"c\":{},\"a\":\"\\\\u00e9\\\\/\"}', "
     "'$')",
     "{\"a\": \"\xc3\xa9/\", \"c\": {}, \"bb\": 1}"},
    {"json_object('b', 1, 'a', 2, 'b', 3)", "{\"a\": 2, \"b\": 3}"},
    {"json_object(1, 2, 1.5, null)", "{\"1\": 2, \"1.5\": null}"},
    {"json_array(1.50, 'x', null, true, json_array(1), 18446744073709551615)",
     "[1.50, \"x\", null, true, [1], 18446744073709551615]"},
    {"json_array(json_extract('[\"a\", {\"b\": 1}]', '$[0]', '$[1]'))",
     "[[\"a\", {\"b\": 1}]]"},
    {"json_arrayagg(x) over () from (select 1 x) t", "[1]"},
    {"json_extract('\"\\\\ud83d\\\\ude00\\\\b\\\\f\\\\n\\\\r\\\\t\\\\u0001\"', "
     "'$')",
     "\"\xf0\x9f\x98\x80\\b\\f\\n\\r\\t\\u0001\""},
    /* paths */
    {"json_extract('{\"a b\": {\"\\\\\"\": 1}}', '$.\"a b\".\"\\\\\"\"')", "1"},
    {"json_extract('[1, [2, 3]]', '$[1][last]')", "3"},
    {"json_extract('[1, 2, 3, 4]', '$[last - 1]')", "3"},
    {"json_extract('[1, 2, 3, 4]', '$[1 to last - 1]')", "[2, 3]"},
    {"json_extract('[1, 2, 3, 4]', '$[0 to 2]')", "[1, 2, 3]"},
    {"json_extract('[1]', '$[3 to 5]')", "\\N"},
    {"json_extract('[1]', '$[last - 1]')", "\\N"},
    {"json_extract('[[1, 2], [3]]', '$[*][*]')", "[1, 2, 3]"},
    {"json_extract('{\"b\": {\"x\": 1}, \"a\": {\"x\": 2}, \"c\": 3}', "
     "'$.*.x')",
     "[2, 1]"},
    {"json_extract('5', '$[0][last]')", "5"},
    {"json_extract('5', '$[1]')", "\\N"},
    {"json_extract('5', '$[*]')", "\\N"},
    {"json_extract('[1, 2]', '$[5]', '$[0]')", "[1]"},
    {"json_extract('[1, 2]', '$[5]', '$[6]')", "\\N"},
    {"json_extract('{\"a\": null}', '$.a')", "null"},
    {"json_extract('{\"a\": null}', '$.a') is null", "#0"},
    {"json_extract(null, '$')", "\\N"},
    {"json_extract('[1]', null)", "\\N"},
    {"json_extract('{\"a\": 1}', ' $ . a ')", "1"},
    {"'{\"a\": {\"b\": \"x\\\\n\"}}' -> '$.a.b'", "\"x\\n\""},
    {"hex('{\"a\": {\"b\": \"x\\\\n\"}}' ->> '$.a.b')", "780A"},
    {"'{\"a\": null}' ->> '$.a'", "null"},
    {"'{\"a\": [1]}' ->> '$.a'", "[1]"},
    {"'{\"a\": 1}' ->> '$.b'", "\\N"},
    /* what is found compares, sorts and counts as MySQL's JSON does */
    {"json_extract('{\"a\": \"b\"}', '$.a') = 'b'", "#1"},
    {"json_extract('{\"a\": \"b\"}', '$.a') = 'B'", "#0"},
    {"'b' in ('x', json_extract('{\"a\": \"b\"}', '$.a'))", "#1"},
    {"case json_extract('{\"a\": \"b\"}', '$.a') when 'b' then 'yes' end",
     "yes"},
    {"json_extract('{\"a\": 5}', '$.a') = 5", "#1"},
    {"json_extract('{\"a\": 5}', '$.a') > 10", "#0"},
    {"json_extract('{\"a\": 10}', '$.a') > 9", "#1"},
    {"json_extract('{\"a\": \"5\"}', '$.a') = 5", "#0"},
    {"json_extract('{\"a\": true}', '$.a') = true", "#1"},
    {"json_extract('{\"a\": true}', '$.a') = false", "#0"},
    {"json_extract('[2, 10]', '$[0]') < json_extract('[2, 10]', '$[1]')", "#1"},
    {"json_extract('[\"a\"]', '$[0]') = json_extract('[\"a\"]', '$[0]')", "#1"},
    {"group_concat(x) from (select json_extract('[2, 10, 1.5]', concat('$[', "
     "i, "
     "']')) x from (select 0 i union select 1 union select 2) t order by x) u",
     "1.5,2,10"},
    {"sum(json_extract('[2, 10, 1.5]', concat('$[', i, ']'))) from (select 0 i "
     "union select 1 union select 2) t",
     "~13.5"},
    {"json_extract('{\"a\": \"5\"}', '$.a') + 1", "~6"},
    /* the others */
    {"json_valid('{\"a\": 1}')", "#1"},
    {"json_valid('hello')", "#0"},
    {"json_valid(null)", "\\N"},
    {"json_valid(1)", "#0"},
    {"json_valid('')", "#0"},
    {"json_valid(json_array())", "#1"},
    {"json_valid('1 2')", "#0"},
    {"json_valid('01')", "#0"},
    {"json_valid('-0')", "#1"},
    {"json_valid('[1,]')", "#0"},
    {"json_valid('{\"a\" 1}')", "#0"},
    {"json_valid('{a: 1}')", "#0"},
    {"json_valid('\"\\\\x\"')", "#0"},
    {"json_valid('\"\\\\ud800\"')", "#0"},
    {"json_valid('\"a\nb\"')", "#0"},
    {"json_valid('nulls')", "#0"},
    {"json_valid('1.')", "#0"},
    {"json_valid('.5')", "#0"},
    {"json_valid('1e')", "#0"},
    {"json_valid('1e400')", "#0"},
    {"json_valid('NaN')", "#0"},
    {"json_valid(' [ 1 , 2 ] ')", "#1"},
    {"json_valid(repeat('[', 200))", "#0"},
    {"json_valid(concat(repeat('[', 100), repeat(']', 100)))", "#1"},
    {"json_valid(concat(repeat('[', 101), repeat(']', 101)))", "#0"},
    {"json_quote(null)", "\\N"},
    {"json_quote('')", "\"\""},
    {"json_quote('a\"b\\\\c\\n')", "\"a\\\"b\\\\c\\n\""},
    {"json_unquote('\"a\\\\u00e9\"')", "a\xc3\xa9"},
    {"json_unquote('abc')", "abc"},
    {"json_unquote('\"')", "\""},
    {"json_unquote('\"\"')", ""},
    {"json_unquote(null)", "\\N"},
    {"json_length('[1, [2, 3]]')", "#2"},
    {"json_length('[1, [2, 3, 4]]', '$[1]')", "#3"},
    {"json_length('{\"a\": 1, \"a\": 2}')", "#1"},
    {"json_length('1')", "#1"},
    {"json_length('{}')", "#0"},
    {"json_length('[1]', '$.a')", "\\N"},
    {"json_depth('{}')", "#1"},
    {"json_depth('[[]]')", "#2"},
    {"json_depth('[10, {\"a\": 20}]')", "#3"},
    {"json_depth('true')", "#1"},
    {"json_keys('{\"bb\": 1, \"a\": {\"c\": 2}}')", "[\"a\", \"bb\"]"},
    {"json_keys('{\"a\": {\"c\": 2}}', '$.a')", "[\"c\"]"},
    {"json_keys('[1]')", "\\N"},
    {"json_type('{}')", "OBJECT"},
    {"json_type('[]')", "ARRAY"},
    {"json_type('\"a\"')", "STRING"},
    {"json_type('true')", "BOOLEAN"},
    {"json_type('null')", "NULL"},
    {"json_type('-1')", "INTEGER"},
    {"json_type('18446744073709551615')", "UNSIGNED INTEGER"},
    {"json_type('18446744073709551616')", "DOUBLE"},
    {"json_type('1.0')", "DOUBLE"},
    {"json_type(json_extract('[3]', '$[0]'))", "INTEGER"},
    {"json_type(null)", "\\N"},
    {"json_contains('[1, 2, 3]', '2')", "#1"},
    {"json_contains('[1, [2, 3]]', '[3, 1]')", "#1"},
    {"json_contains('[1, [2, 3]]', '[[3, 1]]')", "#0"},
    {"json_contains('[1, 2]', '[2, 1, 1]')", "#1"},
    {"json_contains('{\"a\": 1, \"b\": {\"c\": 2}}', '{\"b\": {\"c\": 2.0}}')",
     "#1"},
    {"json_contains('{\"a\": [1, 2]}', '1', '$.a')", "#1"},
    {"json_contains('{\"a\": 1}', '1', '$.b')", "\\N"},
    {"json_contains('\"a\"', '\"A\"')", "#0"},
    {"json_contains('[1]', null)", "\\N"},
    {"json_contains_path('{\"a\": 1}', 'one', '$.a', '$.b')", "#1"},
    {"json_contains_path('{\"a\": 1}', 'ALL', '$.a', '$.b')", "#0"},
    {"json_contains_path(null, 'one', '$')", "\\N"},
};

START_TEST(answers_are_mysqls)
{
    char text[600];
    const char *answer;

    snprintf(text, sizeof(text), "select %s%s", cases[_i].expression,
             strstr(cases[_i].expression, " from ") ? "" : " x");
    answer = strchr(harness_run(&h, text), '\n');
    ck_assert_msg(answer && strcmp(answer + 1, cases[_i].answer) == 0, "%s: %s",
                  cases[_i].expression, h.answer.data);
}
END_TEST

static const struct {
    const char *expression, *fault;
} faults[] = {
    {"json_extract('[1', '$')", "3141/22032 Invalid JSON text in argument 1 to "
                                "function json_extract: \"Invalid value.\" at "
                                "position 2."},
    {"json_contains('[]', '{')",
     "3141/22032 Invalid JSON text in argument 2 to "
     "function json_contains: \"Invalid value.\" at "
     "position 1."},
    {"json_length(x'5b5d')",
     "3146/22032 Invalid data type for JSON data in argument 1 to function "
     "json_length; a JSON string or JSON type is required."},
    {"json_extract('[1]', 'a')", "3143/42000 Invalid JSON path expression. The "
                                 "error is around character position 1."},
    {"json_extract('[1]', '$.')",
     "3143/42000 Invalid JSON path expression. The "
     "error is around character position 3."},
    {"json_extract('[1]', '$[2 to 1]')",
     "3143/42000 Invalid JSON path expression. The error is around character "
     "position 9."},
    {"json_extract('[1]', '$[-1]')",
     "3143/42000 Invalid JSON path expression. The error is around character "
     "position 3."},
    {"json_extract('{}', '$.\"\\\\ud83d\"')",
     "3143/42000 Invalid JSON path expression. The error is around character "
     "position 4."},
    {"json_extract('{}', '$.\"a')",
     "3143/42000 Invalid JSON path expression. The error is around character "
     "position 5."},
    {"json_extract('[1]', '$**.a')",
     "1235/42000 This version of heapwire doesn't yet support '** in a JSON "
     "path': name the levels, with .* or [*] where any will do"},
    {"json_length('[1]', '$[*]')",
     "3149/42000 In this situation, path expressions may not contain the * and "
     "** tokens or an array range."},
    {"json_contains_path('[1]', 'some', '$')",
     "3154/42000 The oneOrAll argument to json_contains_path may take these "
     "values: 'one' or 'all'."},
    {"json_depth(concat(repeat('[', 101), repeat(']', 101)))",
     "3157/22032 The JSON document exceeds the maximum depth: 100 levels"},
    {"json_object(null, 1)",
     "3158/22032 JSON documents may not contain NULL member names."},
    {"json_quote(1)",
     "3064/HY000 Incorrect type for argument 1 in function json_quote."},
    {"json_extract('[1]')", "1582/42000 Incorrect parameter count in the call "
                            "to native function 'json_extract'"},
    {"json_type('1', '$')", "1582/42000 Incorrect parameter count in the call "
                            "to native function 'json_type'"},
    {"json_set('{}', '$.a', 1)", "1305/42000 FUNCTION json_set does not exist"},
};

START_TEST(faults_are_mysqls)
{
    char text[300];

    snprintf(text, sizeof(text), "select %s", faults[_i].expression);
    ck_assert_str_eq(harness_run(&h, text), faults[_i].fault);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("json");
    TCase *tc = tcase_create("json");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, answers_are_mysqls, 0, (int)COUNT(cases));
    tcase_add_loop_test(tc, faults_are_mysqls, 0, (int)COUNT(faults));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
