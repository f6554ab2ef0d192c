/* test_select.c - SELECT: labels, rows, types, errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_harness.h"
#include "suite.h"
#include "tree_parser.h"
#include "variables.h"

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

#define SYNTAX(near, line)                                                     \
    "1064/42000 You have an error in your SQL syntax; check the manual that "  \
    "corresponds to your heapwire version for the right syntax to use near "   \
    "'" near "' at line " line

static const struct {
    const char *query, *answer;
} cases[] = {
    /* what the CLIs send */
    {"select @@version_comment limit 1",
     "@@version_comment\nheapwire " HW_VERSION},
    {"select $$", SYNTAX("$$", "1")},
    {"select 1 collate", SYNTAX("", "1")},
    {"SELECT DATABASE()", "DATABASE()\n\\N"},
    {"select DATABASE(), USER() limit 1",
     "DATABASE()|USER()\n\\N|admin@localhost"},
    {"select USER()", "USER()\nadmin@localhost"},
    {"select @@character_set_client, @@character_set_connection, "
     "@@character_set_server, @@character_set_database limit 1",
     "@@character_set_client|@@character_set_connection|"
     "@@character_set_server|@@character_set_database\n"
     "utf8mb4|utf8mb4|utf8mb4|utf8mb4"},
    {"select * from information_schema.processlist where id != "
     "connection_id()",
     "ID|USER|HOST|DB|COMMAND|TIME|STATE|INFO\n"
     "#8|other|localhost|\\N|Sleep|#3||\\N"},
    /* Connector/J */
    {"/* mysql-connector-j-9.1.0 (Revision: ab) */SELECT  "
     "@@session.auto_increment_increment AS auto_increment_increment, "
     "@@character_set_client AS character_set_client, "
     "@@character_set_connection AS character_set_connection, "
     "@@character_set_results AS character_set_results, "
     "@@character_set_server AS character_set_server, "
     "@@collation_server AS collation_server, @@collation_connection AS "
     "collation_connection, @@init_connect AS init_connect, "
     "@@interactive_timeout AS interactive_timeout, @@license AS license, "
     "@@lower_case_table_names AS lower_case_table_names, "
     "@@max_allowed_packet AS max_allowed_packet, @@net_write_timeout AS "
     "net_write_timeout, @@performance_schema AS performance_schema, "
     "@@query_cache_size AS query_cache_size, @@query_cache_type AS "
     "query_cache_type, @@sql_mode AS sql_mode, @@system_time_zone AS "
     "system_time_zone, @@time_zone AS time_zone, @@transaction_isolation AS "
     "transaction_isolation, @@wait_timeout AS wait_timeout",
     "auto_increment_increment|character_set_client|character_set_connection|"
     "character_set_results|character_set_server|collation_server|"
     "collation_connection|init_connect|interactive_timeout|license|"
     "lower_case_table_names|max_allowed_packet|net_write_timeout|"
     "performance_schema|query_cache_size|query_cache_type|sql_mode|"
     "system_time_zone|time_zone|transaction_isolation|wait_timeout\n"
     "#1|utf8mb4|utf8mb4|utf8mb4|utf8mb4|utf8mb4_general_ci|"
     "utf8mb4_general_ci||#28800|BSD-2-Clause|#0|#16777216|#60|#0|#0|OFF|"
     "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
     "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION|UTC|SYSTEM|"
     "REPEATABLE-READ|#28800"},
    {"SELECT @@session.autocommit", "@@session.autocommit\n#1"},
    {"SELECT @@session.transaction_read_only",
     "@@session.transaction_read_only\n#0"},
    {"SELECT @@session.transaction_isolation",
     "@@session.transaction_isolation\nREPEATABLE-READ"},
    {"SELECT @@tx_isolation", "@@tx_isolation\nREPEATABLE-READ"},
    /* MariaDB Connector/J */
    {"SELECT @@max_allowed_packet , @@system_time_zone, @@time_zone, "
     "@@auto_increment_increment",
     "@@max_allowed_packet|@@system_time_zone|@@time_zone|"
     "@@auto_increment_increment\n#16777216|UTC|SYSTEM|#1"},
    {"SELECT @@time_zone, @@system_time_zone",
     "@@time_zone|@@system_time_zone\nSYSTEM|UTC"},
    {"select @@lower_case_table_names", "@@lower_case_table_names\n#0"},
    {"SELECT @@READ_ONLY", "@@READ_ONLY\n#1"},
    {"SELECT SCHEMA_NAME TABLE_CAT FROM INFORMATION_SCHEMA.SCHEMATA  ORDER BY "
     "SCHEMA_NAME",
     "TABLE_CAT\nheapwire\ninformation_schema"},
    {"SELECT TABLE_SCHEMA TABLE_CAT, NULL TABLE_SCHEM, TABLE_NAME,   "
     "IF(TABLE_SCHEMA IN ('mysql', 'performance_schema', 'sys'), "
     "IF(TABLE_TYPE='BASE TABLE', 'SYSTEM TABLE', TABLE_TYPE), TABLE_TYPE) as "
     "TABLE_TYPE,  TABLE_COMMENT REMARKS FROM INFORMATION_SCHEMA.TABLES WHERE "
     "TABLE_SCHEMA='heapwire' AND TABLE_NAME LIKE 'node_' AND TABLE_TYPE IN "
     "('BASE TABLE','SYSTEM VIEW') ORDER BY "
     "TABLE_TYPE,TABLE_CAT,TABLE_SCHEMA,TABLE_NAME",
     "TABLE_CAT|TABLE_SCHEM|TABLE_NAME|TABLE_TYPE|REMARKS\n"
     "heapwire|\\N|nodes|BASE TABLE|The nodes that this one knows"},
    {"SELECT 'TABLE' TABLE_TYPE UNION SELECT 'VIEW' TABLE_TYPE",
     "TABLE_TYPE\nTABLE\nVIEW"},
    {"SELECT ' ' TABLE_CAT FROM DUAL WHERE 1=0", "TABLE_CAT"},
    /* others */
    {"SELECT VERSION()", "VERSION()\n" SQL_SERVER_VERSION},
    {"SELECT CONNECTION_ID(), VERSION();",
     "CONNECTION_ID()|VERSION()\n#7|" SQL_SERVER_VERSION},
    {"select current_user()", "current_user()\nadmin@localhost"},
    {"select CURRENT_USER", "CURRENT_USER\nadmin@localhost"},
    {"SELECT SESSION_USER(), SYSTEM_USER()",
     "SESSION_USER()|SYSTEM_USER()\nadmin@localhost|admin@localhost"},
    {"SELECT @@max_allowed_packet, @@character_set_client, \n        "
     "@@character_set_connection, @@license, @@sql_mode, "
     "@@lower_case_table_names, @@autocommit;",
     "@@max_allowed_packet|@@character_set_client|@@character_set_connection|"
     "@@license|@@sql_mode|@@lower_case_table_names|@@autocommit\n"
     "#16777216|utf8mb4|utf8mb4|BSD-2-Clause|ONLY_FULL_GROUP_BY,"
     "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
     "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION|#0|#1"},
    {"SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP())",
     "TIMEDIFF(NOW(), UTC_TIMESTAMP())\n00:00:00"},
    {"SELECT TIMEDIFF('2026-01-02 00:00:01', '2026-01-01 12:00:00') d",
     "d\n12:00:01"},
    {"SELECT TIMEDIFF('01:00:00', '02:30:00') d, TIMEDIFF('x', 'y') e",
     "d|e\n-01:30:00|\\N"},
    {"SELECT NOW() = SYSDATE(), CURRENT_TIMESTAMP = UTC_TIMESTAMP, "
     "UNIX_TIMESTAMP() > 1700000000",
     "NOW() = SYSDATE()|CURRENT_TIMESTAMP = UTC_TIMESTAMP|"
     "UNIX_TIMESTAMP() > 1700000000\n#1|#1|#1"},
    {"SELECT @@max_allowed_packet,@@wait_timeout,@@socket",
     "@@max_allowed_packet|@@wait_timeout|@@socket\n#16777216|#28800|"},
    {"SELECT @@GLOBAL.time_zone AS global_tz, @@system_time_zone AS system_tz",
     "global_tz|system_tz\nSYSTEM|UTC"},
    {"SELECT CONCAT(@@version,' ',@@version_comment)",
     "CONCAT(@@version,' ',@@version_comment)\n" SQL_SERVER_VERSION
     " heapwire " HW_VERSION},
    {"SELECT CAST('test plain returns' AS CHAR(60)) AS anon_1",
     "anon_1\ntest plain returns"},
    {"SELECT DISTINCT TABLE_SCHEMA from information_schema.TABLES where "
     "TABLE_TYPE != 'SYSTEM TABLE' ORDER BY TABLE_SCHEMA",
     "TABLE_SCHEMA\nheapwire\ninformation_schema"},
    {"SELECT column_name, data_type FROM information_schema.columns WHERE "
     "table_schema = 'heapwire' AND table_name = 'nodes' AND data_type IN "
     "('bigint') ORDER BY column_name",
     "column_name|data_type\nid|bigint\nport|bigint"},
    {"SELECT NULL, NULL, NULL, SCHEMA_NAME FROM INFORMATION_SCHEMA.SCHEMATA "
     "WHERE SCHEMA_NAME LIKE 'heap%' ORDER BY SCHEMA_NAME",
     "NULL|NULL|NULL|SCHEMA_NAME\n\\N|\\N|\\N|heapwire"},
    {"SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE "
     "SCHEMA_NAME='INFORMATION_SCHEMA'",
     "DEFAULT_COLLATION_NAME\nutf8mb4_general_ci"},
    {"SELECT SCHEMA_NAME AS TABLE_CAT, CONVERT(NULL,CHAR(64)) AS TABLE_SCHEM "
     "FROM INFORMATION_SCHEMA.SCHEMATA GROUP BY SCHEMA_NAME LIMIT 1",
     "TABLE_CAT|TABLE_SCHEM\nheapwire|\\N"},
    {"select 1 as x LIMIT 0, 200", "x\n#1"},
    /* labels */
    {"select 1", "1\n#1"},
    {"select 1+1, 1 +  1", "1+1|1 +  1\n#2|#2"},
    {"select 1 one, 2 as two, 3 `three`, 4 'four', 5 as \"five\"",
     "one|two|three|four|five\n#1|#2|#3|#4|#5"},
    {"select 'abc', \"d''e\", 'f''g'", "abc|d''e|f'g\nabc|d''e|f'g"},
    {"select 'a' 'b'", "ab\nab"},
    {"select (select 1), (select 2) x", "(select 1)|x\n#1|#2"},
    {"select case when 1 then 2 end, case 1 when 1 then 2 end y",
     "case when 1 then 2 end|y\n#2|#2"},
    {"select ID, N.Port, heapwire.n.id from heapwire.nodes n limit 0",
     "ID|Port|id"},
    {"select id, port p from (select ID, port from heapwire.nodes) t",
     "id|p\n#10001|#9036"},
    {"select n.*, 1 from (select 2 as a, 3 as b) n", "a|b|1\n#2|#3|#1"},
    {"select not null, null is null, 1 in (1,2)",
     "not null|null is null|1 in (1,2)\n\\N|#1|#1"},
    {"select _utf8mb4'x' y, 'z' collate utf8mb4_bin",
     "y|'z' collate utf8mb4_bin\nx|z"},
    /* operators, literals, functions */
    {"select 7/2, 7 div 2, 7 % 4, 7 mod 4, -7 a",
     "7/2|7 div 2|7 % 4|7 mod 4|a\n3.5000|#3|#3|#3|#-7"},
    {"select 1 || 0, 0 || 0, 1 && 1, !1, not 1",
     "1 || 0|0 || 0|1 && 1|!1|not 1\n#1|#0|#1|#0|#0"},
    {"select null <=> null, 1 <=> null, 1 != 2, 1 <> 1",
     "null <=> null|1 <=> null|1 != 2|1 <> 1\n#1|#0|#1|#0"},
    {"select 0x41 a, x'42' b, 1e3 c, .5 d, true e, false f",
     "a|b|c|d|e|f\nA|B|~1000|0.5|#1|#0"},
    {"select 'a\\'b' a, 'a\\\\b' b, 'a\\nb' c, length('a\\0b') d",
     "a|b|c|d\na'b|a\\b|a\nb|#3"},
    {"select 'abc' like 'A_C' a, 'a%c' like 'a\\%c' b, 'abc' like 'a\\%c' c, "
     "'a%' like 'a!%' escape '!' d",
     "a|b|c|d\n#1|#1|#0|#1"},
    {"select concat('a', 1, null) a, concat('a', 1) b, concat_ws('-', 'a', "
     "null, 'b') c",
     "a|b|c\n\\N|a1|a-b"},
    {"select if(1, 'y', 'n') a, if(null, 1, 2) b, ifnull(null, 3) c, "
     "nullif(1, 1) d, coalesce(null, 4) e",
     "a|b|c|d|e\ny|#2|#3|\\N|#4"},
    {"select left('h\xc3\xa9llo', 2) a, right('h\xc3\xa9llo', 4) b, "
     "char_length('\xc3\xa9') c, length('\xc3\xa9') d, left('abc', -1) e, "
     "right('abc', 9) f",
     "a|b|c|d|e|f\nh\xc3\xa9|\xc3\xa9llo|#1|#2||abc"},
    {"select upper('a') u, lower('B') l, abs(-2) a, round(1.4) r, "
     "substring('abc', 2, 1) s, replace('aba', 'a', 'x') p",
     "u|l|a|r|s|p\nA|b|#2|1|b|xbx"},
    {"select cast('12' as signed) a, cast(3 as char) b, convert('4', "
     "unsigned) c, convert('x' using utf8mb4) d, cast(1 as decimal(10,2)) e",
     "a|b|c|d|e\n#12|3|#4|x|1.00"},
    {"select @@sql_select_limit", "@@sql_select_limit\n18446744073709551615"},
    {"select /*!40001 SQL_NO_CACHE */ SQL_CALC_FOUND_ROWS 1", "1\n#1"},
    {"select distinctrow 1 a union all select 1", "a\n#1\n#1"},
    {"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n < "
     "4) SELECT n, n*n FROM c",
     "n|n*n\n#1|#1\n#2|#4\n#3|#9\n#4|#16"},
    {"select n from (with c(n) as (select 1 union select 2) select n from c) "
     "t where n > 1",
     "n\n#2"},
    {"with a as (select 1 x), b as (select x from a) select * from b, a",
     "x|x\n#1|#1"},
    /* tables */
    {"select id, address, port, role, alive, since, version, state from "
     "heapwire.nodes",
     "id|address|port|role|alive|since|version|state\n#10001|127.0.0.1|#9036|"
     "backend|#1|2026-11-21 02:31:07|" HW_VERSION "|connected"},
    {"select id from heapwire.nodes where alive and not alive is null",
     "id\n#10001"},
    {"select id from heapwire.nodes where alive = true", "id\n#10001"},
    {"select id from heapwire.nodes where not alive", "id"},
    {"select sum(alive), if(active, 'on', 'off') from heapwire.nodes, "
     "heapwire.profiler",
     "sum(alive)|if(active, 'on', 'off')\n1|off"},
    {"select name from heapwire.settings where not reloadable", "name\nid"},
    {"select column_name, data_type, column_type, numeric_precision from "
     "information_schema.columns where column_type like 'tinyint%' and "
     "table_name not like '%allocators' and table_name not like 'cluster%'",
     "column_name|data_type|column_type|numeric_precision\n"
     "profiling|tinyint|tinyint(1)|#3\n"
     "significant|tinyint|tinyint(1)|#3\n"
     "inlined|tinyint|tinyint(1)|#3\nsignificant|tinyint|tinyint(1)|#3\n"
     "in_force|tinyint|tinyint(1)|#3\nanswered|tinyint|tinyint(1)|#3\n"
     "profiling|tinyint|tinyint(1)|#3\n"
     "responsive|tinyint|tinyint(1)|#3\nalive|tinyint|tinyint(1)|#3\n"
     "self|tinyint|tinyint(1)|#3\nactive|tinyint|tinyint(1)|#3\nreloadable|"
     "tinyint|tinyint(1)|#3\n"
     "truncated|tinyint|tinyint(1)|#3\npinned|tinyint|tinyint(1)|#3\n"
     "on_disk|tinyint|tinyint(1)|#3"},
    {"select state, since, active, active_since, sample_rate, samples, "
     "jemalloc_version, allocator_symbol, reason from heapwire.profiler",
     "state|since|active|active_since|sample_rate|samples|"
     "jemalloc_version|allocator_symbol|reason\nconnected|2026-11-21 "
     "02:31:07|#0|\\N|#524288|\\N|5.3.0-test|mallctl|"},
    {"select id, user, command from `heapwire`.`sessions` order by id desc",
     "id|user|command\n#8|other|Sleep\n#7|admin|Query"},
    {"select count(*) from heapwire.sessions s join heapwire.nodes n on "
     "n.id > s.id left join information_schema.schemata x on 1=0",
     "count(*)\n#2"},
    {"select count(*), max(id) from heapwire.sessions where id in (select id "
     "from heapwire.sessions)",
     "count(*)|max(id)\n#2|#8"},
    {"select table_schema, count(*) from information_schema.tables where "
     "table_name in ('tables', 'columns', 'nodes') group by "
     "table_schema having count(*) > 1",
     "table_schema|count(*)\ninformation_schema|#2"},
    {"select table_name, column_name, column_type from "
     "information_schema.columns where table_name = 'nodes' and "
     "ordinal_position < 3",
     "table_name|column_name|column_type\nnodes|id|bigint\n"
     "nodes|address|varchar(64)"},
    {"select 1 from dual", "1\n#1"},
    {"select id from (heapwire.nodes)", "id\n#10001"},
    /* errors */
    {"select @@nope", "1193/HY000 Unknown system variable 'nope'"},
    {"select @@global.a.b", "1193/HY000 Unknown system variable 'a.b'"},
    {"select nope()", "1305/42000 FUNCTION nope does not exist"},
    {"select sqlite_version()",
     "1305/42000 FUNCTION sqlite_version does not exist"},
    {"select load_extension('x')",
     "1305/42000 FUNCTION load_extension does not exist"},
    {"select randomblob(1000000000)",
     "1305/42000 FUNCTION randomblob does not exist"},
    {"select abs(1, 2)", "1582/42000 Incorrect parameter count in the call to "
                         "native function 'abs'"},
    {"select concat(nope) from heapwire.nodes",
     "1054/42S22 Unknown column 'nope' in 'field list'"},
    {"select `x`.nope from heapwire.nodes",
     "1054/42S22 Unknown column 'x.nope' in 'field list'"},
    {"select n.nope from heapwire.nodes n",
     "1054/42S22 Unknown column 'n.nope' in 'field list'"},
    {"select id from heapwire.nodes, heapwire.sessions",
     "1052/23000 Column 'id' in field list is ambiguous"},
    {"select * from nodes", "1046/3D000 No database selected"},
    {"select * from heapwire.nope",
     "1146/42S02 Table 'heapwire.nope' doesn't exist"},
    {"select * from nope.nodes", "1049/42000 Unknown database 'nope'"},
    /* JDBC's getTablePrivileges */
    {"SELECT t.host,t.db,t.grantor,t.user,t.table_name,t.table_priv FROM "
     "mysql.tables_priv t, MySQL.columns_priv c WHERE t.db LIKE 'heapwire'",
     "host|db|grantor|user|table_name|table_priv"},
    {"select * from mysql.func", "1146/42S02 Table 'mysql.func' doesn't exist"},
    {"select count(*) n from information_schema.tables where table_schema = "
     "'mysql'",
     "n\n#0"},
    {"use mysql", "1049/42000 Unknown database 'mysql'"},
    {"select * from heapwire.sqlite_master",
     "1146/42S02 Table 'heapwire.sqlite_master' doesn't exist"},
    {"select * from main.sqlite_master", "1049/42000 Unknown database 'main'"},
    {"select * from `show`.variables", "1049/42000 Unknown database 'show'"},
    {"select * from heapwire.json_each('[1]')", SYNTAX("('[1]')", "1")},
    {"select *", "1096/HY000 No tables used"},
    {"select", SYNTAX("", "1")},
    {"select 1 +", SYNTAX("", "1")},
    {"select 1,,2", SYNTAX(",2", "1")},
    {"select 1 from", SYNTAX("", "1")},
    {"select 1\nfrom heapwire.nodes\nwhere", SYNTAX("", "3")},
    {"select 1 x y z", SYNTAX("y z", "1")},
    {"select 1 into outfile 'x'",
     "1290/HY000 The heapwire server is running with the --read-only option so "
     "it cannot write a file"},
    {"select 1 for update", "1\n#1"},
    {"select 1 for frob", SYNTAX("frob", "1")},
    {"select ?", SYNTAX("?", "1")},
    {"select [a]", SYNTAX("[a]", "1")},
    {"select 'a' glob 'b'", SYNTAX("'b'", "1")},
    {"select cast(1 as frob)", SYNTAX("frob)", "1")},
    {"select 1; drop table x",
     SYNTAX("drop table x", "1") ": one statement at a time"},
};

START_TEST(queries_have_mysqls_answers)
{
    ck_assert_str_eq(harness_run(&h, cases[_i].query), cases[_i].answer);
}
END_TEST

START_TEST(queries_may_end_anywhere)
{
    size_t size = strlen(cases[_i].query);

    for (size_t cut = 0; cut < size; cut++) {
        char *copy = malloc(cut ? cut : 1);
        struct span span = {copy, cut};

        memcpy(copy, cases[_i].query, cut);
        if (harness_open_span(&h, span))
            (void)harness_finish(&h);
        free(copy);
    }
}
END_TEST

START_TEST(unqualified_names_are_the_current_databases)
{
    ck_assert_str_eq(harness_run(&h, "USE heapwire"), "OK");
    ck_assert_str_eq(harness_run(&h, "select database(), schema()"),
                     "database()|schema()\nheapwire|heapwire");
    ck_assert_str_eq(harness_run(&h, "select id from nodes"), "id\n#10001");
    ck_assert_str_eq(harness_run(&h, "select nodes.id from NODES"),
                     "id\n#10001");
    ck_assert_str_eq(harness_run(&h, "select * from schemata"),
                     "1146/42S02 Table 'heapwire.schemata' doesn't exist");
    ck_assert_str_eq(harness_run(&h, "USE INFORMATION_SCHEMA"), "OK");
    ck_assert_str_eq(harness_run(&h, "select database()"),
                     "database()\ninformation_schema");
    ck_assert_str_eq(
        harness_run(&h, "SELECT table_name FROM information_schema.tables "
                        "WHERE table_schema = database() ORDER BY table_name "
                        "limit 1"),
        "table_name\nADMINISTRABLE_ROLE_AUTHORIZATIONS");
}
END_TEST

START_TEST(columns_know_their_table_and_type)
{
    const struct column *c;

    harness_open(&h, "select id, n.state s, 1, 'x', 1.5, null, "
                     "connection_id() from heapwire.nodes n");
    c = h.cursor->columns;
    ck_assert_uint_eq(h.cursor->column_count, 7);
    ck_assert_str_eq(c[0].table, "nodes");
    ck_assert_str_eq(c[0].database, "heapwire");
    ck_assert_int_eq(c[0].type, COLUMN_BIGINT);
    ck_assert_str_eq(c[1].name, "s");
    ck_assert_str_eq(c[1].origin, "state");
    ck_assert_ptr_null(c[2].origin);
    ck_assert_str_eq(c[1].table, "nodes");
    ck_assert_int_eq(c[1].type, COLUMN_TEXT);
    ck_assert_str_eq(c[2].table, "");
    ck_assert_str_eq(c[2].database, "");
    ck_assert_int_eq(c[2].type, COLUMN_BIGINT);
    ck_assert_int_eq(c[3].type, COLUMN_TEXT);
    ck_assert_int_eq(c[4].type, COLUMN_DECIMAL);
    ck_assert_uint_eq(c[4].decimals, 1);
    ck_assert_int_eq(c[5].type, COLUMN_NULL);
    ck_assert_int_eq(c[6].type, COLUMN_BIGINT);
    for (size_t i = 0; i < 7; i++)
        ck_assert(c[i].width > 0 || c[i].type == COLUMN_NULL);
}
END_TEST

START_TEST(bytes_are_compared_with_columns_byte_by_byte)
{
    static const char *const equal[] = {
        "= binary 'nodes'", "= cast('nodes' as binary)", "<> binary 'Nodes'",
        "like binary 'nodes'"};
    char text[200];

    for (size_t i = 0; i < COUNT(equal); i++) {
        snprintf(text, sizeof(text),
                 "select count(*) c from information_schema.tables where "
                 "table_schema = binary 'heapwire' and table_name = 'Nodes' "
                 "and table_name %s",
                 equal[i]);
        ck_assert_msg(strcmp(harness_run(&h, text), "c\n#1") == 0, "%s: %s",
                      equal[i], h.answer.data);
    }
}
END_TEST

static const char *const back_doors[] = {
    "select id with from nodes",
    "select id as with from nodes",
    "select 1 with from full_tables",
    "select 1 from dual with from nodes",
    "select (with nodes as (select 1 x) select x from nodes), id from nodes",
    "select 1 in backends",
    "select 'x' in `show`.`tables`",
    "select 1 not in hw_table",
    "show databases where 1 in backends",
};

START_TEST(tables_need_their_privilege)
{
    static const char denied[] =
        "1227/42000 Access denied; you need (at least one of) the STATUS "
        "privilege(s) for this operation";

    harness_fini(&h);
    harness_init(&h, PRIVILEGE_PROFILE);
    ck_assert_str_eq(harness_run(&h, "select 1 from heapwire.nodes"), denied);
    ck_assert_str_eq(harness_run(&h, "select (select 1 from "
                                     "heapwire.profiler)"),
                     denied);
    ck_assert_str_eq(harness_run(&h, "select @@version_comment, 1"),
                     "@@version_comment|1\nheapwire " HW_VERSION "|#1");
    /* names that SQLite would find by itself */
    for (size_t i = 0; i < COUNT(back_doors); i++) {
        harness_run(&h, back_doors[i]);
        ck_assert_msg(h.error.code == ER_PARSE || h.error.code == ER_NO_DB ||
                          h.error.code == ER_PRIVILEGE,
                      "%s: %s", back_doors[i], h.answer.data);
    }
    /* others' sessions take ADMIN */
    ck_assert_str_eq(harness_run(&h, "select id from heapwire.sessions"),
                     "id\n#7");
}
END_TEST

START_TEST(functions_take_any_arguments)
{
    ck_assert_str_eq(harness_run(&h, "select left('abc', "
                                     "-9223372036854775807 - 1) as v"),
                     "v\n");
    ck_assert_str_eq(
        harness_run(&h, "select right('abc', 9223372036854775807) as v"),
        "v\nabc");
}
END_TEST

START_TEST(many_rows_come_in_steps)
{
    const char *answer = harness_run(
        &h, "with recursive c(n) as (select 1 union all select n + 1 from c "
            "where n < 1000) select n, n || '' from c");
    size_t lines = 0;

    for (const char *p = answer; *p; p++)
        lines += *p == '\n';
    ck_assert_uint_eq(lines, 1000);
}
END_TEST

START_TEST(tables_that_are_searched_ascend)
{
    for (size_t i = 1; i < tree_reserved_count; i++) {
        struct span word = {tree_reserved[i], strlen(tree_reserved[i])};

        ck_assert_msg(span_compare_nocase(word, tree_reserved[i - 1]) > 0, "%s",
                      tree_reserved[i]);
    }
    for (size_t i = 1; i < variable_count; i++) {
        struct span name = {variables[i].name, strlen(variables[i].name)};

        ck_assert_msg(span_compare_nocase(name, variables[i - 1].name) > 0,
                      "%s", variables[i].name);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("select");
    TCase *tc = tcase_create("select");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, queries_have_mysqls_answers, 0, (int)COUNT(cases));
    tcase_add_loop_test(tc, queries_may_end_anywhere, 0, (int)COUNT(cases));
    tcase_add_test(tc, unqualified_names_are_the_current_databases);
    tcase_add_test(tc, columns_know_their_table_and_type);
    tcase_add_test(tc, tables_need_their_privilege);
    tcase_add_test(tc, functions_take_any_arguments);
    tcase_add_test(tc, many_rows_come_in_steps);
    tcase_add_test(tc, bytes_are_compared_with_columns_byte_by_byte);
    tcase_add_test(tc, tables_that_are_searched_ascend);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
