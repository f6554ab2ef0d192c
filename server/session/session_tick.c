/*
 * session_tick.c - kills, delays, timeouts and farewells of a session: what
 * time or others do to it.  The server's tick calls it, with the loop's lock.
 */
#include "clock.h"
#include "errors.h"
#include "server_counts.h"
#include "session.h"

void
session_kill(struct session *s, enum registry_kill kill)
{
    if (kill == KILL_SESSION)
        session_close(s);
    else if (kill == KILL_QUERY)
        s->conversation->cancel(s, END_KILLED);
}

void
session_delay(struct session *s, uint64_t ms)
{
    s->delayed_ms = clock_ms() + ms;
    /* The time that we make a client wait is not taken from its login's. */
    s->login_deadline_ms += ms;
    server_hurry(s->server);
}

/* An idle client is sent nothing, as MySQL does it: it would take an error that
 * it did not ask for as the answer to its next command.  SQLAlchemy's pre-ping,
 * which reconnects after a closed connection, would fail on that. */
void
session_shut_down(struct session *s)
{
    if (s->state == SESSION_RUNNING) {
        s->conversation->cancel(s, END_SHUTDOWN);
    } else if (s->state == SESSION_READY) {
        /* the session first gets its remaining bytes */
        session_enter(s, SESSION_CLOSING);
        session_process(s);
    } else if (session_is_logging_in(s->state)) {
        session_close(s);
    }
}

static bool
is_stalled(const struct session *s, uint64_t now_ms)
{
    return s->progress_ms > 0 && now_ms - s->progress_ms >= SESSION_STALL_MS;
}

/* No statement runs, so wait_timeout may be read here. */
static uint64_t
idle_ms(const struct session *s)
{
    if (s->conversation->idle_ms)
        return s->conversation->idle_ms;
    return (uint64_t)sql_session_idle_s(s->sql) * 1000;
}

void
session_tick(struct session *s, uint64_t now_ms)
{
    struct error err;

    if (s->state == SESSION_CLOSED)
        return;
    if (s->off_loop) {
        s->conversation->on_tick(s, now_ms);
        return;
    }
    if ((session_is_logging_in(s->state) && now_ms >= s->login_deadline_ms) ||
        (s->state == SESSION_CLOSING &&
         now_ms - s->since_ms >= SESSION_CLOSING_MS) ||
        is_stalled(s, now_ms)) {
        session_close(s);
        return;
    }
    if (s->state == SESSION_READY && !s->delayed_ms &&
        now_ms - s->since_ms >= idle_ms(s)) {
        error_set(&err, ER_CLIENT_TIMEOUT,
                  "The client was disconnected by the server because of "
                  "inactivity");
        /* The error answers no command, so it begins a sequence. */
        s->reply.sequence = 0;
        session_fail(s, &err);
        s->ended = true; /* all input was read, so no reset can destroy the
                            error: need not wait for the client */
        session_process(s);
        return;
    }
    s->conversation->on_tick(s, now_ms);
    if (s->delayed_ms && now_ms >= s->delayed_ms &&
        (s->state == SESSION_READY || session_is_logging_in(s->state)))
        loop_later(&s->server->loop, &s->more);
}
