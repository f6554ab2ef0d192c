/* statement.c - see statement.h. */
#include "statement.h"

#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "clock.h"
#include "cursor.h"
#include "errors.h"
#include "log.h"
#include "memory.h"
#include "pump.h"
#include "session.h"

enum { STEPS_A_TURN = 16 }; /* then other sessions have theirs */

struct statement {
    struct pump pump;
    struct session *session;
    uint64_t started_ms;
    uint64_t deadline_ms;   /* moved on by what the client made us wait */
    uint64_t full_since_ms; /* 0: the client takes what there is */
    size_t sent;            /* rows of the pump's batch */
    uint64_t rows, bytes;
    bool columns_sent;
    enum statement_end end;
    struct audit audit;
};

static void
statement_free(struct statement *st)
{
    pump_fini(&st->pump);
    audit_fini(&st->audit);
    mem_free(st);
}

/* The reply is complete: error NULL for success. */
static void
finish(struct statement *st, const struct error *error)
{
    struct session *s = st->session;
    struct audit_outcome outcome = {
        .error = error,
        .rows = st->rows,
        .bytes = st->bytes,
        .elapsed_ms = clock_ms() - st->started_ms,
    };
    bool shutdown = st->end == END_SHUTDOWN;

    audit_finish(&st->audit, &s->who, s->entry.id, &outcome);
    s->statement = NULL;
    statement_free(st);
    session_refresh(s);
    session_enter(s, shutdown ? SESSION_CLOSING : SESSION_READY);
}

static void
fail(struct statement *st)
{
    struct error err = st->pump.error;

    if (err.code == ER_QUERY_INTERRUPTED && st->end == END_TIMEOUT)
        error_set(&err, ER_QUERY_TIMEOUT,
                  "Query execution was interrupted, maximum statement "
                  "execution time exceeded (%u s)",
                  st->session->server->statement_timeout_s);
    if (err.code == ER_QUERY_INTERRUPTED && st->end == END_SHUTDOWN)
        error_set(&err, ER_SHUTDOWN, "Server shutdown in progress");
    reply_error(&st->session->reply, &err);
    finish(st, &err);
}

static void
succeed(struct statement *st)
{
    struct session *s = st->session;
    struct cursor *cursor = st->pump.cursor;

    session_refresh(s);
    if (cursor->column_count > 0)
        reply_end(&s->reply);
    else
        reply_ok(&s->reply, cursor->affected_rows,
                 cursor->info ? cursor->info : "");
    finish(st, NULL);
}

/* Columns go out with the first row: until then an error may stand alone. */
static void
send_columns(struct statement *st)
{
    struct cursor *cursor = st->pump.cursor;

    if (!st->columns_sent && cursor->column_count > 0)
        reply_columns(&st->session->reply, cursor);
    st->columns_sent = true;
}

/* -1 with the pump's error: the row cannot be sent. */
static int
send_rows(struct statement *st)
{
    struct session *s = st->session;
    size_t columns = st->pump.cursor->column_count;
    size_t before = s->reply.out.size;
    int rc = 0;

    if (st->pump.rows.count > 0)
        send_columns(st);
    while (rc == 0 && st->sent < st->pump.rows.count &&
           !session_output_full(s)) {
        rc = reply_row(&s->reply, st->pump.rows.values + st->sent * columns,
                       columns, &st->pump.error);
        st->sent++;
        st->rows++;
    }
    st->bytes += s->reply.out.size - before;
    return rc;
}

static void
note_full(struct statement *st, bool full)
{
    uint64_t now_ms = clock_ms();

    if (st->full_since_ms)
        st->deadline_ms += now_ms - st->full_since_ms;
    st->full_since_ms = full ? now_ms : 0;
}

/* Sends and steps until the client is full, the cursor waits, or the end. */
static void
pull(struct statement *st)
{
    for (int turn = 0;; turn++) {
        if (send_rows(st) != 0) {
            pump_cancel(&st->pump);
            fail(st);
            return;
        }
        if (st->sent == st->pump.rows.count) {
            if (st->pump.outcome == STEP_FAIL) {
                fail(st);
                return;
            }
            if (st->pump.outcome == STEP_DONE) {
                send_columns(st);
                succeed(st);
                return;
            }
        }
        note_full(st, session_output_full(st->session));
        if (st->full_since_ms)
            return; /* statement_resume goes on */
        st->sent = 0;
        if (turn == STEPS_A_TURN) {
            pump_yield(&st->pump);
            return;
        }
        if (!pump_step(&st->pump))
            return; /* on_ready goes on */
    }
}

static void
on_ready(void *arg)
{
    struct statement *st = arg;
    struct session *s = st->session;

    if (s->state == SESSION_CLOSED) {
        s->statement = NULL;
        statement_free(st);
        session_released(s);
        return;
    }
    pull(st);
    session_turn(s);
}

void
statement_start(struct session *s, struct span text)
{
    struct statement *st = mem_zalloc(1, sizeof(*st));
    struct cursor *cursor;
    struct error err;

    if (!st) {
        error_memory(&err, "a statement");
        reply_error(&s->reply, &err);
        return;
    }
    st->session = s;
    st->started_ms = clock_ms();
    st->deadline_ms =
        st->started_ms + (uint64_t)s->server->statement_timeout_s * 1000;
    audit_begin(&st->audit, text);
    pump_init(&st->pump, &s->server->wakes, &s->server->workers, s->who.user,
              on_ready, st);
    registry_set_command(&s->server->registry, &s->entry, "Query", "executing",
                         text);
    s->statement = st;
    session_enter(s, SESSION_RUNNING);
    cursor =
        sql_open(s->sql, text, NULL, pump_waker(&st->pump), &st->pump.error);
    if (!cursor || pump_start(&st->pump, cursor, &st->pump.error) != 0)
        fail(st);
    else
        pull(st);
}

void
statement_resume(struct session *s)
{
    struct statement *st = s->statement;

    if (st && st->full_since_ms && st->pump.state == PUMP_IDLE &&
        !session_output_full(s))
        pull(st);
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
statement_tick(struct session *s, uint64_t now_ms)
{
    struct statement *st = s->statement;

    if (st && !st->full_since_ms && now_ms >= st->deadline_ms)
        statement_cancel(s, END_TIMEOUT);
}

void
statement_abandon(struct session *s)
{
    struct statement *st = s->statement;
    static const struct error gone = {.code = ER_QUERY_INTERRUPTED,
                                      .text = "the client is gone"};
    struct audit_outcome outcome;

    if (!st)
        return;
    outcome = (struct audit_outcome){&gone, st->rows, st->bytes,
                                     clock_ms() - st->started_ms};
    audit_finish(&st->audit, &s->who, s->entry.id, &outcome);
    pump_cancel(&st->pump);
    if (st->pump.state == PUMP_STEPPING)
        return; /* on_ready frees it */
    s->statement = NULL;
    statement_free(st);
}
