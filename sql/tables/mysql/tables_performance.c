/*
 * tables_performance.c - the database performance_schema, as of a server whose
 * variable of that name is OFF: exporters and monitors read its summaries,
 * which are empty, and drivers its variables and status, which are those that
 * SHOW shows.  It is listed nowhere.
 */
#include "catalog_tables.h"
#include "schema_types.h"

#define EMPTY(symbol, name, columns)                                           \
    const struct catalog_table table_performance_##symbol = {                  \
        CATALOG_PERFORMANCE,      name, "",                                    \
        CATALOG_COLUMNS(columns), 0,    catalog_nothing}

static const struct catalog_column digests[] = {
    {"SCHEMA_NAME", &type_name},
    {"DIGEST", &type_name},
    {"DIGEST_TEXT", &type_longtext},
    {"COUNT_STAR", &type_ubigint_nn},
    {"SUM_TIMER_WAIT", &type_ubigint_nn},
    {"MIN_TIMER_WAIT", &type_ubigint_nn},
    {"AVG_TIMER_WAIT", &type_ubigint_nn},
    {"MAX_TIMER_WAIT", &type_ubigint_nn},
    {"SUM_LOCK_TIME", &type_ubigint_nn},
    {"SUM_ERRORS", &type_ubigint_nn},
    {"SUM_WARNINGS", &type_ubigint_nn},
    {"SUM_ROWS_AFFECTED", &type_ubigint_nn},
    {"SUM_ROWS_SENT", &type_ubigint_nn},
    {"SUM_ROWS_EXAMINED", &type_ubigint_nn},
    {"SUM_CREATED_TMP_DISK_TABLES", &type_ubigint_nn},
    {"SUM_CREATED_TMP_TABLES", &type_ubigint_nn},
    {"SUM_SELECT_FULL_JOIN", &type_ubigint_nn},
    {"SUM_SELECT_FULL_RANGE_JOIN", &type_ubigint_nn},
    {"SUM_SELECT_RANGE", &type_ubigint_nn},
    {"SUM_SELECT_RANGE_CHECK", &type_ubigint_nn},
    {"SUM_SELECT_SCAN", &type_ubigint_nn},
    {"SUM_SORT_MERGE_PASSES", &type_ubigint_nn},
    {"SUM_SORT_RANGE", &type_ubigint_nn},
    {"SUM_SORT_ROWS", &type_ubigint_nn},
    {"SUM_SORT_SCAN", &type_ubigint_nn},
    {"SUM_NO_INDEX_USED", &type_ubigint_nn},
    {"SUM_NO_GOOD_INDEX_USED", &type_ubigint_nn},
    {"FIRST_SEEN", &type_timestamp_nn},
    {"LAST_SEEN", &type_timestamp_nn},
};
EMPTY(digests, "events_statements_summary_by_digest", digests);

static const struct catalog_column waits[] = {
    {"EVENT_NAME", &type_short_nn},       {"COUNT_STAR", &type_ubigint_nn},
    {"SUM_TIMER_WAIT", &type_ubigint_nn}, {"MIN_TIMER_WAIT", &type_ubigint_nn},
    {"AVG_TIMER_WAIT", &type_ubigint_nn}, {"MAX_TIMER_WAIT", &type_ubigint_nn},
};
EMPTY(waits, "events_waits_summary_global_by_event_name", waits);

static const struct catalog_column file_events[] = {
    {"EVENT_NAME", &type_short_nn},
    {"COUNT_STAR", &type_ubigint_nn},
    {"SUM_TIMER_WAIT", &type_ubigint_nn},
    {"COUNT_READ", &type_ubigint_nn},
    {"SUM_TIMER_READ", &type_ubigint_nn},
    {"SUM_NUMBER_OF_BYTES_READ", &type_ubigint_nn},
    {"COUNT_WRITE", &type_ubigint_nn},
    {"SUM_TIMER_WRITE", &type_ubigint_nn},
    {"SUM_NUMBER_OF_BYTES_WRITE", &type_ubigint_nn},
    {"COUNT_MISC", &type_ubigint_nn},
    {"SUM_TIMER_MISC", &type_ubigint_nn},
};
EMPTY(file_events, "file_summary_by_event_name", file_events);

static const struct catalog_column files[] = {
    {"FILE_NAME", &type_512_nn},
    {"EVENT_NAME", &type_short_nn},
    {"COUNT_STAR", &type_ubigint_nn},
    {"SUM_TIMER_WAIT", &type_ubigint_nn},
    {"COUNT_READ", &type_ubigint_nn},
    {"SUM_TIMER_READ", &type_ubigint_nn},
    {"SUM_NUMBER_OF_BYTES_READ", &type_ubigint_nn},
    {"COUNT_WRITE", &type_ubigint_nn},
    {"SUM_TIMER_WRITE", &type_ubigint_nn},
    {"SUM_NUMBER_OF_BYTES_WRITE", &type_ubigint_nn},
    {"COUNT_MISC", &type_ubigint_nn},
    {"SUM_TIMER_MISC", &type_ubigint_nn},
};
EMPTY(files, "file_summary_by_instance", files);

static const struct catalog_column memory[] = {
    {"EVENT_NAME", &type_short_nn},
    {"COUNT_ALLOC", &type_ubigint_nn},
    {"COUNT_FREE", &type_ubigint_nn},
    {"SUM_NUMBER_OF_BYTES_ALLOC", &type_ubigint_nn},
    {"SUM_NUMBER_OF_BYTES_FREE", &type_ubigint_nn},
    {"LOW_COUNT_USED", &type_bigint_nn},
    {"CURRENT_COUNT_USED", &type_bigint_nn},
    {"HIGH_COUNT_USED", &type_bigint_nn},
    {"LOW_NUMBER_OF_BYTES_USED", &type_bigint_nn},
    {"CURRENT_NUMBER_OF_BYTES_USED", &type_bigint_nn},
    {"HIGH_NUMBER_OF_BYTES_USED", &type_bigint_nn},
};
EMPTY(memory, "memory_summary_global_by_event_name", memory);

static const struct catalog_column index_io[] = {
    {"OBJECT_TYPE", &type_name},        {"OBJECT_SCHEMA", &type_name},
    {"OBJECT_NAME", &type_name},        {"INDEX_NAME", &type_name},
    {"COUNT_STAR", &type_ubigint_nn},   {"SUM_TIMER_WAIT", &type_ubigint_nn},
    {"COUNT_READ", &type_ubigint_nn},   {"SUM_TIMER_READ", &type_ubigint_nn},
    {"COUNT_WRITE", &type_ubigint_nn},  {"SUM_TIMER_WRITE", &type_ubigint_nn},
    {"COUNT_FETCH", &type_ubigint_nn},  {"SUM_TIMER_FETCH", &type_ubigint_nn},
    {"COUNT_INSERT", &type_ubigint_nn}, {"SUM_TIMER_INSERT", &type_ubigint_nn},
    {"COUNT_UPDATE", &type_ubigint_nn}, {"SUM_TIMER_UPDATE", &type_ubigint_nn},
    {"COUNT_DELETE", &type_ubigint_nn}, {"SUM_TIMER_DELETE", &type_ubigint_nn},
};
EMPTY(index_io, "table_io_waits_summary_by_index_usage", index_io);

static const struct catalog_column table_io[] = {
    {"OBJECT_TYPE", &type_name},
    {"OBJECT_SCHEMA", &type_name},
    {"OBJECT_NAME", &type_name},
    {"COUNT_STAR", &type_ubigint_nn},
    {"SUM_TIMER_WAIT", &type_ubigint_nn},
    {"COUNT_READ", &type_ubigint_nn},
    {"SUM_TIMER_READ", &type_ubigint_nn},
    {"COUNT_WRITE", &type_ubigint_nn},
    {"SUM_TIMER_WRITE", &type_ubigint_nn},
    {"COUNT_FETCH", &type_ubigint_nn},
    {"SUM_TIMER_FETCH", &type_ubigint_nn},
    {"COUNT_INSERT", &type_ubigint_nn},
    {"SUM_TIMER_INSERT", &type_ubigint_nn},
    {"COUNT_UPDATE", &type_ubigint_nn},
    {"SUM_TIMER_UPDATE", &type_ubigint_nn},
    {"COUNT_DELETE", &type_ubigint_nn},
    {"SUM_TIMER_DELETE", &type_ubigint_nn},
};
EMPTY(table_io, "table_io_waits_summary_by_table", table_io);

static const struct catalog_column locks[] = {
    {"OBJECT_TYPE", &type_name},
    {"OBJECT_SCHEMA", &type_name},
    {"OBJECT_NAME", &type_name},
    {"COUNT_READ_NORMAL", &type_ubigint_nn},
    {"COUNT_READ_WITH_SHARED_LOCKS", &type_ubigint_nn},
    {"COUNT_READ_HIGH_PRIORITY", &type_ubigint_nn},
    {"COUNT_READ_NO_INSERT", &type_ubigint_nn},
    {"COUNT_READ_EXTERNAL", &type_ubigint_nn},
    {"COUNT_WRITE_ALLOW_WRITE", &type_ubigint_nn},
    {"COUNT_WRITE_CONCURRENT_INSERT", &type_ubigint_nn},
    {"COUNT_WRITE_LOW_PRIORITY", &type_ubigint_nn},
    {"COUNT_WRITE_NORMAL", &type_ubigint_nn},
    {"COUNT_WRITE_EXTERNAL", &type_ubigint_nn},
    {"SUM_TIMER_READ_NORMAL", &type_ubigint_nn},
    {"SUM_TIMER_READ_WITH_SHARED_LOCKS", &type_ubigint_nn},
    {"SUM_TIMER_READ_HIGH_PRIORITY", &type_ubigint_nn},
    {"SUM_TIMER_READ_NO_INSERT", &type_ubigint_nn},
    {"SUM_TIMER_READ_EXTERNAL", &type_ubigint_nn},
    {"SUM_TIMER_WRITE_ALLOW_WRITE", &type_ubigint_nn},
    {"SUM_TIMER_WRITE_CONCURRENT_INSERT", &type_ubigint_nn},
    {"SUM_TIMER_WRITE_LOW_PRIORITY", &type_ubigint_nn},
    {"SUM_TIMER_WRITE_NORMAL", &type_ubigint_nn},
    {"SUM_TIMER_WRITE_EXTERNAL", &type_ubigint_nn},
};
EMPTY(locks, "table_lock_waits_summary_by_table", locks);

static const struct catalog_column members[] = {
    {"CHANNEL_NAME", &type_name_nn},   {"MEMBER_ID", &type_name_nn},
    {"MEMBER_HOST", &type_short_nn},   {"MEMBER_PORT", &type_int},
    {"MEMBER_STATE", &type_name_nn},   {"MEMBER_ROLE", &type_name_nn},
    {"MEMBER_VERSION", &type_name_nn},
};
EMPTY(members, "replication_group_members", members);

static const struct catalog_column member_stats[] = {
    {"CHANNEL_NAME", &type_name_nn},
    {"VIEW_ID", &type_name_nn},
    {"MEMBER_ID", &type_name_nn},
    {"COUNT_TRANSACTIONS_IN_QUEUE", &type_ubigint_nn},
    {"COUNT_TRANSACTIONS_CHECKED", &type_ubigint_nn},
    {"COUNT_CONFLICTS_DETECTED", &type_ubigint_nn},
    {"COUNT_TRANSACTIONS_ROWS_VALIDATING", &type_ubigint_nn},
};
EMPTY(member_stats, "replication_group_member_stats", member_stats);

static const struct catalog_column appliers[] = {
    {"CHANNEL_NAME", &type_name_nn},
    {"WORKER_ID", &type_ubigint_nn},
    {"LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP", &type_timestamp_nn},
    {"LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP", &type_timestamp_nn},
    {"LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP", &type_timestamp_nn},
    {"LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP", &type_timestamp_nn},
    {"APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP", &type_timestamp_nn},
    {"APPLYING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP", &type_timestamp_nn},
    {"APPLYING_TRANSACTION_START_APPLY_TIMESTAMP", &type_timestamp_nn},
};
EMPTY(appliers, "replication_applier_status_by_worker", appliers);
