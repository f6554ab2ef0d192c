/*
 * handshake.c - see handshake.h.
 *
 * Layouts are in PROTOCOL.md, "Greeting and identity" and "Logging in":
 * HandshakeV10, HandshakeResponse41, AuthSwitchRequest, AuthMoreData.  Writing
 * is fixed; reading allows for what real clients omit.  No function here
 * decides about a login: login.c does.
 */
#include "handshake.h"

#include <string.h>

#include "buffer.h"
#include "capability.h"
#include "errors.h"
#include "packet.h"
#include "reply.h"

enum {
    PROTOCOL_VERSION = 10,
    CHARSET_UTF8MB4 = 45,
    NONCE_FIRST = 8, /* bytes of the nonce in the greeting's first part */
    RESPONSE_FILLER = 23,
    TLS_REQUEST = 4 + 4 + 1 + RESPONSE_FILLER,
    /* older Connector/J sends just the flags, and MySQL accepts it */
    TLS_REQUEST_SHORT = 4,
    GREETING_FILLER = 10,
    HEADER_SWITCH = 0xfe,
    HEADER_MORE = 0x01,
    FAST_OK = 0x03
};

/* Appends the text and its NUL. */
static void
put_terminated_text(struct buffer *out, const char *text)
{
    buffer_add(out, text, strlen(text) + 1);
}

void
handshake_greet(struct reply *reply, uint32_t connection_id,
                const char *version, const uint8_t nonce[AUTH_NONCE])
{
    static const char filler[GREETING_FILLER];
    struct buffer *out = &reply->out;
    size_t mark = packet_begin(out);

    buffer_u8(out, PROTOCOL_VERSION);
    put_terminated_text(out, version);
    buffer_u32(out, connection_id);
    /* The nonce comes in two parts, 8 and 12 bytes, each before a NUL. */
    buffer_add(out, nonce, NONCE_FIRST);
    buffer_u8(out, 0);
    buffer_u16(out, CAPABILITIES_OFFERED & 0xffff);
    buffer_u8(out, CHARSET_UTF8MB4);
    buffer_u16(out, reply->status);
    buffer_u16(out, CAPABILITIES_OFFERED >> 16);
    buffer_u8(out, AUTH_NONCE + 1);
    buffer_add(out, filler, sizeof(filler));
    buffer_add(out, nonce + NONCE_FIRST, AUTH_NONCE - NONCE_FIRST);
    buffer_u8(out, 0);
    put_terminated_text(out, AUTH_NATIVE);
    packet_end(out, mark, &reply->sequence);
    reply->capabilities =
        CAPABILITY_PROTOCOL_41; /* errors have an SQLSTATE from now on */
}

void
handshake_switch_to(struct reply *reply, const char *plugin, struct span data)
{
    size_t mark = packet_begin(&reply->out);

    buffer_u8(&reply->out, HEADER_SWITCH);
    put_terminated_text(&reply->out, plugin);
    buffer_add(&reply->out, data.data, data.size);
    packet_end(&reply->out, mark, &reply->sequence);
}

void
handshake_switch(struct reply *reply, const uint8_t nonce[AUTH_NONCE])
{
    char data[AUTH_NONCE + 1] = {0};

    memcpy(data, nonce, AUTH_NONCE);
    handshake_switch_to(reply, AUTH_SHA2, (struct span){data, sizeof(data)});
}

void
handshake_more(struct reply *reply, struct span data)
{
    size_t mark = packet_begin(&reply->out);

    buffer_u8(&reply->out, HEADER_MORE);
    buffer_add(&reply->out, data.data, data.size);
    packet_end(&reply->out, mark, &reply->sequence);
}

void
handshake_fast_ok(struct reply *reply)
{
    static const char fast_ok = FAST_OK;

    handshake_more(reply, (struct span){&fast_ok, 1});
}

/* Reads up to a NUL, or to the end where a client omits it. */
static struct span
text_or_rest(struct reader *r)
{
    if (r->failed || !memchr(r->pos, 0, reader_left(r)))
        return reader_rest(r);
    return reader_text(r);
}

static int
set_handshake_error(struct error *err, const char *why)
{
    error_set(err, ER_HANDSHAKE, "Bad handshake: %s", why);
    return -1;
}

bool
handshake_wants_tls(struct span packet)
{
    struct reader r = reader_of(packet.data, packet.size);
    uint32_t client = reader_u32(&r);

    return (packet.size == TLS_REQUEST || packet.size == TLS_REQUEST_SHORT) &&
           client & CAPABILITY_SSL;
}

int
handshake_decode(struct span packet, struct handshake *out, struct error *err)
{
    struct reader r = reader_of(packet.data, packet.size);
    struct handshake h = {.database = {"", 0},
                          .plugin = {AUTH_NATIVE, strlen(AUTH_NATIVE)}};
    uint32_t client = reader_u32(&r);

    if (!(client & CAPABILITY_PROTOCOL_41) ||
        !(client & CAPABILITY_SECURE_CONNECTION))
        return set_handshake_error(err, "the client is too old");
    h.capabilities = client & (CAPABILITIES_OFFERED | CAPABILITY_PROGRESS |
                               CAPABILITY_COMPRESS | CAPABILITY_ZSTD);
    reader_u32(&r); /* its largest packet */
    reader_u8(&r);  /* its character set: texts are UTF-8 */
    reader_bytes(&r, RESPONSE_FILLER);
    h.user = reader_text(&r);
    /* A client without PLUGIN_AUTH_LENENC sends one byte of length, which reads
     * the same as a lenenc integer below 251. */
    h.answer = reader_lenenc_bytes(&r);
    if (h.capabilities & CAPABILITY_CONNECT_WITH_DB)
        h.database = text_or_rest(&r);
    /* Attributes (CONNECT_ATTRS) may follow; nothing here uses them. */
    if (h.capabilities & CAPABILITY_PLUGIN_AUTH && reader_left(&r) > 0)
        h.plugin = text_or_rest(&r);
    if (r.failed)
        return set_handshake_error(err, "the response is cut short");
    *out = h;
    return 0;
}

int
handshake_decode_change(struct span packet, struct handshake *out,
                        struct error *err)
{
    struct reader r = reader_of(packet.data, packet.size);
    struct handshake h = {.plugin = {AUTH_NATIVE, strlen(AUTH_NATIVE)}};

    h.user = reader_text(&r);
    h.answer = reader_lenenc_bytes(&r);
    h.database = text_or_rest(&r);
    if (reader_left(&r) > 0)
        reader_u16(&r); /* its character set */
    if (reader_left(&r) > 0)
        h.plugin = text_or_rest(&r);
    if (r.failed)
        return set_handshake_error(err, "the request is cut short");
    *out = h;
    return 0;
}
