/*
 * tables_privileges.c - privileges as MySQL shows them: mysql.user, SHOW
 * GRANTS, SHOW CREATE USER, information_schema's lists.
 *
 * heapwire has six privileges of its own, for the whole node.  Tools look for
 * MySQL's, so a few columns are set where the meaning is near; no password or
 * hash is shown.
 */
#include <stdio.h>
#include <string.h>

#include "catalog_tables.h"
#include "memory.h"
#include "sql.h"
#include "sql_cursor.h"
#include "sql_session.h"

enum { USERS_MAX = 1024, PRIVS = 29 };

/* By MySQL's column: the privilege that it shows; 0: no account has it. */
static const uint32_t privs[PRIVS] = {
    [0] = PRIVILEGE_STATUS | PRIVILEGE_PROFILE, /* Select */
    [8] = PRIVILEGE_ADMIN,                      /* Process */
    [18] = PRIVILEGE_CONTROL,                   /* Execute */
};

/* Adds an account; nothing of what proves its password is shown. */
static void
add_user(const char *name, const char *host, uint32_t privileges,
         const char *plugin, struct rowset *out)
{
    rowset_text(out, host);
    rowset_text(out, name);
    for (size_t i = 0; i < PRIVS; i++)
        rowset_text(out, privileges & privs[i] ? "Y" : "N");
    for (int i = 0; i < 4; i++) /* of TLS */
        rowset_text(out, "");
    for (int i = 0; i < 4; i++) /* no limits */
        rowset_int(out, 0);
    ROWSET_TEXTS(out, plugin, "", "N");
    rowset_nulls(out, 2);
    for (int i = 0; i < 3; i++) /* not locked; roles */
        rowset_text(out, "N");
    rowset_nulls(out, 4);
}

static const char *
plugin_of(const struct sql_user_row *row)
{
    return row->native ? "mysql_native_password" : "caching_sha2_password";
}

/* Lists the accounts.  Others than the session's own take ADMIN; the own one
 * is always listed, even if no file has it.  A trusted user is none of them,
 * whatever its name. */
static void
produce_user(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_host *host = &scope->session->node->host;
    const struct sql_identity *who = &scope->session->who;
    struct sql_user_row *rows = mem_zalloc(USERS_MAX, sizeof(*rows));
    size_t count = rows ? host->list_users(host->arg, rows, USERS_MAX) : 0;
    bool own = false;

    if (!rows)
        out->failed = true;
    for (size_t i = 0; i < count; i++) {
        bool is_own = !who->trusted && strcmp(rows[i].name, who->user) == 0;

        own = own || is_own;
        if (is_own || (who->privileges & PRIVILEGE_ADMIN))
            add_user(rows[i].name, "%", rows[i].privileges, plugin_of(&rows[i]),
                     out);
    }
    if (rows && !own)
        add_user(who->user, who->host, who->privileges, "auth_socket", out);
    mem_free(rows);
}

static const struct catalog_column user[] = {
    {"Host", &type_256_nn},
    {"User", &type_name_nn},
    {"Select_priv", &type_yes_no_nn},
    {"Insert_priv", &type_yes_no_nn},
    {"Update_priv", &type_yes_no_nn},
    {"Delete_priv", &type_yes_no_nn},
    {"Create_priv", &type_yes_no_nn},
    {"Drop_priv", &type_yes_no_nn},
    {"Reload_priv", &type_yes_no_nn},
    {"Shutdown_priv", &type_yes_no_nn},
    {"Process_priv", &type_yes_no_nn},
    {"File_priv", &type_yes_no_nn},
    {"Grant_priv", &type_yes_no_nn},
    {"References_priv", &type_yes_no_nn},
    {"Index_priv", &type_yes_no_nn},
    {"Alter_priv", &type_yes_no_nn},
    {"Show_db_priv", &type_yes_no_nn},
    {"Super_priv", &type_yes_no_nn},
    {"Create_tmp_table_priv", &type_yes_no_nn},
    {"Lock_tables_priv", &type_yes_no_nn},
    {"Execute_priv", &type_yes_no_nn},
    {"Repl_slave_priv", &type_yes_no_nn},
    {"Repl_client_priv", &type_yes_no_nn},
    {"Create_view_priv", &type_yes_no_nn},
    {"Show_view_priv", &type_yes_no_nn},
    {"Create_routine_priv", &type_yes_no_nn},
    {"Alter_routine_priv", &type_yes_no_nn},
    {"Create_user_priv", &type_yes_no_nn},
    {"Event_priv", &type_yes_no_nn},
    {"Trigger_priv", &type_yes_no_nn},
    {"Create_tablespace_priv", &type_yes_no_nn},
    {"ssl_type", &type_word_nn},
    {"ssl_cipher", &type_plain_text_nn},
    {"x509_issuer", &type_plain_text_nn},
    {"x509_subject", &type_plain_text_nn},
    {"max_questions", &type_uint_nn},
    {"max_updates", &type_uint_nn},
    {"max_connections", &type_uint_nn},
    {"max_user_connections", &type_uint_nn},
    {"plugin", &type_name_nn},
    {"authentication_string", &type_plain_text},
    {"password_expired", &type_yes_no_nn},
    {"password_last_changed", &type_timestamp},
    {"password_lifetime", &type_uint},
    {"account_locked", &type_yes_no_nn},
    {"Create_role_priv", &type_yes_no_nn},
    {"Drop_role_priv", &type_yes_no_nn},
    {"Password_reuse_history", &type_uint},
    {"Password_reuse_time", &type_uint},
    {"Password_require_current", &type_yes_no},
    {"User_attributes", &type_longtext},
};

enum { LIST_MAX = 128, LINE_MAX = 512 };

/* ---- SHOW GRANTS ---- */

/* An account's privileges are dynamic ones of the whole node; STATUS includes
 * reading heapwire's tables. */
static void
produce_grants(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_identity *who =
        scope->grantee ? scope->grantee : &scope->session->who;
    char list[LIST_MAX], line[LINE_MAX];

    privileges_list(who->privileges, list, sizeof(list));
    snprintf(line, sizeof(line), "GRANT %s ON *.* TO `%s`@`%s`",
             *list ? list : "USAGE", who->user, who->host);
    rowset_text(out, line);
    if (!(who->privileges & PRIVILEGE_STATUS))
        return;
    snprintf(line, sizeof(line), "GRANT SELECT ON `heapwire`.* TO `%s`@`%s`",
             who->user, who->host);
    rowset_text(out, line);
}

/* "Grants for user@host" */
static const struct catalog_column grants[] = {{"Grants", &type_text}};

/* ---- SHOW CREATE USER ---- */

/* Writes CREATE USER in MySQL's words, without what proves the password. */
static void
produce_create_user(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_host *host = &scope->session->node->host;
    const struct sql_identity *who =
        scope->grantee ? scope->grantee : &scope->session->who;
    struct sql_user_row *rows = mem_zalloc(USERS_MAX, sizeof(*rows));
    size_t count = rows ? host->list_users(host->arg, rows, USERS_MAX) : 0;
    const char *plugin = "auth_socket";
    char line[LINE_MAX];

    if (!rows)
        out->failed = true;
    for (size_t i = 0; i < count; i++)
        if (!who->trusted && strcmp(rows[i].name, who->user) == 0)
            plugin = plugin_of(&rows[i]);
    snprintf(line, sizeof(line),
             "CREATE USER `%s`@`%s` IDENTIFIED WITH '%s' REQUIRE NONE PASSWORD "
             "EXPIRE DEFAULT ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD "
             "REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT",
             who->user, who->host, plugin);
    rowset_text(out, line);
    mem_free(rows);
}

/* "CREATE USER for user@host" */
static const struct catalog_column create_user[] = {
    {"CREATE USER", &type_text}};

/* ---- SHOW PRIVILEGES ---- */

static const char *const known[][3] = {
    {"Admin", "Server Admin", "To see and end others' sessions"},
    {"Cluster", "Server Admin", "To reach other nodes"},
    {"Control", "Server Admin", "To enable, disable and reset the profiler"},
    {"Profile", "Server Admin", "To take snapshots"},
    {"Select", "Tables", "To retrieve rows from table"},
    {"Status", "Server Admin", "To see the state of the node"},
    {"Tune", "Server Admin", "To change the allocator for a time"},
    {"Usage", "Server Admin", "No privileges - allow connect only"},
};

static void
produce_privileges(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        for (size_t c = 0; c < 3; c++)
            rowset_text(out, known[i][c]);
}

static const struct catalog_column privileges[] = {
    {"Privilege", &type_name_nn},
    {"Context", &type_name_nn},
    {"Comment", &type_short_nn},
};

/* ---- information_schema ---- */

static void
add_grantee(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_identity *who = &scope->session->who;
    char grantee[SQL_NAME_MAX + SQL_HOST_MAX + 8];

    snprintf(grantee, sizeof(grantee), "'%s'@'%s'", who->user, who->host);
    rowset_text(out, grantee);
    rowset_text(out, "def");
}

static void
add_privilege(const struct catalog_scope *scope, struct span name,
              struct rowset *out)
{
    add_grantee(scope, out);
    rowset_bytes(out, name.data, name.size);
    rowset_text(out, "NO");
}

static void
produce_user_privileges(const struct catalog_scope *scope, struct rowset *out)
{
    char list[LIST_MAX];
    struct span name = {list, 0};

    privileges_list(scope->session->who.privileges, list, sizeof(list));
    if (!*list)
        snprintf(list, sizeof(list), "USAGE");
    for (; *name.data; name.data += name.size + (name.data[name.size] == ',')) {
        name.size = strcspn(name.data, ",");
        add_privilege(scope, name, out);
    }
}

static const struct catalog_column user_privileges[] = {
    {"GRANTEE", &type_grantee_nn},
    {"TABLE_CATALOG", &type_512_nn},
    {"PRIVILEGE_TYPE", &type_name_nn},
    {"IS_GRANTABLE", &type_yes_no_nn},
};

static void
produce_schema_privileges(const struct catalog_scope *scope, struct rowset *out)
{
    if (!(scope->session->who.privileges & PRIVILEGE_STATUS))
        return;
    add_grantee(scope, out);
    ROWSET_TEXTS(out, "heapwire", "SELECT", "NO");
}

static const struct catalog_column schema_privileges[] = {
    {"GRANTEE", &type_grantee_nn},     {"TABLE_CATALOG", &type_512_nn},
    {"TABLE_SCHEMA", &type_name_nn},   {"PRIVILEGE_TYPE", &type_name_nn},
    {"IS_GRANTABLE", &type_yes_no_nn},
};

const struct catalog_table tables_privileges[] = {
    {CATALOG_HIDDEN, "grants", CATALOG_COLUMNS(grants), produce_grants},
    {CATALOG_HIDDEN, "create_user", CATALOG_COLUMNS(create_user),
     produce_create_user},
    {CATALOG_HIDDEN, "privileges", CATALOG_COLUMNS(privileges),
     produce_privileges},
    {"information_schema", "USER_PRIVILEGES", CATALOG_COLUMNS(user_privileges),
     produce_user_privileges},
    {"information_schema", "SCHEMA_PRIVILEGES",
     CATALOG_COLUMNS(schema_privileges), produce_schema_privileges},
    {CATALOG_MYSQL, "user", CATALOG_COLUMNS(user), produce_user},
    {NULL},
};
