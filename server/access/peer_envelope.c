/* peer_envelope.c - see peer_envelope.h. */
#include "peer_envelope.h"

#include <string.h>

#include <openssl/crypto.h>

#include "buffer.h"
#include "clean_text.h"
#include "errors.h"
#include "peer_proof.h"

enum { VERSION = 1 };

static void
put_short_text(struct buffer *out, const char *text)
{
    size_t size = strlen(text);

    buffer_u8(out, (uint8_t)size);
    buffer_add(out, text, size);
}

int
peer_envelope_seal(const struct peer_envelope *envelope,
                   const uint8_t key[PEER_KEY], struct buffer *out,
                   struct error *err)
{
    const struct peer_forwarded *f = &envelope->forwarded;
    uint8_t proof[PEER_PROOF];
    size_t before = out->size;

    if (f->text.size > PEER_TEXT_MAX) {
        error_set(err, ER_PACKET_TOO_LARGE,
                  "a statement of %zu bytes is more than the %d that go to "
                  "another node",
                  f->text.size, PEER_TEXT_MAX);
        return -1;
    }
    buffer_u8(out, VERSION);
    buffer_u64(out, envelope->sequence);
    buffer_u8(out, (uint8_t)f->verb);
    buffer_u32(out, f->timeout_ms);
    put_short_text(out, f->caller.user);
    put_short_text(out, f->caller.host);
    buffer_u32(out, f->caller.privileges);
    buffer_u32(out, f->connection_id);
    buffer_u32(out, (uint32_t)f->text.size);
    buffer_add(out, f->text.data, f->text.size);
    if (out->failed) {
        error_memory(err, "a statement for another node");
        return -1;
    }
    if (peer_mac(key, out->data + before, out->size - before, proof, err) != 0)
        return -1;
    buffer_add(out, proof, sizeof(proof));
    if (!out->failed)
        return 0;
    error_memory(err, "a statement for another node");
    return -1;
}

static int
check_seal(struct span bytes, const uint8_t key[PEER_KEY], struct error *err)
{
    size_t size = bytes.size < PEER_PROOF ? 0 : bytes.size - PEER_PROOF;
    uint8_t proof[PEER_PROOF];
    int differ = 1;

    if (bytes.size >= PEER_PROOF && bytes.size <= PEER_ENVELOPE_MAX) {
        if (peer_mac(key, bytes.data, size, proof, err) != 0)
            return -1;
        differ = CRYPTO_memcmp(proof, bytes.data + size, PEER_PROOF);
        OPENSSL_cleanse(proof, sizeof(proof));
    }
    if (differ == 0)
        return 0;
    error_set(err, ER_ACCESS_DENIED,
              "Access denied: the seal of a forwarded statement is wrong");
    return -1;
}

/* Into out, which has room for max bytes and a NUL; keeps what may be logged.
 */
static void
read_short_text(struct reader *r, char *out, size_t max)
{
    struct span text = reader_bytes(r, reader_u8(r));

    if (text.size > max || (text.size && memchr(text.data, 0, text.size)))
        r->failed = true;
    else if (text.size)
        clean_text(text, out);
}

int
peer_envelope_open(struct span bytes, const uint8_t key[PEER_KEY],
                   struct peer_envelope *out, struct error *err)
{
    struct peer_envelope e = {0};
    struct peer_forwarded *f = &e.forwarded;
    struct reader r;
    uint8_t version, verb;

    if (check_seal(bytes, key, err) != 0)
        return -1;
    r = reader_of(bytes.data, bytes.size - PEER_PROOF);
    version = reader_u8(&r);
    e.sequence = reader_u64(&r);
    verb = reader_u8(&r);
    f->timeout_ms = reader_u32(&r);
    read_short_text(&r, f->caller.user, SQL_NAME_MAX);
    read_short_text(&r, f->caller.host, SQL_HOST_MAX);
    f->caller.privileges = reader_u32(&r);
    f->connection_id = reader_u32(&r);
    f->text = reader_bytes(&r, reader_u32(&r));
    if (!reader_done(&r) || version != VERSION || verb > PEER_SELECT ||
        f->caller.privileges & ~(uint32_t)PRIVILEGE_ALL) {
        error_set(err, ER_MALFORMED_PACKET,
                  "Malformed communication packet: this node does not know "
                  "such a forwarded statement; run one heapwire on both nodes");
        return -1;
    }
    f->verb = (enum peer_verb)verb;
    *out = e;
    return 0;
}
