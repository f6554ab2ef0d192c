/* tables_show.c - what only SHOW lists: databases, tables, variables, status */
#include <stdio.h>
#include <string.h>

#include "catalog_tables.h"
#include "clock.h"
#include "memory.h"
#include "rowset.h"
#include "sql_session.h"
#include "variables.h"

static void
produce_databases(const struct catalog_scope *scope, struct rowset *out)
{
    const char *name;

    (void)scope;
    for (size_t i = 0; (name = catalog_database_at(i, false)) != NULL; i++)
        rowset_text(out, name);
}

static const struct catalog_column databases[] = {{"Database", &type_name}};

const struct catalog_table table_show_databases = {
    CATALOG_HIDDEN,   "databases", "", CATALOG_COLUMNS(databases), 0,
    produce_databases};

static void
produce_tables(const struct catalog_scope *scope, struct rowset *out)
{
    for (size_t i = 0; i < catalog_table_count; i++) {
        if (strcmp(catalog_tables[i]->database, scope->database) != 0)
            continue;
        rowset_text(out, catalog_tables[i]->name);
        if (scope->full)
            rowset_text(out, "SYSTEM VIEW");
    }
}

/* The first column's label has the database's name behind it. */
static const struct catalog_column tables[] = {{"Tables_in", &type_name},
                                               {"Table_type", &type_name}};

const struct catalog_table table_show_tables = {
    CATALOG_HIDDEN, "tables", "", tables, 1, 0, produce_tables};
const struct catalog_table table_show_full_tables = {
    CATALOG_HIDDEN, "full_tables", "", tables, 2, 0, produce_tables};

static void
add_variable(const struct catalog_scope *scope, const struct variable *variable,
             struct rowset *out)
{
    struct span name = {variable->name, strlen(variable->name)};
    const struct variable *real = variable_find(name, NULL);
    char room[VARIABLE_ROOM], number[32];
    struct value value;

    variable_get(scope->session, real,
                 scope->global ? SCOPE_GLOBAL : SCOPE_SESSION, room, &value);
    rowset_text(out, variable->name);
    if (value.type == VALUE_NULL) {
        rowset_text(out, "");
    } else if (value.type != VALUE_INT) {
        rowset_value(out, &value);
    } else if (variable->type == VARIABLE_BOOL) {
        rowset_text(out, value.integer ? "ON" : "OFF");
    } else {
        snprintf(number, sizeof(number), "%lld", (long long)value.integer);
        rowset_text(out, number);
    }
}

static void
produce_variables(const struct catalog_scope *scope, struct rowset *out)
{
    for (size_t i = 0; i < variable_count; i++)
        add_variable(scope, &variables[i], out);
}

static const struct catalog_column name_and_value[] = {
    {"Variable_name", &type_name}, {"Value", &type_text}};

const struct catalog_table table_show_variables = {
    CATALOG_HIDDEN,   "variables", "", CATALOG_COLUMNS(name_and_value), 0,
    produce_variables};

static uint64_t
count_questions(const struct sql_session *session)
{
    return session->node->host.count_questions(session->node->host.arg);
}

static uint64_t
count_sessions(const struct sql_session *session)
{
    struct sql_session_row *rows;
    size_t count = sessions_list(session, &rows);

    mem_free(rows);
    return count;
}

static uint64_t
count_uptime(const struct sql_session *session)
{
    int64_t ms = clock_wall_ms() - session->node->started_ms;

    return ms > 0 ? (uint64_t)ms / 1000 : 0;
}

static const char *
name_cipher(const struct sql_session *session)
{
    return session->who.tls_cipher;
}

static const char *
name_version(const struct sql_session *session)
{
    return session->who.tls_version;
}

/* A number or a text; NULL, as without TLS, shows as nothing. */
static const struct {
    const char *name;
    uint64_t (*count)(const struct sql_session *session);
    const char *(*text)(const struct sql_session *session);
} statuses[] = {
    {"Questions", count_questions, NULL},
    {"Ssl_cipher", NULL, name_cipher},
    {"Ssl_version", NULL, name_version},
    {"Threads_connected", count_sessions, NULL},
    {"Uptime", count_uptime, NULL},
};

static void
produce_status(const struct catalog_scope *scope, struct rowset *out)
{
    const char *text;
    char number[32];

    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        text = number;
        if (statuses[i].count)
            snprintf(number, sizeof(number), "%llu",
                     (unsigned long long)statuses[i].count(scope->session));
        else
            text = statuses[i].text(scope->session);
        rowset_text(out, statuses[i].name);
        rowset_text(out, text ? text : "");
    }
}

const struct catalog_table table_show_status = {
    CATALOG_HIDDEN, "status", "", CATALOG_COLUMNS(name_and_value), 0,
    produce_status};

/* Nothing here warns: what is wrong is an error. */
static void
produce_nothing(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    (void)out;
}

static const struct catalog_column warnings[] = {
    {"Level", &type_name}, {"Code", &type_bigint}, {"Message", &type_text}};

const struct catalog_table table_show_warnings = {
    CATALOG_HIDDEN, "warnings", "", CATALOG_COLUMNS(warnings), 0,
    produce_nothing};
