/*
 * statement_open.c - how a statement begins: see statement.h.
 *
 * Opening parses a statement, compiles a SELECT, computes the values of a SET:
 * work for a worker, unless the statement is brief.
 */
#include <string.h>

#include "clock.h"
#include "cursor.h"
#include "errors.h"
#include "memory.h"
#include "peer_login.h"
#include "prepared.h"
#include "session.h"
#include "statement_state.h"

enum { BRIEF_BYTES = 4096 /* of a packet that the loop opens */ };

static const struct sql_parameters *
parameters_of(const struct statement *st)
{
    if (st->prepared)
        return &st->values.sql;
    return st->meant.arena ? &st->meant.parameters : NULL;
}

static struct span
packet_of(const struct statement *st)
{
    return (struct span){st->packet, st->packet_size};
}

/* On the loop, or a worker. */
static void
open_text(void *arg)
{
    struct statement *st = arg;
    struct sql_session *sql = st->session->sql;
    struct error *err = &st->pump.error;

    if (st->on_described) {
        st->described = sql_describe(sql, st->text, &st->pump.await,
                                     &st->description, err) == 0;
        return;
    }
    if (st->prepared && execute_values_decode(st->prepared, packet_of(st),
                                              &st->values, err) != 0)
        return;
    audit_begin(&st->audit, st->text, parameters_of(st), sql);
    st->opened =
        sql_open(sql, st->text, parameters_of(st), &st->pump.await, err);
}

/* Until it is open and has a limit of its own. */
static uint64_t
timeout_ms(const struct session *s)
{
    uint32_t own_s = sql_session_statement_s(s->sql);

    return (uint64_t)(own_s ? own_s : s->server->statement_timeout_s) * 1000;
}

/* Copies packet, which counts as held once more, because the original is not
 * dropped yet.  NULL with *err. */
static struct statement *
make(struct session *s, struct span packet, struct error *err)
{
    struct statement *st = mem_zalloc(1, sizeof(*st));

    if (st && !memory_hold(&st->held, s->who.user, packet.size)) {
        memory_budget_explain(err, "this statement");
        mem_free(st);
        return NULL;
    }
    if (st)
        st->packet = mem_strndup(packet.data, packet.size);
    if (!st || !st->packet) {
        error_memory(err, "a statement");
        if (st)
            memory_hold(&st->held, s->who.user, 0);
        mem_free(st);
        return NULL;
    }
    st->packet_size = packet.size;
    st->text = (struct span){st->packet, packet.size};
    st->session = s;
    st->started_ms = clock_ms();
    st->timeout_ms = timeout_ms(s);
    st->deadline_ms = st->started_ms + st->timeout_ms;
    pump_init(&st->pump, &s->server->workers, s->who.user, statement_ready, st);
    st->pump.job.forwarded = s->peer != NULL;
    st->pump.take = statement_take_rows;
    st->pump.open = open_text;
    st->pump.one_by_one = true;
    st->fd = -1;
    chunk_init(&st->chunk);
    return st;
}

/* NULL: the client has its error. */
static struct statement *
statement_new(struct session *s, struct span packet)
{
    struct error err;
    struct statement *st = make(s, packet, &err);

    if (!st)
        reply_error(&s->reply, &err);
    return st;
}

/* Applies the statement's own limit, and the session's to statements that it
 * covers. */
static void
limit_time(struct statement *st, const struct cursor *cursor)
{
    uint32_t most_ms = sql_session_timeout_ms(st->session->sql);

    if (cursor->timeout_ms > 0)
        st->timeout_ms = cursor->timeout_ms;
    if (cursor->timed && most_ms > 0 && most_ms < st->timeout_ms)
        st->timeout_ms = most_ms;
    st->deadline_ms = st->started_ms + st->timeout_ms;
}

/* True: it has a cursor.  False: it has failed, and the client has its error.
 */
static bool
begin(struct statement *st)
{
    struct cursor *cursor = st->opened;

    st->opened = NULL;
    if (cursor)
        limit_time(st, cursor);
    if (!cursor || pump_start(&st->pump, cursor, &st->pump.error) != 0) {
        statement_fail(st);
        return false;
    }
    if (st->request == REQUEST_CURSOR && cursor->column_count == 0)
        st->request = REQUEST_RESULT;
    if (st->request == REQUEST_CURSOR) {
        st->prepared->cursor = st;
        st->prepared->list->cursors++;
    }
    return true;
}

static void
opened(struct statement *st)
{
    struct peer_session *peer = st->session->peer;

    if (peer) {
        peer_session_audit(peer, &st->audit);
        st->pump.job.owner = peer_session_owner(peer);
    }
    if (!st->on_described) {
        if (begin(st)) {
            statement_drop_opening(st);
            statement_pull(st);
        }
    } else if (st->described) {
        st->on_described(st->session, st->text, &st->description);
        statement_finish(st, NULL);
    } else {
        statement_fail(st);
    }
}

/* It is short, and so are its values.  That of a prepared statement was seen
 * when it was prepared. */
static bool
is_brief(const struct statement *st)
{
    const struct sql_parameters *given = &st->meant.parameters;
    size_t size = st->packet_size;

    if (st->prepared && st->prepared->long_data)
        return false;
    for (size_t i = 0; i < given->count; i++)
        size += given->values[i].size;
    if (size > BRIEF_BYTES)
        return false;
    return st->prepared ? st->prepared->brief
                        : sql_is_brief(st->session->sql, st->text);
}

/* Opens st->text. */
static void
open_statement(struct statement *st, const char *command)
{
    st->opening = true;
    st->on_opened = opened;
    statement_enter(st, command, st->text);
    if (is_brief(st)) {
        open_text(st);
        opened(st);
    } else {
        st->pump.await.deadline_ms = st->deadline_ms;
        pump_open(&st->pump);
    }
}

void
statement_start(struct session *s, struct span text)
{
    struct statement *st = statement_new(s, text);
    struct error err;

    if (!st)
        return;
    if (sql_indirect(s->sql, st->text, &st->meant, &err) != 0) {
        reply_error(&s->reply, &err);
        statement_free(st);
        return;
    }
    st->text = st->meant.text;
    open_statement(st, "Query");
}

/* It is well-formed, and its tables are permitted; what functions need, they
 * check when they run. */
static void
say_end(struct session *s, struct span text,
        const struct sql_description *description)
{
    struct statement *st = s->statement;

    (void)text;
    (void)description;
    st->form->end(st->form_arg, &s->reply, NULL, s->sql);
}

void
statement_answer(struct session *s, struct span text,
                 const struct statement_form *form, void *arg, bool opens_only)
{
    struct error err;
    struct statement *st = make(s, text, &err);

    if (!st) {
        form->fail(arg, &s->reply, &err);
        if (form->is_last(arg))
            session_enter(s, SESSION_CLOSING);
        return;
    }
    st->form = form;
    st->form_arg = arg;
    if (opens_only)
        st->on_described = say_end;
    open_statement(st, "Query");
}

void
statement_describe(struct session *s, struct span text,
                   statement_described *on_described)
{
    struct statement *st = statement_new(s, text);

    if (!st)
        return;
    st->on_described = on_described;
    open_statement(st, "Prepare");
}

void
statement_execute(struct session *s, struct prepared *prepared,
                  struct span packet, bool cursor)
{
    struct statement *st = statement_new(s, packet);

    if (!st) {
        prepared_drop_long(prepared);
        return;
    }
    st->prepared = prepared;
    st->text = (struct span){prepared->text, prepared->text_size};
    st->request = cursor ? REQUEST_CURSOR : REQUEST_RESULT;
    st->pump.one_by_one =
        !cursor; /* a cursor keeps its first rows for a fetch */
    open_statement(st, "Execute");
}
