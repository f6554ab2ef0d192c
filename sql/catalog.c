/* catalog.c - see catalog.h. */
#include "catalog.h"

#include <string.h>

#include "catalog_tables.h"
#include "errors.h"
#include "sql_session.h"

enum { SHOWN = 64 }; /* bytes of an unknown name in its error */

const struct catalog_type type_bigint = {"bigint", VALUE_INT, 20};
const struct catalog_type type_name = {"varchar(64)", VALUE_TEXT, 64};
const struct catalog_type type_text = {"varchar(1024)", VALUE_TEXT, 1024};
const struct catalog_type type_time = {"datetime", VALUE_TEXT, 19};
const struct catalog_type type_boolean = {"varchar(5)", VALUE_TEXT, 5};

static const char *const databases[] = {"heapwire", "information_schema",
                                        CATALOG_HIDDEN};

enum { DATABASES = sizeof(databases) / sizeof(databases[0]) };

const struct catalog_table *const catalog_tables[] = {
    &table_nodes,          &table_profiler,         &table_sessions,
    &table_schema_columns, &table_processlist,      &table_schemata,
    &table_schema_tables,  &table_show_backends,    &table_show_compute_nodes,
    &table_show_databases, &table_show_processlist, &table_show_status,
    &table_show_tables,    &table_show_full_tables, &table_show_variables,
    &table_show_warnings,
};

const size_t catalog_table_count =
    sizeof(catalog_tables) / sizeof(catalog_tables[0]);

uint32_t
catalog_bit(const struct catalog_table *table)
{
    size_t i = 0;

    while (catalog_tables[i] != table)
        i++;
    return UINT32_C(1) << i;
}

const char *
catalog_database_at(size_t i, bool hidden)
{
    return i < (size_t)(hidden ? DATABASES : DATABASES - 1) ? databases[i]
                                                            : NULL;
}

const char *
catalog_database(struct span name)
{
    for (size_t i = 0; catalog_database_at(i, false); i++)
        if (span_is_nocase(name, databases[i]))
            return databases[i];
    return NULL;
}

static int
shown(struct span name)
{
    return (int)(name.size < SHOWN ? name.size : SHOWN);
}

int
catalog_unknown_database(struct span name, struct error *err)
{
    error_set(err, ER_BAD_DB, "Unknown database '%.*s'", shown(name),
              name.data);
    return -1;
}

const struct catalog_table *
catalog_table(const char *database, struct span name, struct error *err)
{
    for (size_t i = 0; i < catalog_table_count; i++)
        if (strcmp(catalog_tables[i]->database, database) == 0 &&
            span_is_nocase(name, catalog_tables[i]->name))
            return catalog_tables[i];
    error_set(err, ER_NO_SUCH_TABLE, "Table '%s.%.*s' doesn't exist", database,
              shown(name), name.data);
    return NULL;
}

const struct catalog_table *
catalog_resolve(const struct sql_session *session, const struct span *database,
                struct span name, struct error *err)
{
    const char *in = session->database;

    if (database) {
        in = catalog_database(*database);
        if (!in) {
            catalog_unknown_database(*database, err);
            return NULL;
        }
    } else if (!*in) {
        error_set(err, ER_NO_DB, "No database selected");
        return NULL;
    }
    return catalog_table(in, name, err);
}
