/*
 * statement_aside.c - how a statement leaves the loop to another thread while
 * it waits or computes for long, and what it tells meanwhile.
 *
 * It needs a place for that (turns.h).  Where its user has as many as may be,
 * the statement is taken back, as it has sent nothing and changed nothing yet,
 * and begins anew once there is one: so no thread waits for a place, and what
 * is instant, as SELECT 1 and KILL, needs none.  What must not run twice takes
 * its place before it begins (await_compute in sql/).
 */
#include <stdio.h>

#include "capability.h"
#include "clock.h"
#include "session.h"
#include "statement_state.h"

enum { PROGRESS_MS = 500 /* between two reports, and before the first */ };

/* ---- its place ---- */

bool
statement_take_place(struct statement *st)
{
    if (turns_take_place(&st->session->server->turns, &st->turn))
        return true;
    statement_wait_for_place(st);
    return false;
}

/* The turns' lock is held, and the loop's. */
static void
on_place(void *arg)
{
    struct statement *st = arg;

    loop_later(&st->session->server->loop, &st->go_on);
}

void
statement_wait_for_place(struct statement *st)
{
    struct session *s = st->session;
    struct waker waker = {on_place, st};

    st->unplaced = false;
    st->waits = true;
    if (st->end == END_NONE)
        await_revive(&st->await);
    registry_set_state(&s->server->registry, &s->entry, "waiting for a worker");
    turns_await_place(&s->server->turns, &st->turn, waker);
}

void
statement_leave_place(struct statement *st)
{
    turns_leave(&st->session->server->turns, &st->turn);
}

/* Takes back what it has made so far. */
static void
take_back(struct statement *st)
{
    struct reply *reply = &st->session->reply;

    statement_close_opening(st, false);
    cursor_free(st->cursor);
    st->cursor = NULL;
    reply->out.size = st->mark;
    reply->sequence = st->mark_sequence;
    st->columns_made = st->has_row = false;
    st->rows = st->bytes = 0;
    st->outcome = STEP_MORE;
}

bool
statement_is_refused(struct statement *st)
{
    if (st->unplaced && !st->sent && st->request != REQUEST_ROWS) {
        take_back(st);
        statement_wait_for_place(st);
        return true;
    }
    if (!st->refused && !st->unplaced)
        return false;
    if (st->unplaced)
        error_set(&st->error, ER_QUERY_INTERRUPTED,
                  "Query execution was interrupted");
    statement_fail(st);
    return true;
}

void
statement_go_on(struct loop_task *task)
{
    struct statement *st =
        (void *)((char *)task - offsetof(struct statement, go_on));
    struct session *s = st->session;

    st->waits = false;
    registry_set_state(&s->server->registry, &s->entry, "executing");
    statement_run(st);
    session_turn(s);
}

/* ---- aside and back ---- */

bool
statement_step_aside(struct statement *st)
{
    struct session *s = st->session;
    struct server *server = s->server;

    if (st->aside)
        return true;
    st->unplaced = !turns_take_place(&server->turns, &st->turn);
    st->refused =
        !st->unplaced && loop_make_ready(&server->loop, &st->error) != 0;
    if (st->unplaced || st->refused)
        return false;
    session_hold(s);
    st->aside = true;
    loop_step_aside(&server->loop);
    return true;
}

bool
statement_come_back(struct statement *st)
{
    struct session *s = st->session;

    if (!st->aside)
        return true;
    loop_step_back(&s->server->loop);
    statement_leave_place(st);
    st->aside = false;
    session_unhold(s);
    return s->state != SESSION_CLOSED;
}

/* Waits for its turn, unless it is about to end. */
static void
compute(struct statement *st)
{
    struct turns *turns = &st->session->server->turns;

    if (turns_compute(turns, &st->turn, await_is_over(&st->await)))
        return;
    while (!turns_computes(turns, &st->turn) && !await_is_over(&st->await))
        await_pause(&st->await);
    (void)turns_compute(turns, &st->turn, true);
}

void
statement_on_park(void *arg, bool waits)
{
    struct statement *st = arg;
    struct session *s = st->session;

    if (!st->aside &&
        (await_is_over(&st->await) || !statement_step_aside(st))) {
        await_cancel(&st->await);
        return;
    }
    if (!waits) {
        compute(st);
        return;
    }
    turns_rest(&s->server->turns, &st->turn);
    if (session_unsent(s) == 0)
        return;
    st->sent = true;
    if (session_send(s) != 0)
        await_cancel(&st->await);
}

/* ---- what it tells ---- */

/* "Resolving names (2 of 4, 37%)" */
static void
describe(const struct progress *progress, char *out, size_t size)
{
    char percent[16] = "";

    if (progress->percent > 0)
        snprintf(percent, sizeof(percent), ", %u%%", progress->percent);
    snprintf(out, size, "%.40s (%u of %u%s)", progress->text, progress->stage,
             progress->stages, percent);
}

/* The state in SHOW PROCESSLIST; progress NULL: unknown. */
static void
tell_state(struct statement *st, const struct progress *progress)
{
    struct session *s = st->session;
    const char *state = atomic_load(&st->await.waits);
    char text[sizeof(s->entry.state)];

    if (turns_waits(&s->server->turns, &st->turn)) {
        state = "waiting for a worker";
    } else if (progress) {
        describe(progress, text, sizeof(text));
        state = text;
    } else if (!state) {
        state = "executing";
    }
    registry_set_state(&s->server->registry, &s->entry, state);
}

/* Clients read progress in front of the reply alone; another node takes it
 * anywhere, and for a sign of life.  Only while nothing waits to be sent, or
 * it would pile up for a client that does not read. */
static bool
may_tell(const struct statement *st, bool known)
{
    struct session *s = st->session;

    return (s->peer || (known && !st->columns_made)) &&
           s->reply.capabilities & CAPABILITY_PROGRESS &&
           st->request != REQUEST_ROWS && session_unsent(s) == 0;
}

void
statement_on_tick(void *arg)
{
    struct statement *st = arg;
    struct session *s = st->session;
    struct progress progress = {1, 1, 0, "executing"};
    uint64_t now_ms = clock_ms();
    bool known;

    if (!st->aside || now_ms - st->told_ms < PROGRESS_MS / 2)
        return;
    known = await_progress(&st->await, &progress);
    tell_state(st, known ? &progress : NULL);
    st->told_ms = now_ms;
    if (session_has_left(s))
        await_cancel(&st->await);
    if (now_ms - st->started_ms < PROGRESS_MS || !may_tell(st, known))
        return;
    st->sent = true;
    reply_progress(&s->reply, &progress);
    if (session_send(s) != 0)
        await_cancel(&st->await);
}
