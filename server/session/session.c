/*
 * session.c - see session.h.
 *
 * Events of the loop come in at session_on_event(), and whatever happens ends
 * in session_process(): it takes packets while the state allows, sends what it
 * can, and tells epoll what to watch.  Reading stops while output is not taken
 * (the kernel's window then stops the client), so memory is bounded by two
 * buffers and an account for all sessions.  After LOOP_ITERATION_MS of a round
 * each session gets one command more in it.  Nothing is freed within an event:
 * session_close() only marks, and a task frees in the next round.
 */
#include "session.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "capability.h"
#include "clock.h"
#include "errors.h"
#include "log.h"
#include "memory.h"
#include "server_counts.h"
#include "tls_stream.h"

enum {
    FULL_BACKLOG = 64 * 1024,
    LOOP_ITERATION_MS = 5 /* of a round; then each session gets one command */
};

/* ---- life and death ---- */

bool
session_is_logging_in(enum session_state state)
{
    return state == SESSION_LOGIN || state == SESSION_SWITCH ||
           state == SESSION_PEER;
}

void
session_enter(struct session *s, enum session_state state)
{
    struct server *server = s->server;
    static const struct span none = {"", 0};

    server->running += state == SESSION_RUNNING;
    server->running -= s->state == SESSION_RUNNING;
    s->state = state;
    s->since_ms = clock_ms();
    if (s->counted != session_is_logging_in(state))
        server_note_login(server, s, session_is_logging_in(state));
    s->counted = session_is_logging_in(state);
    packet_reader_set_limit(&s->in, session_is_logging_in(state)
                                        ? SESSION_LOGIN_PACKET
                                        : SESSION_PACKET);
    if (state == SESSION_RUNNING)
        server_hurry(server);
    if (state == SESSION_READY)
        registry_set_command(&server->registry, &s->entry, "Sleep",
                             s->conversation->web ? "HTTP" : "", none,
                             s->since_ms);
}

/* The one place that frees a session: a task of the loop, which runs after the
 * events of a round, as one of those may be this session's. */
void
session_free(struct loop_task *grave)
{
    struct session *s =
        (void *)((char *)grave - offsetof(struct session, grave));

    s->conversation->free(s);
    registry_remove(&s->server->registry, &s->entry);
    server_remove(s->server, s);
    memory_reserve(&s->input_reserved, s->who.user, 0);
    memory_reserve(&s->output_reserved, s->who.user, 0);
    packet_reader_fini(&s->in);
    reply_fini(&s->reply);
    tls_stream_free(s->tls);
    buffer_fini(&s->sealed);
    mem_free(s);
}

void
session_close(struct session *s)
{
    bool lost = !s->quit || s->state == SESSION_RUNNING;

    if (s->state == SESSION_CLOSED || s->doomed)
        return;
    /* A thread has the session: it is told to end, and closes it when it is
     * back. */
    if (s->off_loop) {
        s->doomed = true;
        (void)loop_watch(&s->server->loop, &s->source, 0);
        s->conversation->on_closed(s);
        return;
    }
    session_enter(s, SESSION_CLOSED);
    if (lost)
        registry_note(s->sql ? &s->server->registry.lost_clients
                             : &s->server->registry.failed_logins,
                      1);
    loop_cancel_task(&s->server->loop, &s->more);
    loop_close(&s->server->loop, &s->source);
    s->conversation->on_closed(s);
    loop_later(&s->server->loop, &s->grave);
}

void
session_suspend(struct session *s)
{
    s->off_loop = true;
    loop_cancel_task(&s->server->loop, &s->more);
    (void)loop_watch(&s->server->loop, &s->source, EPOLLRDHUP);
}

/* Closes a session that was doomed meanwhile, or whose client has said goodbye.
 */
void
session_resume(struct session *s)
{
    bool over = s->doomed || s->ended;

    s->off_loop = s->doomed = false;
    if (over)
        session_close(s);
}

void
session_fail(struct session *s, const struct error *err)
{
    s->conversation->send_error(&s->reply, err);
    session_enter(s, SESSION_CLOSING);
}

void
session_refresh(struct session *s)
{
    s->reply.status = 0;
    if (sql_session_autocommit(s->sql))
        s->reply.status |= STATUS_AUTOCOMMIT;
    if (sql_session_in_transaction(s->sql))
        s->reply.status |= STATUS_IN_TRANSACTION;
    registry_set_database(&s->server->registry, &s->entry,
                          sql_session_database(s->sql));
}

/* ---- output ---- */

static void
flush_output(struct session *s)
{
    if (session_send(s) != 0)
        session_close(s);
    registry_note(&s->server->registry.sent, s->noted);
    s->noted = 0;
}

/* The last bytes are with the kernel.  If bytes of the client were left unread,
 * close() would send a reset, which can destroy the error on its way: so input
 * is read and thrown away until the client closes.  Unauthenticated clients are
 * not waited for. */
static void
finish_closing(struct session *s)
{
    if (s->state != SESSION_CLOSING || session_unsent(s) > 0 || s->shut)
        return;
    s->shut = true;
    if (s->ended || !s->sql || s->server->stopping ||
        shutdown(s->source.fd, SHUT_WR) != 0)
        session_close(s);
}

/* ---- input ---- */

/* Garbage before the end of the login gets no answer: it is no MySQL client. */
static void
framing_fault(struct session *s, enum packet_state fault)
{
    struct error err;

    if (session_is_logging_in(s->state)) {
        session_close(s);
        return;
    }
    if (fault == PACKET_TOO_LARGE)
        error_set(&err, ER_PACKET_TOO_LARGE,
                  "Got a packet bigger than 'max_allowed_packet' bytes");
    else
        error_set(&err, ER_PACKETS_OUT_OF_ORDER, "Got packets out of order");
    /* The client expects the number that follows its own. */
    s->reply.sequence = (uint8_t)(s->in.sequence + 1);
    session_fail(s, &err);
}

/* Any client may send sixteen megabytes, but not all of them at once. */
static bool
is_over_input_quota(struct session *s, size_t more)
{
    size_t needed = packet_waiting(&s->in) + more;

    if (needed <= s->in.bytes.capacity)
        return false;
    if (needed > FULL_BACKLOG) /* buffers grow by doubling */
        needed *= 2;
    return !memory_reserve(&s->input_reserved, s->who.user, needed);
}

void
session_refuse_more(struct session *s)
{
    struct error err;

    memory_budget_explain(&err, "this statement");
    log_ratelimited("connection %u: %s", s->entry.id, err.text);
    s->reply.sequence = (uint8_t)(s->in.sequence + !s->in.in_piece);
    session_fail(s, &err);
    packet_reader_fini(&s->in);
    packet_reader_init(&s->in, SESSION_PACKET);
}

static void
end_of_input(struct session *s)
{
    if (s->state == SESSION_CLOSING && session_unsent(s) > 0) {
        s->ended = true; /* the client may still read its reply */
        session_process(s);
        return;
    }
    session_close(s);
}

static int
feed_session_input(void *arg, const void *data, size_t size)
{
    struct session *s = arg;

    return packet_feed(&s->in, data, size);
}

/* Closes at once: an error cannot be sent encrypted, and a statement may be
 * running. */
static void
tls_fault(struct session *s, const struct error *err)
{
    log_ratelimited("connection %u: TLS with %s failed: %s", s->entry.id,
                    s->who.host, err->text);
    session_send_alert(s);
    session_close(s);
}

/* False: no more bytes will come. */
static bool
take_session_bytes(struct session *s, struct span bytes)
{
    struct error err;

    if (!s->tls)
        return packet_feed(&s->in, bytes.data, bytes.size) == 0;
    switch (tls_stream_receive(s->tls, bytes, feed_session_input, s, &err)) {
    case TLS_OPEN:
        return true;
    case TLS_FAILED:
        tls_fault(s, &err);
        return true;
    case TLS_ENDED:
        break;
    }
    return false;
}

bool
session_has_left(struct session *s)
{
    char bytes[1024];
    struct error ignored;
    ssize_t n;

    /* In TLS a goodbye is a record among data, so the data before it must be
     * read. */
    while (s->tls && !s->ended && packet_waiting(&s->in) < FULL_BACKLOG) {
        n = recv(s->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n <= 0)
            break;
        registry_note(&s->server->registry.received, (uint64_t)n);
        s->ended =
            tls_stream_receive(s->tls, (struct span){bytes, (size_t)n},
                               feed_session_input, s, &ignored) != TLS_OPEN;
    }
    explicit_bzero(bytes, sizeof(bytes));
    return s->ended;
}

void
session_start_tls(struct session *s)
{
    struct error err;

    s->tls = tls_stream_new(s->server->tls, &err);
    if (!s->tls)
        session_fail(s, &err);
}

/* Bytes that came behind the request for TLS belong to TLS. Taken as a packet
 * they would be commands that somebody on the way slipped in before the
 * encryption began. */
static void
hand_input_to_tls(struct session *s)
{
    struct packet_reader early = s->in;
    struct span bytes = {early.bytes.data, packet_waiting(&early)};

    packet_reader_init(&s->in, early.limit);
    s->in.sequence = early.sequence;
    if (bytes.size > 0) {
        bytes.data += early.start;
        if (!take_session_bytes(s, bytes))
            session_close(s);
    }
    packet_reader_fini(&early);
}

static void
take_packet(struct session *s, struct span payload)
{
    bool clear = !s->tls;

    s->reply.sequence = s->in.sequence;
    s->since_ms = clock_ms();
    s->conversation->on_packet(s, payload);
    /* The packet stays where it is: session_more() gives it again. */
    if (s->delayed_ms) {
        s->delayed = payload;
        return;
    }
    packet_done(&s->in,
                session_is_logging_in(s->state) ? s->reply.sequence : 0);
    if (clear && s->tls)
        hand_input_to_tls(s);
}

static bool
takes_packets(const struct session *s)
{
    return (session_is_logging_in(s->state) || s->state == SESSION_READY) &&
           !s->delayed_ms && !session_output_full(s);
}

/* One read may bring thousands of commands: then other sessions get their turn.
 */
static bool
is_time_up(const struct session *s)
{
    return clock_ms() >= s->server->loop.round_ms + LOOP_ITERATION_MS;
}

static void
pause_input(struct session *s)
{
    s->paused = true;
    loop_later(&s->server->loop, &s->more);
}

static void
process_session_input(struct session *s)
{
    enum packet_state state;
    struct span payload;

    s->paused = false;
    while (takes_packets(s) && !s->paused) {
        state = s->conversation->next(s, &payload);
        if (state == PACKET_MORE)
            return;
        if (state == PACKET_READY)
            take_packet(s, payload);
        else
            framing_fault(s, state);
        if (takes_packets(s) && packet_waiting(&s->in) > 0 && is_time_up(s))
            pause_input(s);
    }
}

static void
take_input(struct session *s, char *bytes, size_t size)
{
    bool open;

    registry_note(&s->server->registry.received, size);
    if (s->state == SESSION_CLOSING)
        return;
    if (is_over_input_quota(s, size)) {
        session_refuse_more(s);
        session_process(s);
        return;
    }
    open = take_session_bytes(s, (struct span){bytes, size});
    explicit_bzero(bytes, size); /* may hold a password */
    if (!open)
        end_of_input(s);
    else
        session_process(s);
}

static void
on_readable(struct session *s)
{
    /* All sessions share one buffer for reading: the lock is held until it is
     * used up. */
    size_t size =
        session_is_logging_in(s->state) ? SESSION_LOGIN_PACKET : SERVER_INPUT;
    ssize_t n = recv(s->source.fd, s->server->input, size, MSG_DONTWAIT);

    if (n > 0)
        take_input(s, s->server->input, (size_t)n);
    else if (n == 0)
        end_of_input(s);
    else if (errno != EAGAIN && errno != EINTR)
        session_close(s);
}

static void
on_writable(struct session *s)
{
    flush_output(s);
    if (s->state != SESSION_CLOSED && session_unsent(s) == 0)
        s->conversation->on_drained(s);
    session_process(s);
}

static bool can_read_session(const struct session *s);

/* While its thread is off the loop, or its statement waits for room, nothing is
 * read, so a hang-up is all that the loop can notice: the client has gone. */
void
session_on_event(struct loop_source *source, uint32_t events)
{
    struct session *s =
        (void *)((char *)source - offsetof(struct session, source));
    uint32_t over = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

    if (!s->off_loop && events & EPOLLOUT)
        on_writable(s);
    if (s->source.fd < 0 || !(events & (EPOLLIN | over)))
        return;
    if (!s->off_loop && can_read_session(s))
        on_readable(s);
    else if (events & over)
        session_close(s);
}

static bool
waits_for_logins(const struct session *s)
{
    return s->server->logins_wait && s->transport == TRANSPORT_TCP &&
           session_is_logging_in(s->state);
}

static bool
can_read_session(const struct session *s)
{
    return !s->ended && !s->delayed_ms && !waits_for_logins(s) &&
           (s->state == SESSION_CLOSING || (takes_packets(s) && !s->paused));
}

/* While a statement runs, what the client sends ahead stays with the kernel;
 * only the end of the connection is watched for. */
static void
update_session_events(struct session *s)
{
    uint32_t events = 0;

    if (s->state == SESSION_CLOSED)
        return;
    if (can_read_session(s))
        events |= EPOLLIN;
    else if (s->state == SESSION_RUNNING)
        events |= EPOLLRDHUP;
    if (session_unsent(s) > 0)
        events |= EPOLLOUT;
    if (loop_watch(&s->server->loop, &s->source, events) != 0)
        session_close(s);
}

static void
steer_logins(struct server *server)
{
    struct session *next;

    for (size_t web = 0; web < 2; web++)
        for (struct session *s = server->logins[web][TRANSPORT_TCP].first; s;
             s = next) {
            next = s->login_next;
            update_session_events(s);
        }
}

/* A handshake with an RSA key takes milliseconds, and anybody may begin any
 * number of them: when the round's time is up, one goes on in each round. */
static void
throttle_logins(struct session *s)
{
    if (s->transport != TRANSPORT_TCP || s->sql || s->server->logins_wait ||
        !is_time_up(s))
        return;
    s->server->logins_wait = true;
    steer_logins(s->server);
    loop_later(&s->server->loop, &s->server->logins_more);
}

static void
count_memory(struct session *s)
{
    memory_charge(&s->input_reserved, s->who.user, s->in.bytes.capacity);
    memory_charge(&s->output_reserved, s->who.user, session_unsent(s));
}

/* A statement that waited for room in the output goes on in the next round. */
static void
flush_session_output(struct session *s)
{
    bool full = session_unsent(s) > 0;

    flush_output(s);
    if (full && s->state == SESSION_RUNNING && session_unsent(s) == 0)
        loop_later(&s->server->loop, &s->more);
}

void
session_process(struct session *s)
{
    process_session_input(s);
    /* The order matters: answers first, then the farewell, then what to watch.
     */
    if (s->state != SESSION_CLOSED)
        flush_session_output(s);
    if (s->state != SESSION_CLOSED)
        finish_closing(s);
    count_memory(s);
    update_session_events(s);
    throttle_logins(s);
    /* Off the loop the thread's time is not the loop's. */
    if (loop_leads())
        watchdog_mark(&s->server->loop.watchdog, s->entry.id);
}

/* ---- events from elsewhere ---- */

void
session_read_logins(struct loop_task *task)
{
    struct server *server =
        (void *)((char *)task - offsetof(struct server, logins_more));

    server->logins_wait = false;
    steer_logins(server);
}

static void
end_delay(struct session *s)
{
    s->delayed_ms = 0;
    /* `waited` tells the conversation not to delay the packet again. */
    s->waited = true;
    take_packet(s, s->delayed);
    s->waited = false;
}

void
session_more(struct loop_task *task)
{
    struct session *s = (void *)((char *)task - offsetof(struct session, more));

    if (s->delayed_ms)
        end_delay(s);
    else if (s->state == SESSION_RUNNING)
        s->conversation->on_drained(s);
    session_process(s);
}
