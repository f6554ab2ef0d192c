/*
 * fuzz_peer_wire.c - any bytes as what another node sends over a link.
 *
 * The first byte says how far the login is: nowhere, or done, with a question
 * of so many columns asked; and the next one in what pieces the rest comes.
 * What an answer is must depend neither on the pieces nor on the progress
 * packets between its packets.
 */
#include <stdlib.h>
#include <string.h>

#include "await.h"
#include "errors.h"
#include "fuzz_prover.h"
#include "fuzz_target.h"
#include "peer_wire.h"
#include "reply.h"
#include "handshake.h"

enum {
    COLUMNS = 7,
    ASKED = 0x80,
    TLS = 0x40,
    FRAMED = 0x20, /* packets, a byte with its size before each */
    WHOLE = 16 * 1024
};

static struct span cells[PEER_COLUMNS_MAX];

static enum peer_wire_event
hear(struct peer_wire *w, struct reply *reply, struct error *err)
{
    if (peer_wire_feed(w, reply->out.data, reply->out.size) != 0)
        abort();
    buffer_clear(&reply->out);
    return peer_wire_next(w, cells, err);
}

/* What w sent last, without its header. */
static struct span
sent(const struct peer_wire *w)
{
    return (struct span){w->out.data + PACKET_HEADER,
                         w->out.size - PACKET_HEADER};
}

/* As a node would answer, to the first byte of the answer. */
static void
log_in(struct peer_wire *w, size_t columns)
{
    static const struct sql_identity who = {.user = "ann"};
    static const struct peer_welcome welcome = {.version = "1"};
    static const uint8_t nonce[AUTH_NONCE] = {1};
    struct peer_request request = {
        .text = {"1", 1}, .caller = &who, .column_count = columns};
    struct peer_transcript t = {.size = 0};
    struct peer_party seen;
    struct reply reply;
    struct error err;
    struct span said;

    reply_init(&reply);
    handshake_greet(&reply, 1, "8", nonce);
    hear(w, &reply, &err);
    buffer_clear(&w->out);
    reply.sequence++;
    if (peer_challenge_make(&t, &self, &said, &err) != 0)
        abort();
    handshake_switch_to(&reply, PEER_PLUGIN, said);
    hear(w, &reply, &err);
    if (peer_hello_check(&t, &self, sent(w), &seen, &err) != 0 ||
        peer_welcome_make(&t, &self, &welcome, &said, &err) != 0)
        abort();
    buffer_clear(&w->out);
    reply.sequence++;
    handshake_more(&reply, said);
    reply_ok(&reply, 0, "");
    if (hear(w, &reply, &err) != PEER_WIRE_READY ||
        peer_wire_ask(w, &request, 1, &err) != 0)
        abort();
    reply_fini(&reply);
}

/* What came, up to the end of the answer. */
struct heard {
    enum peer_wire_event last;
    size_t rows, sum;
    struct error err;
};

/* Cells are of the packet. */
static void
check(const struct peer_wire *w, struct heard *heard)
{
    const char *from = w->in.bytes.data + w->in.start;

    heard->rows++;
    for (size_t i = 0; i < w->columns; i++) {
        if (cells[i].size > 0 &&
            (cells[i].data < from ||
             cells[i].data + cells[i].size > from + w->in.joined))
            abort();
        heard->sum = 31 * heard->sum + cells[i].size;
        for (size_t at = 0; at < cells[i].size; at++)
            heard->sum = 31 * heard->sum + (unsigned char)cells[i].data[at];
    }
}

/* False: it has broken. */
static bool
take(struct peer_wire *w, struct heard *heard)
{
    struct heard unasked = {.last = PEER_WIRE_MORE};

    do {
        if (heard->last == PEER_WIRE_ANSWERED)
            heard = &unasked;
        heard->last = peer_wire_next(w, cells, &heard->err);
        if (heard->last == PEER_WIRE_ROW)
            check(w, heard);
        if (heard->last == PEER_WIRE_TLS)
            peer_wire_secured(w);
    } while (heard->last != PEER_WIRE_MORE && heard->last != PEER_WIRE_BROKEN);
    if (heard->last == PEER_WIRE_BROKEN && *heard->err.text == '\0')
        abort();
    if (packet_waiting(&w->in) > PEER_CELL_MAX + PACKET_AHEAD_MAX)
        abort();
    return heard->last == PEER_WIRE_MORE;
}

static struct heard
take_all(uint8_t form, struct span bytes, size_t piece)
{
    struct heard heard = {.last = PEER_WIRE_MORE};
    struct peer_wire w;
    bool open = true;
    char *block;

    peer_wire_init(&w, &self, 1, !(form & ASKED) && form & TLS);
    if (form & ASKED)
        log_in(&w, form % COLUMNS + 1);
    while (open && bytes.size > 0) {
        if (piece > bytes.size)
            piece = bytes.size;
        block = malloc(piece); /* exact, for the sanitizers */
        if (!block)
            abort();
        memcpy(block, bytes.data, piece);
        open = peer_wire_feed(&w, block, piece) == 0 && take(&w, &heard);
        free(block);
        bytes.data += piece;
        bytes.size -= piece;
    }
    peer_wire_fini(&w);
    return heard;
}

/* As a node sends them in answer; lively: it reports progress before each. */
static void
frame(struct buffer *out, struct span bytes, bool lively)
{
    static const struct progress progress = {1, 1, 0, "executing"};
    struct reader r = reader_of(bytes.data, bytes.size);
    struct reply reply;
    struct span packet;
    size_t mark;

    reply_init(&reply);
    for (reply.sequence = 1; reader_left(&r) > 0;) {
        if (lively)
            reply_progress(&reply, &progress);
        packet = reader_bytes(&r, reader_u8(&r));
        mark = packet_begin(&reply.out);
        buffer_add(&reply.out, packet.data, packet.size);
        packet_end(&reply.out, mark, &reply.sequence);
    }
    *out = reply.out;
}

static void
check_same(const struct heard *a, const struct heard *b)
{
    if (a->last != b->last || a->rows != b->rows || a->sum != b->sum ||
        (a->last != PEER_WIRE_MORE &&
         (a->err.code != b->err.code || strcmp(a->err.text, b->err.text) != 0)))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer calm = {.data = NULL}, lively = {.data = NULL};
    struct span bytes, same;
    struct heard in_pieces, whole;

    if (size < 2)
        return 0;
    bytes = same = (struct span){(const char *)data + 2, size - 2};
    if (data[0] & ASKED && data[0] & FRAMED) {
        frame(&calm, bytes, false);
        frame(&lively, bytes, true);
        bytes = (struct span){calm.data, calm.size};
        same = (struct span){lively.data, lively.size};
    }
    in_pieces = take_all(data[0], same, (size_t)data[1] + 1);
    if (data[0] & ASKED) {
        whole = take_all(data[0], bytes, WHOLE);
        check_same(&in_pieces, &whole);
    }
    buffer_fini(&calm);
    buffer_fini(&lively);
    return 0;
}
