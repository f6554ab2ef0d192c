/*
 * tables_accounts.c - accounts, settings, and the statements that were
 * executed: heapwire.settings, heapwire.users, heapwire.audit_log.
 *
 * CREATE TABLE heapwire.settings (
 *     name varchar(64) NOT NULL, value varchar(1024) NOT NULL,
 *     reloadable tinyint(1) NOT NULL)
 * CREATE TABLE heapwire.users (
 *     name varchar(64) NOT NULL, privileges varchar(1024) NOT NULL,
 *     auth varchar(64) NOT NULL, connections bigint NOT NULL)
 * CREATE TABLE heapwire.audit_log (
 *     at datetime NOT NULL, connection_id bigint NOT NULL,
 *     user varchar(64) NOT NULL, host varchar(64) NOT NULL,
 *     error int NOT NULL, rows bigint NOT NULL, bytes bigint NOT NULL,
 *     milliseconds bigint NOT NULL, statement varchar(1024) NOT NULL)
 *
 * The host has these; what it lists is copied, then shown.
 */
#include <string.h>

#include "catalog_tables.h"
#include "clock.h"
#include "errors.h"
#include "memory.h"
#include "privileges.h"
#include "rowset.h"
#include "sql_session.h"

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
    {"value", &type_text, "In force", CATALOG_SET},
    {"reloadable", &type_boolean, "SIGHUP changes it; others need a restart",
     CATALOG_SET},
};

const struct catalog_table table_settings = {"heapwire",
                                             "settings",
                                             "The node's settings in force",
                                             CATALOG_COLUMNS(settings),
                                             PRIVILEGE_STATUS,
                                             produce_settings};

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
        rowset_text(out, rows[i].name);
        rowset_text(out, privileges);
        rowset_text(out, rows[i].native ? "native+sha2" : "sha2");
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
    {"name", &type_name, NULL, CATALOG_SET},
    {"privileges", &type_text, NULL, CATALOG_SET},
    {"auth", &type_name, "What may prove the password", CATALOG_SET},
    {"connections", &type_bigint, "Open now", CATALOG_SET},
};

const struct catalog_table table_users = {
    "heapwire",
    "users",
    "The accounts of the configuration file",
    CATALOG_COLUMNS(users),
    PRIVILEGE_ADMIN,
    produce_users};

/* ---- heapwire.audit_log ---- */

static void
add_audit(struct rowset *out, const struct sql_audit_row *row)
{
    char at[CLOCK_TEXT];

    clock_text(row->at_ms, at, sizeof(at));
    rowset_text(out, at);
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
    {"at", &type_time, "When it ended, UTC", CATALOG_SET},
    {"connection_id", &type_bigint, NULL, CATALOG_SET},
    {"user", &type_name, NULL, CATALOG_SET},
    {"host", &type_name, NULL, CATALOG_SET},
    {"error", &type_int, "Its code; 0: it succeeded", CATALOG_SET},
    {"rows", &type_bigint, NULL, CATALOG_SET},
    {"bytes", &type_bigint, NULL, CATALOG_SET},
    {"milliseconds", &type_bigint, NULL, CATALOG_SET},
    {"statement", &type_text, "Cut after 512 bytes", CATALOG_SET},
};

const struct catalog_table table_audit_log = {
    "heapwire",
    "audit_log",
    "The last 1000 ADMIN EXECUTE, newest first",
    CATALOG_COLUMNS(audit_log),
    PRIVILEGE_ADMIN,
    produce_audit};
