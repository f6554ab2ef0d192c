/*
 * tables_engines.c - the one engine, as engine and as plugin.
 */
#include "catalog_tables.h"
#include "rowset.h"
#include "sql_session.h"

static void
produce_engines(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    ROWSET_TEXTS(out, CATALOG_ENGINE, "DEFAULT",
                 "The tables of the node's profiler", "NO", "NO", "NO");
}

static const struct catalog_column show_engines[] = {
    {"Engine", &type_name_nn},   {"Support", &type_word_nn},
    {"Comment", &type_short_nn}, {"Transactions", &type_yes_no},
    {"XA", &type_yes_no},        {"Savepoints", &type_yes_no},
};

static const struct catalog_column engines[] = {
    {"ENGINE", &type_name_nn},   {"SUPPORT", &type_word_nn},
    {"COMMENT", &type_short_nn}, {"TRANSACTIONS", &type_yes_no},
    {"XA", &type_yes_no},        {"SAVEPOINTS", &type_yes_no},
};

/* To MySQL, a method of login is a plugin, and so is an engine. */
static const char *const plugins[][2] = {
    {"mysql_native_password", "AUTHENTICATION"},
    {"caching_sha2_password", "AUTHENTICATION"},
    {CATALOG_ENGINE, "STORAGE ENGINE"},
};

enum { PLUGINS = sizeof(plugins) / sizeof(plugins[0]) };

static void
produce_show_plugins(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < PLUGINS; i++)
        ROWSET_TEXTS(out, plugins[i][0], "ACTIVE", plugins[i][1], NULL, "BSD");
}

static const struct catalog_column show_plugins[] = {
    {"Name", &type_name_nn},     {"Status", &type_word_nn},
    {"Type", &type_short_nn},    {"Library", &type_name},
    {"License", &type_short_nn},
};

static void
produce_plugins(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < PLUGINS; i++)
        ROWSET_TEXTS(out, plugins[i][0], "1.0", "ACTIVE", plugins[i][1], "1.0",
                     NULL, NULL, NULL, NULL, "BSD", "ON");
}

static const struct catalog_column schema_plugins[] = {
    {"PLUGIN_NAME", &type_name_nn},
    {"PLUGIN_VERSION", &type_version_nn},
    {"PLUGIN_STATUS", &type_word_nn},
    {"PLUGIN_TYPE", &type_short_nn},
    {"PLUGIN_TYPE_VERSION", &type_version_nn},
    {"PLUGIN_LIBRARY", &type_name},
    {"PLUGIN_LIBRARY_VERSION", &type_name},
    {"PLUGIN_AUTHOR", &type_name},
    {"PLUGIN_DESCRIPTION", &type_plain_text},
    {"PLUGIN_LICENSE", &type_short},
    {"LOAD_OPTION", &type_name_nn},
};

const struct catalog_table tables_engines[] = {
    {CATALOG_HIDDEN, "engines", CATALOG_COLUMNS(show_engines), produce_engines},
    {"information_schema", "ENGINES", CATALOG_COLUMNS(engines),
     produce_engines},
    {CATALOG_HIDDEN, "plugins", CATALOG_COLUMNS(show_plugins),
     produce_show_plugins},
    {"information_schema", "PLUGINS", CATALOG_COLUMNS(schema_plugins),
     produce_plugins},
    {NULL},
};
