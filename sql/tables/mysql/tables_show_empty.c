/* tables_show_empty.c - lists of SHOW that are always empty here. */
#include "catalog_tables.h"
#include "schema_types.h"

static const struct catalog_column create_view[] = {
    {"View", &type_name_nn},
    {"Create View", &type_plain_text_nn},
    {"character_set_client", &type_name_nn},
    {"collation_connection", &type_name_nn},
};

const struct catalog_table table_show_create_view = {
    CATALOG_HIDDEN, "create_view", "", CATALOG_COLUMNS(create_view), 0,
    catalog_nothing};

static const struct catalog_column triggers[] = {
    {"Trigger", &type_name_nn},
    {"Event", &type_name_nn},
    {"Table", &type_name},
    {"Statement", &type_longtext_nn},
    {"Timing", &type_name_nn},
    {"Created", &type_timestamp_nn},
    {"sql_mode", &type_512_nn},
    {"Definer", &type_grantee_nn},
    {"character_set_client", &type_name_nn},
    {"collation_connection", &type_name_nn},
    {"Database Collation", &type_name_nn},
};

const struct catalog_table table_show_triggers = {
    CATALOG_HIDDEN, "triggers", "", CATALOG_COLUMNS(triggers), 0,
    catalog_nothing};

static const struct catalog_column events[] = {
    {"Db", &type_name},
    {"Name", &type_name_nn},
    {"Definer", &type_grantee_nn},
    {"Time zone", &type_name_nn},
    {"Type", &type_name_nn},
    {"Execute at", &type_time},
    {"Interval value", &type_256},
    {"Interval field", &type_name},
    {"Starts", &type_time},
    {"Ends", &type_time},
    {"Status", &type_name_nn},
    {"Originator", &type_uint_nn},
    {"character_set_client", &type_name_nn},
    {"collation_connection", &type_name_nn},
    {"Database Collation", &type_name_nn},
};

const struct catalog_table table_show_events = {
    CATALOG_HIDDEN, "events", "", CATALOG_COLUMNS(events), 0, catalog_nothing};

static const struct catalog_column open_tables[] = {
    {"Database", &type_name_nn},
    {"Table", &type_name_nn},
    {"In_use", &type_bigint_nn},
    {"Name_locked", &type_int_nn},
};

const struct catalog_table table_show_open_tables = {
    CATALOG_HIDDEN, "open_tables", "", CATALOG_COLUMNS(open_tables), 0,
    catalog_nothing};

static const struct catalog_column engine_status[] = {
    {"Type", &type_name_nn},
    {"Name", &type_name_nn},
    {"Status", &type_name_nn},
};

const struct catalog_table table_show_engine_status = {
    CATALOG_HIDDEN, "engine_status", "", CATALOG_COLUMNS(engine_status), 0,
    catalog_nothing};

static const struct catalog_column master_status[] = {
    {"File", &type_name},
    {"Position", &type_ubigint},
    {"Binlog_Do_DB", &type_name},
    {"Binlog_Ignore_DB", &type_name},
    {"Executed_Gtid_Set", &type_name},
};

const struct catalog_table table_show_master_status = {
    CATALOG_HIDDEN, "master_status", "", CATALOG_COLUMNS(master_status), 0,
    catalog_nothing};

static const struct catalog_column binary_logs[] = {
    {"Log_name", &type_name},
    {"File_size", &type_ubigint},
    {"Encrypted", &type_yes_no},
};

const struct catalog_table table_show_binary_logs = {
    CATALOG_HIDDEN, "binary_logs", "", CATALOG_COLUMNS(binary_logs), 0,
    catalog_nothing};

static const struct catalog_column replicas[] = {
    {"Server_Id", &type_uint},    {"Host", &type_name},
    {"Port", &type_uint},         {"Source_Id", &type_uint},
    {"Replica_UUID", &type_name},
};

const struct catalog_table table_show_replicas = {
    CATALOG_HIDDEN, "replicas", "", CATALOG_COLUMNS(replicas), 0,
    catalog_nothing};

static const struct catalog_column profiles[] = {
    {"Query_ID", &type_uint_nn},
    {"Duration", &type_decimal_nn},
    {"Query", &type_plain_text},
};

const struct catalog_table table_show_profiles = {
    CATALOG_HIDDEN, "profiles", "", CATALOG_COLUMNS(profiles), 0,
    catalog_nothing};
