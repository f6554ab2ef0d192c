/* test_show.c - SHOW, USE, KILL, field lists and privileges' names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripted_controller.h"
#include "sql_harness.h"
#include "sql_session.h"
#include "suite.h"

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
    const char *statement, *answer;
} cases[] = {
    {"show databases", "Database\nheapwire\ninformation_schema"},
    {"SHOW SCHEMAS LIKE 'heap%'", "Database (heap%)\nheapwire"},
    {"SHOW DATABASES WHERE `Database` = 'heapwire'", "Database\nheapwire"},
    {"show tables", "1046/3D000 No database selected"},
    {"SHOW TABLES IN `heapwire` LIKE 'n%'", "Tables_in_heapwire (n%)\nnodes"},
    {"SHOW FULL TABLES FROM HEAPWIRE LIKE 's\\_%'",
     "Tables_in_heapwire (s\\_%)|Table_type"},
    {"SHOW FULL TABLES FROM `information_schema` LIKE 'col%s'",
     "Tables_in_information_schema (col%s)|Table_type\n"
     "COLLATIONS|SYSTEM VIEW\nCOLUMNS|SYSTEM VIEW\n"
     "COLUMNS_EXTENSIONS|SYSTEM VIEW\nCOLUMN_PRIVILEGES|SYSTEM VIEW\n"
     "COLUMN_STATISTICS|SYSTEM VIEW"},
    {"SHOW /*!50002 FULL*/ TABLES FROM `heapwire` WHERE Table_type = 'x'",
     "Tables_in_heapwire|Table_type"},
    {"SHOW FULL TABLES FROM heapwire WHERE Table_Type = 'BASE TABLE' and "
     "Tables_in_heapwire like 'n%'",
     "Tables_in_heapwire|Table_type\nnodes|BASE TABLE"},
    {"show tables from nope", "1049/42000 Unknown database 'nope'"},
    {"show tables from `show`", "1049/42000 Unknown database 'show'"},
    {"SHOW VARIABLES LIKE 'lower_case_table_names'",
     "Variable_name|Value\nlower_case_table_names|0"},
    {"SHOW SESSION VARIABLES LIKE 'sql\\_mod_'",
     "Variable_name|Value\nsql_mode|ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,"
     "NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
     "NO_ENGINE_SUBSTITUTION"},
    {"SHOW VARIABLES WHERE Variable_name in ('max_allowed_packet',"
     "'system_time_zone','time_zone','auto_increment_increment')",
     "Variable_name|Value\nauto_increment_increment|1\n"
     "max_allowed_packet|16777216\nsystem_time_zone|UTC\n"
     "time_zone|SYSTEM"},
    {"SHOW VARIABLES WHERE Variable_name ='language' OR Variable_name = "
     "'net_write_timeout' OR Variable_name = 'autocommit'",
     "Variable_name|Value\nautocommit|ON\nnet_write_timeout|60"},
    {"show /*!40003 GLOBAL */ variables like 'autocommit'",
     "Variable_name|Value\nautocommit|ON"},
    {"SHOW VARIABLES WHERE nope = 1",
     "1054/42S22 Unknown column 'nope' in 'field list'"},
    {"SHOW SESSION STATUS LIKE 'Ssl_cipher'",
     "Variable_name|Value\nSsl_cipher|"},
    {"SHOW /*!50002 GLOBAL */ STATUS LIKE 'Quest%'",
     "Variable_name|Value\nQuestions|42"},
    {"SHOW STATUS WHERE Value > 0 AND Variable_name NOT LIKE 'Upt%'",
     "Variable_name|Value\nAborted_clients|1\nAborted_connects|2\n"
     "Bytes_received|1000\nBytes_sent|2000\nConnections|9\n"
     "Max_used_connections|3\nQueries|42\nQuestions|42\n"
     "Threads_connected|2\nThreads_running|1"},
    {"SHOW VARIABLES LIKE 'max\\_conn%'",
     "Variable_name|Value\nmax_connections|5000"},
    {"SELECT @@max_connections x", "x\n#5000"},
    {"SHOW STATUS WHERE Variable_name = 'Threads_connected'",
     "Variable_name|Value\nThreads_connected|2"},
    {"SHOW WARNINGS", "Level|Code|Message"},
    {"SHOW ERRORS LIMIT 10", "Level|Code|Message"},
    {"show processlist",
     "Id|User|Host|db|Command|Time|State|Info\n#7|admin|localhost|\\N|Query|"
     "#3||SHOW PROCESSLIST\n#8|other|localhost|\\N|Sleep|#3||\\N"},
    {"SHOW COMPUTE NODES",
     "ComputeNodeId|IP|HeartbeatPort|BePort|HttpPort|BrpcPort|LastStartTime|"
     "LastHeartbeat|Alive|SystemDecommissioned|ClusterDecommissioned|ErrMsg|"
     "Version|CpuCores|NumRunningQueries|MemUsedPct|CpuUsedPct|HasStoragePath|"
     "StarletPort|WorkerId|WarehouseName|TabletNum"},
    {"KILL 99", "1094/HY000 Unknown thread id: 99"},
    {"KILL -1",
     "1094/HY000 Unknown thread id: the expression is no connection's "
     "number"},
    {"KILL QUERY connection_id() + 90", "1094/HY000 Unknown thread id: 97"},
    {"KILL nope", "1054/42S22 Unknown column 'nope' in 'field list'"},
    {"USE nope", "1049/42000 Unknown database 'nope'"},
    {"USE `show`", "1049/42000 Unknown database 'show'"},
    {"USE information_schema", "OK"},
};

START_TEST(statements_have_mysqls_answers)
{
    ck_assert_str_eq(harness_run(&h, cases[_i].statement), cases[_i].answer);
}
END_TEST

START_TEST(backends_have_starrocks_columns)
{
    static const char columns[] =
        "BackendId|IP|HeartbeatPort|BePort|HttpPort|BrpcPort|LastStartTime|"
        "LastHeartbeat|Alive|SystemDecommissioned|ClusterDecommissioned|"
        "TabletNum|DataUsedCapacity|AvailCapacity|TotalCapacity|UsedPct|"
        "MaxDiskUsedPct|ErrMsg|Version|Status|DataTotalCapacity|DataUsedPct|"
        "CpuCores|NumRunningQueries|MemUsedPct|CpuUsedPct|DataCacheMetrics|"
        "Location\n#10001|127.0.0.1|\\N|\\N|\\N|\\N|2026-11-21 02:31:07|";
    const char *answer = harness_run(&h, "SHOW BACKENDS");

    ck_assert_ptr_eq(strstr(answer, columns), answer);
    ck_assert_ptr_nonnull(strstr(answer, "|true|false|false|"));
    ck_assert_ptr_nonnull(strstr(answer, "|" HW_VERSION "|"));
    scripted.status.state = NODE_GONE;
    answer = harness_run(&h, "SHOW BACKENDS");
    ck_assert_ptr_nonnull(strstr(answer, "|false|false|false|"));
    ck_assert_ptr_nonnull(strstr(answer, "the database (pid 4711) ended"));
}
END_TEST

/* Each reason why profiling is not to be had, in heapwire.profiler. */
static const struct {
    enum node_state state;
    uint32_t allocator, config_prof, opt_prof, secure;
    const char *reason;
} reasons[] = {
    {NODE_CONNECTED, AGENT_OK, 1, 1, 0, ""},
    {NODE_ABSENT, AGENT_OK, 1, 1, 0, "no database with the heapwire agent"},
    {NODE_UNRESPONSIVE, AGENT_OK, 1, 1, 0, "not responding since"},
    {NODE_GONE, AGENT_OK, 1, 1, 0, "ended"},
    {NODE_CONNECTED, AGENT_NO_JEMALLOC, 0, 0, 0, "does not allocate through"},
    {NODE_CONNECTED, AGENT_NO_PROF, 0, 0, 0, "without --enable-prof"},
    {NODE_CONNECTED, AGENT_PROF_OFF, 1, 0, 0,
     "MALLOC_CONF=prof:true,prof_active:false"},
    {NODE_CONNECTED, AGENT_PROF_OFF, 1, 0, 1, "ignores MALLOC_CONF"},
};

START_TEST(the_profiler_says_why_not)
{
    const char *reason;

    scripted.status.state = reasons[_i].state;
    scripted.status.hello.allocator = reasons[_i].allocator;
    scripted.status.hello.config_prof = reasons[_i].config_prof;
    scripted.status.hello.opt_prof = reasons[_i].opt_prof;
    scripted.status.hello.secure = reasons[_i].secure;
    reason = harness_run(&h, "select reason from heapwire.profiler") +
             strlen("reason\n");
    if (*reasons[_i].reason)
        ck_assert_ptr_nonnull(strstr(reason, reasons[_i].reason));
    else
        ck_assert_str_eq(reason, "");
}
END_TEST

START_TEST(kill_reaches_the_host)
{
    ck_assert_str_eq(harness_run(&h, "KILL QUERY 8"), "OK");
    ck_assert_uint_eq(h.killed, 8);
    ck_assert(h.killed_query);
    ck_assert_str_eq(harness_run(&h, "KILL CONNECTION 7"), "OK");
    ck_assert_uint_eq(h.killed, 7);
    ck_assert(!h.killed_query);
    ck_assert_str_eq(harness_run(&h, "KILL QUERY connection_id() + 1"), "OK");
    ck_assert_uint_eq(h.killed, 8);
}
END_TEST

START_TEST(only_admins_see_others)
{
    harness_fini(&h);
    harness_init(&h, PRIVILEGE_ALL & ~PRIVILEGE_ADMIN);
    ck_assert_str_eq(harness_run(&h, "SHOW FULL PROCESSLIST"),
                     "Id|User|Host|db|Command|Time|State|Info\n#7|admin|"
                     "localhost|\\N|Query|#3||SHOW PROCESSLIST");
}
END_TEST

/* ann has an account, too. */
static void
be_ann(uint32_t privileges, bool trusted)
{
    harness_fini(&h);
    harness_init(&h, privileges);
    strcpy(h.session->who.user, "ann");
    h.session->who.trusted = trusted;
}

static const struct {
    uint32_t privileges;
    bool trusted;
    const char *statement, *words;
} anns[] = {
    {PRIVILEGE_STATUS, false, "SHOW GRANTS FOR ann",
     "Grants for ann@localhost"},
    {PRIVILEGE_ALL, true, "SHOW GRANTS", "Grants for ann@localhost"},
    {PRIVILEGE_ALL, true, "SHOW GRANTS FOR ann", "Grants for ann@%"},
    {PRIVILEGE_STATUS, false, "SHOW CREATE USER ann",
     "'mysql_native_password'"},
    {PRIVILEGE_ALL, true, "SHOW CREATE USER CURRENT_USER()", "'auth_socket'"},
    {PRIVILEGE_ALL, true, "SHOW CREATE USER ann", "'mysql_native_password'"},
    {PRIVILEGE_STATUS, false, "select host, plugin from mysql.user",
     "\n%|mysql_native_password"},
    {PRIVILEGE_STATUS, true, "select host, plugin from mysql.user",
     "host|plugin\nlocalhost|auth_socket"},
};

START_TEST(a_trusted_user_is_no_account_of_that_name)
{
    const char *answer;

    be_ann(anns[_i].privileges, anns[_i].trusted);
    answer = harness_run(&h, anns[_i].statement);
    ck_assert_msg(strstr(answer, anns[_i].words), "%s", answer);
}
END_TEST

START_TEST(a_trusted_user_without_an_account_is_found)
{
    h.session->who.trusted = true;
    ck_assert_ptr_nonnull(strstr(harness_run(&h, "SHOW GRANTS FOR admin"),
                                 "Grants for admin@localhost"));
    ck_assert_ptr_nonnull(
        strstr(harness_run(&h, "SHOW GRANTS FOR nobody"), "1141/42000"));
}
END_TEST

START_TEST(all_privileges_are_shown)
{
    char list[128], *rest = list, *name;

    privileges_list(PRIVILEGE_ALL, list, sizeof(list));
    harness_run(&h, "SHOW PRIVILEGES");
    while ((name = strsep(&rest, ",")) != NULL)
        ck_assert_msg(strcasestr(h.answer.data, name), "%s", name);
}
END_TEST

START_TEST(show_needs_the_status_privilege)
{
    harness_fini(&h);
    harness_init(&h, 0);
    harness_run(&h, "SHOW BACKENDS");
    ck_assert_uint_eq(h.error.code, ER_PRIVILEGE);
    harness_run(&h, "SHOW COMPUTE NODES");
    ck_assert_uint_eq(h.error.code, ER_PRIVILEGE);
    ck_assert_str_eq(harness_run(&h, "SHOW DATABASES LIKE 'h%'"),
                     "Database (h%)\nheapwire");
}
END_TEST

static const char *
fields(const char *table)
{
    struct span span = {table, strlen(table)};

    harness_close(&h);
    buffer_clear(&h.answer);
    memset(&h.error, 0, sizeof(h.error));
    h.cursor = sql_open_fields(h.session, span, &h.error);
    if (!h.cursor)
        return h.error.text;
    for (size_t i = 0; i < h.cursor->column_count; i++)
        buffer_format(&h.answer, "%s.%s.%s ", h.cursor->columns[i].database,
                      h.cursor->columns[i].table, h.cursor->columns[i].name);
    ck_assert_int_eq(harness_finish(&h), STEP_DONE);
    return h.answer.data;
}

START_TEST(field_lists_come_from_the_catalog)
{
    ck_assert_str_eq(fields("nodes"), "No database selected");
    ck_assert_uint_eq(h.error.code, ER_NO_DB);
    harness_run(&h, "USE heapwire");
    ck_assert_str_eq(fields("NODES"),
                     "heapwire.nodes.id heapwire.nodes.address "
                     "heapwire.nodes.port heapwire.nodes.role "
                     "heapwire.nodes.alive heapwire.nodes.since "
                     "heapwire.nodes.version heapwire.nodes.state "
                     "heapwire.nodes.self heapwire.nodes.last_error "
                     "heapwire.nodes.last_error_at "
                     "heapwire.nodes.round_trip_ms "
                     "heapwire.nodes.profiling ");
    ck_assert_str_eq(fields("nope"), "Table 'heapwire.nope' doesn't exist");
    ck_assert_uint_eq(h.error.code, ER_NO_SUCH_TABLE);
}
END_TEST

/* information_schema and the tables tell the same columns. */
START_TEST(the_catalog_describes_itself)
{
    const char *count =
        harness_run(&h, "select count(*) from information_schema.columns where "
                        "table_schema = 'heapwire' and table_name in "
                        "('nodes', 'profiler', 'sessions')");

    ck_assert_str_eq(count, "count(*)\n#46");
    ck_assert_str_eq(
        harness_run(&h, "select c.table_name from information_schema.columns "
                        "c left join information_schema.tables t on "
                        "t.table_name = c.table_name and t.table_schema = "
                        "c.table_schema where t.table_name is null"),
        "table_name");
}
END_TEST

START_TEST(privileges_have_names)
{
    struct error err;
    uint32_t bits = 77;

    ck_assert_int_eq(privileges_parse("status, profile", &bits, &err), 0);
    ck_assert_uint_eq(bits, PRIVILEGE_STATUS | PRIVILEGE_PROFILE);
    ck_assert_int_eq(privileges_parse(" CONTROL,cluster ,admin", &bits, &err),
                     0);
    ck_assert_uint_eq(bits,
                      PRIVILEGE_CONTROL | PRIVILEGE_CLUSTER | PRIVILEGE_ADMIN);
    ck_assert_int_eq(privileges_parse("all", &bits, &err), 0);
    ck_assert_uint_eq(bits, PRIVILEGE_ALL);
    ck_assert_int_eq(privileges_parse("", &bits, &err), 0);
    ck_assert_uint_eq(bits, 0);
    bits = 77;
    ck_assert_int_eq(privileges_parse("status, root", &bits, &err), -1);
    ck_assert_uint_eq(bits, 77);
    ck_assert_ptr_nonnull(strstr(err.text, "'root'"));
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

int
main(void)
{
    Suite *suite = suite_create("show");
    TCase *tc = tcase_create("show");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, statements_have_mysqls_answers, 0, COUNT(cases));
    tcase_add_test(tc, backends_have_starrocks_columns);
    tcase_add_loop_test(tc, the_profiler_says_why_not, 0, COUNT(reasons));
    tcase_add_test(tc, kill_reaches_the_host);
    tcase_add_test(tc, only_admins_see_others);
    tcase_add_loop_test(tc, a_trusted_user_is_no_account_of_that_name, 0,
                        COUNT(anns));
    tcase_add_test(tc, a_trusted_user_without_an_account_is_found);
    tcase_add_test(tc, all_privileges_are_shown);
    tcase_add_test(tc, show_needs_the_status_privilege);
    tcase_add_test(tc, field_lists_come_from_the_catalog);
    tcase_add_test(tc, the_catalog_describes_itself);
    tcase_add_test(tc, privileges_have_names);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
