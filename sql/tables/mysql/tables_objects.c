/*
 * tables_objects.c - what a table or database can have in MySQL and none has
 * here: other constraints than keys, views, events, triggers, partitions.
 */
#include "catalog_tables.h"
#include "schema_types.h"

static const struct catalog_column referential_constraints[] = {
    {"CONSTRAINT_CATALOG", &type_name},
    {"CONSTRAINT_SCHEMA", &type_name},
    {"CONSTRAINT_NAME", &type_name},
    {"UNIQUE_CONSTRAINT_CATALOG", &type_name},
    {"UNIQUE_CONSTRAINT_SCHEMA", &type_name},
    {"UNIQUE_CONSTRAINT_NAME", &type_name},
    {"MATCH_OPTION", &type_name_nn},
    {"UPDATE_RULE", &type_name_nn},
    {"DELETE_RULE", &type_name_nn},
    {"TABLE_NAME", &type_name_nn},
    {"REFERENCED_TABLE_NAME", &type_name_nn},
};

const struct catalog_table table_referential_constraints = {
    "information_schema",
    "REFERENTIAL_CONSTRAINTS",
    "",
    CATALOG_COLUMNS(referential_constraints),
    0,
    catalog_nothing};

static const struct catalog_column check_constraints[] = {
    {"CONSTRAINT_CATALOG", &type_name_nn},
    {"CONSTRAINT_SCHEMA", &type_name_nn},
    {"CONSTRAINT_NAME", &type_name_nn},
    {"CHECK_CLAUSE", &type_longtext_nn},
};

const struct catalog_table table_check_constraints = {
    "information_schema",
    "CHECK_CONSTRAINTS",
    "",
    CATALOG_COLUMNS(check_constraints),
    0,
    catalog_nothing};

static const struct catalog_column views[] = {
    {"TABLE_CATALOG", &type_name},
    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},
    {"VIEW_DEFINITION", &type_longtext},
    {"CHECK_OPTION", &type_name},
    {"IS_UPDATABLE", &type_name},
    {"DEFINER", &type_grantee},
    {"SECURITY_TYPE", &type_name},
    {"CHARACTER_SET_CLIENT", &type_name_nn},
    {"COLLATION_CONNECTION", &type_name_nn},
};

const struct catalog_table table_views = {
    "information_schema",   "VIEWS", "",
    CATALOG_COLUMNS(views), 0,       catalog_nothing};

static const struct catalog_column view_table_usage[] = {
    {"VIEW_CATALOG", &type_name}, {"VIEW_SCHEMA", &type_name},
    {"VIEW_NAME", &type_name},    {"TABLE_CATALOG", &type_name},
    {"TABLE_SCHEMA", &type_name}, {"TABLE_NAME", &type_name},
};

const struct catalog_table table_view_table_usage = {
    "information_schema",
    "VIEW_TABLE_USAGE",
    "",
    CATALOG_COLUMNS(view_table_usage),
    0,
    catalog_nothing};

static const struct catalog_column view_routine_usage[] = {
    {"TABLE_CATALOG", &type_name},   {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},      {"SPECIFIC_CATALOG", &type_name},
    {"SPECIFIC_SCHEMA", &type_name}, {"SPECIFIC_NAME", &type_name_nn},
};

const struct catalog_table table_view_routine_usage = {
    "information_schema",
    "VIEW_ROUTINE_USAGE",
    "",
    CATALOG_COLUMNS(view_routine_usage),
    0,
    catalog_nothing};

static const struct catalog_column events[] = {
    {"EVENT_CATALOG", &type_name},
    {"EVENT_SCHEMA", &type_name},
    {"EVENT_NAME", &type_name_nn},
    {"DEFINER", &type_grantee_nn},
    {"TIME_ZONE", &type_name_nn},
    {"EVENT_BODY", &type_name_nn},
    {"EVENT_DEFINITION", &type_longtext_nn},
    {"EVENT_TYPE", &type_name_nn},
    {"EXECUTE_AT", &type_time},
    {"INTERVAL_VALUE", &type_256},
    {"INTERVAL_FIELD", &type_name},
    {"SQL_MODE", &type_512_nn},
    {"STARTS", &type_time},
    {"ENDS", &type_time},
    {"STATUS", &type_name_nn},
    {"ON_COMPLETION", &type_name_nn},
    {"CREATED", &type_timestamp_nn},
    {"LAST_ALTERED", &type_timestamp_nn},
    {"LAST_EXECUTED", &type_time},
    {"EVENT_COMMENT", &type_2048_nn},
    {"ORIGINATOR", &type_uint_nn},
    {"CHARACTER_SET_CLIENT", &type_name_nn},
    {"COLLATION_CONNECTION", &type_name_nn},
    {"DATABASE_COLLATION", &type_name_nn},
};

const struct catalog_table table_events = {
    "information_schema",    "EVENTS", "",
    CATALOG_COLUMNS(events), 0,        catalog_nothing};

static const struct catalog_column triggers[] = {
    {"TRIGGER_CATALOG", &type_name},
    {"TRIGGER_SCHEMA", &type_name},
    {"TRIGGER_NAME", &type_name_nn},
    {"EVENT_MANIPULATION", &type_name_nn},
    {"EVENT_OBJECT_CATALOG", &type_name},
    {"EVENT_OBJECT_SCHEMA", &type_name},
    {"EVENT_OBJECT_TABLE", &type_name},
    {"ACTION_ORDER", &type_uint_nn},
    {"ACTION_CONDITION", &type_bigint},
    {"ACTION_STATEMENT", &type_longtext_nn},
    {"ACTION_ORIENTATION", &type_name_nn},
    {"ACTION_TIMING", &type_name_nn},
    {"ACTION_REFERENCE_OLD_TABLE", &type_bigint},
    {"ACTION_REFERENCE_NEW_TABLE", &type_bigint},
    {"ACTION_REFERENCE_OLD_ROW", &type_yes_no_nn},
    {"ACTION_REFERENCE_NEW_ROW", &type_yes_no_nn},
    {"CREATED", &type_timestamp_nn},
    {"SQL_MODE", &type_512_nn},
    {"DEFINER", &type_grantee_nn},
    {"CHARACTER_SET_CLIENT", &type_name_nn},
    {"COLLATION_CONNECTION", &type_name_nn},
    {"DATABASE_COLLATION", &type_name_nn},
};

const struct catalog_table table_triggers = {
    "information_schema",      "TRIGGERS", "",
    CATALOG_COLUMNS(triggers), 0,          catalog_nothing};

static const struct catalog_column partitions[] = {
    {"TABLE_CATALOG", &type_name},
    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},
    {"PARTITION_NAME", &type_name},
    {"SUBPARTITION_NAME", &type_name},
    {"PARTITION_ORDINAL_POSITION", &type_uint},
    {"SUBPARTITION_ORDINAL_POSITION", &type_uint},
    {"PARTITION_METHOD", &type_name},
    {"SUBPARTITION_METHOD", &type_name},
    {"PARTITION_EXPRESSION", &type_2048_nn},
    {"SUBPARTITION_EXPRESSION", &type_2048_nn},
    {"PARTITION_DESCRIPTION", &type_plain_text},
    {"TABLE_ROWS", &type_ubigint},
    {"AVG_ROW_LENGTH", &type_ubigint},
    {"DATA_LENGTH", &type_ubigint},
    {"MAX_DATA_LENGTH", &type_ubigint},
    {"INDEX_LENGTH", &type_ubigint},
    {"DATA_FREE", &type_ubigint},
    {"CREATE_TIME", &type_timestamp_nn},
    {"UPDATE_TIME", &type_time},
    {"CHECK_TIME", &type_time},
    {"CHECKSUM", &type_bigint},
    {"PARTITION_COMMENT", &type_plain_text_nn},
    {"NODEGROUP", &type_256},
    {"TABLESPACE_NAME", &type_256},
};

const struct catalog_table table_partitions = {
    "information_schema", "PARTITIONS", "", CATALOG_COLUMNS(partitions), 0,
    catalog_nothing};
