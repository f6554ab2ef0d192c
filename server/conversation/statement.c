/* statement.c - see statement.h. */
#include "statement.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "audit.h"
#include "capability.h"
#include "chunk.h"
#include "clock.h"
#include "cursor.h"
#include "errors.h"
#include "log.h"
#include "memory.h"
#include "peer_login.h"
#include "prepared.h"
#include "pump.h"
#include "session.h"
#include "statement_state.h"

enum { STEPS_A_TURN = 16 /* then other sessions have theirs */ };

static void
drop_packet(struct statement *st)
{
    mem_free(st->packet);
    st->packet = NULL;
    memory_hold(&st->held, st->session->who.user, 0);
    st->packet_size = 0;
}

/* Frees what only the opening needs. */
void
statement_drop_opening(struct statement *st)
{
    if (!st->opening)
        return;
    st->opening = false;
    if (st->described)
        sql_description_fini(&st->description);
    cursor_free(st->opened);
    st->opened = NULL;
    if (!st->prepared)
        return;
    execute_values_fini(&st->values);
    prepared_drop_long(st->prepared);
    drop_packet(st);
}

void
statement_free(struct statement *st)
{
    if (st->prepared && st->prepared->cursor == st) {
        st->prepared->cursor = NULL;
        st->prepared->list->cursors--;
    }
    statement_drop_opening(st);
    pump_fini(&st->pump);
    drop_packet(st);               /* the cursor was the last to read it, */
    sql_indirect_fini(&st->meant); /* or this */
    chunk_fini(&st->chunk);
    if (st->fd >= 0)
        close(st->fd);
    audit_fini(&st->audit);
    trim_note(&st->session->server->trim);
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
        id = peer_session_caller(s->peer, &who);
    outcome.elapsed_ms = clock_ms() - st->started_ms;
    audit_finish(&st->audit, &who, id, &outcome);
}

/* The reply is complete: error NULL for success. */
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
say(struct statement *st, const struct error *err)
{
    struct reply *reply = &st->session->reply;

    if (st->form)
        st->form->fail(st->form_arg, reply, err);
    else
        reply_error(reply, err);
}

void
statement_fail(struct statement *st)
{
    struct error err = st->pump.error;

    if (err.code == ER_QUERY_INTERRUPTED &&
        (st->end == END_TIMEOUT ||
         (st->end == END_NONE && clock_ms() >= st->deadline_ms)))
        error_set(&err, ER_QUERY_TIMEOUT,
                  "Query execution was interrupted, maximum statement "
                  "execution time exceeded (%g s)",
                  (double)st->timeout_ms / 1000);
    if (err.code == ER_QUERY_INTERRUPTED && st->end == END_SHUTDOWN)
        error_set(&err, ER_SHUTDOWN, "Server shutdown in progress");
    say(st, &err);
    statement_finish(st, &err);
}

static void
succeed(struct statement *st)
{
    struct session *s = st->session;
    struct cursor *cursor = st->pump.cursor;

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

/* Columns go out with the first row: until then an error may stand alone. */
static void
make_columns(struct statement *st, struct reply *reply)
{
    struct cursor *cursor = st->pump.cursor;

    if (!st->columns_made && cursor->column_count > 0 && !st->form)
        reply_columns(reply, cursor);
    st->columns_made = true;
}

/* -1 with *err: the row cannot be sent, and nothing has changed. */
static int
make_row(struct statement *st, struct reply *reply, struct error *err)
{
    const struct cursor *cursor = st->pump.cursor;
    size_t count = cursor->column_count;
    struct value *row = st->pump.rows.values + st->made * count;
    int rc;

    sql_session_check_row(st->session->sql, cursor->columns, row, count);
    if (st->form)
        rc = st->form->row(st->form_arg, reply, cursor, row, err);
    else if (st->prepared)
        rc = reply_binary_row(reply, cursor->columns, row, count, err);
    else
        rc = reply_row(reply, row, count, err);
    if (rc != 0)
        return -1;
    st->made++;
    if (st->request == REQUEST_ROWS)
        st->wanted--;
    return 0;
}

static bool
wants_rows(const struct statement *st)
{
    return st->request == REQUEST_RESULT ||
           (st->request == REQUEST_ROWS && st->wanted > 0);
}

static bool
has_rows(const struct statement *st)
{
    return st->made < st->pump.rows.count && wants_rows(st);
}

/* Sends the rows that the worker did not make. */
static int
send_rows(struct statement *st)
{
    struct session *s = st->session;
    size_t before = s->reply.out.size, made = st->made;
    int rc = 0;

    if (has_rows(st))
        make_columns(st, &s->reply);
    st->columns_sent = st->columns_made;
    while (rc == 0 && has_rows(st) && !session_output_full(s))
        rc = make_row(st, &s->reply, &st->pump.error);
    st->rows += st->made - made;
    st->bytes += s->reply.out.size - before;
    return rc;
}

/* On the worker.  Leaves a row that cannot be sent: the loop meets the same
 * fault, and reports it. */
bool
statement_take_rows(void *arg)
{
    struct statement *st = arg;
    struct chunk *chunk = &st->chunk;
    struct error unsaid;
    int rc = 0;

    st->made = 0;
    if (has_rows(st))
        make_columns(st, &chunk->reply);
    while (rc == 0 && has_rows(st) && !chunk_full(chunk)) {
        rc = make_row(st, &chunk->reply, &unsaid);
        chunk->rows += rc == 0;
    }
    return st->made == st->pump.rows.count && wants_rows(st) &&
           (!chunk_full(chunk) || (st->writes && chunk_write(chunk, st->fd)));
}

static void
give_chunk(struct statement *st)
{
    st->rows += st->chunk.rows + st->chunk.written_rows;
    st->bytes += st->chunk.reply.out.size + st->chunk.written_bytes;
    st->chunk.written_rows = st->chunk.written_bytes = 0;
    chunk_give(&st->chunk, &st->session->reply);
}

size_t
statement_unsent(const struct session *s)
{
    const struct statement *st = s->statement;

    /* While the pump steps, the chunk is a worker's. */
    return st && st->pump.state != PUMP_STEPPING ? st->chunk.reply.out.size : 0;
}

/* Approximate bytes of the rows that the worker has not made. */
static size_t
bytes_left(const struct statement *st)
{
    size_t columns = st->pump.cursor->column_count, bytes = 0;

    for (size_t i = st->made * columns; i < st->pump.rows.count * columns; i++)
        if (st->pump.rows.values[i].type == VALUE_TEXT ||
            st->pump.rows.values[i].type == VALUE_BLOB)
            bytes += st->pump.rows.values[i].size;
    return bytes;
}

/* Whether the rows at hand are large, and there is no room for them among the
 * replies of all clients. */
static bool
is_too_much(struct statement *st)
{
    struct session *s = st->session;
    size_t more =
        st->chunk.reply.out.size + (has_rows(st) ? bytes_left(st) : 0);

    return more > REPLY_FULL &&
           !memory_hold(&s->owed, s->who.user, session_unsent(s) + more);
}

/* Half a row cannot be taken back. */
static void
refuse_rows(struct statement *st)
{
    struct session *s = st->session;
    struct error *err = &st->pump.error;

    memory_budget_explain(err, "rows that clients have not read yet");
    log_stranger("connection %u: %s", s->entry.id, err->text);
    if (st->chunk.written_bytes > 0) {
        session_close(s);
        return;
    }
    pump_cancel(&st->pump);
    statement_fail(st);
}

static void
note_full(struct statement *st, bool full)
{
    uint64_t now_ms;

    if (!full && !st->full_since_ms)
        return;
    now_ms = clock_ms();
    if (st->full_since_ms)
        st->deadline_ms += now_ms - st->full_since_ms;
    st->full_since_ms = full ? now_ms : 0;
}

/* Whether a cursor has enough: it has been stepped far enough to fail if it
 * fails at once, and to have done its change if it makes one. */
static bool
is_satisfied(const struct statement *st)
{
    if (await_cancelled(&st->pump.await) && st->pump.outcome != STEP_DONE)
        return false; /* now, and not at some later fetch */
    if (st->request == REQUEST_CURSOR)
        return st->pump.rows.count > 0 || st->pump.outcome == STEP_DONE;
    return st->request == REQUEST_ROWS && st->wanted == 0;
}

/* The cursor stays behind; the session is free for other commands. */
static void
suspend(struct statement *st)
{
    struct session *s = st->session;
    size_t before = s->reply.out.size;

    session_refresh(s);
    if (st->request == REQUEST_CURSOR)
        reply_cursor(&s->reply, st->pump.cursor);
    else
        reply_end_with(&s->reply, STATUS_CURSOR_EXISTS);
    st->bytes += s->reply.out.size - before;
    st->columns_sent = st->columns_made = true;
    note_full(st, true);
    s->statement = NULL;
    session_enter(s, st->end == END_SHUTDOWN ? SESSION_CLOSING : SESSION_READY);
}

/* True: the statement has its reply, and may be freed. */
static bool
settle(struct statement *st)
{
    bool all_sent = st->made == st->pump.rows.count;
    bool opening = st->request == REQUEST_CURSOR;

    if (all_sent && st->pump.outcome == STEP_FAIL) {
        statement_fail(st);
    } else if (all_sent && st->pump.outcome == STEP_DONE && !opening) {
        make_columns(st, &st->session->reply);
        succeed(st);
    } else if (is_satisfied(st)) {
        suspend(st);
    } else {
        return false;
    }
    return true;
}

/* From the second chunk of a long result on: duplicates the descriptor, because
 * the session may close it meanwhile, and its number be used again.  Not for
 * another node, to which the loop reports progress between rows. */
static bool
is_writer(struct statement *st)
{
    struct session *s = st->session;
    int fd;

    if (st->fd < 0 && st->columns_sent && st->request == REQUEST_RESULT &&
        !s->tls && !s->peer && !st->pump.cursor->instant &&
        uv_fileno(&s->io.handle, &fd) == 0)
        st->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return st->fd >= 0;
}

/* A worker that writes needs an empty output buffer.  One that does not write
 * makes a chunk while another is sent, unless that is a large one. */
static bool
may_step(struct statement *st)
{
    const struct session *s = st->session;

    st->writes = is_writer(st);
    if (st->writes)
        return session_unsent(s) == 0;
    return !session_output_full(s) ||
           (!st->pump.cursor->instant && !await_cancelled(&st->pump.await) &&
            st->made == st->pump.rows.count &&
            session_unsent(s) <= 2 * (size_t)REPLY_FULL);
}

/* Sends and steps until the client is full, a worker steps, or the end. */
void
statement_pull(struct statement *st)
{
    for (int turn = 0;; turn++) {
        if (is_too_much(st)) {
            refuse_rows(st);
            return;
        }
        if (st->chunk.written_bytes > 0 ||
            (chunk_made(&st->chunk) && !session_output_full(st->session)))
            give_chunk(st);
        if (chunk_made(&st->chunk)) {
            note_full(st, true);
            return; /* statement_resume goes on */
        }
        if (send_rows(st) != 0) {
            pump_cancel(&st->pump);
            statement_fail(st);
            return;
        }
        if (settle(st))
            return;
        note_full(st, !may_step(st));
        if (st->full_since_ms)
            return;
        st->made = 0;
        chunk_begin(&st->chunk, &st->session->reply);
        if (turn == STEPS_A_TURN) {
            pump_yield(&st->pump);
            return;
        }
        st->pump.await.deadline_ms = st->deadline_ms;
        if (!pump_step(&st->pump))
            return; /* statement_ready goes on */
    }
}

static void
write_gone(struct statement *st)
{
    static const struct error gone = {.code = ER_QUERY_INTERRUPTED,
                                      .text = "the client is gone"};

    write_audit(st, &gone);
}

void
statement_ready(void *arg)
{
    struct statement *st = arg;
    struct session *s = st->session;

    if (s->state == SESSION_CLOSED) {
        write_gone(st);
        s->statement = NULL;
        statement_free(st);
        session_released(s);
        return;
    }
    if (st->opening)
        st->on_opened(st);
    else
        statement_pull(st);
    session_turn(s);
}

/* Makes it s->statement: a new one, or one whose cursor is fetched. */
void
statement_enter(struct statement *st, const char *command, struct span text)
{
    static const struct span sealed = {"", 0}; /* shown once it is open */
    struct session *s = st->session;

    registry_set_command(&s->server->registry, &s->entry, command, "executing",
                         s->peer ? sealed : text, s->since_ms);
    s->statement = st;
    session_enter(s, SESSION_RUNNING);
}

void
statement_fetch(struct prepared *prepared, uint32_t count)
{
    struct statement *st = prepared->cursor;
    struct span text = {prepared->text, prepared->text_size};

    st->request = REQUEST_ROWS;
    st->wanted = count;
    note_full(st, false);
    statement_enter(st, "Fetch", text);
    statement_pull(st);
}

void
statement_drop(struct prepared *prepared)
{
    struct statement *st = prepared->cursor;

    if (!st)
        return;
    write_audit(st, NULL);
    statement_free(st);
}

void
statement_resume(struct session *s)
{
    struct statement *st = s->statement;

    if (st && st->full_since_ms && st->pump.state == PUMP_IDLE &&
        !session_output_full(s))
        statement_pull(st);
}

void
statement_cancel(struct session *s, enum statement_end why)
{
    struct statement *st = s->statement;

    if (!st || st->end != END_NONE)
        return;
    st->end = why;
    pump_cancel(&st->pump);
}

void
statement_abandon(struct session *s)
{
    struct statement *st = s->statement;

    if (!st)
        return;
    pump_cancel(&st->pump);
    if (st->pump.state == PUMP_STEPPING)
        return; /* statement_ready goes on: a worker has it */
    write_gone(st);
    s->statement = NULL;
    statement_free(st);
}
