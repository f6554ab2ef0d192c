/*
 * tables_privileges.c - what a session may do, as MySQL shows privileges.
 */
#include <stdio.h>
#include <string.h>

#include "catalog_tables.h"
#include "privileges.h"
#include "rowset.h"
#include "sql_session.h"

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

/* ---- SHOW PRIVILEGES ---- */

static const char *const known[][3] = {
    {"Admin", "Server Admin", "To see and end others' sessions"},
    {"Cluster", "Server Admin", "To reach other nodes"},
    {"Control", "Server Admin", "To enable, disable and reset the profiler"},
    {"Profile", "Server Admin", "To take snapshots"},
    {"Select", "Tables", "To retrieve rows from table"},
    {"Status", "Server Admin", "To see the state of the node"},
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
    {CATALOG_HIDDEN, "privileges", CATALOG_COLUMNS(privileges),
     produce_privileges},
    {"information_schema", "USER_PRIVILEGES", CATALOG_COLUMNS(user_privileges),
     produce_user_privileges},
    {"information_schema", "SCHEMA_PRIVILEGES",
     CATALOG_COLUMNS(schema_privileges), produce_schema_privileges},
    {NULL},
};
