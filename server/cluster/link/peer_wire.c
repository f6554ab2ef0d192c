/*
 * peer_wire.c - see peer_wire.h.
 *
 * A client of its own instead of a library: libraries accept whatever MySQL's
 * protocol allows and block while they wait; this one is a chain of steps, each
 * of which accepts the one packet that another heapwired sends there, and any
 * other packet closes the connection.  In particular nothing is sent before the
 * other end has proven itself.  Layouts: server/wire/PROTOCOL.md.
 */
#include "peer_wire.h"

#include <string.h>

#include "capability.h"
#include "errors.h"

enum {
    PROTOCOL_VERSION = 10,
    CHARSET_UTF8MB4 = 45,
    NONCE_FIRST = 8,
    RESPONSE_FILLER = 23,
    COM_QUIT = 1,
    COM_QUERY = 3,
    HEADER_OK = 0x00,
    HEADER_NONE = 0x100, /* the packet is empty */
    HEADER_MORE = 0x01,
    HEADER_FILE = 0xfb, /* asks for a file; in a row it is NULL */
    HEADER_END = 0xfe,  /* end of rows; also asks for another plugin */
    HEADER_ERROR = 0xff,
    END_SIZE = 5,
    SQLSTATE = 6,          /* with its '#' */
    PROGRESS = UINT16_MAX, /* the error number of a progress report */
    OUT_MAX = 2 * (PEER_ENVELOPE_MAX + PEER_WIRE_PACKET),
    /* The classic form of answers: there is an end behind the columns, too. */
    CAPABILITIES = CAPABILITY_LONG_PASSWORD | CAPABILITY_LONG_FLAG |
                   CAPABILITY_PROTOCOL_41 | CAPABILITY_TRANSACTIONS |
                   CAPABILITY_SECURE_CONNECTION | CAPABILITY_PLUGIN_AUTH |
                   CAPABILITY_PROGRESS
};

typedef enum peer_wire_event step(struct peer_wire *w, struct span packet,
                                  struct error *err);

static step on_greeting_packet, on_auth_switch_packet, on_welcome_packet,
    on_login_ok_packet, on_column_count_packet, on_column_packet,
    on_columns_end_packet, on_row_packet, on_unasked_packet;

static enum peer_wire_event
break_peer_wire(struct error *err, const char *why)
{
    error_set(err, ER_UNKNOWN, "%s", why);
    return PEER_WIRE_BROKEN;
}

static unsigned
head_of(struct span packet)
{
    return packet.size > 0 ? (unsigned char)packet.data[0] : HEADER_NONE;
}

static bool
is_end(struct span packet)
{
    return head_of(packet) == HEADER_END && packet.size == END_SIZE;
}

/* Sets the next step.  A row may be large, any other packet may not: all cells
 * of a row together are no larger than one cell may be. */
static void
set_wire_step(struct peer_wire *w, step *next)
{
    w->step = next;
    packet_reader_set_limit(&w->in, next == on_row_packet ? PEER_CELL_MAX
                                                          : PEER_WIRE_PACKET);
}

/* Error numbers that clients keep for themselves, and two that say that our
 * packets were not understood: the connection is of no further use. */
static bool
is_fatal_error_number(unsigned number)
{
    return number == 0 || number == ER_PACKETS_OUT_OF_ORDER ||
           number == ER_PACKET_TOO_LARGE || (number >= 2000 && number < 3000) ||
           (number >= 5000 && number < 6000);
}

/* Reads an error packet; before the login it has no SQLSTATE. */
static enum peer_wire_event
on_error_packet(struct peer_wire *w, struct span packet, struct error *err)
{
    struct reader r = reader_of(packet.data, packet.size);
    bool in_answer =
        w->step == on_column_count_packet || w->step == on_column_packet ||
        w->step == on_columns_end_packet || w->step == on_row_packet;
    struct span text;
    unsigned number;

    reader_u8(&r);
    number = reader_u16(&r);
    text = reader_rest(&r);
    if (in_answer && number == PROGRESS)
        return PEER_WIRE_MORE;
    if (text.size >= SQLSTATE && *text.data == '#') {
        text.data += SQLSTATE;
        text.size -= SQLSTATE;
    }
    error_set(err, (enum error_code)number, "%.*s", (int)text.size, text.data);
    if (*err->text == '\0')
        error_set(err, (enum error_code)number, "it gives no reason");
    if (!in_answer || is_fatal_error_number(number))
        return PEER_WIRE_BROKEN;
    set_wire_step(w, on_unasked_packet);
    return PEER_WIRE_ANSWERED;
}

/* ---- logging in ---- */

static void
put_response(struct peer_wire *w, bool whole)
{
    static const char filler[RESPONSE_FILLER], user[] = "node";
    size_t mark = packet_begin(&w->out);

    buffer_u32(&w->out, CAPABILITIES | (w->tls ? CAPABILITY_SSL : 0));
    buffer_u32(&w->out, PEER_CELL_MAX);
    buffer_u8(&w->out, CHARSET_UTF8MB4);
    buffer_add(&w->out, filler, sizeof(filler));
    if (whole) {
        buffer_add(&w->out, user, sizeof(user));
        buffer_u8(&w->out, 0); /* no answer to the greeting's nonce */
        buffer_add(&w->out, PEER_PLUGIN, sizeof(PEER_PLUGIN));
    }
    packet_end(&w->out, mark, &w->sequence);
}

/* Reads the greeting up to its capabilities. */
static bool
read_greeting(struct span packet, uint32_t *capabilities)
{
    struct reader r = reader_of(packet.data, packet.size);
    bool known = reader_u8(&r) == PROTOCOL_VERSION;

    reader_text(&r); /* its version */
    reader_u32(&r);  /* the connection's number */
    reader_bytes(&r, NONCE_FIRST + 1);
    *capabilities = reader_u16(&r);
    reader_u8(&r);  /* its character set */
    reader_u16(&r); /* its status */
    *capabilities |= (uint32_t)reader_u16(&r) << 16;
    return known && !r.failed;
}

/* The node must wait for what we say.  Bytes that came before that were not its
 * answer, but perhaps those of a third party, sent before TLS began. */
static bool
is_ahead(const struct peer_wire *w, struct span packet)
{
    return packet_waiting(&w->in) > packet.size;
}

static enum peer_wire_event
on_greeting_packet(struct peer_wire *w, struct span packet, struct error *err)
{
    uint32_t capabilities;

    if (!read_greeting(packet, &capabilities) || is_ahead(w, packet))
        return break_peer_wire(err, "it does not speak the MySQL protocol");
    if (w->tls && !(capabilities & CAPABILITY_SSL))
        return break_peer_wire(err, "it does not encrypt");
    set_wire_step(w, on_auth_switch_packet);
    put_response(w, !w->tls);
    return w->tls ? PEER_WIRE_TLS : PEER_WIRE_MORE;
}

void
peer_wire_secured(struct peer_wire *w)
{
    put_response(w, true);
    /* the number that the node's next packet has */
    packet_done(&w->in, w->sequence);
}

static enum peer_wire_event
on_auth_switch_packet(struct peer_wire *w, struct span packet,
                      struct error *err)
{
    struct reader r = reader_of(packet.data, packet.size);
    struct span hello;
    unsigned head = reader_u8(&r);
    size_t mark;

    if (head == HEADER_OK)
        return break_peer_wire(
            err, "it accepted the login, but did not prove which node it is");
    if (head != HEADER_END || !span_is(reader_text(&r), PEER_PLUGIN) ||
        is_ahead(w, packet))
        return break_peer_wire(err, "it does not accept logins of other nodes");
    if (peer_client_challenge(&w->client, reader_rest(&r), &hello, err) != 0)
        return PEER_WIRE_BROKEN;
    mark = packet_begin(&w->out);
    buffer_add(&w->out, hello.data, hello.size);
    packet_end(&w->out, mark, &w->sequence);
    set_wire_step(w, on_welcome_packet);
    return PEER_WIRE_MORE;
}

static enum peer_wire_event
on_welcome_packet(struct peer_wire *w, struct span packet, struct error *err)
{
    struct reader r = reader_of(packet.data, packet.size);

    if (reader_u8(&r) != HEADER_MORE)
        return break_peer_wire(
            err, "it accepted the login, but did not prove which node it is");
    if (peer_client_welcome(&w->client, reader_rest(&r), err) != 0)
        return PEER_WIRE_BROKEN;
    set_wire_step(w, on_login_ok_packet);
    return PEER_WIRE_MORE;
}

static enum peer_wire_event
on_login_ok_packet(struct peer_wire *w, struct span packet, struct error *err)
{
    if (head_of(packet) != HEADER_OK || is_ahead(w, packet))
        return break_peer_wire(err, "it does not end the login");
    set_wire_step(w, on_unasked_packet);
    return PEER_WIRE_READY;
}

/* ---- answers ---- */

static enum peer_wire_event
on_column_count_packet(struct peer_wire *w, struct span packet,
                       struct error *err)
{
    struct reader r = reader_of(packet.data, packet.size);
    uint64_t count;

    if (head_of(packet) == HEADER_FILE)
        return break_peer_wire(err, "it asks for a file");
    count = reader_lenenc(&r);
    if (count == w->columns && reader_done(&r)) {
        w->defined = 0;
        set_wire_step(w, on_column_packet);
        return PEER_WIRE_MORE;
    }
    error_set(err, ER_UNKNOWN, "it answered with %llu columns instead of %zu",
              (unsigned long long)count, w->columns);
    return PEER_WIRE_BROKEN;
}

/* Skips a column's definition: both ends know what the columns are. */
static enum peer_wire_event
on_column_packet(struct peer_wire *w, struct span packet, struct error *err)
{
    if (is_end(packet))
        return break_peer_wire(err,
                               "the columns of its answer are not all there");
    if (++w->defined == w->columns)
        set_wire_step(w, on_columns_end_packet);
    return PEER_WIRE_MORE;
}

static enum peer_wire_event
on_columns_end_packet(struct peer_wire *w, struct span packet,
                      struct error *err)
{
    if (!is_end(packet))
        return break_peer_wire(err, "the columns of its answer have no end");
    set_wire_step(w, on_row_packet);
    return PEER_WIRE_MORE;
}

static enum peer_wire_event
end_rows(struct peer_wire *w, struct span packet, struct error *err)
{
    struct reader r = reader_of(packet.data, packet.size);

    reader_bytes(&r, 3); /* its head and its warnings */
    if (reader_u16(&r) & STATUS_MORE_RESULTS)
        return break_peer_wire(err, "it answers more than it was asked");
    memset(err, 0, sizeof(*err));
    set_wire_step(w, on_unasked_packet);
    return PEER_WIRE_ANSWERED;
}

static enum peer_wire_event
on_row_packet(struct peer_wire *w, struct span packet, struct error *err)
{
    struct reader r = reader_of(packet.data, packet.size);

    if (is_end(packet))
        return end_rows(w, packet, err);
    for (size_t i = 0; i < w->columns; i++) {
        w->cells[i] = (struct span){NULL, 0};
        if (reader_left(&r) > 0 && *r.pos == HEADER_FILE)
            reader_u8(&r);
        else
            w->cells[i] = reader_lenenc_bytes(&r);
    }
    return reader_done(&r)
               ? PEER_WIRE_ROW
               : break_peer_wire(err, "a row of its answer is malformed");
}

static enum peer_wire_event
on_unasked_packet(struct peer_wire *w, struct span packet, struct error *err)
{
    (void)w;
    (void)packet;
    return break_peer_wire(err, "it sent a packet that was not asked for");
}

/* ---- what owners call ---- */

void
peer_wire_init(struct peer_wire *w, const struct peer_identity *self,
               uint64_t expected_id, bool tls)
{
    memset(w, 0, sizeof(*w));
    w->client.self = self;
    w->client.expected_id = expected_id;
    w->tls = tls;
    w->step = on_greeting_packet;
    packet_reader_init(&w->in, PEER_WIRE_PACKET);
    buffer_init(&w->out, OUT_MAX);
}

void
peer_wire_fini(struct peer_wire *w)
{
    packet_reader_fini(&w->in);
    buffer_fini(&w->out);
    peer_client_fini(&w->client);
}

int
peer_wire_feed(struct peer_wire *w, const void *data, size_t size)
{
    return packet_feed(&w->in, data, size);
}

static void
drop_wire_packet(struct peer_wire *w)
{
    packet_done(&w->in, w->sequence);
    /* One large row must not keep its block for the life of the link. */
    if (w->in.bytes.capacity > PEER_WIRE_KEPT)
        packet_move(&w->in, 0);
}

enum peer_wire_event
peer_wire_next(struct peer_wire *w, struct span *cells, struct error *err)
{
    enum peer_wire_event event = PEER_WIRE_MORE;
    enum packet_state state;
    struct span packet;

    w->cells = cells;
    /* The row in front is borrowed until this call. */
    if (w->row_borrowed)
        drop_wire_packet(w);
    w->row_borrowed = false;
    while (event == PEER_WIRE_MORE) {
        state = packet_next(&w->in, &packet);
        if (state == PACKET_MORE)
            return PEER_WIRE_MORE;
        if (state == PACKET_OUT_OF_ORDER)
            return break_peer_wire(err, "its packets are out of order");
        if (state == PACKET_TOO_LARGE)
            return break_peer_wire(err, "a packet of it is too large");
        w->sequence = w->in.sequence;
        event = head_of(packet) == HEADER_ERROR
                    ? on_error_packet(w, packet, err)
                    : w->step(w, packet, err);
        w->row_borrowed = event == PEER_WIRE_ROW;
        if (!w->row_borrowed)
            drop_wire_packet(w);
    }
    return event;
}

int
peer_wire_ask(struct peer_wire *w, const struct peer_request *request,
              unsigned timeout_ms, struct error *err)
{
    size_t mark = packet_begin(&w->out);

    buffer_u8(&w->out, COM_QUERY);
    if (peer_client_seal(&w->client, request, timeout_ms, &w->out, err) != 0) {
        packet_drop(&w->out, mark);
        return -1;
    }
    w->sequence = 0;
    packet_end(&w->out, mark, &w->sequence);
    /* The answer's first packet has number 1. */
    packet_done(&w->in, w->sequence);
    w->columns = request->column_count;
    set_wire_step(w, on_column_count_packet);
    return 0;
}

void
peer_wire_quit(struct peer_wire *w)
{
    size_t mark = packet_begin(&w->out);

    buffer_u8(&w->out, COM_QUIT);
    w->sequence = 0;
    packet_end(&w->out, mark, &w->sequence);
}

bool
peer_wire_is_clean(const struct peer_wire *w)
{
    return packet_waiting(&w->in) == 0;
}
