/*
 * tables_mysql.c - what drivers read of the database `mysql`.
 *
 * JDBC's getTablePrivileges and getColumnPrivileges join these two.  Both are
 * empty: privileges are an account's, for all tables.  The database is listed
 * nowhere, and nothing else is in it.
 */
#include "catalog_tables.h"
#include "schema_types.h"

static const struct catalog_column tables_priv[] = {
    {"Host", &type_256},           {"Db", &type_name_nn},
    {"User", &type_name_nn},       {"Table_name", &type_name_nn},
    {"Grantor", &type_grantee_nn}, {"Timestamp", &type_timestamp_nn},
    {"Table_priv", &type_512_nn},  {"Column_priv", &type_512_nn},
};

const struct catalog_table table_tables_priv = {
    CATALOG_MYSQL,  "tables_priv", "", CATALOG_COLUMNS(tables_priv), 0,
    catalog_nothing};

static const struct catalog_column columns_priv[] = {
    {"Host", &type_256},
    {"Db", &type_name_nn},
    {"User", &type_name_nn},
    {"Table_name", &type_name_nn},
    {"Column_name", &type_name_nn},
    {"Timestamp", &type_timestamp_nn},
    {"Column_priv", &type_512_nn},
};

const struct catalog_table table_columns_priv = {
    CATALOG_MYSQL,  "columns_priv", "", CATALOG_COLUMNS(columns_priv), 0,
    catalog_nothing};
