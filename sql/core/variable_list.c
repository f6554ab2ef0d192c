/*
 * variable_list.c - the system variables that clients ask for.
 *
 * Most exist because some client, driver or tool reads them after login and
 * fails, or assumes something worse, without them: JDBC's drivers ask for
 * about 20.  Their values say what holds here: nothing is buffered, logged or
 * written (sizes 0, read_only 1).  Only a few have an effect; sql_session.c
 * applies those.  Rows stay sorted by name, since variable_find() searches by
 * halves.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sql_session.h"
#include "variables.h"

#define SQL_MODE                                                               \
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"     \
    "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
/* MySQL's default list of what a session tells its client in an OK. */
#define TRACKED                                                                \
    "time_zone,autocommit,character_set_client,character_set_results,"         \
    "character_set_connection"
/* 2^64 - 1, MySQL's way to write "no limit"; it does not fit into 63 bits, see
 * set_number(). */
#define NO_LIMIT "18446744073709551615"

static void
compute_autocommit(const struct sql_session *session, char *out, size_t size)
{
    snprintf(out, size, "%d", session->autocommit);
}

static void
compute_hostname(const struct sql_session *session, char *out, size_t size)
{
    (void)session;
    if (gethostname(out, size) != 0)
        out[0] = '\0';
    /* gethostname() does not end a name that is cut. */
    out[size - 1] = '\0';
}

static void
compute_idle(const struct sql_session *session, char *out, size_t size)
{
    snprintf(out, size, "%u", session->node->idle_timeout_s);
}

static void
compute_warnings(const struct sql_session *session, char *out, size_t size)
{
    snprintf(out, size, "%" PRIu64, session->warnings.total);
}

static void
compute_timeout(const struct sql_session *session, char *out, size_t size)
{
    uint32_t node_s = session->node->statement_timeout_s;

    snprintf(out, size, "%" PRIu32, node_s ? node_s : TIMEOUT_DEFAULT_S);
}

static void
compute_machine(const struct sql_session *session, char *out, size_t size)
{
    struct utsname name;

    (void)session;
    snprintf(out, size, "%s", uname(&name) == 0 ? name.machine : "");
}

static void
compute_max_connections(const struct sql_session *session, char *out,
                        size_t size)
{
    snprintf(out, size, "%" PRIu32, session->node->max_connections);
}

static void
compute_open_files(const struct sql_session *session, char *out, size_t size)
{
    struct rlimit limit = {0};

    (void)session;
    getrlimit(RLIMIT_NOFILE, &limit);
    snprintf(out, size, "%" PRIu64, (uint64_t)limit.rlim_cur);
}

static void
compute_port(const struct sql_session *session, char *out, size_t size)
{
    snprintf(out, size, "%u", session->node->port);
}

static void
compute_require_tls(const struct sql_session *session, char *out, size_t size)
{
    snprintf(out, size, "%d", session->node->requires_tls);
}

static void
compute_server_id(const struct sql_session *session, char *out, size_t size)
{
    snprintf(out, size, "%" PRIu32, session->node->id);
}

/* The node's id is unique in a cluster, so the UUID ends with it.  Version 8 of
 * RFC 9562 leaves the digits to the application. */
static void
compute_server_uuid(const struct sql_session *session, char *out, size_t size)
{
    snprintf(out, size, "68656170-7769-8765-8000-%012" PRIx32,
             session->node->id);
}

static void
compute_socket(const struct sql_session *session, char *out, size_t size)
{
    snprintf(out, size, "%s",
             session->node->socket ? session->node->socket : "");
}

static void
compute_thread_id(const struct sql_session *session, char *out, size_t size)
{
    snprintf(out, size, "%" PRIu32, session->connection_id);
}

#define TEXT(name, value)                                                      \
    {                                                                          \
        name, VARIABLE_TEXT, ACCESS_SESSION, value, NULL, NULL                 \
    }
#define TEXT_NULL(name, value)                                                 \
    {                                                                          \
        name, VARIABLE_TEXT, ACCESS_NULL, value, NULL, NULL                    \
    }
#define TEXT_READ(name, value)                                                 \
    {                                                                          \
        name, VARIABLE_TEXT, ACCESS_READ, value, NULL, NULL                    \
    }
#define INT(name, value)                                                       \
    {                                                                          \
        name, VARIABLE_INT, ACCESS_SESSION, value, NULL, NULL                  \
    }
#define INT_READ(name, value)                                                  \
    {                                                                          \
        name, VARIABLE_INT, ACCESS_READ, value, NULL, NULL                     \
    }
#define BOOL(name, value)                                                      \
    {                                                                          \
        name, VARIABLE_BOOL, ACCESS_SESSION, value, NULL, NULL                 \
    }
#define BOOL_READ(name, value)                                                 \
    {                                                                          \
        name, VARIABLE_BOOL, ACCESS_READ, value, NULL, NULL                    \
    }
#define COMPUTED(name, type, access, function)                                 \
    {                                                                          \
        name, type, access, NULL, function, NULL                               \
    }
#define ALIAS(name, type, other)                                               \
    {                                                                          \
        name, type, ACCESS_SESSION, NULL, NULL, other                          \
    }

/* Sorted by name, as SHOW VARIABLES lists them. */
const struct variable variables[] = {
    INT("auto_increment_increment", "1"),
    INT("auto_increment_offset", "1"),
    COMPUTED("autocommit", VARIABLE_BOOL, ACCESS_SESSION, compute_autocommit),
    TEXT_READ("basedir", ""),
    INT_READ("binlog_cache_size", "0"),
    TEXT_READ("binlog_format", "ROW"),
    TEXT("character_set_client", "utf8mb4"),
    TEXT("character_set_connection", "utf8mb4"),
    TEXT("character_set_database", "utf8mb4"),
    TEXT("character_set_filesystem", "binary"),
    TEXT_NULL("character_set_results", "utf8mb4"),
    TEXT("character_set_server", "utf8mb4"),
    TEXT_READ("character_set_system", "utf8mb3"),
    TEXT("collation_connection", "utf8mb4_general_ci"),
    TEXT("collation_database", "utf8mb4_general_ci"),
    TEXT("collation_server", "utf8mb4_general_ci"),
    TEXT_READ("concurrent_insert", "NEVER"),
    INT_READ("connect_timeout", "10"),
    {"cte_max_recursion_depth", VARIABLE_INT, ACCESS_SESSION, "1000000", NULL,
     NULL, 0, UINT32_MAX},
    TEXT_READ("datadir", ""),
    TEXT_READ("default_authentication_plugin", "mysql_native_password"),
    TEXT("default_collation_for_utf8mb4", "utf8mb4_general_ci"),
    TEXT("default_storage_engine", "heapwire"),
    TEXT("default_tmp_storage_engine", "heapwire"),
    INT_READ("error_count", "0"),
    TEXT_READ("event_scheduler", "OFF"),
    BOOL("foreign_key_checks", "1"),
    BOOL_READ("general_log", "0"),
    INT("group_concat_max_len", "1024"),
    TEXT_READ("gtid_mode", "OFF"),
    TEXT_READ("have_openssl", "YES"),
    TEXT_READ("have_profiling", "NO"),
    TEXT_READ("have_query_cache", "NO"),
    TEXT_READ("have_ssl", "YES"),
    TEXT_READ("have_symlink", "DISABLED"),
    {"heapwire_parallel", VARIABLE_INT, ACCESS_SESSION, "0", NULL, NULL, 0,
     PARALLEL_MAX},
    {"heapwire_timeout", VARIABLE_INT, ACCESS_SESSION, NULL, compute_timeout,
     NULL, 1, TIMEOUT_MAX_S},
    COMPUTED("hostname", VARIABLE_TEXT, ACCESS_READ, compute_hostname),
    INT("information_schema_stats_expiry", "86400"),
    TEXT_READ("init_connect", ""),
    INT_READ("innodb_buffer_pool_size", "0"),
    INT("innodb_lock_wait_timeout", "50"),
    INT_READ("innodb_log_file_size", "0"),
    INT_READ("innodb_log_files_in_group", "0"),
    BOOL_READ("innodb_read_only", "1"),
    TEXT_READ("innodb_version", ""),
    {"interactive_timeout", VARIABLE_INT, ACCESS_SESSION, NULL, compute_idle,
     NULL, 1, 0},
    INT("join_buffer_size", "0"),
    INT_READ("key_buffer_size", "0"),
    INT_READ("key_cache_block_size", "1024"),
    TEXT("lc_messages", "en_US"),
    TEXT("lc_time_names", "en_US"),
    TEXT_READ("license", "BSD-2-Clause"),
    BOOL_READ("local_infile", "0"),
    INT("lock_wait_timeout", "31536000"),
    BOOL_READ("log_bin", "0"),
    TEXT_READ("log_error", "stderr"),
    INT("long_query_time", "10"),
    BOOL_READ("lower_case_file_system", "0"),
    INT_READ("lower_case_table_names", "0"),
    INT_READ("max_allowed_packet", "16777216"),
    COMPUTED("max_connections", VARIABLE_INT, ACCESS_READ,
             compute_max_connections),
    INT("max_execution_time", "0"),
    INT("max_heap_table_size", "0"),
    INT("max_join_size", NO_LIMIT),
    INT("net_buffer_length", "16384"),
    INT("net_read_timeout", "30"),
    INT("net_write_timeout", "60"),
    COMPUTED("open_files_limit", VARIABLE_INT, ACCESS_READ, compute_open_files),
    TEXT("optimizer_switch", ""),
    BOOL_READ("performance_schema", "0"),
    TEXT_READ("pid_file", ""),
    COMPUTED("port", VARIABLE_INT, ACCESS_READ, compute_port),
    BOOL("profiling", "0"),
    INT_READ("protocol_version", "10"),
    COMPUTED("pseudo_thread_id", VARIABLE_INT, ACCESS_READ, compute_thread_id),
    INT_READ("query_cache_size", "0"),
    TEXT_READ("query_cache_type", "OFF"),
    INT("read_buffer_size", "0"),
    BOOL_READ("read_only", "1"),
    INT("read_rnd_buffer_size", "0"),
    COMPUTED("require_secure_transport", VARIABLE_BOOL, ACCESS_READ,
             compute_require_tls),
    TEXT_READ("secure_file_priv", ""),
    COMPUTED("server_id", VARIABLE_INT, ACCESS_READ, compute_server_id),
    COMPUTED("server_uuid", VARIABLE_TEXT, ACCESS_READ, compute_server_uuid),
    TEXT("session_track_gtids", "OFF"),
    BOOL("session_track_schema", "1"),
    BOOL("session_track_state_change", "0"),
    TEXT("session_track_system_variables", TRACKED),
    TEXT("session_track_transaction_info", "OFF"),
    BOOL_READ("skip_name_resolve", "1"),
    INT_READ("slow_launch_time", "2"),
    BOOL_READ("slow_query_log", "0"),
    COMPUTED("socket", VARIABLE_TEXT, ACCESS_READ, compute_socket),
    INT("sort_buffer_size", "0"),
    BOOL("sql_auto_is_null", "0"),
    BOOL("sql_big_selects", "1"),
    BOOL_READ("sql_log_off", "0"),
    TEXT("sql_mode", SQL_MODE),
    BOOL("sql_notes", "1"),
    BOOL("sql_quote_show_create", "1"),
    BOOL("sql_safe_updates", "0"),
    INT("sql_select_limit", NO_LIMIT),
    BOOL("sql_warnings", "0"),
    TEXT_READ("ssl_ca", ""),
    TEXT_READ("ssl_cert", ""),
    BOOL_READ("super_read_only", "1"),
    TEXT_READ("system_time_zone", "UTC"),
    INT_READ("table_definition_cache", "2000"),
    INT_READ("table_open_cache", "4000"),
    INT_READ("thread_cache_size", "0"),
    INT_READ("thread_stack", "0"),
    TEXT("time_zone", "SYSTEM"),
    TEXT_READ("tls_version", "TLSv1.2,TLSv1.3"),
    INT("tmp_table_size", "0"),
    TEXT_READ("tmpdir", ""),
    TEXT("transaction_isolation", "REPEATABLE-READ"),
    BOOL("transaction_read_only", "0"),
    ALIAS("tx_isolation", VARIABLE_TEXT, "transaction_isolation"),
    ALIAS("tx_read_only", VARIABLE_BOOL, "transaction_read_only"),
    BOOL("unique_checks", "1"),
    TEXT_READ("version", SQL_SERVER_VERSION),
    TEXT_READ("version_comment", "heapwire " HW_VERSION),
    COMPUTED("version_compile_machine", VARIABLE_TEXT, ACCESS_READ,
             compute_machine),
    TEXT_READ("version_compile_os", "Linux"),
    {"wait_timeout", VARIABLE_INT, ACCESS_SESSION, NULL, compute_idle, NULL, 1,
     0},
    COMPUTED("warning_count", VARIABLE_INT, ACCESS_READ, compute_warnings),
};

const size_t variable_count = sizeof(variables) / sizeof(variables[0]);
