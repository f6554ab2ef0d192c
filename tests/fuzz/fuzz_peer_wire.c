/*
 * fuzz_peer_wire.c - any bytes as what another node sends over a link.
 *
 * The first byte says how far the login is: nowhere, or done, with a question
 * of so many columns asked; and the next one in what pieces the rest comes.
 */
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "fuzz_prover.h"
#include "fuzz_target.h"
#include "peer_wire.h"
#include "reply.h"
#include "handshake.h"

enum { COLUMNS = 7, ASKED = 0x80, TLS = 0x40 };

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

/* Cells are of the packet, and none is longer than one may be. */
static size_t
check(const struct peer_wire *w)
{
    const char *from = w->in.bytes.data + w->in.start;
    size_t sum = 0;

    for (size_t i = 0; i < w->columns; i++) {
        if (cells[i].size > 0 &&
            (cells[i].data < from ||
             cells[i].data + cells[i].size > from + w->in.joined))
            abort();
        for (size_t at = 0; at < cells[i].size; at++)
            sum += (unsigned char)cells[i].data[at];
    }
    return sum;
}

/* False: it has broken. */
static bool
take(struct peer_wire *w)
{
    enum peer_wire_event event;
    struct error err = {.code = 0};

    do {
        event = peer_wire_next(w, cells, &err);
        if (event == PEER_WIRE_ROW && check(w) == SIZE_MAX)
            abort();
        if (event == PEER_WIRE_TLS)
            peer_wire_secured(w);
    } while (event != PEER_WIRE_MORE && event != PEER_WIRE_BROKEN);
    if (event == PEER_WIRE_BROKEN && *err.text == '\0')
        abort();
    if (packet_waiting(&w->in) > PEER_CELL_MAX + PACKET_AHEAD_MAX)
        abort();
    return event == PEER_WIRE_MORE;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct peer_wire w;
    size_t piece, left;
    uint8_t *bytes;

    if (size < 2)
        return 0;
    peer_wire_init(&w, &self, 1, !(data[0] & ASKED) && data[0] & TLS);
    if (data[0] & ASKED)
        log_in(&w, data[0] % COLUMNS + 1);
    piece = (size_t)data[1] + 1;
    for (data += 2, size -= 2; size > 0; data += left, size -= left) {
        left = size < piece ? size : piece;
        bytes = malloc(left); /* exact, for the sanitizers */
        if (!bytes)
            break;
        memcpy(bytes, data, left);
        if (peer_wire_feed(&w, bytes, left) != 0 || !take(&w)) {
            free(bytes);
            break;
        }
        free(bytes);
    }
    peer_wire_fini(&w);
    return 0;
}
