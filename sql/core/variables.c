/* variables.c - see variables.h.  The table has the variables that clients ask
 * for. */
#include "variables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "errors.h"
#include "sql_session.h"

#define SQL_MODE                                                               \
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"     \
    "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
#define TRACKED                                                                \
    "time_zone,autocommit,character_set_client,character_set_results,"         \
    "character_set_connection"
#define NO_LIMIT        "18446744073709551615"
#define ENGINE_VARIABLE "default_storage_engine"

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
    INT_READ("connect_timeout", "10"),
    {"cte_max_recursion_depth", VARIABLE_INT, ACCESS_SESSION, "1000000", NULL,
     NULL, 0, UINT32_MAX},
    TEXT_READ("datadir", ""),
    TEXT_READ("default_authentication_plugin", "mysql_native_password"),
    TEXT("default_collation_for_utf8mb4", "utf8mb4_general_ci"),
    TEXT(ENGINE_VARIABLE, "heapwire"),
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
    INT("innodb_lock_wait_timeout", "50"),
    BOOL_READ("innodb_read_only", "1"),
    TEXT_READ("innodb_version", "8.0.36"),
    COMPUTED("interactive_timeout", VARIABLE_INT, ACCESS_SESSION, compute_idle),
    TEXT("lc_messages", "en_US"),
    TEXT("lc_time_names", "en_US"),
    TEXT_READ("license", "BSD-2-Clause"),
    BOOL_READ("local_infile", "0"),
    INT("lock_wait_timeout", "31536000"),
    BOOL_READ("log_bin", "0"),
    INT("long_query_time", "10"),
    BOOL_READ("lower_case_file_system", "0"),
    INT_READ("lower_case_table_names", "0"),
    INT_READ("max_allowed_packet", "16777216"),
    COMPUTED("max_connections", VARIABLE_INT, ACCESS_READ,
             compute_max_connections),
    INT("max_execution_time", "0"),
    INT("max_join_size", NO_LIMIT),
    INT("net_buffer_length", "16384"),
    INT("net_read_timeout", "30"),
    INT("net_write_timeout", "60"),
    TEXT("optimizer_switch", ""),
    BOOL_READ("performance_schema", "0"),
    TEXT_READ("pid_file", ""),
    COMPUTED("port", VARIABLE_INT, ACCESS_READ, compute_port),
    BOOL("profiling", "0"),
    INT_READ("protocol_version", "10"),
    COMPUTED("pseudo_thread_id", VARIABLE_INT, ACCESS_READ, compute_thread_id),
    INT_READ("query_cache_size", "0"),
    TEXT_READ("query_cache_type", "OFF"),
    BOOL_READ("read_only", "1"),
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
    BOOL_READ("slow_query_log", "0"),
    COMPUTED("socket", VARIABLE_TEXT, ACCESS_READ, compute_socket),
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
    INT_READ("thread_cache_size", "0"),
    TEXT("time_zone", "SYSTEM"),
    TEXT_READ("tls_version", "TLSv1.2,TLSv1.3"),
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
    COMPUTED("wait_timeout", VARIABLE_INT, ACCESS_SESSION, compute_idle),
    COMPUTED("warning_count", VARIABLE_INT, ACCESS_READ, compute_warnings),
};

const size_t variable_count = sizeof(variables) / sizeof(variables[0]);

/* ---- their values ---- */

enum { SHOWN = 64 }; /* bytes of a name or value in an error */

static int
shown(struct span text)
{
    return (int)(text.size < SHOWN ? text.size : SHOWN);
}

const struct variable *
variable_find(struct span name, struct error *err)
{
    size_t low = 0, high = variable_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct variable *v = &variables[middle];
        struct span other = {v->same_as, v->same_as ? strlen(v->same_as) : 0};
        int order = span_compare_nocase(name, v->name);

        if (order == 0)
            return v->same_as ? variable_find(other, err) : v;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    error_set(err, ER_UNKNOWN_VARIABLE, "Unknown system variable '%.*s'",
              shown(name), name.data);
    return NULL;
}

static void
set_text(struct value *out, const char *text)
{
    out->type = VALUE_TEXT;
    out->data = text;
    out->size = strlen(text);
}

/* Keeps a number past 63 bits (the usual "no limit") as a text. */
static void
set_number(struct value *out, const char *text)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || *end) {
        set_text(out, text);
        return;
    }
    out->type = VALUE_INT;
    out->integer = number;
}

void
variable_get(const struct sql_session *session, const struct variable *variable,
             enum variable_scope scope, char room[VARIABLE_ROOM],
             struct value *out)
{
    struct span none = {"", 0};
    const struct session_value *own =
        scope == SCOPE_GLOBAL ? NULL
                              : session_value_find(session, variable, none);
    const char *text = variable->value;

    memset(out, 0, sizeof(*out));
    if (own) {
        *out = own->value;
        return;
    }
    if (variable->compute) {
        variable->compute(session, room, VARIABLE_ROOM);
        text = room;
    }
    if (variable->type == VARIABLE_TEXT)
        set_text(out, text);
    else
        set_number(out, text);
}

static int
refuse(const struct variable *variable, struct span value, struct error *err)
{
    error_set(err, ER_WRONG_VALUE,
              "Variable '%s' can't be set to the value of '%.*s'",
              variable->name, shown(value), value.data);
    return -1;
}

int
variable_refuse(const char *name, struct span value, uint64_t least,
                uint64_t most, struct error *err)
{
    error_set(err, ER_WRONG_VALUE,
              "Variable '%s' can't be set to the value of '%.*s'; it takes "
              "%" PRIu64 " to %" PRIu64,
              name, shown(value), value.data, least, most);
    return -1;
}

static int
refuse_type(const struct variable *variable, struct error *err)
{
    error_set(err, ER_WRONG_TYPE_FOR_VARIABLE,
              "Incorrect argument type to variable '%s'", variable->name);
    return -1;
}

static int
accept_bool(const struct variable *variable, const struct value *given,
            struct value *out, struct error *err)
{
    static const struct {
        const char *word;
        int64_t truth;
    } words[] = {{"ON", 1},    {"OFF", 0}, {"TRUE", 1},
                 {"FALSE", 0}, {"1", 1},   {"0", 0}};
    struct span text = {given->data, given->size};
    char number[32];

    if (given->type != VALUE_INT && given->type != VALUE_TEXT)
        return refuse_type(variable, err);
    if (given->type == VALUE_INT) {
        text.size = (size_t)snprintf(number, sizeof(number), "%lld",
                                     (long long)given->integer);
        text.data = number;
    }
    out->type = VALUE_INT;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (span_is_nocase(text, words[i].word)) {
            out->integer = words[i].truth;
            return 0;
        }
    return refuse(variable, text, err);
}

static bool
all_digits(const struct value *given)
{
    for (size_t i = 0; i < given->size; i++)
        if (given->data[i] < '0' || given->data[i] > '9')
            return false;
    return given->size > 0;
}

/* Accepts a number in the variable's range. */
static int
accept_range(const struct variable *variable, struct value *value,
             struct error *err)
{
    char digits[32];

    if (value->type == VALUE_TEXT)
        snprintf(digits, sizeof(digits), "%.*s",
                 (int)(value->size < 20 ? value->size : 20), value->data);
    else
        snprintf(digits, sizeof(digits), "%" PRId64, value->integer);
    if (value->type == VALUE_TEXT) {
        value->type = VALUE_INT;
        value->integer = strtoll(digits, NULL, 10);
    }
    if (value->integer >= variable->least && value->integer <= variable->most)
        return 0;
    return variable_refuse(
        variable->name, (struct span){digits, strlen(digits)},
        (uint64_t)variable->least, (uint64_t)variable->most, err);
}

static int
accept_int(const struct variable *variable, const struct value *given,
           struct value *out, struct error *err)
{
    *out = *given;
    if (given->type == VALUE_INT)
        return 0;
    if (given->type == VALUE_DOUBLE && given->real >= 9e18) {
        set_text(out, "18446744073709551615"); /* past SQLite's integers */
        return 0;
    }
    if (given->type == VALUE_TEXT && all_digits(given))
        return 0;
    return refuse_type(variable, err);
}

/* Whether list, words separated by commas, contains word. */
static bool
has_word(struct span list, const char *word)
{
    while (list.size > 0) {
        const char *comma = memchr(list.data, ',', list.size);
        struct span first = {list.data,
                             comma ? (size_t)(comma - list.data) : list.size};
        size_t step = first.size + (comma ? 1 : 0);

        while (first.size > 0 && *first.data == ' ') {
            first.data++;
            first.size--;
        }
        if (span_is_nocase(first, word))
            return true;
        list.data += step;
        list.size -= step;
    }
    return false;
}

/* Whether value has modes that would change how later statements are read. */
static bool
changes_reading(const struct variable *variable, struct span value)
{
    return strcmp(variable->name, "sql_mode") == 0 &&
           (has_word(value, "ANSI") || has_word(value, "NO_BACKSLASH_ESCAPES"));
}

/* The engines that tools look for besides ours. */
static int
accept_engine(struct span name, struct value *out, struct error *err)
{
    static const char *const engines[] = {"heapwire", "InnoDB", "MyISAM"};

    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
        if (span_is_nocase(name, engines[i])) {
            set_text(out, engines[i]);
            return 0;
        }
    error_set(err, ER_UNKNOWN_ENGINE,
              "Unknown storage engine '%.*s'; heapwire, InnoDB and MyISAM are "
              "known",
              shown(name), name.data);
    return -1;
}

static int
accept_text(const struct variable *variable, const struct value *given,
            struct value *out, struct error *err)
{
    struct span text = {given->data, given->size};

    *out = *given;
    if (given->type == VALUE_NULL)
        return variable->access == ACCESS_NULL
                   ? 0
                   : refuse(variable, (struct span){"NULL", 4}, err);
    if (given->type == VALUE_INT && given->integer == 0) {
        set_text(out, ""); /* the empty set, as in SET sql_mode = 0 */
        text.size = 0;
    } else if (given->type != VALUE_TEXT) {
        return refuse_type(variable, err);
    }
    if (strcmp(variable->name, ENGINE_VARIABLE) == 0)
        return accept_engine(text, out, err);
    return changes_reading(variable, text) ? refuse(variable, text, err) : 0;
}

int
variable_accept(const struct variable *variable, const struct value *given,
                struct value *out, struct error *err)
{
    memset(out, 0, sizeof(*out));
    if (variable->access == ACCESS_READ) {
        error_set(err, ER_VARIABLE_READ_ONLY,
                  "Variable '%s' is a read only variable", variable->name);
        return -1;
    }
    if (!given && !variable->value && variable->type == VARIABLE_INT)
        return 0; /* NULL: the value is computed; see session_value_apply */
    if (!given && !variable->value) { /* the default of autocommit */
        out->type = VALUE_INT;
        out->integer = 1;
        return 0;
    }
    if (!given) {
        if (variable->type == VARIABLE_TEXT)
            set_text(out, variable->value);
        else
            set_number(out, variable->value);
        return 0;
    }
    switch (variable->type) {
    case VARIABLE_BOOL:
        return accept_bool(variable, given, out, err);
    case VARIABLE_INT:
        if (accept_int(variable, given, out, err) != 0)
            return -1;
        return variable->most ? accept_range(variable, out, err) : 0;
    case VARIABLE_TEXT:
        break;
    }
    return accept_text(variable, given, out, err);
}

const char *
variable_engine(const struct sql_session *session)
{
    struct span name = {ENGINE_VARIABLE, strlen(ENGINE_VARIABLE)};
    struct value value;

    variable_get(session, variable_find(name, NULL), SCOPE_SESSION, NULL,
                 &value);
    return value.data;
}

bool
variable_sql_mode(const struct sql_session *session, const char *word)
{
    struct span name = {"sql_mode", 8};
    const struct variable *variable = variable_find(name, NULL);
    char room[VARIABLE_ROOM];
    struct value value;
    struct span text;

    variable_get(session, variable, SCOPE_SESSION, room, &value);
    text = (struct span){value.data, value.size};
    return value.type == VALUE_TEXT && has_word(text, word);
}
