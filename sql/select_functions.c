/* select_functions.c - MySQL's functions, as far as clients call them. */
#include "select_functions.h"

#include <stdio.h>
#include <string.h>

#include "select_handle.h"
#include "sql_session.h"
#include "variables.h"

static const struct sql_session *
session_of(sqlite3_context *c)
{
    return ((const struct handle *)sqlite3_user_data(c))->scope.session;
}

static void
return_value(sqlite3_context *c, const struct value *value)
{
    switch (value->type) {
    case VALUE_NULL:
        sqlite3_result_null(c);
        break;
    case VALUE_INT:
        sqlite3_result_int64(c, value->integer);
        break;
    case VALUE_DOUBLE:
        sqlite3_result_double(c, value->real);
        break;
    case VALUE_TEXT:
        function_text(c, value->data, value->size);
        break;
    case VALUE_BLOB:
        sqlite3_result_blob64(c, value->data, value->size, SQLITE_TRANSIENT);
        break;
    }
}

/* ---- the session ---- */

static void
function_version(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    function_text(c, SQL_SERVER_VERSION, strlen(SQL_SERVER_VERSION));
}

static void
function_user(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct sql_identity *who = &session_of(c)->who;
    char text[sizeof(who->user) + sizeof(who->host) + 1];
    int size = snprintf(text, sizeof(text), "%s@%s", who->user, who->host);

    (void)argc;
    (void)argv;
    function_text(c, text, (size_t)size);
}

static void
function_database(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const char *database = session_of(c)->database;

    (void)argc;
    (void)argv;
    if (*database)
        function_text(c, database, strlen(database));
}

static void
function_connection_id(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int64(c, session_of(c)->connection_id);
}

static void
function_zero(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int(c, 0);
}

/* hw_variable(place in the table, scope): @@x.  A user may call it, too. */
static void
function_variable(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    size_t index = (size_t)sqlite3_value_int64(argv[0]);
    char room[VARIABLE_ROOM];
    struct value value;

    (void)argc;
    if (index >= variable_count || variables[index].same_as)
        return;
    variable_get(session_of(c), &variables[index],
                 (enum variable_scope)sqlite3_value_int(argv[1]), room, &value);
    return_value(c, &value);
}

/* hw_user_variable('x'): @x, NULL unless set */
static void
function_user_variable(sqlite3_context *c, int argc, sqlite3_value **argv)
{
    const struct session_value *setting =
        session_value_find(session_of(c), NULL, function_argument(argv[0]));

    (void)argc;
    if (setting)
        return_value(c, &setting->value);
}

static const struct {
    const char *name;
    int arguments; /* -1: any number */
    void (*call)(sqlite3_context *c, int argc, sqlite3_value **argv);
    enum function_type type; /* of what it returns */
} functions[] = {
    {"char_length", 1, function_char_length, RETURNS_BIGINT},
    {"character_length", 1, function_char_length, RETURNS_BIGINT},
    {"concat", -1, function_concat, RETURNS_TEXT},
    {"concat_ws", -1, function_concat_ws, RETURNS_TEXT},
    {"connection_id", 0, function_connection_id, RETURNS_BIGINT},
    {"curdate", 0, function_today, RETURNS_DATE},
    {"current_date", 0, function_today, RETURNS_DATE},
    {"current_time", 0, function_clock, RETURNS_TIME},
    {"current_timestamp", 0, function_now, RETURNS_DATETIME},
    {"current_timestamp", 1, function_now, RETURNS_DATETIME},
    {"current_user", 0, function_user, RETURNS_TEXT},
    {"curtime", 0, function_clock, RETURNS_TIME},
    {"database", 0, function_database, RETURNS_TEXT},
    {"found_rows", 0, function_zero, RETURNS_BIGINT},
    {"hw_user_variable", 1, function_user_variable, RETURNS_TEXT},
    {"hw_variable", 2, function_variable, RETURNS_TEXT},
    {"if", 3, function_if, RETURNS_BRANCHES},
    {"last_insert_id", 0, function_zero, RETURNS_BIGINT},
    {"left", 2, function_left, RETURNS_TEXT},
    {"length", 1, function_length, RETURNS_BIGINT},
    {"like", 2, function_like, RETURNS_BIGINT},
    {"like", 3, function_like, RETURNS_BIGINT},
    {"localtime", 0, function_now, RETURNS_DATETIME},
    {"localtimestamp", 0, function_now, RETURNS_DATETIME},
    {"now", 0, function_now, RETURNS_DATETIME},
    {"now", 1, function_now, RETURNS_DATETIME},
    {"right", 2, function_right, RETURNS_TEXT},
    {"row_count", 0, function_zero, RETURNS_BIGINT},
    {"schema", 0, function_database, RETURNS_TEXT},
    {"session_user", 0, function_user, RETURNS_TEXT},
    {"sysdate", 0, function_now, RETURNS_DATETIME},
    {"system_user", 0, function_user, RETURNS_TEXT},
    {"timediff", 2, function_timediff, RETURNS_TIME},
    {"unix_timestamp", 0, function_unix_timestamp, RETURNS_BIGINT},
    {"user", 0, function_user, RETURNS_TEXT},
    {"utc_date", 0, function_today, RETURNS_DATE},
    {"utc_time", 0, function_clock, RETURNS_TIME},
    {"utc_timestamp", 0, function_now, RETURNS_DATETIME},
    {"utc_timestamp", 1, function_now, RETURNS_DATETIME},
    {"version", 0, function_version, RETURNS_TEXT},
};

/* SQLite's own that mean in MySQL what they mean there. */
static const struct {
    const char *name;
    enum function_type type;
} builtins[] = {
    {"abs", RETURNS_NUMBER},         {"avg", RETURNS_DOUBLE},
    {"ceil", RETURNS_BIGINT},        {"ceiling", RETURNS_BIGINT},
    {"coalesce", RETURNS_ARGUMENTS}, {"count", RETURNS_BIGINT},
    {"floor", RETURNS_BIGINT},       {"hex", RETURNS_TEXT},
    {"group_concat", RETURNS_TEXT},  {"ifnull", RETURNS_ARGUMENTS},
    {"instr", RETURNS_BIGINT},       {"lower", RETURNS_TEXT},
    {"ltrim", RETURNS_TEXT},         {"max", RETURNS_ARGUMENTS},
    {"min", RETURNS_ARGUMENTS},      {"nullif", RETURNS_FIRST},
    {"pow", RETURNS_DOUBLE},         {"power", RETURNS_DOUBLE},
    {"replace", RETURNS_TEXT},       {"round", RETURNS_NUMBER},
    {"rtrim", RETURNS_TEXT},         {"sign", RETURNS_BIGINT},
    {"sqrt", RETURNS_DOUBLE},        {"substr", RETURNS_TEXT},
    {"substring", RETURNS_TEXT},     {"sum", RETURNS_NUMBER},
    {"trim", RETURNS_TEXT},          {"upper", RETURNS_TEXT},
};

int
handle_add_functions(struct handle *handle)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (sqlite3_create_function_v2(handle->db, functions[i].name,
                                       functions[i].arguments, SQLITE_UTF8,
                                       handle, functions[i].call, NULL, NULL,
                                       NULL) != SQLITE_OK)
            return -1;
    return 0;
}

bool
function_find(struct span name, enum function_type *type)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (span_is_nocase(name, functions[i].name)) {
            *type = functions[i].type;
            return true;
        }
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
        if (span_is_nocase(name, builtins[i].name)) {
            *type = builtins[i].type;
            return true;
        }
    return false;
}

bool
handle_allows_function(const char *name)
{
    struct span span = {name, strlen(name)};
    enum function_type type;

    return function_find(span, &type);
}
