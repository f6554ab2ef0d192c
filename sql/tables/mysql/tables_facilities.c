/*
 * tables_facilities.c - what a MySQL server can have and this one has not:
 * files, roles, tables with grants of their own, traces, InnoDB.
 */
#include "catalog_tables.h"
#include "schema_types.h"

static const struct catalog_column files[] = {
    {"FILE_ID", &type_bigint},
    {"FILE_NAME", &type_plain_text},
    {"FILE_TYPE", &type_256},
    {"TABLESPACE_NAME", &type_name},
    {"TABLE_CATALOG", &type_name_nn},
    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},
    {"LOGFILE_GROUP_NAME", &type_256},
    {"LOGFILE_GROUP_NUMBER", &type_bigint},
    {"ENGINE", &type_name_nn},
    {"FULLTEXT_KEYS", &type_name},
    {"DELETED_ROWS", &type_name},
    {"UPDATE_COUNT", &type_name},
    {"FREE_EXTENTS", &type_bigint},
    {"TOTAL_EXTENTS", &type_bigint},
    {"EXTENT_SIZE", &type_bigint},
    {"INITIAL_SIZE", &type_bigint},
    {"MAXIMUM_SIZE", &type_bigint},
    {"AUTOEXTEND_SIZE", &type_bigint},
    {"CREATION_TIME", &type_name},
    {"LAST_UPDATE_TIME", &type_name},
    {"LAST_ACCESS_TIME", &type_name},
    {"RECOVER_TIME", &type_name},
    {"TRANSACTION_COUNTER", &type_name},
    {"VERSION", &type_bigint},
    {"ROW_FORMAT", &type_name},
    {"TABLE_ROWS", &type_name},
    {"AVG_ROW_LENGTH", &type_name},
    {"DATA_LENGTH", &type_name},
    {"MAX_DATA_LENGTH", &type_name},
    {"INDEX_LENGTH", &type_name},
    {"DATA_FREE", &type_bigint},
    {"CREATE_TIME", &type_name},
    {"UPDATE_TIME", &type_name},
    {"CHECK_TIME", &type_name},
    {"CHECKSUM", &type_name},
    {"STATUS", &type_256},
    {"EXTRA", &type_256},
};

const struct catalog_table table_files = {
    "information_schema",   "FILES", "",
    CATALOG_COLUMNS(files), 0,       catalog_nothing};

static const struct catalog_column tablespaces[] = {
    {"TABLESPACE_NAME", &type_name_nn},    {"ENGINE", &type_name_nn},
    {"TABLESPACE_TYPE", &type_name},       {"LOGFILE_GROUP_NAME", &type_name},
    {"EXTENT_SIZE", &type_ubigint},        {"AUTOEXTEND_SIZE", &type_ubigint},
    {"MAXIMUM_SIZE", &type_ubigint},       {"NODEGROUP_ID", &type_ubigint},
    {"TABLESPACE_COMMENT", &type_2048_nn},
};

const struct catalog_table table_tablespaces = {
    "information_schema", "TABLESPACES", "", CATALOG_COLUMNS(tablespaces), 0,
    catalog_nothing};

static const struct catalog_column tables_extensions[] = {
    {"TABLE_CATALOG", &type_name},
    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name_nn},
    {"ENGINE_ATTRIBUTE", &type_longtext},
    {"SECONDARY_ENGINE_ATTRIBUTE", &type_longtext},
};

const struct catalog_table table_tables_extensions = {
    "information_schema",
    "TABLES_EXTENSIONS",
    "",
    CATALOG_COLUMNS(tables_extensions),
    0,
    catalog_nothing};

static const struct catalog_column columns_extensions[] = {
    {"TABLE_CATALOG", &type_name},
    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name_nn},
    {"COLUMN_NAME", &type_name},
    {"ENGINE_ATTRIBUTE", &type_longtext},
    {"SECONDARY_ENGINE_ATTRIBUTE", &type_longtext},
};

const struct catalog_table table_columns_extensions = {
    "information_schema",
    "COLUMNS_EXTENSIONS",
    "",
    CATALOG_COLUMNS(columns_extensions),
    0,
    catalog_nothing};

static const struct catalog_column column_statistics[] = {
    {"SCHEMA_NAME", &type_name_nn},
    {"TABLE_NAME", &type_name_nn},
    {"COLUMN_NAME", &type_name_nn},
    {"HISTOGRAM", &type_longtext_nn},
};

const struct catalog_table table_column_statistics = {
    "information_schema",
    "COLUMN_STATISTICS",
    "",
    CATALOG_COLUMNS(column_statistics),
    0,
    catalog_nothing};

static const struct catalog_column table_privileges[] = {
    {"GRANTEE", &type_grantee_nn},     {"TABLE_CATALOG", &type_512_nn},
    {"TABLE_SCHEMA", &type_name_nn},   {"TABLE_NAME", &type_name_nn},
    {"PRIVILEGE_TYPE", &type_name_nn}, {"IS_GRANTABLE", &type_yes_no_nn},
};

const struct catalog_table table_table_privileges = {
    "information_schema",
    "TABLE_PRIVILEGES",
    "",
    CATALOG_COLUMNS(table_privileges),
    0,
    catalog_nothing};

static const struct catalog_column column_privileges[] = {
    {"GRANTEE", &type_grantee_nn},     {"TABLE_CATALOG", &type_512_nn},
    {"TABLE_SCHEMA", &type_name_nn},   {"TABLE_NAME", &type_name_nn},
    {"COLUMN_NAME", &type_name_nn},    {"PRIVILEGE_TYPE", &type_name_nn},
    {"IS_GRANTABLE", &type_yes_no_nn},
};

const struct catalog_table table_column_privileges = {
    "information_schema",
    "COLUMN_PRIVILEGES",
    "",
    CATALOG_COLUMNS(column_privileges),
    0,
    catalog_nothing};

static const struct catalog_column profiling[] = {
    {"QUERY_ID", &type_int_nn},
    {"SEQ", &type_int_nn},
    {"STATE", &type_name_nn},
    {"DURATION", &type_decimal_nn},
    {"CPU_USER", &type_int},
    {"CPU_SYSTEM", &type_int},
    {"CONTEXT_VOLUNTARY", &type_int},
    {"CONTEXT_INVOLUNTARY", &type_int},
    {"BLOCK_OPS_IN", &type_int},
    {"BLOCK_OPS_OUT", &type_int},
    {"MESSAGES_SENT", &type_int},
    {"MESSAGES_RECEIVED", &type_int},
    {"PAGE_FAULTS_MAJOR", &type_int},
    {"PAGE_FAULTS_MINOR", &type_int},
    {"SWAPS", &type_int},
    {"SOURCE_FUNCTION", &type_name},
    {"SOURCE_FILE", &type_name},
    {"SOURCE_LINE", &type_int},
};

const struct catalog_table table_profiling = {
    "information_schema",       "PROFILING", "",
    CATALOG_COLUMNS(profiling), 0,           catalog_nothing};

static const struct catalog_column optimizer_trace[] = {
    {"QUERY", &type_longtext_nn},
    {"TRACE", &type_longtext_nn},
    {"MISSING_BYTES_BEYOND_MAX_MEM_SIZE", &type_int_nn},
    {"INSUFFICIENT_PRIVILEGES", &type_int_nn},
};

const struct catalog_table table_optimizer_trace = {
    "information_schema",
    "OPTIMIZER_TRACE",
    "",
    CATALOG_COLUMNS(optimizer_trace),
    0,
    catalog_nothing};

static const struct catalog_column resource_groups[] = {
    {"RESOURCE_GROUP_NAME", &type_name_nn},
    {"RESOURCE_GROUP_TYPE", &type_name_nn},
    {"RESOURCE_GROUP_ENABLED", &type_int_nn},
    {"VCPU_IDS", &type_plain_text},
    {"THREAD_PRIORITY", &type_int_nn},
};

const struct catalog_table table_resource_groups = {
    "information_schema",
    "RESOURCE_GROUPS",
    "",
    CATALOG_COLUMNS(resource_groups),
    0,
    catalog_nothing};

static const struct catalog_column user_attributes[] = {
    {"USER", &type_name_nn},
    {"HOST", &type_name_nn},
    {"ATTRIBUTE", &type_longtext},
};

const struct catalog_table table_user_attributes = {
    "information_schema",
    "USER_ATTRIBUTES",
    "",
    CATALOG_COLUMNS(user_attributes),
    0,
    catalog_nothing};

static const struct catalog_column enabled_roles[] = {
    {"ROLE_NAME", &type_256},
    {"ROLE_HOST", &type_256},
    {"IS_DEFAULT", &type_yes_no},
    {"IS_MANDATORY", &type_yes_no_nn},
};

const struct catalog_table table_enabled_roles = {
    "information_schema",
    "ENABLED_ROLES",
    "",
    CATALOG_COLUMNS(enabled_roles),
    0,
    catalog_nothing};

static const struct catalog_column applicable_roles[] = {
    {"USER", &type_256},
    {"HOST", &type_256},
    {"GRANTEE", &type_256},
    {"GRANTEE_HOST", &type_256},
    {"ROLE_NAME", &type_256},
    {"ROLE_HOST", &type_256},
    {"IS_GRANTABLE", &type_yes_no_nn},
    {"IS_DEFAULT", &type_yes_no},
    {"IS_MANDATORY", &type_yes_no_nn},
};

const struct catalog_table table_applicable_roles = {
    "information_schema",
    "APPLICABLE_ROLES",
    "",
    CATALOG_COLUMNS(applicable_roles),
    0,
    catalog_nothing};

static const struct catalog_column administrable_roles[] = {
    {"USER", &type_256},
    {"HOST", &type_256},
    {"GRANTEE", &type_256},
    {"GRANTEE_HOST", &type_256},
    {"ROLE_NAME", &type_256},
    {"ROLE_HOST", &type_256},
    {"IS_GRANTABLE", &type_yes_no_nn},
    {"IS_DEFAULT", &type_yes_no},
    {"IS_MANDATORY", &type_yes_no_nn},
};

const struct catalog_table table_administrable_roles = {
    "information_schema",
    "ADMINISTRABLE_ROLE_AUTHORIZATIONS",
    "",
    CATALOG_COLUMNS(administrable_roles),
    0,
    catalog_nothing};

static const struct catalog_column geometry_columns[] = {
    {"TABLE_CATALOG", &type_name},
    {"TABLE_SCHEMA", &type_name},
    {"TABLE_NAME", &type_name},
    {"COLUMN_NAME", &type_name},
    {"SRS_NAME", &type_short},
    {"SRS_ID", &type_uint},
    {"GEOMETRY_TYPE_NAME", &type_longtext},
};

const struct catalog_table table_geometry_columns = {
    "information_schema",
    "ST_GEOMETRY_COLUMNS",
    "",
    CATALOG_COLUMNS(geometry_columns),
    0,
    catalog_nothing};

static const struct catalog_column innodb_tables[] = {
    {"TABLE_ID", &type_bigint_nn},    {"NAME", &type_512_nn},
    {"FLAG", &type_int_nn},           {"N_COLS", &type_int_nn},
    {"SPACE", &type_bigint_nn},       {"ROW_FORMAT", &type_name},
    {"ZIP_PAGE_SIZE", &type_uint_nn}, {"SPACE_TYPE", &type_name},
    {"INSTANT_COLS", &type_int_nn},   {"TOTAL_ROW_VERSIONS", &type_int_nn},
};

const struct catalog_table table_innodb_tables = {
    "information_schema",
    "INNODB_TABLES",
    "",
    CATALOG_COLUMNS(innodb_tables),
    0,
    catalog_nothing};

static const struct catalog_column innodb_trx[] = {
    {"trx_id", &type_ubigint_nn},
    {"trx_state", &type_name_nn},
    {"trx_started", &type_time_nn},
    {"trx_requested_lock_id", &type_name},
    {"trx_wait_started", &type_time},
    {"trx_weight", &type_ubigint_nn},
    {"trx_mysql_thread_id", &type_ubigint_nn},
    {"trx_query", &type_2048_nn},
    {"trx_operation_state", &type_name},
    {"trx_tables_in_use", &type_ubigint_nn},
    {"trx_tables_locked", &type_ubigint_nn},
    {"trx_lock_structs", &type_ubigint_nn},
    {"trx_lock_memory_bytes", &type_ubigint_nn},
    {"trx_rows_locked", &type_ubigint_nn},
    {"trx_rows_modified", &type_ubigint_nn},
    {"trx_concurrency_tickets", &type_ubigint_nn},
    {"trx_isolation_level", &type_name_nn},
    {"trx_unique_checks", &type_int_nn},
    {"trx_foreign_key_checks", &type_int_nn},
    {"trx_last_foreign_key_error", &type_256},
    {"trx_adaptive_hash_latched", &type_int_nn},
    {"trx_adaptive_hash_timeout", &type_ubigint_nn},
    {"trx_is_read_only", &type_int_nn},
    {"trx_autocommit_non_locking", &type_int_nn},
    {"trx_schedule_weight", &type_ubigint},
};

const struct catalog_table table_innodb_trx = {
    "information_schema", "INNODB_TRX", "", CATALOG_COLUMNS(innodb_trx), 0,
    catalog_nothing};

static const struct catalog_column innodb_cmp[] = {
    {"page_size", &type_int_nn},       {"compress_ops", &type_int_nn},
    {"compress_ops_ok", &type_int_nn}, {"compress_time", &type_int_nn},
    {"uncompress_ops", &type_int_nn},  {"uncompress_time", &type_int_nn},
};

const struct catalog_table table_innodb_cmp = {
    "information_schema", "INNODB_CMP", "", CATALOG_COLUMNS(innodb_cmp), 0,
    catalog_nothing};

static const struct catalog_column innodb_cmpmem[] = {
    {"page_size", &type_int_nn},         {"buffer_pool_instance", &type_int_nn},
    {"pages_used", &type_int_nn},        {"pages_free", &type_int_nn},
    {"relocation_ops", &type_bigint_nn}, {"relocation_time", &type_int_nn},
};

const struct catalog_table table_innodb_cmpmem = {
    "information_schema",
    "INNODB_CMPMEM",
    "",
    CATALOG_COLUMNS(innodb_cmpmem),
    0,
    catalog_nothing};

static const struct catalog_column innodb_metrics[] = {
    {"NAME", &type_256},
    {"SUBSYSTEM", &type_256},
    {"COUNT", &type_bigint_nn},
    {"MAX_COUNT", &type_bigint},
    {"MIN_COUNT", &type_bigint},
    {"AVG_COUNT", &type_double},
    {"COUNT_RESET", &type_bigint_nn},
    {"MAX_COUNT_RESET", &type_bigint},
    {"MIN_COUNT_RESET", &type_bigint},
    {"AVG_COUNT_RESET", &type_double},
    {"TIME_ENABLED", &type_time},
    {"TIME_DISABLED", &type_time},
    {"TIME_ELAPSED", &type_bigint},
    {"TIME_RESET", &type_time},
    {"STATUS", &type_name_nn},
    {"TYPE", &type_name_nn},
    {"COMMENT", &type_512_nn},
};

const struct catalog_table table_innodb_metrics = {
    "information_schema",
    "INNODB_METRICS",
    "",
    CATALOG_COLUMNS(innodb_metrics),
    0,
    catalog_nothing};
