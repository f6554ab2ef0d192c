/*
 * tables_engines.c - the one engine, as engine and as plugin.
 *
 * CREATE TABLE information_schema.ENGINES (
 *     ENGINE varchar(64) NOT NULL, SUPPORT varchar(10) NOT NULL,
 *     COMMENT varchar(80) NOT NULL, TRANSACTIONS varchar(3), XA varchar(3),
 *     SAVEPOINTS varchar(3))
 * CREATE TABLE information_schema.PLUGINS (
 *     PLUGIN_NAME varchar(64) NOT NULL, PLUGIN_VERSION varchar(20) NOT NULL,
 *     PLUGIN_STATUS varchar(10) NOT NULL, PLUGIN_TYPE varchar(80) NOT NULL,
 *     PLUGIN_TYPE_VERSION varchar(20) NOT NULL, PLUGIN_LIBRARY varchar(64),
 *     PLUGIN_LIBRARY_VERSION varchar(64), PLUGIN_AUTHOR varchar(64),
 *     PLUGIN_DESCRIPTION text, PLUGIN_LICENSE varchar(80),
 *     LOAD_OPTION varchar(64) NOT NULL)
 */
#include "catalog_tables.h"
#include "rowset.h"
#include "schema_types.h"
#include "sql_session.h"

static void
texts(struct rowset *out, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (texts[i])
            rowset_text(out, texts[i]);
        else
            rowset_null(out);
}

static void
produce_engines(const struct catalog_scope *scope, struct rowset *out)
{
    static const char *const row[] = {
        CATALOG_ENGINE, "DEFAULT", "The tables of the node's profiler",
        "NO",           "NO",      "NO"};

    (void)scope;
    texts(out, row, sizeof(row) / sizeof(row[0]));
}

static const struct catalog_column show_engines[] = {
    {"Engine", &type_name_nn},   {"Support", &type_word_nn},
    {"Comment", &type_short_nn}, {"Transactions", &type_yes_no},
    {"XA", &type_yes_no},        {"Savepoints", &type_yes_no},
};

const struct catalog_table table_show_engines = {
    CATALOG_HIDDEN, "engines", "", CATALOG_COLUMNS(show_engines), 0,
    produce_engines};

static const struct catalog_column engines[] = {
    {"ENGINE", &type_name_nn},   {"SUPPORT", &type_word_nn},
    {"COMMENT", &type_short_nn}, {"TRANSACTIONS", &type_yes_no},
    {"XA", &type_yes_no},        {"SAVEPOINTS", &type_yes_no},
};

const struct catalog_table table_engines = {
    "information_schema",     "ENGINES", "",
    CATALOG_COLUMNS(engines), 0,         produce_engines};

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
    for (size_t i = 0; i < PLUGINS; i++) {
        const char *const row[] = {plugins[i][0], "ACTIVE", plugins[i][1], NULL,
                                   "BSD"};

        texts(out, row, sizeof(row) / sizeof(row[0]));
    }
}

static const struct catalog_column show_plugins[] = {
    {"Name", &type_name_nn},     {"Status", &type_word_nn},
    {"Type", &type_short_nn},    {"Library", &type_name},
    {"License", &type_short_nn},
};

const struct catalog_table table_show_plugins = {
    CATALOG_HIDDEN,      "plugins", "", CATALOG_COLUMNS(show_plugins), 0,
    produce_show_plugins};

static void
produce_plugins(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < PLUGINS; i++) {
        const char *const row[] = {
            plugins[i][0], "1.0", "ACTIVE", plugins[i][1], "1.0", NULL,
            NULL,          NULL,  NULL,     "BSD",         "ON"};

        texts(out, row, sizeof(row) / sizeof(row[0]));
    }
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

const struct catalog_table table_plugins = {
    "information_schema", "PLUGINS", "", CATALOG_COLUMNS(schema_plugins), 0,
    produce_plugins};
