/*
 * fuzz_login.c - any bytes as what a client sends before it is known: packets,
 * and a login in each of them.
 *
 * The first byte gives the size of the pieces in which the stream arrives, the
 * second one the largest packet.  What packets a stream holds must not depend
 * on the pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "auth.h"
#include "buffer.h"
#include "capability.h"
#include "errors.h"
#include "fuzz_target.h"
#include "handshake.h"
#include "packet.h"

enum { OPTIONS = 2, LIMIT_STEP = 64, PACKETS_MAX = 256, OUT_MAX = 1 << 20 };

/* ---- a login ---- */

static bool
is_within(struct span part, struct span whole)
{
    return part.size == 0 ||
           (part.data >= whole.data && part.size <= whole.size &&
            part.data <= whole.data + whole.size - part.size);
}

static bool
is_same(struct span a, struct span b)
{
    return a.size == b.size && (a.size == 0 || !memcmp(a.data, b.data, a.size));
}

static void
check_spans(const struct handshake *h, struct span packet)
{
    if (!is_within(h->user, packet) || !is_within(h->answer, packet) ||
        !is_within(h->database, packet) ||
        (!is_within(h->plugin, packet) && !span_is(h->plugin, AUTH_NATIVE)) ||
        (h->user.size > 0 && memchr(h->user.data, 0, h->user.size)) ||
        (h->database.size > 0 &&
         memchr(h->database.data, 0, h->database.size)) ||
        (h->plugin.size > 0 && memchr(h->plugin.data, 0, h->plugin.size)))
        abort();
}

static void
put_text(struct buffer *out, struct span text)
{
    buffer_add(out, text.data ? text.data : "", text.size);
    buffer_u8(out, 0);
}

/* As a client that leaves nothing out would have written it. */
static void
put_login(struct buffer *out, const struct handshake *h, bool change)
{
    static const char filler[4 + 1 + 23];

    if (!change) {
        buffer_u32(out, h->capabilities | CAPABILITY_CONNECT_WITH_DB |
                            CAPABILITY_PLUGIN_AUTH);
        buffer_add(out, filler, sizeof(filler));
    }
    put_text(out, h->user);
    buffer_lenenc_bytes(out, h->answer.data ? h->answer.data : "",
                        h->answer.size);
    put_text(out, h->database);
    if (change)
        buffer_u16(out, 45);
    put_text(out, h->plugin);
}

typedef int decode_login(struct span packet, struct handshake *out,
                         struct error *err);

static void
check_login(struct span packet, bool change)
{
    decode_login *decode = change ? handshake_decode_change : handshake_decode;
    struct handshake h, again;
    struct error err = {.code = 0};
    struct buffer out;

    if (decode(packet, &h, &err) != 0) {
        if (err.code != ER_HANDSHAKE)
            abort();
        return;
    }
    check_spans(&h, packet);
    buffer_init(&out, OUT_MAX);
    put_login(&out, &h, change);
    if (out.failed ||
        decode((struct span){out.data, out.size}, &again, &err) != 0)
        abort();
    if (!is_same(h.user, again.user) || !is_same(h.answer, again.answer) ||
        !is_same(h.database, again.database) ||
        !is_same(h.plugin, again.plugin))
        abort();
    buffer_fini(&out);
}

/* ---- the stream ---- */

/* What is said of one stream: where each packet's payload ends among all of
 * them, and why there is no further one. */
struct heard {
    size_t count, ends[PACKETS_MAX];
    struct buffer payloads;
    enum packet_state end;
};

static void
check_packet(struct span payload, uint8_t sequence)
{
    struct buffer out;
    struct packet_reader r;
    struct span again;
    uint8_t next = sequence;
    size_t mark;

    buffer_init(&out, OUT_MAX);
    mark = packet_begin(&out);
    buffer_add(&out, payload.data, payload.size);
    packet_end(&out, mark, &next);
    packet_reader_init(&r, payload.size);
    r.sequence = sequence;
    if (out.failed || packet_feed(&r, out.data, out.size) != 0 ||
        packet_next(&r, &again) != PACKET_READY || !is_same(payload, again) ||
        r.sequence != next)
        abort();
    packet_done(&r, next);
    if (packet_waiting(&r) != 0)
        abort();
    packet_reader_fini(&r);
    buffer_fini(&out);
}

/* As a session does: a login answers the greeting, and each packet behind it
 * begins with 0 again. */
static void
hear(struct span stream, size_t most, size_t limit, struct heard *out)
{
    struct packet_reader r;
    struct span payload;
    size_t size;

    packet_reader_init(&r, limit);
    r.sequence = 1; /* behind the greeting */
    buffer_init(&out->payloads, OUT_MAX);
    out->count = 0;
    out->end = PACKET_MORE;
    while (stream.size > 0 && out->end == PACKET_MORE) {
        size = stream.size < most ? stream.size : most;
        if (packet_feed(&r, stream.data, size) != 0)
            break; /* too much ahead */
        stream.data += size;
        stream.size -= size;
        while ((out->end = packet_next(&r, &payload)) == PACKET_READY) {
            if (payload.size > limit)
                abort();
            if (out->count == PACKETS_MAX)
                break;
            buffer_add(&out->payloads, payload.data, payload.size);
            out->ends[out->count++] = out->payloads.size;
            check_packet(payload, (uint8_t)out->count);
            packet_done(&r, 0);
        }
    }
    if (packet_waiting(&r) > limit + PACKET_AHEAD_MAX)
        abort();
    packet_reader_fini(&r);
}

static void
check_same(const struct heard *a, const struct heard *b)
{
    if (a->count != b->count || a->end != b->end ||
        memcmp(a->ends, b->ends, a->count * sizeof(*a->ends)) != 0 ||
        !is_same((struct span){a->payloads.data, a->payloads.size},
                 (struct span){b->payloads.data, b->payloads.size}))
        abort();
}

/* Exact, for the sanitizers. */
static void
check_logins(struct span payload)
{
    char *bytes = malloc(payload.size + !payload.size);
    struct span packet = {bytes, payload.size};

    if (!bytes)
        abort();
    memcpy(bytes, payload.data, payload.size);
    (void)handshake_wants_tls(packet);
    check_login(packet, false);
    check_login(packet, true);
    free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span stream = {(const char *)data + OPTIONS, size - OPTIONS};
    static struct heard whole, pieces;
    size_t limit, from = 0;

    if (size <= OPTIONS)
        return 0;
    limit = (1 + (size_t)data[1]) * LIMIT_STEP;
    hear(stream, stream.size, limit, &whole);
    hear(stream, 1 + (size_t)data[0], limit, &pieces);
    check_same(&whole, &pieces);
    for (size_t i = 0; i < whole.count; from = whole.ends[i++])
        check_logins(
            (struct span){whole.payloads.data + from, whole.ends[i] - from});
    buffer_fini(&whole.payloads);
    buffer_fini(&pieces.payloads);
    return 0;
}
