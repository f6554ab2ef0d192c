/*
 * test_catalog.c - the statements with which clients look around: labels and
 * rows, and what they say to those who may not look.
 */
#include <stdio.h>
#include <string.h>

#include "catalog.h"
#include "scripted_controller.h"
#include "sql_harness.h"
#include "suite.h"

#define ROUTINES                                                               \
    "Db|Name|Type|Definer|Modified|Created|Security_type|Comment|"             \
    "character_set_client|collation_connection|Database Collation"
#define EXPLAINED                                                              \
    "id|select_type|table|partitions|type|possible_keys|key|key_len|ref|"      \
    "rows|filtered|Extra"
#define READ_ONLY                                                              \
    "1290/HY000 The heapwire server is running with the --read-only option "   \
    "so it cannot execute this statement"
#define NO_STATUS                                                              \
    "1227/42000 Access denied; you need (at least one of) the STATUS "         \
    "privilege(s) for this operation"

static struct harness h;

static void
set_up(void)
{
    harness_init(&h, PRIVILEGE_ALL);
}

static void
set_up_nobody(void)
{
    harness_init(&h, 0);
}

static void
tear_down(void)
{
    harness_fini(&h);
}

static const struct {
    const char *statement, *answer;
} cases[] = {
    /* tables */
    {"SHOW TABLES FROM heapwire WHERE Tables_in_heapwire LIKE 'n%' OR "
     "`Tables_in_heapwire` = 'PROFILER'",
     "Tables_in_heapwire\nnodes\nprofiler"},
    {"SHOW EXTENDED FULL TABLES IN heapwire LIKE 'nodes'",
     "Tables_in_heapwire (nodes)|Table_type\nnodes|BASE TABLE"},
    {"SHOW TABLE STATUS FROM `heapwire` LIKE 'nodes'",
     "Name|Engine|Version|Row_format|Rows|Avg_row_length|Data_length|"
     "Max_data_length|Index_length|Data_free|Auto_increment|Create_time|"
     "Update_time|Check_time|Collation|Checksum|Create_options|Comment\n"
     "nodes|heapwire|#10|Dynamic|#0|#0|#0|#0|#0|#0|\\N|"
     "2026-11-21 02:31:00|\\N|\\N|utf8mb4_general_ci|\\N||"
     "The nodes that this one knows"},
    {"SHOW TABLE STATUS", "1046/3D000 No database selected"},
    {"SHOW OPEN TABLES FROM heapwire", "Database|Table|In_use|Name_locked"},
    {"SHOW CREATE DATABASE IF NOT EXISTS `heapwire`",
     "Database|Create Database\nheapwire|CREATE DATABASE `heapwire` /*!40100 "
     "DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci */ /*!80016 "
     "DEFAULT ENCRYPTION='N' */"},
    {"SHOW CREATE TABLE `information_schema`.`ENGINES`",
     "Table|Create Table\nENGINES|CREATE TABLE `ENGINES` (\n"
     "  `ENGINE` varchar(64) NOT NULL,\n"
     "  `SUPPORT` varchar(10) NOT NULL,\n"
     "  `COMMENT` varchar(80) NOT NULL,\n"
     "  `TRANSACTIONS` varchar(3) DEFAULT NULL,\n"
     "  `XA` varchar(3) DEFAULT NULL,\n"
     "  `SAVEPOINTS` varchar(3) DEFAULT NULL\n"
     ") DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"},
    {"SHOW CREATE VIEW heapwire.nodes",
     "1347/HY000 'heapwire.nodes' is not VIEW"},
    {"SHOW CREATE FUNCTION heapwire.FlameGraph",
     "Function|sql_mode|Create Function|character_set_client|"
     "collation_connection|Database Collation\n"
     "flamegraph||CREATE FUNCTION `flamegraph`(`snapshot` varchar(64), `base` "
     "varchar(64), `options` longtext) RETURNS longtext\n    READS SQL DATA\n"
     "RETURN NULL|utf8mb4|utf8mb4_general_ci|utf8mb4_general_ci"},
    {"SHOW CREATE PROCEDURE `heapwire`.import_snapshot",
     "Procedure|sql_mode|Create Procedure|character_set_client|"
     "collation_connection|Database Collation\n"
     "import_snapshot||CREATE PROCEDURE `import_snapshot`(IN `name` "
     "varchar(64), IN `bytes` longblob)\n    MODIFIES SQL DATA\nBEGIN\nEND|"
     "utf8mb4|utf8mb4_general_ci|utf8mb4_general_ci"},
    {"SHOW CREATE FUNCTION heapwire.import_snapshot",
     "1305/42000 FUNCTION import_snapshot does not exist"},
    {"SHOW CREATE PROCEDURE heapwire.dot",
     "1305/42000 PROCEDURE dot does not exist"},
    {"SHOW CREATE FUNCTION information_schema.dot",
     "1305/42000 FUNCTION dot does not exist"},
    {"SHOW CREATE FUNCTION nope.dot", "1049/42000 Unknown database 'nope'"},
    {"SHOW CREATE FUNCTION dot", "1046/3D000 No database selected"},
    {"SHOW CREATE TABLE heapwire.nope",
     "1146/42S02 Table 'heapwire.nope' doesn't exist"},

    /* columns */
    {"SHOW COLUMNS FROM `profiler` FROM `heapwire` LIKE 's%'",
     "Field|Type|Null|Key|Default|Extra\nstate|varchar(64)|NO||\\N|\n"
     "since|datetime|YES||\\N|\nsample_rate|bigint "
     "unsigned|YES||\\N|\nsamples|bigint unsigned|YES||\\N|\n"
     "samples_at|datetime|YES||\\N|\nstarted|datetime|YES||\\N|\n"
     "source|varchar(64)|NO||\\N|"},
    {"SHOW FULL FIELDS IN heapwire.nodes WHERE Field IN ('id', 'role')",
     "Field|Type|Collation|Null|Key|Default|Extra|Privileges|Comment\n"
     "id|bigint|\\N|NO|PRI|\\N||select|\n"
     "role|varchar(64)|utf8mb4_general_ci|NO||\\N||select|"
     "backend or compute node"},
    {"DESC heapwire.nodes", NULL},
    {"DESCRIBE `heapwire`.`nodes` id",
     "Field|Type|Null|Key|Default|Extra\nid|bigint|NO|PRI|\\N|"},
    {"EXPLAIN heapwire.nodes 'p%'",
     "Field|Type|Null|Key|Default|Extra\nport|bigint|NO||\\N|\n"
     "profiling|varchar(64)|YES||\\N|"},
    {"DESCRIBE nodes", "1046/3D000 No database selected"},
    {"DESCRIBE heapwire.nope",
     "1146/42S02 Table 'heapwire.nope' doesn't exist"},
    {"DESCRIBE nope.nodes", "1049/42000 Unknown database 'nope'"},
    {"DESCRIBE `show`.tables", "1049/42000 Unknown database 'show'"},
    {"SHOW INDEX FROM nodes FROM heapwire WHERE Key_name = 'PRIMARY'",
     "Table|Non_unique|Key_name|Seq_in_index|Column_name|Collation|"
     "Cardinality|Sub_part|Packed|Null|Index_type|Comment|Index_comment|"
     "Visible|Expression\nnodes|#0|PRIMARY|#1|id|A|\\N|\\N|\\N||BTREE|||YES|"
     "\\N"},
    {"SHOW KEYS FROM heapwire.nope",
     "1146/42S02 Table 'heapwire.nope' doesn't exist"},
    {"select column_name, column_type, is_nullable, data_type, "
     "character_maximum_length, character_octet_length, numeric_precision, "
     "numeric_scale, datetime_precision, collation_name from "
     "information_schema.columns where table_schema = 'information_schema' "
     "and table_name = 'TABLES' and column_name in ('TABLE_NAME', "
     "'AUTO_INCREMENT', 'CREATE_TIME', 'TABLE_COMMENT')",
     "column_name|column_type|is_nullable|data_type|character_maximum_length|"
     "character_octet_length|numeric_precision|numeric_scale|"
     "datetime_precision|collation_name\n"
     "TABLE_NAME|varchar(64)|YES|varchar|#64|#256|\\N|\\N|\\N|"
     "utf8mb4_general_ci\n"
     "AUTO_INCREMENT|bigint unsigned|YES|bigint|\\N|\\N|#20|#0|\\N|\\N\n"
     "CREATE_TIME|timestamp|NO|timestamp|\\N|\\N|\\N|\\N|#0|\\N\n"
     "TABLE_COMMENT|text|YES|text|#65535|#65535|\\N|\\N|\\N|"
     "utf8mb4_general_ci"},

    /* the server */
    {"SHOW COLLATION WHERE `Charset` = 'utf8mb4' AND `Default` = 'Yes'",
     "Collation|Charset|Id|Default|Compiled|Sortlen|Pad_attribute\n"
     "utf8mb4_general_ci|utf8mb4|#45|Yes|Yes|#1|PAD SPACE"},
    {"SHOW COLLATION LIKE 'binary'",
     "Collation|Charset|Id|Default|Compiled|Sortlen|Pad_attribute\n"
     "binary|binary|#63|Yes|Yes|#1|NO PAD"},
    {"show character set where charset = 'utf8mb4'",
     "Charset|Description|Default collation|Maxlen\n"
     "utf8mb4|UTF-8 Unicode|utf8mb4_general_ci|#4"},
    {"SHOW CHARSET LIKE 'latin%'",
     "Charset|Description|Default collation|Maxlen\n"
     "latin1|cp1252 West European|latin1_swedish_ci|#1"},
    {"SHOW STORAGE ENGINES",
     "Engine|Support|Comment|Transactions|XA|Savepoints\n"
     "heapwire|DEFAULT|The tables of the node's profiler|NO|NO|NO\n"
     "InnoDB|DISABLED|Not here|\\N|\\N|\\N"},
    {"SHOW ENGINE heapwire STATUS", "Type|Name|Status"},
    {"SHOW ENGINE InnoDB STATUS",
     "Type|Name|Status\n"
     "InnoDB||There is no InnoDB here: no buffer pool, no log, no locks"},
    {"SHOW ENGINE INNODB MUTEX", "Type|Name|Status"},
    {"SHOW ENGINE MyISAM STATUS", "1286/42000 Unknown storage engine 'MyISAM'"},
    {"SHOW PLUGINS", "Name|Status|Type|Library|License\n"
                     "mysql_native_password|ACTIVE|AUTHENTICATION|\\N|BSD\n"
                     "caching_sha2_password|ACTIVE|AUTHENTICATION|\\N|BSD\n"
                     "heapwire|ACTIVE|STORAGE ENGINE|\\N|BSD"},
    {"SHOW COUNT(*) WARNINGS", "@@session.warning_count\n#0"},
    {"SHOW COUNT(*) ERRORS", "@@session.error_count\n#0"},
    {"SHOW GRANTS FOR CURRENT_USER()",
     "Grants for admin@localhost\nGRANT STATUS,PROFILE,CONTROL,CLUSTER,ADMIN,"
     "TUNE ON *.* TO `admin`@`localhost`\n"
     "GRANT SELECT ON `heapwire`.* TO `admin`@`localhost`"},
    {"SHOW GRANTS FOR 'other'@'%'",
     "1141/42000 There is no such grant defined for user 'other' on host '%': "
     "heapwire.users has the accounts"},
    {"SHOW GRANTS FOR 'ann'@'10.0.0.1'",
     "Grants for ann@%\nGRANT STATUS ON *.* TO `ann`@`%`\n"
     "GRANT SELECT ON `heapwire`.* TO `ann`@`%`"},
    {"SHOW STATUS LIKE 'Threads_%'",
     "Variable_name|Value\nThreads_cached|0\nThreads_connected|2\n"
     "Threads_created|0\nThreads_running|1"},
    {"SHOW STATUS LIKE 'Connections'", "Variable_name|Value\nConnections|9"},

    /* what no user has here */
    {"SHOW PROCEDURE STATUS WHERE Db = 'x'", ROUTINES},
    {"SELECT ROUTINE_NAME, ROUTINE_TYPE, DATA_TYPE, SECURITY_TYPE, CREATED IS "
     "NULL n FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = "
     "'heapwire' AND ROUTINE_NAME IN ('dot', 'pprof', 'export', "
     "'admin_execute', 'import_snapshot') ORDER BY 1",
     "ROUTINE_NAME|ROUTINE_TYPE|DATA_TYPE|SECURITY_TYPE|n\n"
     "admin_execute|PROCEDURE||INVOKER|#0\n"
     "dot|FUNCTION|longtext|INVOKER|#0\n"
     "export|FUNCTION|longblob|INVOKER|#0\n"
     "import_snapshot|PROCEDURE||INVOKER|#0\n"
     "pprof|FUNCTION|longblob|INVOKER|#0"},
    {"SHOW FUNCTION STATUS LIKE 'x'", ROUTINES},
    {"SELECT page_size, compress_ops, compress_ops_ok, compress_time, "
     "uncompress_ops, uncompress_time FROM information_schema.innodb_cmp",
     "page_size|compress_ops|compress_ops_ok|compress_time|uncompress_ops|"
     "uncompress_time"},
    {"SELECT page_size, buffer_pool_instance, pages_used, pages_free, "
     "relocation_ops, relocation_time FROM information_schema.innodb_cmpmem",
     "page_size|buffer_pool_instance|pages_used|pages_free|relocation_ops|"
     "relocation_time"},
    {"SHOW GLOBAL STATUS LIKE 'Com_insert'",
     "Variable_name|Value\nCom_insert|0"},
    {"SELECT * FROM mysql.db WHERE Db = 'heapwire'", NULL},
    {"SELECT Host, User, Select_priv s, Super_priv u, Process_priv p, "
     "authentication_string a, plugin FROM mysql.user WHERE User = 'admin'",
     "Host|User|s|u|p|a|plugin\nlocalhost|admin|Y|N|Y||auth_socket"},
    {"SHOW PROCEDURE STATUS LIKE 'admin%'",
     ROUTINES "\nheapwire|admin_execute|PROCEDURE|root@localhost|1970-01-01 "
              "00:00:01|1970-01-01 00:00:01|INVOKER|(target, script): as ADMIN "
              "EXECUTE ON target 'script'|utf8mb4|utf8mb4_general_ci|"
              "utf8mb4_general_ci"},
    {"SELECT SPECIFIC_NAME r, ORDINAL_POSITION n, PARAMETER_MODE m, "
     "PARAMETER_NAME p, DATA_TYPE t, CHARACTER_MAXIMUM_LENGTH l, "
     "DTD_IDENTIFIER d, ROUTINE_TYPE k FROM information_schema.PARAMETERS "
     "WHERE SPECIFIC_SCHEMA = 'heapwire' AND SPECIFIC_NAME IN "
     "('admin_execute', 'import_snapshot', 'export')",
     "r|n|m|p|t|l|d|k\n"
     "export|#0|\\N|\\N|longblob|#4294967295|longblob|FUNCTION\n"
     "export|#1|IN|snapshot|varchar|#64|varchar(64)|FUNCTION\n"
     "export|#2|IN|base|varchar|#64|varchar(64)|FUNCTION\n"
     "export|#3|IN|options|longtext|#4294967295|longtext|FUNCTION\n"
     "admin_execute|#1|IN|target|varchar|#1024|varchar(1024)|PROCEDURE\n"
     "admin_execute|#2|IN|script|longtext|#4294967295|longtext|PROCEDURE\n"
     "import_snapshot|#1|IN|name|varchar|#64|varchar(64)|PROCEDURE\n"
     "import_snapshot|#2|IN|bytes|longblob|#4294967295|longblob|PROCEDURE"},
    {"SELECT COLUMN_NAME, ORDINAL_POSITION FROM "
     "information_schema.KEY_COLUMN_USAGE WHERE TABLE_NAME = 'heap_frames'",
     "COLUMN_NAME|ORDINAL_POSITION\nsnapshot|#1\nstack|#2\ndepth|#3"},
    {"SHOW TRIGGERS IN heapwire LIKE 'x'",
     "Trigger|Event|Table|Statement|Timing|Created|sql_mode|Definer|"
     "character_set_client|collation_connection|Database Collation"},
    {"SHOW EVENTS FROM heapwire",
     "Db|Name|Definer|Time zone|Type|Execute at|Interval value|Interval "
     "field|Starts|Ends|Status|Originator|character_set_client|"
     "collation_connection|Database Collation"},
    {"SHOW MASTER STATUS",
     "File|Position|Binlog_Do_DB|Binlog_Ignore_DB|Executed_Gtid_Set"},
    {"SHOW BINARY LOG STATUS",
     "File|Position|Binlog_Do_DB|Binlog_Ignore_DB|Executed_Gtid_Set"},
    {"SHOW BINARY LOGS", "Log_name|File_size|Encrypted"},
    {"SHOW REPLICAS", "Server_Id|Host|Port|Source_Id|Replica_UUID"},
    {"SHOW PROFILES", "Query_ID|Duration|Query"},
    {"HELP 'select'", "source_category_name|name|is_it_category"},
    {"HELP 'Admin Execute'",
     "name|description|example\nADMIN EXECUTE|ADMIN EXECUTE ON {node_id | "
     "(node_id, ...) | ALL [BACKENDS | COMPUTE NODES]} 'script'\n\nRuns a "
     "script on the nodes that are named and returns what it prints: a row "
     "for each line of one node's, a row for each node of a list or ALL. "
     "SELECT id, self FROM heapwire.nodes lists the nodes, and which is "
     "this one. SET heapwire_timeout bounds it, in seconds; SET "
     "heapwire_parallel says on how many nodes at a time it runs. Scripts "
     "drive the heap profiler of the database (HeapProf), say why its memory "
     "is so large (HeapProf.getInstance().diagnose()), sample what its "
     "threads run or wait for (CpuProf), show all their stacks, and who "
     "waits for whom (ExecEnv), and change jemalloc for a time "
     "(Jemalloc).\n|ADMIN "
     "EXECUTE ON ALL 'System.print(HeapProf.getInstance().has_enable())'\n"
     "ADMIN EXECUTE ON ALL 'System.print(HeapProf.getInstance().diagnose())'\n"
     "ADMIN EXECUTE ON ALL 'System.print(CpuProf.getInstance().profile(10))'\n"
     "ADMIN EXECUTE ON ALL "
     "'System.print(ExecEnv.get_stack_trace_for_all_threads())'\n"
     "ADMIN EXECUTE ON ALL "
     "'System.print(Jemalloc.getInstance().risks())'\n"},

    /* EXPLAIN */
    {"EXPLAIN SELECT 1", EXPLAINED "\n#1|SIMPLE|\\N|\\N|\\N|\\N|\\N|\\N|\\N|"
                                   "\\N|\\N|No tables used"},
    {"EXPLAIN FORMAT=TRADITIONAL SELECT * FROM heapwire.nodes n, "
     "heapwire.sessions s WHERE n.id = s.id",
     EXPLAINED "\n#1|SIMPLE|n|\\N|ALL|\\N|\\N|\\N|\\N|#100|100.00|\\N\n"
               "#1|SIMPLE|s|\\N|ALL|\\N|\\N|\\N|\\N|#100|100.00|\\N"},
    {"DESC SELECT nope FROM heapwire.nodes",
     "1054/42S22 Unknown column 'nope' in 'field list'"},
    {"EXPLAIN SELECT * FROM heapwire.nope",
     "1146/42S02 Table 'heapwire.nope' doesn't exist"},
    {"EXPLAIN FORMAT=JSON SELECT 1",
     "EXPLAIN\n{\n  \"query_block\": {\n    \"select_id\": 1,\n    "
     "\"message\": \"No tables used\"\n  }\n}"},
    {"EXPLAIN FORMAT = JSON SELECT * FROM heapwire.nodes `a\"\\\t`",
     "EXPLAIN\n{\n  \"query_block\": {\n    \"select_id\": 1,\n    "
     "\"table\": {\"table_name\": \"a\\\"\\\\\\u0009\", \"access_type\": "
     "\"ALL\", \"rows_examined_per_scan\": 100, \"filtered\": \"100.00\"}"
     "\n  }\n}"},
    {"EXPLAIN FORMAT=tree SELECT * FROM heapwire.nodes n, heapwire.sessions s",
     "EXPLAIN\n-> Nested loop inner join\n"
     "    -> Table scan on n  (rows=100)\n"
     "    -> Table scan on s  (rows=100)\n"},
    {"EXPLAIN FORMAT=XML SELECT 1",
     "1791/HY000 Unknown EXPLAIN format name: 'XML'; allowed are TRADITIONAL, "
     "JSON and TREE"},
    {"EXPLAIN DELETE FROM heapwire.nodes", READ_ONLY},

    /* nothing to do */
    {"FLUSH PRIVILEGES", "OK"},
    {"FLUSH LOCAL TABLES `nodes`, heapwire.sessions WITH READ LOCK", "OK"},
    {"flush status", "OK"},
    {"LOCK TABLES `nodes` READ /*!32311 LOCAL */, x AS y WRITE", "OK"},
    {"UNLOCK TABLES", "OK"},
    {"SAVEPOINT `x`", "OK"},
    {"ROLLBACK TO `x`", "OK"},
    {"ROLLBACK WORK TO SAVEPOINT x", "OK"},
    {"RELEASE SAVEPOINT x", "OK"},
    {"START TRANSACTION READ ONLY", "OK"},
    {"COMMIT AND NO CHAIN NO RELEASE", "OK"},

    /* refused */
    {"FLUSH everything", NULL},
    {"CALL sys.version()", "1305/42000 PROCEDURE sys.version does not exist"},
    {"CALL x", "1305/42000 PROCEDURE x does not exist"},
    {"CHECK TABLE heapwire.nodes, heapwire.sessions FAST QUICK",
     "Table|Op|Msg_type|Msg_text\nheapwire.nodes|check|note|The storage engine "
     "for the table doesn't support check\nheapwire.sessions|check|note|The "
     "storage engine for the table doesn't support check"},
    {"ANALYZE NO_WRITE_TO_BINLOG TABLE heapwire.nodes",
     "Table|Op|Msg_type|Msg_text\nheapwire.nodes|analyze|note|The storage "
     "engine for the table doesn't support analyze"},
    {"OPTIMIZE TABLE heapwire.nope",
     "1146/42S02 Table 'heapwire.nope' doesn't exist"},
    {"PURGE BINARY LOGS TO 'x'", READ_ONLY},
    {"HANDLER nodes OPEN",
     "1235/42000 This version of heapwire doesn't yet support 'HANDLER'; use "
     "SELECT"},
    {"SHUTDOWN",
     "1227/42000 Access denied; you need (at least one of) the SHUTDOWN "
     "privilege(s) for this operation; no account has it: end heapwired "
     "where it was started"},
};

START_TEST(statements_have_mysqls_answers)
{
    const char *answer = harness_run(&h, cases[_i].statement);

    if (cases[_i].answer)
        ck_assert_str_eq(answer, cases[_i].answer);
}
END_TEST

static const char *const wrong[] = {
    "SHOW FULL VARIABLES",
    "SHOW GLOBAL TABLES",
    "SHOW COLUMNS",
    "SHOW COLUMNS FROM",
    "SHOW CREATE",
    "SHOW CREATE FROB",
    "SHOW COUNT(*)",
    "SHOW ENGINE heapwire",
    "SHOW INDEX FROM nodes LIKE 'x'",
    "DESCRIBE",
    "DESCRIBE heapwire.",
    "DESCRIBE nodes a b",
    "EXPLAIN FORMAT=",
    "FLUSH everything",
    "FLUSH",
    "LOCK nodes",
    "UNLOCK",
    "SAVEPOINT",
    "RELEASE x",
    "ROLLBACK TO",
    "START TRANSACTION READ",
    "START TRANSACTION frob",
    "COMMIT AND",
    "BEGIN frob",
    "HELP",
    "CHECK",
    "REPAIR TABLE",
    "OPTIMIZE TABLE nodes,",
    "CALL",
};

START_TEST(what_is_not_in_the_grammar_is_a_syntax_error)
{
    harness_run(&h, wrong[_i]);
    ck_assert_uint_eq(h.error.code, ER_PARSE);
}
END_TEST

static const struct {
    const char *statement, *answer;
} engines[] = {
    {"SET default_storage_engine = innodb", NULL},
    {"SELECT @@default_storage_engine, engine FROM information_schema.tables "
     "WHERE table_name = 'nodes'",
     "@@default_storage_engine|engine\nInnoDB|InnoDB"},
    {"SELECT engine FROM information_schema.engines", "engine\nInnoDB"},
    {"SELECT plugin_name FROM information_schema.plugins WHERE plugin_type = "
     "'STORAGE ENGINE'",
     "plugin_name\nInnoDB"},
    {"SHOW CREATE TABLE heapwire.budgets",
     "\n  `name` varchar(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin "
     "NOT NULL"},
    {"SHOW CREATE TABLE heapwire.nodes", "\n) ENGINE=InnoDB DEFAULT "},
    {"SET default_storage_engine = 'Falcon'",
     "1286/42000 Unknown storage engine 'Falcon'; heapwire, InnoDB and MyISAM "
     "are known"},
    {"SET default_storage_engine = 0",
     "1286/42000 Unknown storage engine ''; heapwire, InnoDB and MyISAM are "
     "known"},
    {"SELECT @@default_storage_engine", "@@default_storage_engine\nInnoDB"},
    {"SET default_storage_engine = DEFAULT", NULL},
    {"SELECT DISTINCT engine FROM information_schema.tables WHERE "
     "table_schema = 'heapwire'",
     "engine\nheapwire"},
};

/* Some tools read tables of InnoDB and MyISAM alone. */
START_TEST(the_session_says_which_engine_its_tables_have)
{
    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
        const char *answer = harness_run(&h, engines[i].statement);

        if (engines[i].answer)
            ck_assert_msg(strstr(answer, engines[i].answer) != NULL, "%s: %s",
                          engines[i].statement, answer);
        else
            ck_assert_uint_eq(h.error.code, 0);
    }
}
END_TEST

START_TEST(savepoints_stay_in_their_transaction)
{
    harness_run(&h, "BEGIN");
    harness_run(&h, "ROLLBACK TO x");
    ck_assert(sql_session_in_transaction(h.session));
    harness_run(&h, "COMMIT AND CHAIN");
    ck_assert(sql_session_in_transaction(h.session));
    harness_run(&h, "COMMIT RELEASE");
    ck_assert_uint_eq(h.error.code, ER_NOT_SUPPORTED);
    ck_assert(sql_session_in_transaction(h.session));
    harness_run(&h, "ROLLBACK AND NO CHAIN");
    ck_assert(!sql_session_in_transaction(h.session));
}
END_TEST

/* ---- every table of the catalog ---- */

START_TEST(every_table_answers_and_describes_itself)
{
    const struct catalog_table *table = catalog_at(_i);
    char text[512];
    const char *answer;

    if (strcmp(table->database, CATALOG_HIDDEN) == 0 || table->needs ||
        table->walk || table->of)
        return;
    snprintf(text, sizeof(text), "SELECT * FROM `%s`.`%s`", table->database,
             table->name);
    ck_assert_ptr_nonnull(harness_run(&h, text));
    ck_assert_uint_eq(h.error.code, 0);
    if (catalog_unlisted(table->database))
        return; /* listed nowhere */
    snprintf(text, sizeof(text),
             "SELECT count(*) = %zu FROM information_schema.columns WHERE "
             "table_schema = '%s' AND table_name = '%s'",
             table->column_count, table->database, table->name);
    answer = harness_run(&h, text);
    ck_assert_ptr_nonnull(strstr(answer, "\n#1"));
    snprintf(text, sizeof(text), "SHOW CREATE TABLE `%s`.`%s`", table->database,
             table->name);
    answer = harness_run(&h, text);
    for (size_t i = 0; i < table->column_count; i++) {
        snprintf(text, sizeof(text), "\n  `%s` %s", table->columns[i].name,
                 table->columns[i].type->name);
        ck_assert_ptr_nonnull(strstr(answer, text));
    }
}
END_TEST

/* A dump must be loadable elsewhere; the figures are those of MySQL's
 * manual. */
START_TEST(every_key_and_row_fits_innodb)
{
    enum { ROW_MAX = 65535, KEY_MAX = 3072 };
    const struct catalog_table *table = catalog_at(_i);
    size_t row = 0, key = 0;

    if (strcmp(table->database, "heapwire") != 0)
        return;
    for (size_t i = 0; i < table->column_count; i++) {
        const struct catalog_type *type = table->columns[i].type;
        bool is_text = type->type == COLUMN_TEXT;

        row += is_text                         ? 4 * type->width + 2
               : type->type == COLUMN_LONGTEXT ? 12
                                               : 8;
        if (catalog_flags(table, i) & COLUMN_PRI_KEY)
            key += is_text ? 4 * type->width : 8;
    }
    ck_assert_uint_le(row, ROW_MAX);
    ck_assert_uint_le(key, KEY_MAX);
}
END_TEST

/* A column that may be NULL must not be declared NOT NULL. */
START_TEST(not_null_columns_have_values)
{
    const struct catalog_table *table = catalog_at(_i);
    char text[512];

    if (strcmp(table->database, CATALOG_HIDDEN) == 0 || table->needs ||
        table->walk || table->of)
        return;
    for (size_t i = 0; i < table->column_count; i++) {
        if (!(catalog_flags(table, i) & COLUMN_NOT_NULL))
            continue;
        snprintf(text, sizeof(text),
                 "SELECT count(*) FROM `%s`.`%s` WHERE `%s` IS NULL",
                 table->database, table->name, table->columns[i].name);
        ck_assert_ptr_nonnull(strstr(harness_run(&h, text), "\n#0"));
    }
}
END_TEST

/* ---- what is said of a column on the wire ---- */

enum { SET = COLUMN_NOT_NULL, KEY = SET | COLUMN_PRI_KEY | COLUMN_PART_KEY };

static const struct {
    const char *query;
    uint16_t flags; /* of its first column */
} flagged[] = {
    {"SELECT id FROM heapwire.nodes", KEY},
    {"SELECT * FROM heapwire.nodes", KEY},
    {"SELECT n.role FROM heapwire.nodes n", SET},
    {"SELECT x FROM (SELECT id x FROM heapwire.nodes) t", KEY},
    {"SELECT alive FROM heapwire.nodes", 0},
    {"SELECT node_id FROM heapwire.cluster_snapshots", SET | COLUMN_UNSIGNED},
    {"SELECT name FROM heapwire.cluster_snapshots", 0},
    {"SELECT n.id FROM heapwire.nodes n JOIN heapwire.sessions s ON 1", KEY},
    /* where it may be NULL nevertheless */
    {"SELECT s.id FROM heapwire.nodes n LEFT JOIN heapwire.sessions s ON 0", 0},
    {"SELECT n.id FROM heapwire.nodes n RIGHT JOIN heapwire.sessions s ON 0",
     0},
    {"SELECT max(id) FROM heapwire.nodes WHERE 0", 0},
    {"SELECT (SELECT id FROM heapwire.nodes WHERE 0)", 0},
    {"SELECT x FROM (SELECT (SELECT id FROM heapwire.nodes WHERE 0) x) t", 0},
    {"SELECT id FROM heapwire.nodes UNION SELECT NULL", 0},
    {"SELECT NULLIF(id, id) FROM heapwire.nodes", 0},
};

START_TEST(a_column_that_may_be_null_is_not_called_another)
{
    ck_assert_ptr_nonnull(harness_open(&h, flagged[_i].query));
    ck_assert_uint_eq(h.cursor->columns[0].flags, flagged[_i].flags);
    harness_close(&h);
}
END_TEST

/* ---- without privileges ---- */

static const struct {
    const char *statement, *answer;
} denied[] = {
    {"DESCRIBE heapwire.nodes", NO_STATUS},
    {"SHOW FULL COLUMNS FROM heapwire.nodes", NO_STATUS},
    {"SHOW INDEX FROM heapwire.nodes", NO_STATUS},
    {"SHOW CREATE TABLE heapwire.nodes", NO_STATUS},
    {"EXPLAIN SELECT * FROM heapwire.nodes", NO_STATUS},
    {"CHECK TABLE heapwire.nodes", NO_STATUS},
    {"SELECT * FROM heapwire.nodes", NO_STATUS},
    {"SHOW TABLES FROM heapwire", "Tables_in_heapwire\nsessions"},
    {"SHOW TABLES FROM heapwire WHERE Tables_in_heapwire = 'nodes'",
     "Tables_in_heapwire"},
    {"SELECT table_name FROM information_schema.tables WHERE table_schema = "
     "'heapwire'",
     "table_name\nsessions"},
    {"SELECT DISTINCT table_name FROM information_schema.columns WHERE "
     "table_schema = 'heapwire'",
     "table_name\nsessions"},
    {"SHOW GRANTS",
     "Grants for admin@localhost\nGRANT USAGE ON *.* TO `admin`@`localhost`"},
    {"SHOW GRANTS FOR admin", NULL},
    {"SELECT User, Select_priv, Process_priv, authentication_string a FROM "
     "mysql.user",
     "User|Select_priv|Process_priv|a\nadmin|N|N|"},
    {"SELECT privilege_type FROM information_schema.user_privileges",
     "privilege_type\nUSAGE"},
    {"SELECT count(*) FROM information_schema.schema_privileges",
     "count(*)\n#0"},
};

START_TEST(sessions_see_what_they_may_read)
{
    const char *answer = harness_run(&h, denied[_i].statement);

    if (denied[_i].answer)
        ck_assert_str_eq(answer, denied[_i].answer);
    else
        ck_assert_uint_eq(h.error.code, 0);
}
END_TEST

START_TEST(others_grants_need_admin)
{
    harness_run(&h, "SHOW GRANTS FOR 'other'@'%'");
    ck_assert_uint_eq(h.error.code, ER_PRIVILEGE);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

int
main(void)
{
    Suite *suite = suite_create("catalog");
    TCase *tc = tcase_create("everything");
    TCase *nobody = tcase_create("nobody");

    sql_start(); /* for the count of tables */
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, statements_have_mysqls_answers, 0, COUNT(cases));
    tcase_add_loop_test(tc, what_is_not_in_the_grammar_is_a_syntax_error, 0,
                        COUNT(wrong));
    tcase_add_test(tc, savepoints_stay_in_their_transaction);
    tcase_add_test(tc, the_session_says_which_engine_its_tables_have);
    tcase_add_loop_test(tc, every_table_answers_and_describes_itself, 0,
                        (int)catalog_count());
    tcase_add_loop_test(tc, a_column_that_may_be_null_is_not_called_another, 0,
                        COUNT(flagged));
    tcase_add_loop_test(tc, every_key_and_row_fits_innodb, 0,
                        (int)catalog_count());
    tcase_add_loop_test(tc, not_null_columns_have_values, 0,
                        (int)catalog_count());
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(nobody, set_up_nobody, tear_down);
    tcase_add_loop_test(nobody, sessions_see_what_they_may_read, 0,
                        COUNT(denied));
    tcase_add_test(nobody, others_grants_need_admin);
    suite_add_tcase(suite, nobody);
    return suite_run(suite);
}
