/*
 * command.c - see command.h.
 *
 * What a packet means is a table: one row per state and command, with numbers
 * and replies as in wire/PROTOCOL.md.  A pair that has no row is an unknown
 * command, so nothing is reachable in a state that does not name it.  All with
 * the loop's lock.
 */
#include "command.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "capability.h"
#include "clock.h"
#include "cursor.h"
#include "errors.h"
#include "log.h"
#include "login.h"
#include "peer_login.h"
#include "prepared_commands.h"
#include "session.h"
#include "statement.h"

enum {
    COM_QUIT = 0x01,
    COM_INIT_DB = 0x02,
    COM_QUERY = 0x03,
    COM_FIELD_LIST = 0x04,
    COM_REFRESH = 0x07,
    COM_SHUTDOWN = 0x08,
    COM_STATISTICS = 0x09,
    COM_PROCESS_INFO = 0x0a,
    COM_PROCESS_KILL = 0x0c,
    COM_DEBUG = 0x0d,
    COM_PING = 0x0e,
    COM_CHANGE_USER = 0x11,
    COM_STMT_PREPARE = 0x16,
    COM_STMT_EXECUTE = 0x17,
    COM_STMT_SEND_LONG_DATA = 0x18,
    COM_STMT_CLOSE = 0x19,
    COM_STMT_RESET = 0x1a,
    COM_SET_OPTION = 0x1b,
    COM_STMT_FETCH = 0x1c,
    COM_RESET_CONNECTION = 0x1f,
    COM_ANY = -1 /* the whole packet is an answer, not a command */
};

enum { ZLIB_DEFLATE = 0x78, ZSTD_MAGIC = 0x2fb528 /* its first three bytes */ };

static void
run_quit(struct session *s, struct span body)
{
    (void)body;
    s->quit = true;
    session_close(s);
}

/* Some clients send a NUL behind their text; MySQL's lexer stops there. */
static struct span
without_nul(struct span text)
{
    while (text.size > 0 && text.data[text.size - 1] == '\0')
        text.size--;
    return text;
}

static void
run_query(struct session *s, struct span body)
{
    statement_start(s, without_nul(body));
}

static void
run_prepare(struct session *s, struct span body)
{
    prepared_prepare(s, without_nul(body));
}

static void
run_init_db(struct session *s, struct span body)
{
    struct error err;

    if (sql_session_use(s->sql, body, &err) != 0) {
        reply_error(&s->reply, &err);
        return;
    }
    session_refresh(s);
    reply_ok(&s->reply, 0, "");
}

static void
run_field_list(struct session *s, struct span body)
{
    struct reader r = reader_of(body.data, body.size);
    struct span table = reader_text(&r);
    struct cursor *cursor;
    struct error err;

    if (r.failed)
        table = body; /* some clients omit the NUL and the wildcard */
    cursor = sql_open_fields(s->sql, table, &err);
    if (!cursor) {
        reply_error(&s->reply, &err);
        return;
    }
    reply_fields(&s->reply, cursor);
    cursor_free(cursor);
}

static void
run_refused(struct session *s, struct span body)
{
    struct error err;

    (void)body;
    error_set(&err, ER_PRIVILEGE,
              "Access denied; the database itself is not administered through "
              "this port");
    reply_error(&s->reply, &err);
}

/* The format is MySQL's: mysqladmin and Connector/Python split at two blanks.
 */
static void
run_statistics(struct session *s, struct span body)
{
    int64_t up_ms = clock_wall_ms() - s->server->node.started_ms;
    struct sql_counts counts;
    double seconds = up_ms > 1000 ? (double)up_ms / 1000 : 1;
    char text[256];

    (void)body;
    registry_count(&s->server->registry, &counts);
    snprintf(text, sizeof(text),
             "Uptime: %" PRId64 "  Threads: %zu  Questions: %" PRIu64
             "  Slow queries: 0  Opens: 0  Flush tables: 1  Open tables: 0  "
             "Queries per second avg: %.3f",
             up_ms > 0 ? up_ms / 1000 : 0, s->server->count, counts.questions,
             (double)counts.questions / seconds);
    reply_text(&s->reply, text);
}

static void
run_process_info(struct session *s, struct span body)
{
    static const char text[] = "SHOW PROCESSLIST";

    (void)body;
    statement_start(s, (struct span){text, sizeof(text) - 1});
}

static void
run_malformed(struct session *s)
{
    struct error err;

    error_set(&err, ER_MALFORMED_PACKET, "Malformed communication packet");
    reply_error(&s->reply, &err);
}

static void
run_process_kill(struct session *s, struct span body)
{
    struct reader r = reader_of(body.data, body.size);
    uint32_t id = reader_u32(&r);
    struct error err;

    if (r.failed)
        run_malformed(s);
    else if (registry_kill(&s->server->registry, id, false, &s->who, &err))
        reply_error(&s->reply, &err);
    else
        reply_ok(&s->reply, 0, "");
}

static void
run_debug(struct session *s, struct span body)
{
    (void)body;
    reply_end(&s->reply);
}

static void
run_ping(struct session *s, struct span body)
{
    (void)body;
    reply_ok(&s->reply, 0, "");
}

/* Multiple statements on or off: a packet is one statement here either way. */
static void
run_set_option(struct session *s, struct span body)
{
    struct reader r = reader_of(body.data, body.size);
    uint16_t option = reader_u16(&r);

    if (r.failed || option > 1)
        run_malformed(s);
    else
        reply_end(&s->reply);
}

static void
run_reset(struct session *s, struct span body)
{
    (void)body;
    prepared_drop_all(s);
    sql_session_reset(s->sql);
    session_refresh(s);
    reply_ok(&s->reply, 0, "");
}

static const struct {
    enum session_state state;
    int command;
    void (*run)(struct session *session, struct span body);
    bool peers; /* other nodes may send it, too */
} commands[] = {
    {SESSION_LOGIN, COM_ANY, login_response},
    {SESSION_PEER, COM_ANY, peer_login_answer, true},
    {SESSION_SWITCH, COM_ANY, login_answer},
    {SESSION_READY, COM_QUERY, run_query, true},
    {SESSION_READY, COM_PING, run_ping, true},
    {SESSION_READY, COM_QUIT, run_quit, true},
    {SESSION_READY, COM_INIT_DB, run_init_db},
    {SESSION_READY, COM_FIELD_LIST, run_field_list},
    {SESSION_READY, COM_REFRESH, run_refused},
    {SESSION_READY, COM_SHUTDOWN, run_refused},
    {SESSION_READY, COM_STATISTICS, run_statistics},
    {SESSION_READY, COM_PROCESS_INFO, run_process_info},
    {SESSION_READY, COM_PROCESS_KILL, run_process_kill},
    {SESSION_READY, COM_DEBUG, run_debug},
    {SESSION_READY, COM_CHANGE_USER, login_change},
    {SESSION_READY, COM_STMT_PREPARE, run_prepare},
    {SESSION_READY, COM_STMT_EXECUTE, prepared_execute},
    {SESSION_READY, COM_STMT_SEND_LONG_DATA, prepared_send_long_data},
    {SESSION_READY, COM_STMT_CLOSE, prepared_close},
    {SESSION_READY, COM_STMT_RESET, prepared_reset},
    {SESSION_READY, COM_STMT_FETCH, prepared_fetch},
    {SESSION_READY, COM_SET_OPTION, run_set_option},
    {SESSION_READY, COM_RESET_CONNECTION, run_reset},
};

/* Another node's session may only forward: it has no privileges, but not every
 * command asks for one. */
static void
run_foreign(struct session *s)
{
    struct error err;

    error_set(&err, ER_PRIVILEGE,
              "Access denied; another node's session runs only ADMIN FORWARD");
    reply_error(&s->reply, &err);
}

static void
run_unknown(struct session *s)
{
    struct error err;

    error_set(&err, ER_UNKNOWN_COMMAND, "Unknown command");
    reply_error(&s->reply, &err);
}

/* Counts as MySQL's status variable Queries does: all commands but these two.
 */
static void
count_question(struct session *s, int command)
{
    if (command == COM_PING || command == COM_STATISTICS)
        return;
    registry_note(&s->server->registry.questions, 1);
}

/* Some clients compress although that was not offered: their packets begin with
 * three more bytes, the size before compression, or 0 for none.  No command
 * begins like that and like zlib (RFC 1950) or zstd (RFC 8878). */
static bool
is_compressed(const struct session *s, struct span packet)
{
    struct reader r = reader_of(packet.data, packet.size);
    uint32_t size = reader_u24(&r), mark = reader_u24(&r);

    return s->reply.capabilities & (CAPABILITY_COMPRESS | CAPABILITY_ZSTD) &&
           packet.size > 3 &&
           (size == 0 ||
            (!r.failed &&
             ((mark & 0xff) == ZLIB_DEFLATE || mark == ZSTD_MAGIC) &&
             size < 1 << 16));
}

/* It is logged, too: a client that decompresses the answer only sees a lost
 * connection. */
static void
refuse_compressed(struct session *s)
{
    struct error err;

    error_set(&err, ER_UNCOMPRESS,
              "Couldn't uncompress communication packet: this server offers no "
              "compression; connect without it");
    log_ratelimited("connection %u: %s", s->entry.id, err.text);
    session_fail(s, &err);
}

static void
run_packet(struct session *s, struct span packet)
{
    struct span body = packet;
    int command = COM_ANY;

    if (s->state == SESSION_READY && is_compressed(s, packet)) {
        refuse_compressed(s);
        return;
    }
    if (s->state == SESSION_READY) {
        /* An empty packet is command 0, which has no row. */
        command = packet.size ? (unsigned char)packet.data[0] : 0;
        body.data += packet.size ? 1 : 0;
        body.size -= packet.size ? 1 : 0;
        count_question(s, command);
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (commands[i].state == s->state && commands[i].command == command) {
            if (s->peer && !commands[i].peers)
                run_foreign(s);
            else
                commands[i].run(s, body);
            return;
        }
    run_unknown(s);
}

static void
on_mysql_session_closed(struct session *s)
{
    login_given_up(s);
    statement_abandon(s);
}

static bool
is_outdated(const struct session *s)
{
    return peer_session_is_outdated(s->peer);
}

/* In this order: cursors of prepared statements use the SQL session and the
 * peer's session. */
static void
free_mysql_session(struct session *s)
{
    prepared_drop_all(s);
    sql_session_free(s->sql);
    peer_session_free(s->peer);
}

static enum packet_state
next_packet(struct session *s, struct span *packet)
{
    return packet_next(&s->in, packet);
}

const struct conversation conversation = {
    .greet = login_begin,
    .next = next_packet,
    .send_error = reply_error,
    .on_packet = run_packet,
    .on_drained = statement_resume,
    .on_closed = on_mysql_session_closed,
    .on_tick = statement_tick,
    .cancel = statement_cancel,
    .is_outdated = is_outdated,
    .free = free_mysql_session,
};
