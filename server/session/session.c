/* session.c - see session.h. */
#include "session.h"

#include <string.h>

#include "capability.h"
#include "clock.h"
#include "errors.h"
#include "log.h"
#include "memory.h"
#include "server_room.h"
#include "tls_stream.h"

enum {
    FULL_BACKLOG = 64 * 1024,
    AT_ONCE_MAX = 16384,
    TURN_MS = 5 /* of the loop; then each session gets one command */
};

/* Life and death */

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
    s->since_ms = uv_now(server->loop);
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

/* The one place that frees a session: handle closed, no worker in it. */
void
session_released(struct session *s)
{
    if (s->statement || !s->handle_closed)
        return;
    s->conversation->free(s);
    registry_remove(&s->server->registry, &s->entry);
    server_remove(s->server, s);
    memory_hold(&s->held, s->who.user, 0);
    memory_hold(&s->owed, s->who.user, 0);
    packet_reader_fini(&s->in);
    reply_fini(&s->reply);
    tls_stream_free(s->tls);
    buffer_fini(&s->writing);
    mem_free(s);
}

static void
on_closed(uv_handle_t *handle)
{
    struct session *s = handle->data;

    s->handle_closed = true;
    session_released(s);
}

void
session_close(struct session *s)
{
    bool lost = !s->quit || s->state == SESSION_RUNNING;

    if (s->state == SESSION_CLOSED)
        return;
    session_enter(s, SESSION_CLOSED);
    if (lost)
        registry_note(s->sql ? &s->server->registry.lost_clients
                             : &s->server->registry.failed_logins,
                      1);
    wake_forget(&s->more);
    uv_close(&s->io.handle, on_closed);
    s->conversation->on_closed(s);
}

void
session_fail(struct session *s, const struct error *err)
{
    s->conversation->say_error(&s->reply, err);
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

/* Output */

size_t
session_unsent(const struct session *s)
{
    size_t unsealed = s->tls ? tls_stream_unsent(s->tls) : 0;

    return s->reply.out.size + unsealed + s->unsent;
}

bool
session_output_full(const struct session *s)
{
    return session_unsent(s) >= REPLY_FULL;
}

/* Reuses the written buffer for a long result's next bytes. */
static void
recycle(struct session *s)
{
    if (s->state != SESSION_RUNNING || s->tls || s->reply.out.data ||
        s->writing.capacity > (size_t)2 * REPLY_FULL) {
        buffer_fini(&s->writing);
        return;
    }
    s->reply.out = s->writing;
    buffer_clear(&s->reply.out);
    memset(&s->writing, 0, sizeof(s->writing));
}

static void
on_written(uv_write_t *write, int status)
{
    struct session *s = write->data;

    recycle(s);
    s->unsent = 0;
    if (s->state == SESSION_CLOSED)
        return;
    if (status != 0) {
        session_close(s);
        return;
    }
    s->conversation->on_room(s);
    session_turn(s);
}

/* A short reply needs no callback of libuv, because nothing waits for room; the
 * kernel usually takes it whole, and this saves a system call. */
static bool
wrote_at_once(struct session *s)
{
    uv_buf_t bytes = uv_buf_init(s->writing.data, (unsigned)s->writing.size);
    int sent;

    if (s->state == SESSION_RUNNING || s->writing.size > AT_ONCE_MAX ||
        s->reply.out.size > 0 || (s->tls && tls_stream_unsent(s->tls) > 0))
        return false; /* the rest waits for on_written */
    sent = uv_try_write(&s->io.stream, &bytes, 1);
    if (sent > 0)
        buffer_drop_front(&s->writing, (size_t)sent);
    if (s->writing.size > 0)
        return false; /* libuv meets the fault again */
    buffer_fini(&s->writing);
    return true;
}

/* Takes the next bytes to write; there may be none. */
static int
take_output(struct session *s)
{
    struct buffer *out = &s->reply.out;

    if (out->failed) /* there was no room even for an error */
        return -1;
    if (s->tls) {
        tls_stream_give(s->tls, out);
        return tls_stream_seal(
            s->tls, s->state == SESSION_CLOSING && out->size == 0, &s->writing);
    }
    if (out->size > 0) {
        s->writing = *out;
        buffer_init(out, s->writing.max);
    }
    return 0;
}

/* Gives the output to libuv, which keeps it until it is sent. */
static void
flush(struct session *s)
{
    uv_buf_t bytes;

    if (s->writing.data)
        return;
    if (take_output(s) != 0) {
        session_close(s);
        return;
    }
    registry_note(&s->server->registry.sent, s->writing.size);
    if (s->writing.size == 0 || wrote_at_once(s))
        return;
    bytes = uv_buf_init(s->writing.data, (unsigned)s->writing.size);
    s->unsent = s->writing.size;
    s->progress_ms = clock_ms();
    s->write.data = s;
    if (uv_write(&s->write, &s->io.stream, &bytes, 1, on_written) != 0) {
        buffer_fini(&s->writing);
        session_close(s);
    }
}

/* The last bytes are with the kernel.  What a client still sends is read and
 * thrown away until it closes, or a reset could destroy the error; strangers
 * are not waited for. */
static void
on_shut(uv_shutdown_t *shutdown, int status)
{
    struct session *s = shutdown->data;

    if (status != 0)
        session_close(s);
}

static void
finish_closing(struct session *s)
{
    if (s->state != SESSION_CLOSING || s->writing.data || s->shut)
        return;
    s->shut = true;
    s->shutdown.data = s;
    if (s->ended || !s->sql || s->server->stopping ||
        uv_shutdown(&s->shutdown, &s->io.stream, on_shut) != 0)
        session_close(s);
}

/* Input */

static void
on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct session *s = handle->data;
    size_t size =
        session_is_logging_in(s->state) ? SESSION_LOGIN_PACKET : SERVER_INPUT;

    (void)suggested;
    *buf = uv_buf_init(s->server->input, (unsigned)size);
}

/* Garbage before the login ends gets no answer. */
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
    s->reply.sequence = (uint8_t)(s->in.sequence + 1);
    session_fail(s, &err);
}

/* One client may send sixteen megabytes, but not all at once. */
static bool
is_too_much(struct session *s, size_t more)
{
    size_t needed = packet_waiting(&s->in) + more;

    if (needed <= s->in.bytes.capacity)
        return false;
    if (needed > FULL_BACKLOG) /* its block doubles */
        needed *= 2;
    return !memory_hold(&s->held, s->who.user, needed);
}

void
session_refuse_more(struct session *s)
{
    struct error err;

    memory_budget_explain(&err, "this statement");
    log_stranger("connection %u: %s", s->entry.id, err.text);
    s->reply.sequence = (uint8_t)(s->in.sequence + !s->in.in_piece);
    session_fail(s, &err);
    packet_reader_fini(&s->in);
    packet_reader_init(&s->in, SESSION_PACKET);
}

static void
end_of_input(struct session *s)
{
    if (s->state == SESSION_CLOSING && s->writing.data) {
        s->ended = true; /* it may still read its reply */
        session_turn(s);
        return;
    }
    session_close(s);
}

static int
feed(void *arg, const void *data, size_t size)
{
    struct session *s = arg;

    return packet_feed(&s->in, data, size);
}

/* Sends TLS's own alert, if nothing else is on its way. */
static void
say_alert(struct session *s)
{
    uv_buf_t bytes;

    if (s->writing.data || tls_stream_seal(s->tls, false, &s->writing) != 0)
        return;
    bytes = uv_buf_init(s->writing.data, (unsigned)s->writing.size);
    if (s->writing.size > 0)
        (void)uv_try_write(&s->io.stream, &bytes, 1);
    buffer_fini(&s->writing);
}

/* Closes at once: an error cannot be sent, and a statement may be running. */
static void
tls_fault(struct session *s, const struct error *err)
{
    log_stranger("connection %u: TLS with %s failed: %s", s->entry.id,
                 s->who.host, err->text);
    say_alert(s);
    session_close(s);
}

/* False: no more bytes will come. */
static bool
take_bytes(struct session *s, struct span bytes)
{
    struct error err;

    if (!s->tls)
        return packet_feed(&s->in, bytes.data, bytes.size) == 0;
    switch (tls_stream_receive(s->tls, bytes, feed, s, &err)) {
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

void
session_start_tls(struct session *s)
{
    struct error err;

    s->tls = tls_stream_new(s->server->tls, &err);
    if (!s->tls)
        session_fail(s, &err);
}

/* Bytes behind the request for TLS belong to TLS, never to a packet. */
static void
hand_over(struct session *s)
{
    struct packet_reader early = s->in;
    struct span bytes = {early.bytes.data, packet_waiting(&early)};

    packet_reader_init(&s->in, early.limit);
    s->in.sequence = early.sequence;
    if (bytes.size > 0) {
        bytes.data += early.start;
        if (!take_bytes(s, bytes))
            session_close(s);
    }
    packet_reader_fini(&early);
}

static void
take_packet(struct session *s, struct span payload)
{
    bool clear = !s->tls;

    s->reply.sequence = s->in.sequence;
    s->since_ms = uv_now(s->server->loop);
    s->conversation->on_packet(s, payload);
    if (s->delayed_ms) {
        s->delayed = payload;
        return;
    }
    packet_done(&s->in,
                session_is_logging_in(s->state) ? s->reply.sequence : 0);
    if (clear && s->tls)
        hand_over(s);
}

static bool
takes_packets(const struct session *s)
{
    return (session_is_logging_in(s->state) || s->state == SESSION_READY) &&
           !s->delayed_ms && !session_output_full(s);
}

/* One read may bring thousands of commands: other sessions get their turn. */
static bool
is_time_up(const struct session *s)
{
    return uv_hrtime() / 1000000 >= uv_now(s->server->loop) + TURN_MS;
}

static void
pause_input(struct session *s)
{
    struct waker waker = wake_waker(&s->more);

    s->paused = true;
    waker.wake(waker.arg);
}

static void
process(struct session *s)
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
on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct session *s = stream->data;
    bool open;

    if (n == 0 || s->state == SESSION_CLOSED)
        return;
    if (n < 0) {
        end_of_input(s);
        return;
    }
    registry_note(&s->server->registry.received, (uint64_t)n);
    if (s->state == SESSION_CLOSING)
        return;
    if (is_too_much(s, (size_t)n)) {
        session_refuse_more(s);
        session_turn(s);
        return;
    }
    open = take_bytes(s, (struct span){buf->base, (size_t)n});
    explicit_bzero(buf->base, (size_t)n); /* perhaps of a password */
    if (!open)
        end_of_input(s);
    else
        session_turn(s);
}

static bool
waits_for_logins(const struct session *s)
{
    return s->server->logins_wait && s->transport == TRANSPORT_TCP &&
           session_is_logging_in(s->state);
}

/* Reads on during a statement, to notice the client's end; but the bytes sent
 * ahead have a ceiling. */
static void
steer_reading(struct session *s)
{
    bool wanted =
        !s->ended && !s->delayed_ms && !waits_for_logins(s) &&
        (s->state == SESSION_CLOSING || (takes_packets(s) && !s->paused) ||
         packet_waiting(&s->in) < FULL_BACKLOG);

    if (s->state == SESSION_CLOSED || wanted == s->reading)
        return;
    if (!wanted)
        uv_read_stop(&s->io.stream);
    else if (uv_read_start(&s->io.stream, on_alloc, on_read) != 0) {
        session_close(s);
        return;
    }
    s->reading = wanted;
}

static void
steer_logins(struct server *server)
{
    struct session *next;

    for (size_t web = 0; web < 2; web++)
        for (struct session *s = server->logins[web][TRANSPORT_TCP].first; s;
             s = next) {
            next = s->login_next;
            steer_reading(s);
        }
}

/* A handshake with an RSA key takes milliseconds, and strangers may begin any
 * number: when the turn's time is up, one goes on in each turn of the loop. */
static void
share_logins(struct session *s)
{
    struct waker waker = wake_waker(&s->server->logins_more);

    if (s->transport != TRANSPORT_TCP || s->sql || s->server->logins_wait ||
        !is_time_up(s))
        return;
    s->server->logins_wait = true;
    steer_logins(s->server);
    waker.wake(waker.arg);
}

static void
count_memory(struct session *s)
{
    memory_hold_all(&s->held, s->who.user, s->in.bytes.capacity);
    memory_hold_all(&s->owed, s->who.user,
                    session_unsent(s) + s->conversation->unsent(s));
}

void
session_turn(struct session *s)
{
    process(s);
    if (s->state != SESSION_CLOSED)
        flush(s);
    if (s->state != SESSION_CLOSED)
        finish_closing(s);
    count_memory(s);
    steer_reading(s);
    share_logins(s);
    watchdog_mark(&s->server->watchdog, s->entry.id);
}

/* Events from elsewhere */

void
session_read_logins(struct wake *wake)
{
    struct server *server =
        (void *)((char *)wake - offsetof(struct server, logins_more));

    server->logins_wait = false;
    steer_logins(server);
}

void
session_end_delay(struct session *s)
{
    s->delayed_ms = 0;
    s->waited = true;
    take_packet(s, s->delayed);
    s->waited = false;
    session_turn(s);
}
