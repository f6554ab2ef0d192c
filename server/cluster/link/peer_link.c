/*
 * peer_link.c - see peer_link.h.  Each event ends in drive_peer_link(): it
 * reads and handles packets until the socket has no more or it is others' turn,
 * then writes.  An owner may close the link in any callback: it is freed once
 * libuv has closed its handles, never below our own frames (`driving`).
 */
#include "peer_link.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "files.h"
#include "memory.h"
#include "tls_stream.h"

static void drive_peer_link(struct peer_link *l);

static void
on_link_handle_closed(uv_handle_t *handle)
{
    struct peer_link *l = handle->data;

    if (--l->handles > 0)
        return;
    tls_stream_free(l->tls);
    buffer_fini(&l->writing);
    peer_wire_fini(&l->wire);
    mem_free(l);
}

static void
stop_link_poll(struct peer_link *l)
{
    if (l->watching != 0)
        uv_poll_stop(&l->poll);
    l->watching = 0;
}

static bool
is_alive(const struct peer_link *l)
{
    return l->events && !l->broken;
}

/* The owner closes a link that is broken. */
static void
fail_peer_link(struct peer_link *l, const struct error *why)
{
    if (!is_alive(l))
        return;
    l->broken = true;
    stop_link_poll(l);
    uv_timer_stop(&l->timer);
    l->events->broken(l, why);
}

static void
fail_text(struct peer_link *l, const char *text)
{
    struct error why;

    error_set(&why, ER_UNKNOWN, "%s", text);
    fail_peer_link(l, &why);
}

static void
fail_memory(struct peer_link *l)
{
    struct error why;

    error_memory(&why, "a connection");
    fail_peer_link(l, &why);
}

static void
fail_lost(struct peer_link *l)
{
    fail_text(l, l->state == PEER_LINK_ASKING ? "the connection was lost"
                                              : "it closed the connection");
}

static void on_timer(uv_timer_t *timer);

/* From now on a node that was asked has so long to say something. */
static void
listen_on(struct peer_link *l)
{
    if (l->state == PEER_LINK_ASKING)
        uv_timer_start(&l->timer, on_timer, PEER_LINK_SILENT_MS, 0);
}

/* Takes the next bytes for the socket; -1: no memory. */
static int
take_link_output(struct peer_link *l)
{
    struct buffer *out = &l->wire.out;
    bool failed = out->failed;

    buffer_fini(&l->writing);
    l->written = 0;
    if (!failed && l->tls) {
        tls_stream_give(l->tls, out);
        return tls_stream_seal(l->tls, false, &l->writing);
    }
    if (out->size > 0) {
        l->writing = *out;
        buffer_init(out, l->writing.max);
    }
    return failed ? -1 : 0;
}

/* Sends what the socket takes at once.  If it takes nothing more for good,
 * reading says why: the node's last words are still to come.  -1: no memory. */
static int
flush_link_output(struct peer_link *l)
{
    ssize_t put;

    for (;;) {
        if (l->written == l->writing.size && take_link_output(l) != 0)
            return -1;
        if (l->writing.size == 0)
            return 0;
        put = peer_socket_write(l->fd, l->writing.data + l->written,
                                l->writing.size - l->written);
        if (put < 0 && errno == EAGAIN)
            return 0;
        if (put > 0)
            listen_on(l); /* the node takes the statement: it is alive */
        l->written = put < 0 ? l->writing.size : l->written + (size_t)put;
    }
}

/* An idle link says farewell, for which the socket always has room.  libuv must
 * let go of the descriptor before it is closed. */
static void
close_now(struct peer_link *l)
{
    if (l->state == PEER_LINK_READY && !l->broken) {
        peer_wire_quit(&l->wire);
        (void)flush_link_output(l);
    }
    stop_link_poll(l);
    if (l->poll_open)
        uv_close((uv_handle_t *)&l->poll, on_link_handle_closed);
    uv_close((uv_handle_t *)&l->timer, on_link_handle_closed);
    fd_close(l->fd);
    l->fd = -1;
}

void
peer_link_close(struct peer_link *l)
{
    if (!l || !l->events)
        return;
    l->events = NULL;
    if (!l->driving)
        close_now(l);
}

/* This process itself may have stood still: what came meanwhile is read first.
 */
static void
heed_silence(struct peer_link *l)
{
    struct error why;

    drive_peer_link(l);
    if (!is_alive(l) || l->state != PEER_LINK_ASKING)
        return;
    if (l->paused || l->starved) {
        listen_on(l); /* we do not listen to it now */
        return;
    }
    if (uv_is_active((uv_handle_t *)&l->timer))
        return;
    error_set(&why, ER_QUERY_TIMEOUT, "no answer for %d s",
              PEER_LINK_SILENT_MS / 1000);
    fail_peer_link(l, &why);
}

static void
on_timer(uv_timer_t *timer)
{
    struct peer_link *l = timer->data;
    struct error why;

    if (l->due) {
        l->due = false;
        if (l->state == PEER_LINK_CONNECTING)
            uv_timer_start(&l->timer, on_timer, l->timeout_ms, 0);
        listen_on(l);
        drive_peer_link(l);
        return;
    }
    if (l->state == PEER_LINK_ASKING) {
        heed_silence(l);
        return;
    }
    if (l->state == PEER_LINK_READY) {
        fail_text(l, "idle for long enough");
        return;
    }
    error_set(&why, ER_QUERY_TIMEOUT,
              l->established ? "it took the connection, and did not end the "
                               "login within %" PRIu64
                               " ms: it hangs, is too busy, or is no heapwired"
                             : "no connection within %" PRIu64 " ms",
              l->established ? PEER_LINK_LOGIN * l->timeout_ms : l->timeout_ms);
    fail_peer_link(l, &why);
}

/* Continues in the loop's next iteration. */
static void
drive_soon(struct peer_link *l)
{
    l->due = true;
    uv_timer_start(&l->timer, on_timer, 0, 0);
}

static void
on_poll(uv_poll_t *poll, int status, int events)
{
    struct peer_link *l = poll->data;

    if (l->state == PEER_LINK_READY) {
        fail_text(l, "it closed the connection");
        return;
    }
    (void)status; /* the socket itself reports its fault */
    (void)events;
    if (!l->due) /* a due timer continues, in this iteration */
        drive_peer_link(l);
}

static int
update_link_poll(struct peer_link *l)
{
    bool reads = l->established && !l->paused && !l->starved,
         writes = !l->established || l->written < l->writing.size;
    int events = (reads ? UV_READABLE : 0) | (writes ? UV_WRITABLE : 0);

    if (events == 0)
        stop_link_poll(l);
    else if (events != l->watching &&
             uv_poll_start(&l->poll, events, on_poll) != 0)
        return -1;
    l->watching = events;
    return 0;
}

static int
open_poll(struct peer_link *l)
{
    if (uv_poll_init(l->timer.loop, &l->poll, l->fd) != 0)
        return -1;
    l->poll.data = l;
    l->poll_open = true;
    l->handles++;
    return 0;
}

/* True: the socket is connected. */
static bool
establish_link_socket(struct peer_link *l)
{
    bool begins = l->fd < 0;
    int why = begins ? peer_socket_connect(&l->endpoint, l->timeout_ms, &l->fd)
                     : peer_socket_fault(l->fd);
    const char *text = why != 0 ? strerrordesc_np(why) : NULL;

    if (why != 0)
        fail_text(l, text ? text : "it cannot be reached");
    else if (begins && open_poll(l) != 0)
        fail_text(l, "its descriptor cannot be watched");
    if (why != 0 || begins)
        return false;
    l->established = true;
    uv_timer_start(&l->timer, on_timer, PEER_LINK_LOGIN * l->timeout_ms, 0);
    return true;
}

static int
feed_link_wire(void *arg, const void *data, size_t size)
{
    struct peer_link *l = arg;

    return peer_wire_feed(&l->wire, data, size);
}

static void
decrypt_link_input(struct peer_link *l, const char *data, size_t size)
{
    struct span bytes = {data, size};
    struct error err, why;

    switch (tls_stream_receive(l->tls, bytes, feed_link_wire, l, &err)) {
    case TLS_OPEN:
        return;
    case TLS_ENDED:
        if (l->wire.in.bytes.failed)
            fail_memory(l);
        else
            fail_lost(l);
        return;
    case TLS_FAILED:
        (void)flush_link_output(l); /* TLS's own alert */
        error_set(&why, ER_UNKNOWN, "TLS/SSL error: %s", err.text);
        fail_peer_link(l, &why);
    }
}

/* The request for TLS itself goes out in the clear. */
static void
start_tls(struct peer_link *l)
{
    struct error err;

    if (flush_link_output(l) != 0) {
        fail_memory(l);
        return;
    }
    l->tls = tls_stream_new(l->context, &err);
    if (!l->tls) {
        fail_peer_link(l, &err);
        return;
    }
    peer_wire_secured(&l->wire);
    decrypt_link_input(l, "", 0);
}

/* Asks nothing yet that a third party could read: first the certificate. */
static void
finish_link_login(struct peer_link *l)
{
    const char *why = peer_client_distrust(&l->wire.client, l->tls);

    if (why) {
        fail_text(l, why);
        return;
    }
    uv_timer_stop(&l->timer);
    l->state = PEER_LINK_READY;
    l->events->connected(l);
}

static bool
is_link_packet_large(const struct peer_link *l)
{
    return packet_expected(&l->wire.in) > PEER_WIRE_KEPT;
}

/* A large packet is over, and its buffer is small again. */
static void
shrink_link_input(struct peer_link *l)
{
    if (!l->large || is_link_packet_large(l) ||
        l->wire.in.bytes.capacity > PEER_WIRE_KEPT)
        return;
    l->large = false;
    l->events->shrank(l);
}

/* The node has answered, and may be asked again. */
static void
finish_link_answer(struct peer_link *l, const struct error *error)
{
    shrink_link_input(l);
    l->state = PEER_LINK_READY;
    l->reused = true;
    l->events->answered(l, error);
}

static void
deliver_link_row(struct peer_link *l, const struct span *cells)
{
    l->run += PEER_LINK_ROW;
    l->events->row(l, cells);
}

/* May the packet under way be read to its end? */
static bool
make_room_for_link_packet(struct peer_link *l)
{
    shrink_link_input(l);
    if (l->large || !is_link_packet_large(l))
        return true;
    if (!l->starved)
        l->large = l->events->grows(l);
    l->starved = !l->large;
    return l->large;
}

static void
handle_one(struct peer_link *l, enum peer_wire_event event,
           const struct span *cells, const struct error *err)
{
    switch (event) {
    case PEER_WIRE_MORE:
        break;
    case PEER_WIRE_TLS:
        start_tls(l);
        break;
    case PEER_WIRE_READY:
        finish_link_login(l);
        break;
    case PEER_WIRE_ROW:
        deliver_link_row(l, cells);
        break;
    case PEER_WIRE_ANSWERED:
        finish_link_answer(l, err);
        break;
    case PEER_WIRE_BROKEN:
        fail_peer_link(l, err);
    }
}

/* Handles what came in; true: further bytes may be read. */
static bool
handle_link_packets(struct peer_link *l)
{
    enum peer_wire_event event;
    struct span cells[PEER_COLUMNS_MAX];
    struct error err;

    do {
        l->paused = l->state == PEER_LINK_ASKING && !l->events->wants(l);
        if (l->paused)
            return false;
        event = peer_wire_next(&l->wire, cells, &err);
        handle_one(l, event, cells, &err);
    } while (is_alive(l) && event != PEER_WIRE_MORE &&
             l->state != PEER_LINK_READY);
    return is_alive(l) && l->state != PEER_LINK_READY &&
           make_room_for_link_packet(l) && l->run < PEER_LINK_RUN;
}

static void
note_byte(struct peer_link *l)
{
    if (l->answer_began || l->state == PEER_LINK_CONNECTING)
        return;
    l->answer_began = true;
    l->answered_ns = uv_hrtime();
}

/* When many links have much to read in one iteration, each gets less. */
static bool
is_loop_round_late(const struct peer_link *l)
{
    return uv_hrtime() / 1000000 >=
           uv_now(l->timer.loop) + PEER_LINK_ITERATION_MS;
}

/* True: bytes came. */
static bool
receive_link_bytes(struct peer_link *l)
{
    MEM_UNSET char bytes[PEER_LINK_READ];
    bool late = is_loop_round_late(l);
    ssize_t got = peer_socket_read(l->fd, bytes,
                                   late ? PEER_LINK_LITTLE : PEER_LINK_READ);

    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0) {
        fail_lost(l);
        return false;
    }
    l->run += late ? PEER_LINK_RUN : (size_t)got;
    note_byte(l);
    listen_on(l);
    if (l->tls)
        decrypt_link_input(l, bytes, (size_t)got);
    else if (feed_link_wire(l, bytes, (size_t)got) != 0)
        fail_memory(l);
    return is_alive(l);
}

/* Reads and writes what can be read and written now. */
static void
drive_peer_link(struct peer_link *l)
{
    l->driving = true;
    l->run = 0;
    if (l->established || establish_link_socket(l))
        while (handle_link_packets(l) && receive_link_bytes(l))
            continue;
    if (is_alive(l) && l->established && flush_link_output(l) != 0)
        fail_memory(l);
    if (is_alive(l) && l->state == PEER_LINK_ASKING)
        l->events->quiet(l);
    l->driving = false;
    if (!l->events)
        close_now(l);
    else if (!l->broken && update_link_poll(l) != 0)
        fail_text(l, "its descriptor cannot be watched");
}

/* ---- what owners call ---- */

struct peer_link *
peer_link_open(const struct peer_link_settings *settings,
               const struct peer_endpoint *endpoint,
               const struct peer_link_events *events, void *arg,
               struct error *err)
{
    struct peer_link *l = mem_zalloc(1, sizeof(*l));

    if (!l) {
        error_memory(err, "a connection");
        return NULL;
    }
    l->endpoint = *endpoint;
    l->identity = *settings->identity;
    l->context = settings->tls;
    l->events = events;
    l->arg = arg;
    l->fd = -1;
    l->timeout_ms = settings->timeout_ms;
    peer_wire_init(&l->wire, &l->identity, endpoint->id, endpoint->tls);
    uv_timer_init(settings->loop, &l->timer);
    l->timer.data = l;
    l->handles = 1;
    drive_soon(l);
    return l;
}

void
peer_link_own(struct peer_link *l, const struct peer_link_events *events,
              void *arg)
{
    l->events = events;
    l->arg = arg;
}

int
peer_link_ask(struct peer_link *l, const struct peer_request *request,
              unsigned timeout_ms, struct error *err)
{
    if (peer_wire_ask(&l->wire, request, timeout_ms, err) != 0)
        return -1;
    l->answer_began = false;
    l->asked_ns = uv_hrtime();
    l->answered_ns = 0;
    l->state = PEER_LINK_ASKING;
    if (l->reused && !l->endpoint.socket)
        peer_socket_set_keepalive(l->fd, l->timeout_ms, false);
    listen_on(l);
    if (l->driving || (flush_link_output(l) == 0 && update_link_poll(l) == 0))
        return 0;
    error_memory(err, "a statement for another node");
    return -1;
}

void
peer_link_rest(struct peer_link *l, uint64_t timeout_ms)
{
    if (!l->endpoint.socket)
        peer_socket_set_keepalive(l->fd, l->timeout_ms, true);
    uv_timer_start(&l->timer, on_timer, timeout_ms, 0);
}

void
peer_link_resume(struct peer_link *l)
{
    if (l->state == PEER_LINK_ASKING && l->paused && !l->broken && !l->due)
        drive_soon(l);
}

void
peer_link_admit(struct peer_link *l)
{
    l->starved = false;
    l->large = true;
    drive_soon(l);
}

bool
peer_link_reusable(const struct peer_link *l)
{
    return l->state == PEER_LINK_READY && !l->broken && !l->large &&
           peer_wire_is_clean(&l->wire);
}

uint64_t
peer_link_round_trip_us(const struct peer_link *l)
{
    return l->answered_ns > l->asked_ns ? (l->answered_ns - l->asked_ns) / 1000
                                        : 0;
}
