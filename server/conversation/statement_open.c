/*
 * statement_open.c - how a statement begins, and how it goes on after it
 * waited for its client or for a thread slot: see statement.h.
 *
 * The packet is copied first: the session's buffer is needed for the next one,
 * and the statement may outlive it on another thread.  Then comes the slot,
 * then the opening (parse, privileges, plan), which may itself leave the loop.
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

static const struct sql_parameters *
parameters_of(const struct statement *st)
{
    if (st->prepared)
        return &st->values.sql;
    return st->redirected.arena ? &st->redirected.parameters : NULL;
}

static struct span
packet_of(const struct statement *st)
{
    return (struct span){st->packet, st->packet_size};
}

/* Leaves the loop for a long text, or for many values.  -1 with st->error: the
 * statement is over, or cannot leave. */
static int
take_time(struct statement *st)
{
    if (statement_is_long(st))
        await_compute(&st->await);
    return await_check(&st->await, &st->error);
}

/* Opens the statement; NULL with st->error. */
static struct cursor *
open_cursor(struct statement *st)
{
    struct sql_session *sql = st->session->sql;

    if (take_time(st) != 0)
        return NULL;
    if (st->prepared && execute_values_decode(st->prepared, packet_of(st),
                                              &st->values, &st->error) != 0)
        return NULL;
    /* Before it is opened: a statement that fails is audited, too. */
    audit_begin(&st->audit, st->text, parameters_of(st), sql);
    return sql_open(sql, st->text, parameters_of(st), &st->await, &st->error);
}

/* The limit that holds until the statement is open and may have one of its own.
 */
static uint64_t
timeout_ms(const struct session *s)
{
    uint32_t own_s = sql_session_statement_s(s->sql);

    return (uint64_t)(own_s ? own_s : s->server->statement_timeout_s) * 1000;
}

/* Copies packet.  That memory is reserved although the original counts as well,
 * because it is dropped only later.  NULL with *err. */
static struct statement *
make_statement(struct session *s, struct span packet, struct error *err)
{
    struct statement *st = mem_zalloc(1, sizeof(*st));

    if (st && !memory_reserve(&st->reserved, s->who.user, packet.size)) {
        memory_budget_explain(err, "this statement");
        mem_free(st);
        return NULL;
    }
    if (st)
        st->packet = mem_strndup(packet.data, packet.size);
    if (!st || !st->packet) {
        error_memory(err, "a statement");
        if (st)
            memory_reserve(&st->reserved, s->who.user, 0);
        mem_free(st);
        return NULL;
    }
    st->packet_size = packet.size;
    st->text = (struct span){st->packet, packet.size};
    st->session = s;
    st->started_ms = clock_ms();
    st->timeout_ms = timeout_ms(s);
    st->deadline_ms = st->started_ms + st->timeout_ms;
    st->slots.owner = s->who.user;
    st->slots.forwarded = s->peer != NULL;
    st->slots.slot = (struct waker){statement_on_slot, st};
    await_init(&st->await, statement_on_park, st);
    st->await.tick = statement_on_tick;
    st->slots.granted = await_waker(&st->await);
    return st;
}

/* NULL: the client has its error. */
static struct statement *
statement_new(struct session *s, struct span packet)
{
    struct error err;
    struct statement *st = make_statement(s, packet, &err);

    if (!st)
        reply_error(&s->reply, &err);
    return st;
}

/* Applies the statement's own limit, and the session's to those that it covers.
 */
static void
limit_statement_time(struct statement *st, const struct cursor *cursor)
{
    uint32_t most_ms = sql_session_timeout_ms(st->session->sql);

    if (cursor->timeout_ms > 0)
        st->timeout_ms = cursor->timeout_ms;
    if (cursor->timed && most_ms > 0 && most_ms < st->timeout_ms)
        st->timeout_ms = most_ms;
    st->deadline_ms = st->started_ms + st->timeout_ms;
}

/* Takes the cursor; its rows are borrowed one at a time, into st->row. */
static int
take_cursor(struct statement *st, struct cursor *cursor)
{
    size_t columns = cursor->column_count;

    st->row = columns ? mem_alloc(columns * sizeof(*st->row)) : NULL;
    if (columns && !st->row) {
        error_memory(&st->error, "a row of a result");
        cursor_free(cursor);
        return -1;
    }
    limit_statement_time(st, cursor);
    st->cursor = cursor;
    /* Without columns there is nothing to fetch. */
    if (st->request == REQUEST_CURSOR && columns == 0)
        st->request = REQUEST_RESULT;
    if (st->request == REQUEST_CURSOR) {
        st->prepared->cursor = st;
        st->prepared->list->cursors++;
    }
    return 0;
}

/* Until it was open, its slot was charged to the node; now the caller is known.
 * False: the caller has no slot left and the statement goes on when there is
 * one, or it is over. */
static bool
charge_caller(struct statement *st)
{
    /* With the loop's lock, under which the owner may change. */
    if (!statement_rejoin_loop(st))
        return false;
    scheduler_release_slots(&st->session->server->scheduler, &st->slots);
    st->slots.owner = peer_session_owner(st->session->peer);
    return statement_take_slot(st);
}

/* False: the statement is over, or waits for a thread slot. */
static bool
open_statement_cursor(struct statement *st)
{
    struct peer_session *peer = st->session->peer;
    struct cursor *cursor = open_cursor(st);

    if (peer)
        peer_session_audit(peer, &st->audit);
    if (cursor && take_cursor(st, cursor) == 0) {
        statement_close_opening(st);
        return !peer || charge_caller(st);
    }
    if (statement_rejoin_loop(st))
        statement_fail(st);
    return false;
}

static void
describe_statement(struct statement *st)
{
    int rc = take_time(st);

    if (rc == 0)
        rc = sql_describe(st->session->sql, st->text, &st->await,
                          &st->description, &st->error);
    if (rc != 0)
        memset(&st->description, 0, sizeof(st->description));
    if (!statement_rejoin_loop(st))
        return;
    if (rc != 0) {
        statement_fail(st);
        return;
    }
    st->on_described(st->session, st->text, &st->description);
    statement_finish(st, NULL);
}

void
statement_run(struct statement *st)
{
    if (await_check(&st->await, &st->error) != 0) {
        statement_fail(st);
        return;
    }
    /* It is called again when it has one (statement_on_slot). */
    if (!statement_take_slot(st))
        return;
    st->await.deadline_ms = st->deadline_ms;
    if (st->on_described)
        describe_statement(st);
    else if (st->cursor || open_statement_cursor(st))
        statement_pull(st);
}

static void
begin_statement(struct statement *st, const char *command)
{
    statement_enter(st, command, st->text);
    statement_run(st);
}

void
statement_start(struct session *s, struct span text)
{
    struct statement *st = statement_new(s, text);
    struct error err;

    if (!st)
        return;
    if (sql_indirect(s->sql, st->text, &st->redirected, &err) != 0) {
        reply_error(&s->reply, &err);
        statement_free(st);
        return;
    }
    st->text = st->redirected.text;
    begin_statement(st, "Query");
}

/* The statement is well-formed and its tables are permitted; functions check
 * what they need when they run. */
static void
finish_check_statement(struct session *s, struct span text,
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
    struct statement *st = make_statement(s, text, &err);

    if (!st) {
        form->fail(arg, &s->reply, &err);
        if (form->is_last(arg))
            session_enter(s, SESSION_CLOSING);
        return;
    }
    st->form = form;
    st->form_arg = arg;
    if (opens_only)
        st->on_described = finish_check_statement;
    begin_statement(st, "Query");
}

void
statement_describe(struct session *s, struct span text,
                   statement_described *on_described)
{
    struct statement *st = statement_new(s, text);

    if (!st)
        return;
    st->on_described = on_described;
    begin_statement(st, "Prepare");
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
    begin_statement(st, "Execute");
}

/* ---- going on ---- */

static void
continue_statement(struct statement *st)
{
    statement_note_full(st, false);
    statement_run(st);
}

void
statement_fetch(struct prepared *prepared, uint32_t count)
{
    struct statement *st = prepared->cursor;
    struct span text = {prepared->text, prepared->text_size};

    st->request = REQUEST_ROWS;
    st->wanted = count;
    statement_enter(st, "Fetch", text);
    continue_statement(st);
}

/* There is room again, or a slot, or the statement is over. */
void
statement_resume(struct session *s)
{
    struct statement *st = s->statement;

    if (st && (st->waits || st->full_since_ms))
        continue_statement(st);
}
