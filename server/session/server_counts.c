/*
 * server_counts.c - see server_counts.h.  Apart from server.c, since the
 * session calls these and server.c calls the session.
 */
#include "server_counts.h"

#include "clock.h"
#include "errors.h"
#include "session.h"

void
server_stop_now(struct server *server)
{
    if (server->stopped)
        return;
    server->stopped = true;
    loop_set_tick(&server->loop, 0);
    uv_async_send(&server->ended);
}

void
server_set_pace(struct server *server, uint64_t ms)
{
    bool none = server->count == 0 && !server->trim.due_ms;

    loop_set_tick(&server->loop, none ? 0 : ms);
}

void
server_hurry(struct server *server)
{
    if (server->loop.tick_ms == SERVER_RESTING_MS)
        loop_set_tick(&server->loop, SERVER_TICK_MS);
}

size_t
server_reserve(size_t max)
{
    return max / 4 < SERVER_LOCAL_RESERVE ? max / 4 : SERVER_LOCAL_RESERVE;
}

bool
server_can_admit(const struct server *server, enum transport transport)
{
    size_t reserve =
        transport == TRANSPORT_LOCAL ? 0 : server_reserve(server->max);

    return server->count - server->peers - server->web - server->spares +
               reserve <
           server->max;
}

void
server_settle(struct server *server, struct session *s)
{
    server->spares -= s->spare;
    s->spare = false;
}

int
server_note_user(struct server *server, struct session *s, struct error *err)
{
    if (s->spare && !server_can_admit(server, s->transport)) {
        error_set(err, ER_TOO_MANY_CONNECTIONS, "Too many connections");
        return -1;
    }
    server_settle(server, s);
    return 0;
}

void
server_note_login(struct server *server, struct session *s, bool begins)
{
    struct server_logins *logins =
        &server->logins[s->conversation->web][s->transport];

    if (begins) {
        s->login_next = NULL;
        s->login_previous = logins->last;
        *(logins->last ? &logins->last->login_next : &logins->first) = s;
        logins->last = s;
        logins->count++;
        return;
    }
    *(s->login_previous ? &s->login_previous->login_next : &logins->first) =
        s->login_next;
    *(s->login_next ? &s->login_next->login_previous : &logins->last) =
        s->login_previous;
    logins->count--;
}

void
server_add(struct server *server, struct session *s)
{
    s->previous = NULL;
    s->next = server->sessions;
    if (s->next)
        s->next->previous = s;
    server->sessions = s;
    /* Beyond max a session may only turn out to be another node's
     * (server_note_user). */
    s->spare = !s->conversation->web && !server_can_admit(server, s->transport);
    server->web += s->conversation->web;
    server->spares += s->spare;
    server->count++;
    server_set_pace(server, SERVER_TICK_MS);
}

void
server_remove(struct server *server, struct session *s)
{
    *(s->previous ? &s->previous->next : &server->sessions) = s->next;
    if (s->next)
        s->next->previous = s->previous;
    server->count--;
    server->peers -= s->noted_peer;
    server->web -= s->conversation->web;
    server_settle(server, s);
    /* A session's buffers were perhaps the last large blocks. */
    trim_note(&server->trim, clock_ms());
    if (server->count == 0 && server->stopping)
        server_stop_now(server);
}
