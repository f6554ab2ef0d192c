/*
 * statement_off_loop.c - how a statement leaves the loop to another thread
 * while it waits or computes for long, and what it reports meanwhile.
 *
 * It needs a thread slot for that (scheduler.h), which it takes before it is
 * opened, so that nothing runs twice.  Where its user has no slot left, it
 * waits for one in its session, without a thread.  What ends at once, such as
 * SELECT 1 and KILL, needs none, so that a user who is at the limit can still
 * look and kill.  Reports are made by the statement's own thread when its await
 * ticks: there is no second thread that would have to look into it.
 */
#include <stdio.h>

#include "capability.h"
#include "clock.h"
#include "prepared.h"
#include "session.h"
#include "statement_state.h"

enum {
    LONG_BYTES = 4096, /* a longer text takes long to parse, or to compare */
    PROGRESS_MS = 500  /* between two reports, and before the first */
};

/* ---- its thread slot ---- */

/* The scheduler wakes it with both locks held, its own and the loop's: so it
 * only queues. */
void
statement_on_slot(void *arg)
{
    struct session *s = ((struct statement *)arg)->session;

    loop_later(&s->server->loop, &s->more);
}

bool
statement_is_long(const struct statement *st)
{
    /* st->text is not the packet */
    bool elsewhere = st->prepared || st->redirected.arena;

    return st->packet_size + (elsewhere ? st->text.size : 0) > LONG_BYTES ||
           (st->prepared && st->prepared->long_data);
}

/* Its text is parsed for that, so it is asked only if there is no slot. */
static bool
can_run_without_slot(struct statement *st)
{
    return !st->waits && !st->cursor && !st->session->peer &&
           !statement_is_long(st) &&
           sql_is_short_statement(st->session->sql, st->text);
}

bool
statement_take_slot(struct statement *st)
{
    struct session *s = st->session;
    struct scheduler *scheduler = &s->server->scheduler;
    bool running =
        st->is_short || scheduler_take_thread_slot(scheduler, &st->slots);

    if (!running && can_run_without_slot(st)) {
        /* It stood in the line from the call above. */
        scheduler_release_slots(scheduler, &st->slots);
        st->is_short = running = true;
    }
    /* The list of sessions shows a change only. */
    if (running == st->waits)
        registry_set_state(&s->server->registry, &s->entry,
                           running ? "executing" : "waiting for a worker");
    st->waits = !running;
    return running;
}

/* ---- off the loop and back ---- */

bool
statement_leave_loop(struct statement *st)
{
    struct session *s = st->session;
    struct loop *loop = &s->server->loop;

    if (st->off_loop)
        return true;
    /* It has no slot, so it may not have a thread, either. */
    if (st->is_short)
        error_set(&st->refusal, ER_USER_LIMIT_REACHED,
                  "'%s' runs as many statements as one user may at one time, "
                  "and this one has to wait; try again when one has ended",
                  s->who.user);
    else if (loop_make_ready(loop, &st->refusal) == 0) {
        session_suspend(s);
        st->off_loop = true;
        loop_yield_lead(loop);
    }
    return st->off_loop;
}

bool
statement_rejoin_loop(struct statement *st)
{
    struct session *s = st->session;
    struct server *server = s->server;

    if (!st->off_loop)
        return true;
    loop_restore_priority(); /* the lock must not be held at a low priority */
    loop_lock(&server->loop);
    scheduler_release_slots(&server->scheduler, &st->slots);
    st->off_loop = false;
    session_resume(s);
    return s->state != SESSION_CLOSED;
}

/* Waits for a compute slot, unless the statement is about to end. */
static void
await_compute_slot(struct statement *st)
{
    struct scheduler *scheduler = &st->session->server->scheduler;

    if (scheduler_is_slice_over(
            scheduler, &st->slots)) /* threads that it starts inherit it */
        loop_lower_priority();
    if (scheduler_request_compute(scheduler, &st->slots,
                                  await_is_over(&st->await)))
        return;
    while (scheduler_awaits_compute(scheduler, &st->slots) &&
           !await_is_over(&st->await))
        await_pause(&st->await);
    /* It is over, or has been granted one: then this changes nothing. */
    (void)scheduler_request_compute(scheduler, &st->slots, true);
}

/* Called around each wait that blocks, and when the statement computes for
 * long.  A short statement computes on the thread that leads. */
void
statement_on_park(void *arg, bool waits)
{
    struct statement *st = arg;
    struct session *s = st->session;

    if (st->is_short && !waits)
        return;
    if (!st->off_loop) {
        if (!waits) /* with the lock: so in the order in which they came */
            (void)scheduler_request_compute(&s->server->scheduler, &st->slots,
                                            false);
        if (await_is_over(&st->await) || !statement_leave_loop(st)) {
            await_cancel(&st->await);
            return;
        }
    }
    if (!waits) {
        await_compute_slot(st);
        return;
    }
    scheduler_yield_compute(&s->server->scheduler, &st->slots);
    /* What was made so far goes out before the wait. */
    if (session_unsent(s) > 0 && session_send(s) != 0)
        await_cancel(&st->await);
}

/* ---- what it reports ---- */

/* "Resolving names (2 of 4, 37%)" */
static void
print_progress_text(const struct progress *progress, char *out, size_t size)
{
    char percent[16] = "";

    if (progress->percent > 0)
        snprintf(percent, sizeof(percent), ", %u%%", progress->percent);
    snprintf(out, size, "%.40s (%u of %u%s)", progress->text, progress->stage,
             progress->stages, percent);
}

/* Sets the state in SHOW PROCESSLIST; progress NULL: unknown. */
static void
update_statement_state(struct statement *st, const struct progress *progress)
{
    struct session *s = st->session;
    const char *state = atomic_load(&st->await.waits);
    char text[sizeof(s->entry.state)];

    if (scheduler_awaits_compute(&s->server->scheduler, &st->slots)) {
        state = "waiting for a worker";
    } else if (progress) {
        print_progress_text(progress, text, sizeof(text));
        state = text;
    } else if (!state) {
        state = "executing";
    }
    registry_set_state(&s->server->registry, &s->entry, state);
}

/* Clients read progress only in front of the reply, another node anywhere; for
 * a node it is also a sign of life.  It is sent only while nothing waits to be
 * sent, or it would pile up for a client that does not read. */
static bool
can_report_progress(const struct statement *st, bool known)
{
    struct session *s = st->session;

    return (s->peer || (known && !st->columns_made)) &&
           s->reply.capabilities & CAPABILITY_PROGRESS &&
           st->request != REQUEST_ROWS && session_unsent(s) == 0;
}

/* Sends what was made so far, and a report.  -1: the connection is broken. */
static int
send_progress_report(struct statement *st, bool known,
                     const struct progress *progress)
{
    struct session *s = st->session;

    if (session_unsent(s) > 0 && session_send(s) != 0)
        return -1;
    if (clock_ms() - st->started_ms < PROGRESS_MS ||
        !can_report_progress(st, known))
        return 0;
    reply_progress(&s->reply, progress);
    return session_send(s);
}

static bool
claim_progress_report(struct statement *st, uint64_t now_ms)
{
    if (now_ms - st->reported_ms < PROGRESS_MS / 2)
        return false;
    st->reported_ms = now_ms;
    return true;
}

void
statement_on_tick(void *arg)
{
    struct statement *st = arg;
    struct progress progress = {1, 1, 0, "executing"};
    bool known;

    if (!st->off_loop || !claim_progress_report(st, clock_ms()))
        return;
    known = await_progress(&st->await, &progress);
    update_statement_state(st, known ? &progress : NULL);
    /* Off the loop nobody else notices that a TLS client has left. */
    if (session_has_left(st->session) ||
        send_progress_report(st, known, &progress) != 0)
        await_cancel(&st->await);
}

void
statement_report_waiting(struct statement *st, uint64_t now_ms)
{
    static const struct progress waits = {1, 1, 0, "waiting for a worker"};

    if (claim_progress_report(st, now_ms) &&
        send_progress_report(st, false, &waits) != 0)
        session_close(st->session);
}
