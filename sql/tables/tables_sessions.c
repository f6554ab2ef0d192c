/*
 * tables_sessions.c - connected clients: sessions, PROCESSLIST and its SHOW.
 */
#include <string.h>

#include "catalog_tables.h"
#include "memory.h"
#include "rowset.h"
#include "sql_session.h"

enum { SESSIONS_MAX = 16384, SHORT_INFO = 100 /* characters, as MySQL cuts */ };

size_t
sessions_list(const struct sql_session *session, struct sql_session_row **out)
{
    const struct sql_host *host = &session->node->host;

    *out = mem_zalloc(SESSIONS_MAX, sizeof(**out));
    return *out ? host->list_sessions(host->arg, *out, SESSIONS_MAX) : 0;
}

/* Bytes of the first SHORT_INFO characters. */
static size_t
cut_info(const char *info)
{
    size_t characters = 0, i = 0;

    for (; info[i]; i++)
        if (((unsigned char)info[i] & 0xc0) != 0x80 &&
            ++characters > SHORT_INFO)
            break;
    return i;
}

static void
add_session(struct rowset *out, const struct sql_session_row *row, bool whole)
{
    rowset_int(out, row->id);
    rowset_text(out, row->user);
    rowset_text(out, row->host);
    rowset_text(out, *row->database ? row->database : NULL);
    rowset_text(out, row->command);
    rowset_int(out, (int64_t)row->seconds);
    rowset_text(out, row->state);
    if (row->has_info)
        rowset_bytes(out, row->info,
                     whole ? strlen(row->info) : cut_info(row->info));
    else
        rowset_null(out);
}

/* Another user's sessions take the privilege ADMIN; a session's own user always
 * sees them. */
static void
produce(const struct catalog_scope *scope, struct rowset *out, bool whole)
{
    const struct sql_identity *who = &scope->session->who;
    struct sql_session_row *rows;
    size_t count = sessions_list(scope->session, &rows);

    if (!rows)
        out->failed = true;
    for (size_t i = 0; i < count; i++)
        if ((who->privileges & PRIVILEGE_ADMIN) ||
            (rows[i].trusted == who->trusted &&
             strcmp(rows[i].user, who->user) == 0))
            add_session(out, &rows[i], whole);
    mem_free(rows);
}

static void
produce_whole(const struct catalog_scope *scope, struct rowset *out)
{
    produce(scope, out, true);
}

static void
produce_show(const struct catalog_scope *scope, struct rowset *out)
{
    produce(scope, out, scope->full);
}

static const struct catalog_column sessions[] = {
    {"id", &type_bigint, NULL, CATALOG_KEY},
    {"user", &type_name_nn},
    {"host", &type_text_nn},
    {"db", &type_name},
    {"command", &type_name_nn},
    {"time", &type_bigint_nn},
    {"state", &type_name_nn},
    {"info", &type_text},
};

static const struct catalog_column processlist[] = {
    {"ID", &type_ubigint_nn},   {"USER", &type_name_nn},
    {"HOST", &type_grantee_nn}, {"DB", &type_name},
    {"COMMAND", &type_name_nn}, {"TIME", &type_int_nn},
    {"STATE", &type_name},      {"INFO", &type_text},
};

static const struct catalog_column show_processlist[] = {
    {"Id", &type_ubigint_nn},   {"User", &type_name_nn},
    {"Host", &type_grantee_nn}, {"db", &type_name},
    {"Command", &type_name_nn}, {"Time", &type_int_nn},
    {"State", &type_name},      {"Info", &type_text},
};

const struct catalog_table tables_sessions[] = {
    {"heapwire", "sessions", CATALOG_COLUMNS(sessions), produce_whole,
     "Connected clients", 0, NEED_TIME},
    {"information_schema", "PROCESSLIST", CATALOG_COLUMNS(processlist),
     produce_whole, NULL, 0, NEED_TIME},
    {CATALOG_HIDDEN, "processlist", CATALOG_COLUMNS(show_processlist),
     produce_show, NULL, 0, NEED_TIME},
    {NULL},
};
