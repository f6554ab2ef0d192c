/*
 * tables_accounts.c - sessions, settings, accounts and the log of executed
 * statements: heapwire.sessions, settings, users, audit_log, and MySQL's
 * process lists.
 *
 * The server owns these lists, behind locks of its own; the host's functions
 * copy the rows (struct sql_host), so that no lock is held while rows are
 * made.  Who may see what is checked per row.
 */
#include <string.h>

#include "catalog_tables.h"
#include "errors.h"
#include "memory.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"

enum { SESSIONS_MAX = 16384, SHORT_INFO = 100 /* characters, as MySQL cuts */ };

size_t
sessions_list(const struct sql_session *session, struct sql_session_row **out)
{
    const struct sql_host *host = &session->node->host;

    /* Room for the most there can be: the number may change between two
     * calls. */
    *out = mem_zalloc(SESSIONS_MAX, sizeof(**out));
    return *out ? host->list_sessions(host->arg, *out, SESSIONS_MAX) : 0;
}

/* Counts the bytes of the first SHORT_INFO characters, to which SHOW
 * PROCESSLIST cuts a statement. */
static size_t
cut_info(const char *info)
{
    size_t characters = 0, i = 0;

    for (; info[i]; i++)
        if (((unsigned char)info[i] & 0xc0) != 0x80 &&
            ++characters > SHORT_INFO)
            break;
    return i;
}

static void
add_session(struct rowset *out, const struct sql_session_row *row, bool whole)
{
    rowset_int(out, row->id);
    rowset_text(out, row->user);
    rowset_text(out, row->host);
    rowset_text(out, *row->database ? row->database : NULL);
    rowset_text(out, row->command);
    rowset_int(out, (int64_t)row->seconds);
    rowset_text(out, row->state);
    if (row->has_info)
        rowset_bytes(out, row->info,
                     whole ? strlen(row->info) : cut_info(row->info));
    else
        rowset_null(out);
}

/* Lists the sessions.  Another user's take the privilege ADMIN; a session's
 * own user always sees them.  Two users of one name are different if only one
 * is trusted by the operating system. */
static void
produce_session_rows(const struct catalog_scope *scope, struct rowset *out,
                     bool whole)
{
    const struct sql_identity *who = &scope->session->who;
    struct sql_session_row *rows;
    size_t count = sessions_list(scope->session, &rows);

    if (!rows)
        out->failed = true;
    for (size_t i = 0; i < count; i++)
        if ((who->privileges & PRIVILEGE_ADMIN) ||
            (rows[i].trusted == who->trusted &&
             strcmp(rows[i].user, who->user) == 0))
            add_session(out, &rows[i], whole);
    mem_free(rows);
}

static void
produce_sessions(const struct catalog_scope *scope, struct rowset *out)
{
    produce_session_rows(scope, out, true);
}

static void
produce_show_processlist(const struct catalog_scope *scope, struct rowset *out)
{
    produce_session_rows(scope, out, scope->full);
}

static const struct catalog_column sessions[] = {
    {"id", &type_bigint, NULL, CATALOG_KEY},
    {"user", &type_name_nn},
    {"host", &type_text_nn},
    {"db", &type_name},
    {"command", &type_name_nn},
    {"time", &type_bigint_nn},
    {"state", &type_name_nn},
    {"info", &type_text},
};

static const struct catalog_column processlist[] = {
    {"ID", &type_ubigint_nn},   {"USER", &type_name_nn},
    {"HOST", &type_grantee_nn}, {"DB", &type_name},
    {"COMMAND", &type_name_nn}, {"TIME", &type_int_nn},
    {"STATE", &type_name},      {"INFO", &type_text},
};

static const struct catalog_column show_processlist[] = {
    {"Id", &type_ubigint_nn},   {"User", &type_name_nn},
    {"Host", &type_grantee_nn}, {"db", &type_name},
    {"Command", &type_name_nn}, {"Time", &type_int_nn},
    {"State", &type_name},      {"Info", &type_text},
};

enum { SETTINGS_MAX = 64, USERS_MAX = 1024 };

/* ---- heapwire.settings ---- */

static void
produce_settings(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_host *host = &scope->session->node->host;
    struct sql_setting_row *rows = mem_zalloc(SETTINGS_MAX, sizeof(*rows));
    size_t count =
        rows ? host->list_settings(host->arg, rows, SETTINGS_MAX) : 0;

    if (!rows)
        out->failed = true;
    for (size_t i = 0; i < count; i++) {
        rowset_text(out, rows[i].name);
        rowset_text(out, rows[i].value);
        rowset_int(out, rows[i].reloadable);
    }
    mem_free(rows);
}

static const struct catalog_column settings[] = {
    {"name", &type_name, "Key of [node], or of the section before its dot",
     CATALOG_KEY},
    {"value", &type_text_nn, "In force"},
    {"reloadable", &type_boolean_nn,
     "SIGHUP changes it; others need a restart"},
};

/* ---- heapwire.users ---- */

static void
produce_users(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_host *host = &scope->session->node->host;
    struct sql_user_row *rows = mem_zalloc(USERS_MAX, sizeof(*rows));
    size_t count = rows ? host->list_users(host->arg, rows, USERS_MAX) : 0;
    char privileges[128];

    if (!rows)
        out->failed = true;
    for (size_t i = 0; i < count; i++) {
        privileges_list(rows[i].privileges, privileges, sizeof(privileges));
        ROWSET_TEXTS(out, rows[i].name, privileges,
                     rows[i].native  ? "native+sha2"
                     : rows[i].token ? "token"
                                     : "sha2");
        rowset_int(out, (int64_t)rows[i].connections);
    }
    mem_free(rows);
}

int
grantee_find(const struct sql_session *session, struct span name,
             struct sql_identity *out, struct error *err)
{
    const struct sql_host *host = &session->node->host;
    struct sql_user_row *rows = mem_zalloc(USERS_MAX, sizeof(*rows));
    size_t count = rows ? host->list_users(host->arg, rows, USERS_MAX) : 0;
    int rc = -1;

    for (size_t i = 0; i < count && rc != 0; i++) {
        if (!span_is(name, rows[i].name))
            continue;
        *out = (struct sql_identity){.host = "%",
                                     .privileges = rows[i].privileges};
        memcpy(out->user, rows[i].name, sizeof(out->user));
        rc = 0;
    }
    if (!rows)
        error_memory(err, "the accounts");
    else if (rc != 0)
        error_set(err, ER_NONEXISTING_GRANT,
                  "There is no such grant defined for user '%.*s' on host "
                  "'%%': heapwire.users has the accounts",
                  name.size < SQL_NAME_MAX ? (int)name.size : SQL_NAME_MAX,
                  name.data);
    mem_free(rows);
    return rc;
}

static const struct catalog_column users[] = {
    {"name", &type_name_nn},
    {"privileges", &type_text_nn},
    {"auth", &type_name_nn, "What may prove the password"},
    {"connections", &type_bigint_nn, "Open now"},
};

/* ---- heapwire.audit_log ---- */

static void
add_audit(struct rowset *out, const struct sql_audit_row *row)
{
    rowset_time(out, row->at_ms);
    rowset_int(out, row->connection_id);
    rowset_text(out, row->user);
    rowset_text(out, row->host);
    rowset_int(out, row->error);
    rowset_int(out, (int64_t)row->rows);
    rowset_int(out, (int64_t)row->bytes);
    rowset_int(out, (int64_t)row->elapsed_ms);
    rowset_text(out, row->text);
}

static void
produce_audit(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_host *host = &scope->session->node->host;
    struct sql_audit_row *rows = mem_zalloc(SQL_AUDIT_ROWS_MAX, sizeof(*rows));
    size_t count =
        rows ? host->list_audit(host->arg, rows, SQL_AUDIT_ROWS_MAX) : 0;

    if (!rows)
        out->failed = true;
    for (size_t i = 0; i < count; i++)
        add_audit(out, &rows[i]);
    mem_free(rows);
}

static const struct catalog_column audit_log[] = {
    {"at", &type_time_nn, "When it ended, UTC"},
    {"connection_id", &type_bigint_nn},
    {"user", &type_name_nn},
    {"host", &type_name_nn},
    {"error", &type_int_nn, "Its code; 0: it succeeded"},
    {"rows", &type_bigint_nn},
    {"bytes", &type_bigint_nn},
    {"milliseconds", &type_bigint_nn},
    {"statement", &type_text_nn, "Cut after 512 bytes"},
};

const struct catalog_table tables_accounts[] = {
    {"heapwire", "settings", CATALOG_COLUMNS(settings), produce_settings,
     "The node's settings in force", PRIVILEGE_STATUS},
    {"heapwire", "users", CATALOG_COLUMNS(users), produce_users,
     "The accounts of the configuration file", PRIVILEGE_ADMIN, NEED_TIME},
    {"heapwire", "audit_log", CATALOG_COLUMNS(audit_log), produce_audit,
     "The last 1000 ADMIN EXECUTE, newest first", PRIVILEGE_ADMIN},
    {"heapwire", "sessions", CATALOG_COLUMNS(sessions), produce_sessions,
     "Connected clients", .needs = NEED_TIME},
    {"information_schema", "PROCESSLIST", CATALOG_COLUMNS(processlist),
     produce_sessions, .needs = NEED_TIME},
    {CATALOG_PERFORMANCE, "processlist", CATALOG_COLUMNS(processlist),
     produce_sessions, .needs = NEED_TIME},
    {CATALOG_HIDDEN, "processlist", CATALOG_COLUMNS(show_processlist),
     produce_show_processlist, .needs = NEED_TIME},
    {NULL},
};
