/* test_set.c - SET in all its forms, and what stays of it. */
#include <stdio.h>
#include <string.h>

#include "sql_harness.h"
#include "sql_session.h"
#include "suite.h"
#include "variables.h"

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

/* The statement, then what the query answers below its labels. */
static const struct {
    const char *set, *query, *row;
} good[] = {
    /* mysql, mariadb, mysqlclient, PyMySQL */
    {"SET SQL_SAFE_UPDATES=1,SQL_SELECT_LIMIT=1000,MAX_JOIN_SIZE=1000000",
     "select @@sql_safe_updates, @@sql_select_limit, @@max_join_size",
     "#1|#1000|#1000000"},
    {"SET optimizer_switch = 'index_merge=on'",
     "select @@optimizer_switch, @@pid_file, @@sql_log_off, @@ssl_ca, "
     "@@ssl_cert",
     "index_merge=on||#0||"},
    {"SET NAMES utf8mb4",
     "select @@character_set_client, @@collation_connection",
     "utf8mb4|utf8mb4_general_ci"},
    {"set names latin1",
     "select @@character_set_client, @@character_set_results, "
     "@@collation_connection",
     "latin1|latin1|latin1_swedish_ci"},
    {"SET NAMES DEFAULT", "select @@character_set_client", "utf8mb4"},
    {"SET AUTOCOMMIT = 0", "select @@autocommit", "#0"},
    {"set autocommit=OFF", "select @@autocommit", "#0"},
    /* Connector/J */
    {"SET character_set_results = NULL", "select @@character_set_results",
     "\\N"},
    {"SET autocommit=1", "select @@autocommit", "#1"},
    {"SET sql_mode='NO_ENGINE_SUBSTITUTION,STRICT_TRANS_TABLES'",
     "select @@sql_mode", "NO_ENGINE_SUBSTITUTION,STRICT_TRANS_TABLES"},
    {"SET max_execution_time = -5", "select @@max_execution_time", "#0"},
    {"SET max_execution_time = -5", "show warnings",
     "Warning|#1292|Truncated incorrect max_execution_time value: '-5'"},
    {"SET max_execution_time = 5, wait_timeout = 0",
     "select @@max_execution_time, @@wait_timeout, @@warning_count",
     "#5|#1|#1"},
    {"SET @a = 1", "select @@heapwire_timeout, @@heapwire_parallel", "#60|#0"},
    {"SET heapwire_timeout = 5",
     "select @@heapwire_timeout, @@session.heapwire_timeout, "
     "@@global.heapwire_timeout",
     "#5|#5|#60"},
    {"SET SESSION heapwire_timeout = '86400', heapwire_parallel = 3",
     "select @@heapwire_timeout, @@heapwire_parallel", "#86400|#3"},
    {"SET heapwire_timeout = DEFAULT", "select @@heapwire_timeout", "#60"},
    {"SET heapwire_timeout = 0", NULL,
     "1231/42000 Variable 'heapwire_timeout' can't be set to the value of '0'; "
     "it takes 1 to 86400"},
    {"SET heapwire_timeout = 86401", NULL,
     "1231/42000 Variable 'heapwire_timeout' can't be set to the value of "
     "'86401'; it takes 1 to 86400"},
    {"SET heapwire_timeout = '99999999999999999999999'", NULL,
     "1231/42000 Variable 'heapwire_timeout' can't be set to the value of "
     "'99999999999999999999'; it takes 1 to 86400"},
    {"SET heapwire_parallel = -1", NULL,
     "1231/42000 Variable 'heapwire_parallel' can't be set to the value of "
     "'-1'; it takes 0 to 16384"},
    {"SET heapwire_timeout = 'soon'", NULL,
     "1232/42000 Incorrect argument type to variable 'heapwire_timeout'"},
    {"SET SESSION a = 1", NULL, "1193/HY000 Unknown system variable 'a'"},
    {"SET SESSION wait_timeout=5,lc_messages='de_DE'",
     "select @@wait_timeout, @@lc_messages", "#5|de_DE"},
    {"SET SESSION TRANSACTION READ ONLY", "select @@transaction_read_only",
     "#1"},
    {"SET SESSION TRANSACTION READ WRITE", "select @@tx_read_only", "#0"},
    {"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
     "select @@transaction_isolation", "READ-COMMITTED"},
    {"SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ ONLY",
     "select @@tx_isolation, @@tx_read_only", "READ-UNCOMMITTED|#1"},
    {"SET LOCAL TRANSACTION ISOLATION LEVEL REPEATABLE READ",
     "select @@tx_isolation", "REPEATABLE-READ"},
    {"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "select @@tx_isolation",
     "SERIALIZABLE"},
    {"SET sql_select_limit=DEFAULT", "select @@sql_select_limit",
     "18446744073709551615"},
    {"SET sql_select_limit=18446744073709551615", "select @@sql_select_limit",
     "18446744073709551615"},
    {"SET SESSION time_zone='+01:00'", "select @@session.time_zone", "+01:00"},
    /* MariaDB Connector/J */
    {"set sql_mode=CONCAT(@@sql_mode,',STRICT_TRANS_TABLES'),autocommit=1,"
     "session_track_system_variables = "
     "CONCAT(@@global.session_track_system_variables,"
     "',transaction_isolation'),time_zone='+00:00',"
     "@@session.transaction_isolation='READ-COMMITTED',NAMES utf8mb4 COLLATE "
     "utf8mb4_bin,@a=1",
     "select right(@@sql_mode, 20), @@autocommit, "
     "right(@@session_track_system_variables, 22), @@time_zone, "
     "@@tx_isolation, @@collation_connection, @a",
     ",STRICT_TRANS_TABLES|#1|,transaction_isolation|+00:00|READ-COMMITTED|"
     "utf8mb4_bin|#1"},
    {"set session_track_schema=1,autocommit=1,sql_mode = "
     "concat(@@sql_mode,',STRICT_TRANS_TABLES')",
     "select @@session_track_schema", "#1"},
    /* ODBC, Python, sqlx, Workbench, Connector/NET */
    {"SET SQL_AUTO_IS_NULL = 0", "select @@sql_auto_is_null", "#0"},
    {"set @@sql_select_limit=DEFAULT", "select 1", "#1"},
    {"set @@max_execution_time=1000", "select @@max_execution_time", "#1000"},
    {"SET NAMES 'utf8mb4' COLLATE 'utf8mb4_0900_ai_ci'",
     "select @@collation_connection", "utf8mb4_0900_ai_ci"},
    {"SET @@session.autocommit = OFF", "select @@autocommit", "#0"},
    {"SET @@session.sql_mode = 'x'", "select @@sql_mode", "x"},
    {"SET sql_mode=(SELECT CONCAT(@@sql_mode, ',PIPES_AS_CONCAT,"
     "NO_ENGINE_SUBSTITUTION')),time_zone='+00:00',NAMES utf8mb4;",
     "select 'a' || 'b', @@time_zone", "ab|+00:00"},
    {"SET @@SESSION.wait_timeout=28800", "select @@wait_timeout", "#28800"},
    {"SET NAMES utf8mb4;", "select 1", "#1"},
    {"SET SESSION net_write_timeout=600", "select @@net_write_timeout", "#600"},
    {"/*!40101 SET NAMES utf8 */", "select @@character_set_client", "utf8"},
    {"/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO' */",
     "select @old_sql_mode like 'ONLY_FULL%', @@sql_mode", "#1|NO_AUTO"},
    {"SET CHARACTER SET utf8mb4", "select @@character_set_client", "utf8mb4"},
    {"SET CHARSET 'utf8'", "select @@character_set_client", "utf8"},
    {"SET character_set_client = utf8", "select @@character_set_client",
     "utf8"},
    {"SET sql_mode = 0", "select @@sql_mode", ""},
    {"SET sql_mode = ''", "select @@sql_mode", ""},
    /* user variables */
    {"SET @a = 5, @b := 'x', @`c d` = 1.5, @e = NULL, @f = 2 > 1",
     "select @a, @b, @'c d', @e, @f, @g", "#5|x|1.5|\\N|#1|\\N"},
    {"SET @a = 1, @a = 2", "select @A", "#2"},
    {"SET @a = (select count(*) from information_schema.schemata), @b = @a",
     "select @a, @b", "#2|\\N"},
    {"SET foreign_key_checks=1, unique_checks = 0",
     "select @@foreign_key_checks, @@unique_checks", "#1|#0"},
    {"SET SESSION sql_notes = true, LOCAL sql_warnings = false",
     "select @@sql_notes, @@sql_warnings", "#1|#0"},
    {"SET @a = (SELECT max(x) AS m FROM (SELECT 1 AS x UNION SELECT 2) t)",
     "select @a", "#2"},
    {"SET @a = EXISTS (SELECT * FROM heapwire.nodes), @b = (SELECT 'b' y)",
     "select @a, @b", "#1|b"},
    /* refused, with nothing changed */
    {"SET PASSWORD = 'x'", NULL,
     "1290/HY000 The heapwire server is running with the --read-only option "
     "so it cannot execute this statement; accounts are in its configuration "
     "file, and heapwire-passwd makes passwords for it"},
    {"set password for ann = password('x')", NULL,
     "1290/HY000 The heapwire server is running with the --read-only option "
     "so it cannot execute this statement; accounts are in its configuration "
     "file, and heapwire-passwd makes passwords for it"},
    {"SET sql_log_off = 1", NULL,
     "1238/HY000 Variable 'sql_log_off' is a read only variable"},
    {"SET nope = 1", NULL, "1193/HY000 Unknown system variable 'nope'"},
    {"SET @@session.nope = 1", NULL,
     "1193/HY000 Unknown system variable 'nope'"},
    {"SET version = 'x'", NULL,
     "1238/HY000 Variable 'version' is a read only variable"},
    {"SET lower_case_table_names = 1", NULL,
     "1238/HY000 Variable 'lower_case_table_names' is a read only variable"},
    {"SET GLOBAL wait_timeout = 1", NULL,
     "1238/HY000 Variable 'wait_timeout' is a read only variable"},
    {"SET @@global.wait_timeout = 1", NULL,
     "1238/HY000 Variable 'wait_timeout' is a read only variable"},
    {"SET wait_timeout = 'abc'", NULL,
     "1232/42000 Incorrect argument type to variable 'wait_timeout'"},
    {"SET wait_timeout = 1.5", NULL,
     "1232/42000 Incorrect argument type to variable 'wait_timeout'"},
    {"SET time_zone = 5", NULL,
     "1232/42000 Incorrect argument type to variable 'time_zone'"},
    {"SET time_zone = NULL", NULL,
     "1231/42000 Variable 'time_zone' can't be set to the value of 'NULL'"},
    {"SET autocommit = 2", NULL,
     "1231/42000 Variable 'autocommit' can't be set to the value of '2'"},
    {"SET autocommit = maybe", NULL,
     "1231/42000 Variable 'autocommit' can't be set to the value of 'maybe'"},
    {"SET sql_mode = 'STRICT_TRANS_TABLES, ansi'", NULL,
     "1231/42000 Variable 'sql_mode' can't be set to the value of "
     "'STRICT_TRANS_TABLES, ansi'"},
    {"SET sql_mode = 'NO_BACKSLASH_ESCAPES'", NULL,
     "1231/42000 Variable 'sql_mode' can't be set to the value of "
     "'NO_BACKSLASH_ESCAPES'"},
    {"SET NAMES klingon", NULL, "1115/42000 Unknown character set: 'klingon'"},
    {"SET NAMES utf8mb4 COLLATE latin1_bin", NULL,
     "1231/42000 Variable 'collation_connection' can't be set to the value of "
     "'latin1_bin'"},
    {"SET @a = nope()", NULL, "1305/42000 FUNCTION nope does not exist"},
    {"SET @a = @@nope", NULL, "1193/HY000 Unknown system variable 'nope'"},
};

START_TEST(assignments_hold)
{
    const char *answer = harness_run(&h, good[_i].set);

    if (!good[_i].query) {
        ck_assert_str_eq(answer, good[_i].row);
        ck_assert_ptr_null(h.session->values);
        return;
    }
    ck_assert_str_eq(answer, "OK");
    answer = harness_run(&h, good[_i].query);
    ck_assert_ptr_nonnull(strchr(answer, '\n'));
    ck_assert_str_eq(strchr(answer, '\n') + 1, good[_i].row);
}
END_TEST

START_TEST(all_or_nothing)
{
    harness_run(&h, "SET @a = 1, autocommit = 0, wait_timeout = 5, nope = 1");
    ck_assert_uint_eq(h.error.code, ER_UNKNOWN_VARIABLE);
    ck_assert_ptr_null(h.session->values);
    ck_assert(sql_session_autocommit(h.session));
}
END_TEST

START_TEST(flags_follow_the_statements)
{
    ck_assert(sql_session_autocommit(h.session));
    ck_assert(!sql_session_in_transaction(h.session));
    harness_run(&h, "SET autocommit = 0");
    ck_assert(!sql_session_autocommit(h.session));
    harness_run(&h, "BEGIN");
    ck_assert(sql_session_in_transaction(h.session));
    harness_run(&h, "ROLLBACK");
    ck_assert(!sql_session_in_transaction(h.session));
    harness_run(&h, "START TRANSACTION READ ONLY");
    ck_assert(sql_session_in_transaction(h.session));
    harness_run(&h, "COMMIT");
    ck_assert(!sql_session_in_transaction(h.session));
    harness_run(&h, "BEGIN");
    harness_run(&h, "SET autocommit = 1");
    ck_assert(sql_session_autocommit(h.session));
    ck_assert(!sql_session_in_transaction(h.session));
}
END_TEST

START_TEST(a_reset_session_is_as_after_login)
{
    harness_run(&h, "USE heapwire");
    harness_run(&h, "SET @a = 1, autocommit = 0, wait_timeout = 5");
    harness_run(&h, "BEGIN");
    sql_session_reset(h.session);
    ck_assert(sql_session_autocommit(h.session));
    ck_assert(!sql_session_in_transaction(h.session));
    ck_assert_str_eq(harness_run(&h, "select @a, @@autocommit, "
                                     "@@wait_timeout, database()"),
                     "@a|@@autocommit|@@wait_timeout|database()\n"
                     "\\N|#1|#28800|heapwire");
}
END_TEST

START_TEST(the_select_limit_limits)
{
    harness_run(&h, "SET sql_select_limit = 1");
    ck_assert_str_eq(harness_run(&h, "select schema_name from "
                                     "information_schema.schemata"),
                     "schema_name\nheapwire");
    ck_assert_str_eq(harness_run(&h, "select schema_name from "
                                     "information_schema.schemata limit 9"),
                     "schema_name\nheapwire\ninformation_schema");
    harness_run(&h, "SET sql_select_limit = 0");
    ck_assert_str_eq(harness_run(&h, "select 1"), "1");
}
END_TEST

START_TEST(a_session_has_only_so_many_values)
{
    char text[64];

    for (int i = 0; i < SESSION_VALUES_MAX; i++) {
        snprintf(text, sizeof(text), "SET @a%d = %d", i, i);
        ck_assert_str_eq(harness_run(&h, text), "OK");
    }
    harness_run(&h, "SET @more = 1");
    ck_assert_uint_eq(h.error.code, ER_WRONG_VALUE);
    sql_session_reset(h.session);
    ck_assert_str_eq(harness_run(&h, "SET @more = 1"), "OK");
}
END_TEST

START_TEST(a_value_has_only_so_many_bytes)
{
    struct buffer text;

    buffer_init(&text, 1 << 20);
    buffer_text(&text, "SET @a = '");
    for (int i = 0; i <= SESSION_VALUE_MAX; i++)
        buffer_char(&text, 'x');
    buffer_char(&text, '\'');
    harness_run(&h, text.data);
    ck_assert_uint_eq(h.error.code, ER_WRONG_VALUE);
    buffer_fini(&text);
}
END_TEST

/* Every variable answers to SELECT and SHOW, and its name comes in order. */
START_TEST(every_variable_answers)
{
    char text[128];

    for (size_t i = 0; i < variable_count; i++) {
        if (i > 0)
            ck_assert_str_lt(variables[i - 1].name, variables[i].name);
        snprintf(text, sizeof(text), "select @@%s", variables[i].name);
        harness_run(&h, text);
        ck_assert_uint_eq(h.error.code, 0);
        snprintf(text, sizeof(text), "show variables like '%s'",
                 variables[i].name);
        ck_assert_ptr_nonnull(strstr(harness_run(&h, text), variables[i].name));
        snprintf(text, sizeof(text), "set %s = default", variables[i].name);
        harness_run(&h, text);
        ck_assert(h.error.code == 0 || h.error.code == ER_VARIABLE_READ_ONLY);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("set");
    TCase *tc = tcase_create("set");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, assignments_hold, 0,
                        sizeof(good) / sizeof(good[0]));
    tcase_add_test(tc, all_or_nothing);
    tcase_add_test(tc, flags_follow_the_statements);
    tcase_add_test(tc, a_reset_session_is_as_after_login);
    tcase_add_test(tc, the_select_limit_limits);
    tcase_add_test(tc, a_session_has_only_so_many_values);
    tcase_add_test(tc, a_value_has_only_so_many_bytes);
    tcase_add_test(tc, every_variable_answers);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
