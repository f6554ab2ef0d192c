/* statement_tick.c - a statement's time limit, and what it reports of itself.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "capability.h"
#include "session.h"
#include "statement_state.h"

enum { PROGRESS_MS = 500 /* older statements report progress */ };

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
    const char *state = atomic_load(&st->pump.await.waits);
    char text[sizeof(s->entry.state)];

    if (st->pump.state == PUMP_STEPPING && workers_waits(&st->pump.job)) {
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
 * anywhere, and for a sign of life. */
static bool
may_tell(const struct statement *st, bool known)
{
    return st->session->peer || (known && !st->columns_sent);
}

/* Only while no byte of the reply or before it is on its way: otherwise
 * progress packets would pile up for a client that does not read. */
static void
tell_progress(struct statement *st, uint64_t now_ms)
{
    struct session *s = st->session;
    struct progress progress = {1, 1, 0, "executing"};
    bool known = await_progress(&st->pump.await, &progress);

    tell_state(st, known ? &progress : NULL);
    if (!may_tell(st, known) ||
        !(s->reply.capabilities & CAPABILITY_PROGRESS) ||
        st->request == REQUEST_ROWS || s->writing.data ||
        s->reply.out.size > 0 || now_ms - st->started_ms < PROGRESS_MS)
        return;
    reply_progress(&s->reply, &progress);
    session_turn(s);
}

void
statement_tick(struct session *s, uint64_t now_ms)
{
    struct statement *st = s->statement;

    if (!st || st->full_since_ms)
        return;
    if (now_ms >= st->deadline_ms)
        statement_cancel(s, END_TIMEOUT);
    else
        tell_progress(st, now_ms);
}
