/*
 * statement.c - see statement.h.
 *
 * A statement runs from top to bottom on the thread that read it: thread slot,
 * open, rows, end.  It returns to the loop earlier where it waits for a slot
 * (statement_off_loop.c), and where the client does not read: then the cursor
 * stays in the session until there is room.  So no thread waits for a client,
 * and a statement that needs microseconds costs no change of threads.  st->end
 * changes only with the loop's lock; reply and rows belong to whoever has the
 * session.
 */
#include "statement.h"

#include <string.h>

#include "capability.h"
#include "clock.h"
#include "log.h"
#include "memory.h"
#include "peer_login.h"
#include "prepared.h"
#include "session.h"
#include "statement_state.h"

enum { SEND_BYTES = 128 * 1024 /* so much is made before it is sent */ };

static void
drop_statement_packet(struct statement *st)
{
    mem_free(st->packet);
    st->packet = NULL;
    memory_reserve(&st->reserved, st->session->who.user, 0);
    st->packet_size = 0;
}

void
statement_close_opening(struct statement *st)
{
    sql_description_fini(&st->description);
    execute_values_fini(&st->values);
    if (!st->prepared)
        return;
    prepared_drop_long(st->prepared);
    drop_statement_packet(st);
}

void
statement_free(struct statement *st)
{
    struct server *server = st->session->server;

    if (st->prepared && st->prepared->cursor == st) {
        st->prepared->cursor = NULL;
        st->prepared->list->cursors--;
    }
    scheduler_release_slots(&server->scheduler, &st->slots);
    if (!st->cursor)
        statement_close_opening(st);
    cursor_free(st->cursor);
    mem_free(st->row);
    drop_statement_packet(st); /* the cursor was the last to read these two */
    sql_indirect_fini(&st->redirected); /* or this */
    audit_fini(&st->audit);
    await_fini(&st->await);
    trim_note(&server->trim, st->started_ms);
    mem_free(st);
}

static void
write_audit(struct statement *st, const struct error *error)
{
    struct session *s = st->session;
    struct audit_outcome outcome = {.error = error,
                                    .rows = st->rows,
                                    .bytes = st->bytes,
                                    .web = s->conversation->web};
    struct sql_identity who = s->who;
    uint32_t id = s->entry.id;

    if (!st->audit.text)
        return;
    if (s->peer)
        /* The record names the user at the other node, not the node. */
        id = peer_session_caller(s->peer, &who);
    outcome.elapsed_ms = clock_ms() - st->started_ms;
    audit_finish(&st->audit, &who, id, &outcome);
}

/* The reply is complete; error is NULL for success.  Frees st. */
void
statement_finish(struct statement *st, const struct error *error)
{
    struct session *s = st->session;
    bool last = st->end == END_SHUTDOWN || peer_session_is_broken(s->peer) ||
                (st->form && st->form->is_last(st->form_arg));

    write_audit(st, error);
    if (error)
        registry_note(&s->server->registry.failed_statements, 1);
    s->statement = NULL;
    s->reply.warnings = 0;
    statement_free(st);
    session_refresh(s);
    session_enter(s, last ? SESSION_CLOSING : SESSION_READY);
}

static void
reply_statement_error(struct statement *st, const struct error *err)
{
    struct reply *reply = &st->session->reply;

    if (st->form)
        st->form->fail(st->form_arg, reply, err);
    else
        reply_error(reply, err);
}

static bool
is_statement_late(const struct statement *st, uint64_t now_ms)
{
    return now_ms >= st->deadline_ms + atomic_load(&st->await.granted_ms);
}

void
statement_fail(struct statement *st)
{
    struct error err = st->refusal.code ? st->refusal : st->error;

    if (err.code == ER_QUERY_INTERRUPTED &&
        (st->end == END_TIMEOUT ||
         (st->end == END_NONE && is_statement_late(st, clock_ms()))))
        error_set(
            &err, ER_QUERY_TIMEOUT,
            "Query execution was interrupted, maximum statement "
            "execution time exceeded (%g s)",
            (double)(st->timeout_ms + atomic_load(&st->await.granted_ms)) /
                1000);
    if (err.code == ER_QUERY_INTERRUPTED && st->end == END_SHUTDOWN)
        error_set(&err, ER_SHUTDOWN, "Server shutdown in progress");
    reply_statement_error(st, &err);
    statement_finish(st, &err);
}

static void
complete_statement(struct statement *st)
{
    struct session *s = st->session;
    struct cursor *cursor = st->cursor;

    session_refresh(s);
    s->reply.warnings = sql_session_warnings(s->sql);
    if (st->form)
        st->form->end(st->form_arg, &s->reply, cursor, s->sql);
    else if (st->request == REQUEST_ROWS)
        reply_end_with(&s->reply, STATUS_LAST_ROW_SENT);
    else if (cursor->column_count > 0)
        reply_end(&s->reply);
    else
        reply_ok(&s->reply, cursor->affected_rows,
                 cursor->info ? cursor->info : "");
    statement_finish(st, NULL);
}

/* ---- rows ---- */

/* Columns go out with the first row: until then an error may stand alone. */
static void
make_columns(struct statement *st)
{
    if (!st->columns_made && st->cursor->column_count > 0 && !st->form)
        reply_columns(&st->session->reply, st->cursor);
    st->columns_made = true;
}

/* Appends the row; -1 with st->error: it cannot be sent, and nothing of it is
 * left. */
static int
encode_row(struct statement *st)
{
    const struct cursor *cursor = st->cursor;
    struct reply *reply = &st->session->reply;
    size_t count = cursor->column_count;

    sql_session_check_row(st->session->sql, cursor->columns, st->row, count);
    if (st->form)
        return st->form->row(st->form_arg, reply, cursor, st->row, &st->error);
    if (st->prepared)
        return reply_binary_row(reply, cursor->columns, st->row, count,
                                &st->error);
    return reply_row(reply, st->row, count, &st->error);
}

/* The bytes of texts in the current row, which are most of it. */
static size_t
row_bytes(const struct statement *st)
{
    size_t bytes = 0;

    for (size_t i = 0; i < st->cursor->column_count; i++)
        if (st->row[i].type == VALUE_TEXT || st->row[i].type == VALUE_BLOB)
            bytes += st->row[i].size;
    return bytes;
}

static void
make_row(struct statement *st)
{
    size_t before = st->session->reply.out.size;

    make_columns(st);
    st->has_row = false;
    if (encode_row(st) != 0) {
        st->outcome = STEP_FAIL;
        return;
    }
    st->rows++;
    st->bytes += st->session->reply.out.size - before;
    if (st->request == REQUEST_ROWS)
        st->wanted--;
}

static bool
wants_rows(const struct statement *st)
{
    return st->request == REQUEST_RESULT ||
           (st->request == REQUEST_ROWS && st->wanted > 0);
}

static void
step_statement_cursor(struct statement *st)
{
    struct rows rows = {.values = st->row, .capacity = 1};

    /* The deadline moves while the client does not read. */
    st->await.deadline_ms = st->deadline_ms;
    st->outcome = await_check(&st->await, &st->error) != 0
                      ? STEP_FAIL
                      : st->cursor->ops->step(st->cursor, &rows, &st->error);
    st->has_row = rows.count > 0;
}

void
statement_note_full(struct statement *st, bool full)
{
    uint64_t now_ms = clock_ms();

    /* Time for which the client did not read is not the statement's. */
    if (st->full_since_ms)
        st->deadline_ms += now_ms - st->full_since_ms;
    st->full_since_ms = full ? now_ms : 0;
}

/* Is there too little room among the replies of all clients for a large row, or
 * for what waits to be sent? */
static bool
is_over_reply_quota(struct statement *st, size_t more)
{
    struct session *s = st->session;
    size_t unsent = session_unsent(s) + more;

    return unsent > REPLY_FULL &&
           !memory_reserve(&s->output_reserved, s->who.user, unsent);
}

static void
refuse_rows(struct statement *st)
{
    struct session *s = st->session;

    if (!statement_rejoin_loop(st))
        return;
    memory_budget_explain(&st->error, "rows that clients have not read yet");
    log_ratelimited("connection %u: %s", s->entry.id, st->error.text);
    statement_fail(st);
}

/* Leaves the loop before work on a long result; a short statement does its work
 * where it is.  False: the statement has ended. */
static bool
leave_loop(struct statement *st)
{
    if (st->is_short || statement_leave_loop(st))
        return true;
    statement_fail(st);
    return false;
}

/* Encodes the current row.  False: the statement has ended. */
static bool
take_statement_row(struct statement *st)
{
    size_t bytes = row_bytes(st);

    /* Encoding a large row takes too long for the loop. */
    if (bytes > REPLY_FULL && !leave_loop(st))
        return false;
    if (is_over_reply_quota(st, bytes)) {
        refuse_rows(st);
        return false;
    }
    make_row(st);
    return true;
}

/* The client does not read: statement_resume() goes on when it does. */
static void
stall_statement(struct statement *st)
{
    if (statement_rejoin_loop(st))
        statement_note_full(st, true);
}

/* Sends rows of a long result, after which others may compute.  False: it goes
 * on later, or has ended. */
static bool
send_statement_rows(struct statement *st)
{
    struct session *s = st->session;

    if (!leave_loop(st))
        return false;
    if (session_send(s) != 0) {
        if (statement_rejoin_loop(st))
            session_close(s);
        return false;
    }
    scheduler_yield_compute(&s->server->scheduler, &st->slots);
    if (session_unsent(s) < SEND_BYTES)
        return true;
    stall_statement(st);
    return false;
}

/* ---- its end ---- */

/* Has a cursor (COM_STMT_EXECUTE with a cursor, or COM_STMT_FETCH) enough?  At
 * its opening it is stepped once, so that it fails now if it fails at all, and
 * has made its change if it makes one. */
static bool
is_satisfied(const struct statement *st)
{
    if (await_cancelled(&st->await) && st->outcome != STEP_DONE)
        return false; /* it fails now, not at some later fetch */
    if (st->request == REQUEST_CURSOR)
        return st->has_row || st->outcome == STEP_DONE;
    return st->request == REQUEST_ROWS && st->wanted == 0;
}

/* The cursor stays behind, and the session is free for other commands. */
static void
suspend_statement(struct statement *st)
{
    struct session *s = st->session;
    size_t before = s->reply.out.size;

    session_refresh(s);
    if (st->request == REQUEST_CURSOR)
        reply_cursor(&s->reply, st->cursor);
    else
        reply_end_with(&s->reply, STATUS_CURSOR_EXISTS);
    st->bytes += s->reply.out.size - before;
    st->columns_made = true;
    /* Until the next fetch, time does not count. */
    statement_note_full(st, true);
    scheduler_release_slots(&s->server->scheduler, &st->slots);
    s->statement = NULL;
    session_enter(s, st->end == END_SHUTDOWN ? SESSION_CLOSING : SESSION_READY);
}

/* Ends or suspends the statement if its outcome says so.  True: it has its
 * reply, or the session is gone; st may be freed. */
static bool
settle_statement(struct statement *st)
{
    bool fails = st->outcome == STEP_FAIL && !st->has_row;
    bool succeeds = st->outcome == STEP_DONE && !st->has_row &&
                    st->request != REQUEST_CURSOR;

    if (!fails && !succeeds && !is_satisfied(st))
        return false;
    if (!statement_rejoin_loop(st))
        return true;
    if (fails) {
        statement_fail(st);
    } else if (succeeds) {
        make_columns(st);
        complete_statement(st);
    } else {
        suspend_statement(st);
    }
    return true;
}

void
statement_pull(struct statement *st)
{
    for (;;) {
        /* A failure comes only after the rows before it were taken. */
        if (settle_statement(st))
            return;
        if (st->has_row && wants_rows(st)) {
            if (!take_statement_row(st))
                return;
        } else if (st->outcome == STEP_MORE) {
            step_statement_cursor(st);
        }
        if (session_unsent(st->session) >= SEND_BYTES &&
            !send_statement_rows(st))
            return;
    }
}

/* ---- from the session ---- */

static void
write_gone(struct statement *st)
{
    static const struct error gone = {.code = ER_QUERY_INTERRUPTED,
                                      .text = "the client is gone"};

    write_audit(st, &gone);
}

/* Makes st the statement of its session: a new one, or one whose cursor is
 * fetched. */
void
statement_enter(struct statement *st, const char *command, struct span text)
{
    /* a forwarded text is shown once its envelope is open */
    static const struct span sealed = {"", 0};
    struct session *s = st->session;

    registry_set_command(&s->server->registry, &s->entry, command, "executing",
                         s->peer ? sealed : text, s->since_ms);
    s->statement = st;
    session_enter(s, SESSION_RUNNING);
}

void
statement_drop(struct prepared *prepared)
{
    struct statement *st = prepared->cursor;

    if (!st)
        return;
    /* A dropped cursor has no error: the client had what it wanted. */
    write_audit(st, NULL);
    statement_free(st);
}

void
statement_cancel(struct session *s, enum statement_end why)
{
    struct statement *st = s->statement;

    if (!st || st->end != END_NONE)
        return;
    st->end = why;
    await_cancel(&st->await);
    /* No thread has it: the loop must notice. */
    if (st->waits || st->full_since_ms)
        loop_later(&s->server->loop, &s->more);
}

void
statement_tick(struct session *s, uint64_t now_ms)
{
    struct statement *st = s->statement;

    if (!st)
        return;
    /* While the client does not read, its session's stall timeout counts
     * instead. */
    if (!st->full_since_ms && is_statement_late(st, now_ms))
        statement_cancel(s, END_TIMEOUT);
    else if (st->waits)
        statement_report_waiting(st, now_ms);
}

void
statement_abandon(struct session *s)
{
    struct statement *st = s->statement;

    if (!st)
        return;
    await_cancel(&st->await);
    if (st->off_loop)
        return; /* its thread closes the session */
    write_gone(st);
    s->statement = NULL;
    statement_free(st);
}
