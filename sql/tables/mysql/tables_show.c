/*
 * tables_show.c - what only SHOW lists: CREATE TABLE, variables, status
 * counters, warnings.
 *
 * Monitors and backup tools read SHOW STATUS and SHOW CREATE TABLE line by
 * line and expect MySQL's names; a counter of a feature that is missing here
 * is 0 rather than absent.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "catalog_tables.h"
#include "clock.h"
#include "memory.h"
#include "select_query.h"
#include "sql_cursor.h"
#include "sql_session.h"
#include "variables.h"
#include "view_cache.h"

enum { TEXT_MAX = 64 * 1024 };

/* Appends COMMENT 'text', if there is a comment. */
static void
append_comment_clause(struct buffer *sql, const char *before,
                      const char *comment)
{
    if (!comment || !*comment)
        return;
    buffer_text(sql, before);
    for (; *comment; comment++) {
        if (*comment == '\'')
            buffer_char(sql, '\'');
        buffer_char(sql, *comment);
    }
    buffer_char(sql, '\'');
}

/* Appends a column's definition.  The key's texts get a binary collation: a
 * copy of the table on another server must take every row, also names that
 * differ in case alone, which are equal to heapwire. */
static void
append_column_definition(struct buffer *sql, const struct catalog_table *table,
                         size_t i)
{
    const struct catalog_column *column = &table->columns[i];
    bool nullable = !(catalog_flags(table, i) & COLUMN_NOT_NULL);
    bool has_default = column->type->type != COLUMN_LONGTEXT;
    bool is_key_text = catalog_flags(table, i) & COLUMN_PRI_KEY &&
                       column->type->type == COLUMN_TEXT;

    buffer_format(sql, "  `%s` %s%s%s", column->name, column->type->name,
                  is_key_text ? " CHARACTER SET " CATALOG_CHARSET
                                " COLLATE " CATALOG_CHARSET "_bin"
                              : "",
                  !nullable     ? " NOT NULL"
                  : has_default ? " DEFAULT NULL"
                                : "");
    append_comment_clause(sql, " COMMENT '", column->comment);
}

static void
append_primary_key(struct buffer *sql, const struct catalog_table *table)
{
    const char *before = ",\n  PRIMARY KEY (";

    for (size_t i = 0; i < table->column_count; i++)
        if (catalog_flags(table, i) & COLUMN_PRI_KEY) {
            buffer_format(sql, "%s`%s`", before, table->columns[i].name);
            before = ",";
        }
    buffer_text(sql, catalog_has_key(table) ? ")" : "");
}

/* Writes CREATE TABLE in MySQL's layout, since clients read it line by line.
 * An engine that no other server has is left out, so that a dump is loaded
 * with the server's own. */
static void
produce_table(const struct catalog_scope *scope, struct rowset *out)
{
    const struct catalog_table *table = scope->table;
    const char *engine = variable_engine(scope->session);
    struct buffer sql;

    buffer_init(&sql, TEXT_MAX);
    buffer_format(&sql, "CREATE TABLE `%s` (", table->name);
    for (size_t i = 0; i < table->column_count; i++) {
        buffer_text(&sql, i ? ",\n" : "\n");
        append_column_definition(&sql, table, i);
    }
    append_primary_key(&sql, table);
    buffer_text(&sql, "\n) ");
    if (strcmp(engine, "heapwire") != 0)
        buffer_format(&sql, "ENGINE=%s ", engine);
    buffer_text(&sql, "DEFAULT CHARSET=" CATALOG_CHARSET
                      " COLLATE=" CATALOG_COLLATION);
    append_comment_clause(&sql, " COMMENT='", table->comment);
    rowset_text(out, table->name);
    if (sql.failed)
        out->failed = true;
    else
        rowset_bytes(out, sql.data, sql.size);
    buffer_fini(&sql);
}

static const struct catalog_column tables[] = {
    {"Table", &type_name_nn}, {"Create Table", &type_plain_text_nn}};

static void
produce_database(const struct catalog_scope *scope, struct rowset *out)
{
    struct buffer sql;

    buffer_init(&sql, TEXT_MAX);
    buffer_format(
        &sql,
        "CREATE DATABASE `%s` /*!40100 DEFAULT CHARACTER SET " CATALOG_CHARSET
        " COLLATE " CATALOG_COLLATION " */ /*!80016 DEFAULT ENCRYPTION='N' */",
        scope->database);
    rowset_text(out, scope->database);
    if (sql.failed)
        out->failed = true;
    else
        rowset_bytes(out, sql.data, sql.size);
    buffer_fini(&sql);
}

static const struct catalog_column databases[] = {
    {"Database", &type_name_nn}, {"Create Database", &type_plain_text_nn}};

static void
add_variable_row(const struct catalog_scope *scope,
                 const struct variable *variable, struct rowset *out)
{
    struct span name = {variable->name, strlen(variable->name)};
    const struct variable *real =
        variable->same_as ? variable_find(name, NULL) : variable;
    MEM_UNSET char room[VARIABLE_BYTES]; /* set by variable_get(); clearing
                                          * it for each variable would cost
                                          * more */
    char number[32];
    struct value value;

    variable_get(scope->session, real,
                 scope->global ? SCOPE_GLOBAL : SCOPE_SESSION, room, &value);
    rowset_text(out, variable->name);
    if (value.type == VALUE_NULL) {
        rowset_text(out, "");
    } else if (value.type != VALUE_INT) {
        rowset_value(out, &value);
    } else if (variable->type == VARIABLE_BOOL) {
        rowset_text(out, value.integer ? "ON" : "OFF");
    } else {
        snprintf(number, sizeof(number), "%lld", (long long)value.integer);
        rowset_text(out, number);
    }
}

static void
produce_variables(const struct catalog_scope *scope, struct rowset *out)
{
    for (size_t i = 0; i < variable_count; i++)
        add_variable_row(scope, &variables[i], out);
}

static void
produce_global_variables(const struct catalog_scope *scope, struct rowset *out)
{
    struct catalog_scope global = *scope;

    global.global = true;
    produce_variables(&global, out);
}

static const struct catalog_column name_and_value[] = {
    {"Variable_name", &type_name}, {"Value", &type_text}};

static const struct catalog_column performance_columns[] = {
    {"VARIABLE_NAME", &type_name}, {"VARIABLE_VALUE", &type_text}};

static uint64_t
count_sessions(const struct sql_session *session)
{
    struct sql_session_row *rows;
    size_t count = sessions_list(session, &rows);

    mem_free(rows);
    return count;
}

static uint64_t
count_uptime(const struct sql_session *session)
{
    int64_t ms = clock_wall_ms() - session->node->started_ms;

    return ms > 0 ? (uint64_t)ms / 1000 : 0;
}

static uint64_t
count_running(const struct sql_session *session)
{
    struct sql_session_row *rows;
    size_t count = sessions_list(session, &rows), running = 0;

    for (size_t i = 0; i < count; i++)
        running += strcmp(rows[i].command, "Sleep") != 0;
    mem_free(rows);
    return running;
}

static uint64_t
count_selects(const struct sql_session *session)
{
    (void)session;
    return select_count();
}

static const char *
session_tls_cipher(const struct sql_session *session)
{
    return session->who.tls_cipher;
}

static const char *
session_tls_version(const struct sql_session *session)
{
    return session->who.tls_version;
}

/* The counts of the server and of the views. */
struct counted {
    struct sql_counts server;
    struct view_counts views;
};

#define COUNT(field) offsetof(struct counted, server.field)
#define VIEWS(field) offsetof(struct counted, views.field)

/* The source of a variable: a count, a function, or a text.  Without any of
 * them the variable is 0, since the feature is missing. */
static const struct {
    const char *name;
    uint64_t (*count)(const struct sql_session *session);
    const char *(*text)(const struct sql_session *session); /* NULL: "" */
    size_t counted; /* 1 past its offset in struct counted */
} statuses[] = {
    {"Aborted_clients", NULL, NULL, 1 + COUNT(lost_clients)},
    {"Aborted_connects", NULL, NULL, 1 + COUNT(failed_logins)},
    {"Binlog_cache_disk_use", NULL, NULL, 0},
    {"Binlog_cache_use", NULL, NULL, 0},
    {"Bytes_received", NULL, NULL, 1 + COUNT(received)},
    {"Bytes_sent", NULL, NULL, 1 + COUNT(sent)},
    {"Com_delete", NULL, NULL, 0},
    {"Com_delete_multi", NULL, NULL, 0},
    {"Com_insert", NULL, NULL, 0},
    {"Com_insert_select", NULL, NULL, 0},
    {"Com_load", NULL, NULL, 0},
    {"Com_lock_tables", NULL, NULL, 0},
    {"Com_prepare_sql", NULL, NULL, 0},
    {"Com_replace", NULL, NULL, 0},
    {"Com_replace_select", NULL, NULL, 0},
    {"Com_select", count_selects, NULL, 0},
    {"Com_stmt_prepare", NULL, NULL, 0},
    {"Com_update", NULL, NULL, 0},
    {"Com_update_multi", NULL, NULL, 0},
    {"Com_xa_start", NULL, NULL, 0},
    {"Connections", NULL, NULL, 1 + COUNT(connections)},
    {"Created_tmp_disk_tables", NULL, NULL, 0},
    {"Created_tmp_files", NULL, NULL, 0},
    {"Created_tmp_tables", NULL, NULL, 0},
    {"Flush_commands", NULL, NULL, 0},
    {"Handler_read_first", NULL, NULL, 0},
    {"Handler_read_key", NULL, NULL, 0},
    {"Handler_read_next", NULL, NULL, 0},
    {"Handler_read_prev", NULL, NULL, 0},
    {"Handler_read_rnd", NULL, NULL, 0},
    {"Handler_read_rnd_next", NULL, NULL, 0},
    {"Heapwire_view_cache_bytes", NULL, NULL, 1 + VIEWS(bytes)},
    {"Heapwire_views_cached", NULL, NULL, 1 + VIEWS(cached)},
    {"Heapwire_views_rendered", NULL, NULL, 1 + VIEWS(rendered)},
    {"Heapwire_views_shared", NULL, NULL, 1 + VIEWS(shared)},
    {"Key_blocks_unused", NULL, NULL, 0},
    {"Key_blocks_used", NULL, NULL, 0},
    {"Key_read_requests", NULL, NULL, 0},
    {"Key_reads", NULL, NULL, 0},
    {"Key_write_requests", NULL, NULL, 0},
    {"Key_writes", NULL, NULL, 0},
    {"Max_used_connections", NULL, NULL, 1 + COUNT(most_connections)},
    {"Open_files", NULL, NULL, 0},
    {"Open_tables", NULL, NULL, 0},
    {"Opened_tables", NULL, NULL, 0},
    {"Prepared_stmt_count", NULL, NULL, 0},
    {"Qcache_free_blocks", NULL, NULL, 0},
    {"Qcache_free_memory", NULL, NULL, 0},
    {"Qcache_hits", NULL, NULL, 0},
    {"Qcache_inserts", NULL, NULL, 0},
    {"Qcache_lowmem_prunes", NULL, NULL, 0},
    {"Qcache_not_cached", NULL, NULL, 0},
    {"Qcache_queries_in_cache", NULL, NULL, 0},
    {"Qcache_total_blocks", NULL, NULL, 0},
    {"Queries", NULL, NULL, 1 + COUNT(questions)},
    {"Questions", NULL, NULL, 1 + COUNT(questions)},
    {"Select_full_join", NULL, NULL, 0},
    {"Select_full_range_join", NULL, NULL, 0},
    {"Select_range", NULL, NULL, 0},
    {"Select_range_check", NULL, NULL, 0},
    {"Select_scan", NULL, NULL, 0},
    {"Slow_launch_threads", NULL, NULL, 0},
    {"Slow_queries", NULL, NULL, 0},
    {"Sort_merge_passes", NULL, NULL, 0},
    {"Sort_range", NULL, NULL, 0},
    {"Sort_rows", NULL, NULL, 0},
    {"Sort_scan", NULL, NULL, 0},
    {"Ssl_cipher", NULL, session_tls_cipher, 0},
    {"Ssl_version", NULL, session_tls_version, 0},
    {"Table_locks_immediate", NULL, NULL, 0},
    {"Table_locks_waited", NULL, NULL, 0},
    {"Table_open_cache_hits", NULL, NULL, 0},
    {"Table_open_cache_misses", NULL, NULL, 0},
    {"Threads_cached", NULL, NULL, 0},
    {"Threads_connected", count_sessions, NULL, 0},
    {"Threads_created", NULL, NULL, 0},
    {"Threads_running", count_running, NULL, 0},
    {"Uptime", count_uptime, NULL, 0},
    {"Uptime_since_flush_status", count_uptime, NULL, 0},
};

static void
produce_server_status(const struct catalog_scope *scope, struct rowset *out)
{
    const struct sql_host *host = &scope->session->node->host;
    struct counted counts;

    host->count(host->arg, &counts.server);
    view_cache_count(scope->session->node->views, &counts.views);
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        uint64_t number = 0;
        const char *text = NULL;
        char digits[32];

        if (statuses[i].count)
            number = statuses[i].count(scope->session);
        if (statuses[i].counted)
            memcpy(&number, (const char *)&counts + statuses[i].counted - 1,
                   sizeof(number));
        if (statuses[i].text)
            text = statuses[i].text(scope->session);
        snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
        rowset_text(out, statuses[i].name);
        rowset_text(out, text ? text : statuses[i].text ? "" : digits);
    }
}

/* ---- warnings; an error fails its statement, so none is listed ---- */

static void
produce_warnings(const struct catalog_scope *scope, struct rowset *out)
{
    const struct warning *w = scope->session->warnings.first;

    for (; w; w = w->next) {
        rowset_text(out, "Warning");
        rowset_int(out, w->code);
        rowset_text(out, w->text);
    }
}

static const struct catalog_column warnings[] = {
    {"Level", &type_name}, {"Code", &type_bigint}, {"Message", &type_text}};

static void
produce_warning_count(const struct catalog_scope *scope, struct rowset *out)
{
    rowset_int(out, (int64_t)scope->session->warnings.total);
}

static const struct catalog_column warning_count[] = {
    {"@@session.warning_count", &type_bigint}};

static void
produce_zero(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    rowset_int(out, 0);
}

static const struct catalog_column error_count[] = {
    {"@@session.error_count", &type_bigint}};

const struct catalog_table tables_show[] = {
    {CATALOG_HIDDEN, "variables", CATALOG_COLUMNS(name_and_value),
     produce_variables},
    {CATALOG_PERFORMANCE, "session_variables",
     CATALOG_COLUMNS(performance_columns), produce_variables},
    {CATALOG_PERFORMANCE, "global_variables",
     CATALOG_COLUMNS(performance_columns), produce_global_variables},
    {CATALOG_HIDDEN, "status", CATALOG_COLUMNS(name_and_value),
     produce_server_status},
    {CATALOG_PERFORMANCE, "session_status",
     CATALOG_COLUMNS(performance_columns), produce_server_status},
    {CATALOG_PERFORMANCE, "global_status", CATALOG_COLUMNS(performance_columns),
     produce_server_status},
    {CATALOG_HIDDEN, "errors", CATALOG_COLUMNS(warnings), catalog_nothing},
    {CATALOG_HIDDEN, "warnings", CATALOG_COLUMNS(warnings), produce_warnings},
    {CATALOG_HIDDEN, "warning_count", CATALOG_COLUMNS(warning_count),
     produce_warning_count},
    {CATALOG_HIDDEN, "error_count", CATALOG_COLUMNS(error_count), produce_zero},
    {CATALOG_HIDDEN, "create_table", CATALOG_COLUMNS(tables), produce_table},
    {CATALOG_HIDDEN, "create_database", CATALOG_COLUMNS(databases),
     produce_database},
    {NULL},
};
