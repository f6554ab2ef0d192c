/*
 * tables_routines.c - heapwire's functions and procedures as MySQL lists
 * routines: ROUTINES, PARAMETERS, SHOW FUNCTION STATUS, SHOW CREATE FUNCTION.
 * MySQL's built-in functions are not listed, as MySQL does not list them
 * either.
 *
 *     SELECT ROUTINE_NAME FROM information_schema.ROUTINES
 *     WHERE ROUTINE_SCHEMA = 'heapwire' AND ROUTINE_TYPE = 'FUNCTION'
 */
#include <stdint.h>
#include <string.h>

#include "buffer.h"
#include "catalog_tables.h"
#include "function_table.h"
#include "function_views.h"
#include "sql_cursor.h"

static const struct catalog_column routines[] = {
    {"SPECIFIC_NAME", &type_name_nn},
    {"ROUTINE_CATALOG", &type_name},
    {"ROUTINE_SCHEMA", &type_name},
    {"ROUTINE_NAME", &type_name_nn},
    {"ROUTINE_TYPE", &type_name_nn},
    {"DATA_TYPE", &type_longtext},
    {"CHARACTER_MAXIMUM_LENGTH", &type_bigint},
    {"CHARACTER_OCTET_LENGTH", &type_bigint},
    {"NUMERIC_PRECISION", &type_uint},
    {"NUMERIC_SCALE", &type_uint},
    {"DATETIME_PRECISION", &type_uint},
    {"CHARACTER_SET_NAME", &type_name},
    {"COLLATION_NAME", &type_name},
    {"DTD_IDENTIFIER", &type_longtext},
    {"ROUTINE_BODY", &type_name_nn},
    {"ROUTINE_DEFINITION", &type_longtext},
    {"EXTERNAL_NAME", &type_name},
    {"EXTERNAL_LANGUAGE", &type_name_nn},
    {"PARAMETER_STYLE", &type_name_nn},
    {"IS_DETERMINISTIC", &type_yes_no_nn},
    {"SQL_DATA_ACCESS", &type_name_nn},
    {"SQL_PATH", &type_name},
    {"SECURITY_TYPE", &type_name_nn},
    {"CREATED", &type_timestamp_nn},
    {"LAST_ALTERED", &type_timestamp_nn},
    {"SQL_MODE", &type_512_nn},
    {"ROUTINE_COMMENT", &type_plain_text_nn},
    {"DEFINER", &type_grantee_nn},
    {"CHARACTER_SET_CLIENT", &type_name_nn},
    {"COLLATION_CONNECTION", &type_name_nn},
    {"DATABASE_COLLATION", &type_name_nn},
};

static const int64_t since_ever_ms = 1000; /* MySQL's earliest TIMESTAMP */

struct routine {
    const char *name, *type, *returns, *access, *comment;
};

static void
add_routine(const struct routine *routine, struct rowset *out)
{
    bool text = routine->returns && strcmp(routine->returns, "longtext") == 0;

    ROWSET_TEXTS(out, routine->name, "def", "heapwire", routine->name,
                 routine->type, routine->returns ? routine->returns : "");
    rowset_int_if(out, routine->returns != NULL, UINT32_MAX);
    rowset_int_if(out, routine->returns != NULL, UINT32_MAX);
    rowset_nulls(out, 3);
    ROWSET_TEXTS(out, text ? CATALOG_CHARSET : NULL,
                 text ? CATALOG_COLLATION : NULL, routine->returns, "SQL", NULL,
                 NULL /* the body is not SQL */, "SQL", "SQL", "NO",
                 routine->access, NULL, "INVOKER");
    rowset_time(out, since_ever_ms);
    rowset_time(out, since_ever_ms);
    ROWSET_TEXTS(out, "", routine->comment, "root@localhost", CATALOG_CHARSET,
                 CATALOG_COLLATION, CATALOG_COLLATION);
}

static const struct routine procedures[] = {
    {"admin_execute", "PROCEDURE", NULL, "MODIFIES SQL DATA",
     "(target, script): as ADMIN EXECUTE ON target 'script'"},
    {"import_snapshot", "PROCEDURE", NULL, "MODIFIES SQL DATA",
     "(name, bytes): keeps a profile from elsewhere under that name"},
    {"budget", "PROCEDURE", NULL, "MODIFIES SQL DATA",
     "(name, bytes): how much memory that function or pool of threads may "
     "have in use; NULL: any"},
};

enum { PROCEDURES = sizeof(procedures) / sizeof(procedures[0]) };

static const char function_comment[] =
    "(snapshot [, base [, options]]): a view of a snapshot";

static const char *
returns_of(const struct function *f)
{
    return f->type == RETURNS_BYTES ? "longblob" : "longtext";
}

static void
produce_routines(const struct catalog_scope *scope, struct rowset *out)
{
    struct routine routine = {NULL, "FUNCTION", NULL, "READS SQL DATA",
                              function_comment};

    (void)scope;
    for (const struct function *f = function_views_list(); f->name; f++) {
        routine.name = f->name;
        routine.returns = returns_of(f);
        add_routine(&routine, out);
    }
    for (size_t i = 0; i < PROCEDURES; i++)
        add_routine(&procedures[i], out);
}

/* ---- PARAMETERS ---- */

struct parameter {
    const char *routine, *name, *type; /* as a column's */
    int64_t characters, octets;
};

static const struct parameter parameters_of[] = {
    {"admin_execute", "target", "varchar(1024)", 1024, 4096},
    {"admin_execute", "script", "longtext", UINT32_MAX, UINT32_MAX},
    {"import_snapshot", "name", "varchar(64)", 64, 256},
    {"import_snapshot", "bytes", "longblob", UINT32_MAX, UINT32_MAX},
    {"budget", "name", "varchar(256)", 256, 1024},
    {"budget", "bytes", "varchar(64)", 64, 256},
};

/* The parameters of every function, after its result. */
static const struct parameter of_functions[] = {
    {NULL, "snapshot", "varchar(64)", 64, 256},
    {NULL, "base", "varchar(64)", 64, 256},
    {NULL, "options", "longtext", UINT32_MAX, UINT32_MAX},
};

/* Adds a parameter; n 0 is the function's result. */
static void
add_parameter(const char *routine, const char *kind, int64_t n,
              const struct parameter *parameter, struct rowset *out)
{
    bool text = strcmp(parameter->type, "longblob") != 0;

    ROWSET_TEXTS(out, "def", "heapwire", routine);
    rowset_int(out, n);
    rowset_text(out, n > 0 ? "IN" : NULL);
    rowset_text(out, parameter->name);
    rowset_bytes(out, parameter->type, strcspn(parameter->type, "("));
    rowset_int(out, parameter->characters);
    rowset_int(out, parameter->octets);
    rowset_nulls(out, 3);
    ROWSET_TEXTS(out, text ? CATALOG_CHARSET : NULL,
                 text ? CATALOG_COLLATION : NULL, parameter->type, kind);
}

static void
produce_parameters(const struct catalog_scope *scope, struct rowset *out)
{
    const char *routine = "";
    int64_t n = 0;

    (void)scope;
    for (const struct function *f = function_views_list(); f->name; f++) {
        struct parameter returned = {NULL, NULL, returns_of(f), UINT32_MAX,
                                     UINT32_MAX};

        add_parameter(f->name, "FUNCTION", 0, &returned, out);
        for (size_t i = 0; i < sizeof(of_functions) / sizeof(of_functions[0]);
             i++)
            add_parameter(f->name, "FUNCTION", (int64_t)i + 1, &of_functions[i],
                          out);
    }
    for (size_t i = 0; i < sizeof(parameters_of) / sizeof(parameters_of[0]);
         i++) {
        n = strcmp(routine, parameters_of[i].routine) == 0 ? n + 1 : 1;
        routine = parameters_of[i].routine;
        add_parameter(routine, "PROCEDURE", n, &parameters_of[i], out);
    }
}

static const struct catalog_column parameters[] = {
    {"SPECIFIC_CATALOG", &type_name},
    {"SPECIFIC_SCHEMA", &type_name},
    {"SPECIFIC_NAME", &type_name_nn},
    {"ORDINAL_POSITION", &type_uint_nn},
    {"PARAMETER_MODE", &type_name},
    {"PARAMETER_NAME", &type_name},
    {"DATA_TYPE", &type_longtext},
    {"CHARACTER_MAXIMUM_LENGTH", &type_bigint},
    {"CHARACTER_OCTET_LENGTH", &type_bigint},
    {"NUMERIC_PRECISION", &type_uint},
    {"NUMERIC_SCALE", &type_bigint},
    {"DATETIME_PRECISION", &type_uint},
    {"CHARACTER_SET_NAME", &type_name},
    {"COLLATION_NAME", &type_name},
    {"DTD_IDENTIFIER", &type_mediumtext_nn},
    {"ROUTINE_TYPE", &type_name_nn},
};

/* ---- SHOW FUNCTION STATUS, PROCEDURE STATUS ---- */

static void
add_status(const char *name, const char *kind, const char *comment,
           struct rowset *out)
{
    ROWSET_TEXTS(out, "heapwire", name, kind, "root@localhost");
    rowset_time(out, since_ever_ms);
    rowset_time(out, since_ever_ms);
    ROWSET_TEXTS(out, "INVOKER", comment, CATALOG_CHARSET, CATALOG_COLLATION,
                 CATALOG_COLLATION);
}

static void
produce_functions(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (const struct function *f = function_views_list(); f->name; f++)
        add_status(f->name, "FUNCTION", function_comment, out);
}

static void
produce_procedures(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < PROCEDURES; i++)
        add_status(procedures[i].name, "PROCEDURE", procedures[i].comment, out);
}

static const struct catalog_column status[] = {
    {"Db", &type_name},
    {"Name", &type_name_nn},
    {"Type", &type_name_nn},
    {"Definer", &type_grantee_nn},
    {"Modified", &type_timestamp_nn},
    {"Created", &type_timestamp_nn},
    {"Security_type", &type_name_nn},
    {"Comment", &type_plain_text_nn},
    {"character_set_client", &type_name_nn},
    {"collation_connection", &type_name_nn},
    {"Database Collation", &type_name_nn},
};

/* ---- SHOW CREATE ---- */

const char *
routine_find(const char *database, struct span name, bool procedure)
{
    if (strcmp(database, "heapwire") != 0)
        return NULL;
    for (size_t i = 0; procedure && i < PROCEDURES; i++)
        if (span_is_nocase(name, procedures[i].name))
            return procedures[i].name;
    for (const struct function *f = function_views_list();
         !procedure && f->name; f++)
        if (span_is_nocase(name, f->name))
            return f->name;
    return NULL;
}

enum { CREATE_MAX = 4096 };

static void
finish_create(const struct catalog_scope *scope, struct buffer *sql,
              struct rowset *out)
{
    rowset_text(out, scope->routine);
    rowset_text(out, "");
    if (sql->failed)
        out->failed = true;
    else
        rowset_bytes(out, sql->data, sql->size);
    ROWSET_TEXTS(out, CATALOG_CHARSET, CATALOG_COLLATION, CATALOG_COLLATION);
    buffer_fini(sql);
}

/* Writes CREATE FUNCTION.  Clients read the parameters; the body is no SQL, so
 * what is written does nothing where a dump is loaded. */
static void
produce_create_function(const struct catalog_scope *scope, struct rowset *out)
{
    const struct function *f = function_views_list();
    struct buffer sql;

    while (strcmp(f->name, scope->routine) != 0)
        f++;
    buffer_init(&sql, CREATE_MAX);
    buffer_format(&sql, "CREATE FUNCTION `%s`(", f->name);
    for (size_t i = 0; i < sizeof(of_functions) / sizeof(of_functions[0]); i++)
        buffer_format(&sql, "%s`%s` %s", i ? ", " : "", of_functions[i].name,
                      of_functions[i].type);
    buffer_format(&sql, ") RETURNS %s\n    READS SQL DATA\nRETURN NULL",
                  returns_of(f));
    finish_create(scope, &sql, out);
}

static void
produce_create_procedure(const struct catalog_scope *scope, struct rowset *out)
{
    const char *before = "";
    struct buffer sql;

    buffer_init(&sql, CREATE_MAX);
    buffer_format(&sql, "CREATE PROCEDURE `%s`(", scope->routine);
    for (size_t i = 0; i < sizeof(parameters_of) / sizeof(parameters_of[0]);
         i++)
        if (strcmp(parameters_of[i].routine, scope->routine) == 0) {
            buffer_format(&sql, "%sIN `%s` %s", before, parameters_of[i].name,
                          parameters_of[i].type);
            before = ", ";
        }
    buffer_text(&sql, ")\n    MODIFIES SQL DATA\nBEGIN\nEND");
    finish_create(scope, &sql, out);
}

static const struct catalog_column create_function[] = {
    {"Function", &type_name_nn},
    {"sql_mode", &type_512_nn},
    {"Create Function", &type_longtext},
    {"character_set_client", &type_name_nn},
    {"collation_connection", &type_name_nn},
    {"Database Collation", &type_name_nn},
};

static const struct catalog_column create_procedure[] = {
    {"Procedure", &type_name_nn},
    {"sql_mode", &type_512_nn},
    {"Create Procedure", &type_longtext},
    {"character_set_client", &type_name_nn},
    {"collation_connection", &type_name_nn},
    {"Database Collation", &type_name_nn},
};

const struct catalog_table tables_routines[] = {
    {"information_schema", "ROUTINES", CATALOG_COLUMNS(routines),
     produce_routines},
    {"information_schema", "PARAMETERS", CATALOG_COLUMNS(parameters),
     produce_parameters},
    {CATALOG_HIDDEN, "functions", CATALOG_COLUMNS(status), produce_functions},
    {CATALOG_HIDDEN, "procedures", CATALOG_COLUMNS(status), produce_procedures},
    {CATALOG_HIDDEN, "create_function", CATALOG_COLUMNS(create_function),
     produce_create_function},
    {CATALOG_HIDDEN, "create_procedure", CATALOG_COLUMNS(create_procedure),
     produce_create_procedure},
    {NULL},
};
