/*
 * peer_proof.c - see peer_proof.h.
 *
 * All functions append what is sent or received to one transcript, and each
 * proof covers the transcript before it: an attacker who changes, drops or
 * repeats a message makes the next proof wrong.  A packet is parsed before its
 * proof is checked, since only the parse shows that its size fits; nothing of
 * it is used before.
 */
#include "peer_proof.h"

#include <inttypes.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "buffer.h"
#include "clean_text.h"
#include "errors.h"

/* ---- envelopes ---- */

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
    /* version, sequence, verb, timeout, user, host, privileges, connection,
     * text */
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
    /* Everything before the last 32 bytes is sealed. */
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

/* Reads into out, which has room for max bytes and a NUL. The text ends up in
 * logs and tables: unprintable bytes are replaced. */
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
        error_set(
            err, ER_MALFORMED_PACKET,
            "Malformed communication packet: this node does not know such a "
            "forwarded statement; run the same heapwire on both nodes");
        return -1;
    }
    f->verb = (enum peer_verb)verb;
    *out = e;
    return 0;
}

_Static_assert(sizeof(((struct peer_transcript *)0)->bytes) <=
                   PEER_TRANSCRIPT_MAX,
               "all that is said can be proven");

static struct span
transcript_prefix(const struct peer_transcript *t, size_t size)
{
    return (struct span){(const char *)t->bytes, size};
}

/* ---- appending; arrays are large enough for the largest messages ---- */

static void
put_transcript_bytes(struct peer_transcript *t, const void *data, size_t size)
{
    memcpy(t->bytes + t->size, data, size);
    t->size += size;
}

static void
put_transcript_u8(struct peer_transcript *t, uint8_t v)
{
    put_transcript_bytes(t, &v, 1);
}

static void
put_transcript_u64(struct peer_transcript *t, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        put_transcript_u8(t, (uint8_t)(v >> 8 * i));
}

static int
put_nonce(struct peer_transcript *t, struct error *err)
{
    uint8_t nonce[PEER_NONCE];

    if (RAND_bytes(nonce, sizeof(nonce)) != 1) {
        error_set(err, ER_UNKNOWN, "no random bytes to prove this node with");
        return -1;
    }
    put_transcript_bytes(t, nonce, sizeof(nonce));
    return 0;
}

static int
put_proof(struct peer_transcript *t, const struct peer_identity *self,
          enum peer_label label, struct error *err)
{
    const struct peer_prover *prover = &self->prover;
    uint8_t proof[PEER_PROOF];

    if (prover->prove(prover->arg, label, transcript_prefix(t, t->size), proof,
                      err) != 0)
        return -1;
    put_transcript_bytes(t, proof, sizeof(proof));
    return 0;
}

/* Appends a packet of the other end, at least a proof long, and checks the
 * proof that is its last part. */
static int
take_proven(struct peer_transcript *t, const struct peer_identity *self,
            enum peer_label label, struct span transcript, struct error *err)
{
    const struct peer_prover *prover = &self->prover;
    bool valid = false;
    size_t size;

    put_transcript_bytes(t, transcript.data, transcript.size);
    size = t->size - PEER_PROOF;
    if (prover->check(prover->arg, label, transcript_prefix(t, size),
                      t->bytes + size, &valid, err) != 0)
        return -1;
    if (valid)
        return 0;
    error_set(err, ER_ACCESS_DENIED,
              "Access denied: the other node does not prove that it is of this "
              "cluster; name and secret of [cluster] must be the same on both");
    return -1;
}

static int
set_peer_message_error(struct error *err, const char *what)
{
    error_set(err, ER_HANDSHAKE, "Bad handshake: the %s of a node is malformed",
              what);
    return -1;
}

static int
check_version(uint8_t version, struct error *err)
{
    if (version == PEER_PROTOCOL)
        return 0;
    error_set(err, ER_HANDSHAKE,
              "Bad handshake: the other node speaks version %u of the nodes' "
              "protocol, this one version %d; run the same heapwire on both",
              version, PEER_PROTOCOL);
    return -1;
}

/* A node may ask itself; another node with the same id is a mistake in the
 * configuration, which would otherwise show as rows of the wrong node. */
static int
check_twin(const struct peer_identity *self, const struct peer_party *other,
           struct error *err)
{
    if (other->id != self->node_id ||
        memcmp(other->incarnation, self->incarnation, PEER_INCARNATION) == 0)
        return 0;
    error_set(err, ER_UNKNOWN,
              "id mismatch: two nodes claim to be node %" PRIu64,
              self->node_id);
    return -1;
}

/* ---- challenge ---- */

int
peer_challenge_make(struct peer_transcript *t, const struct peer_identity *self,
                    struct span *out, struct error *err)
{
    t->size = 0;
    put_transcript_u8(t, PEER_PROTOCOL);
    if (put_nonce(t, err) != 0)
        return -1;
    put_transcript_u64(t, self->node_id);
    put_transcript_bytes(t, self->incarnation, PEER_INCARNATION);
    *out = (struct span){(const char *)t->bytes, t->size};
    return 0;
}

static void
read_party(struct reader *r, struct peer_party *out)
{
    struct span bytes = reader_bytes(r, PEER_INCARNATION);

    if (bytes.size == PEER_INCARNATION)
        memcpy(out->incarnation, bytes.data, bytes.size);
}

int
peer_challenge_read(struct peer_transcript *t, const struct peer_identity *self,
                    uint64_t wanted, struct span challenge,
                    struct peer_party *server, struct error *err)
{
    struct reader r = reader_of(challenge.data, challenge.size);
    struct peer_party party = {0};

    if (challenge.size > 0 && check_version(reader_u8(&r), err) != 0)
        return -1;
    reader_bytes(&r, PEER_NONCE);
    party.id = reader_u64(&r);
    read_party(&r, &party);
    if (!reader_done(&r) || challenge.size != PEER_CHALLENGE)
        return set_peer_message_error(err, "challenge");
    if (party.id != wanted) {
        error_set(err, ER_UNKNOWN,
                  "id mismatch: node %" PRIu64 " answers for node %" PRIu64,
                  party.id, wanted);
        return -1;
    }
    if (check_twin(self, &party, err) != 0)
        return -1;
    t->size = 0;
    put_transcript_bytes(t, challenge.data, challenge.size);
    *server = party;
    return 0;
}

/* ---- hello ---- */

int
peer_hello_make(struct peer_transcript *t, const struct peer_identity *self,
                uint64_t wanted, struct span *out, struct error *err)
{
    size_t before = t->size;

    put_transcript_u8(t, PEER_PROTOCOL);
    if (put_nonce(t, err) != 0)
        return -1;
    put_transcript_u64(t, self->node_id);
    put_transcript_u64(t, wanted);
    put_transcript_bytes(t, self->incarnation, PEER_INCARNATION);
    if (put_proof(t, self, PEER_CLIENT, err) != 0)
        return -1;
    *out = (struct span){(const char *)t->bytes + before, t->size - before};
    return 0;
}

int
peer_hello_check(struct peer_transcript *t, const struct peer_identity *self,
                 struct span hello, struct peer_party *client,
                 struct error *err)
{
    struct reader r = reader_of(hello.data, hello.size);
    struct peer_party party = {0};
    uint64_t wanted;

    if (hello.size > 0 && check_version(reader_u8(&r), err) != 0)
        return -1;
    reader_bytes(&r, PEER_NONCE);
    party.id = reader_u64(&r);
    wanted = reader_u64(&r);
    read_party(&r, &party);
    reader_bytes(&r, PEER_PROOF);
    if (!reader_done(&r) || hello.size != PEER_HELLO)
        return set_peer_message_error(err, "hello");
    /* The proof comes first: whoever cannot prove itself does not learn which
     * id this node has. */
    if (take_proven(t, self, PEER_CLIENT, hello, err) != 0)
        return -1;
    if (wanted != self->node_id) {
        error_set(err, ER_UNKNOWN,
                  "id mismatch: this is node %" PRIu64 ", not node %" PRIu64,
                  self->node_id, wanted);
        return -1;
    }
    if (check_twin(self, &party, err) != 0)
        return -1;
    *client = party;
    return 0;
}

/* ---- welcome ---- */

int
peer_welcome_make(struct peer_transcript *t, const struct peer_identity *self,
                  const struct peer_welcome *welcome, struct span *out,
                  struct error *err)
{
    size_t before = t->size, version = strlen(welcome->version);

    put_transcript_u8(t, PEER_PROTOCOL);
    put_transcript_u8(t, welcome->has_fingerprint);
    if (welcome->has_fingerprint)
        put_transcript_bytes(t, welcome->fingerprint, PEER_FINGERPRINT);
    put_transcript_u8(t, (uint8_t)version);
    put_transcript_bytes(t, welcome->version, version);
    if (put_proof(t, self, PEER_SERVER, err) != 0)
        return -1;
    *out = (struct span){(const char *)t->bytes + before, t->size - before};
    return 0;
}

/* Versions appear in tables and errors, so only printable characters pass. */
static bool
is_version(struct span text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return false;
    return text.size > 0 && text.size <= PEER_VERSION_MAX;
}

static int
read_welcome(struct span bytes, struct peer_welcome *out, struct error *err)
{
    struct reader r = reader_of(bytes.data, bytes.size);
    uint8_t version = reader_u8(&r), flag = reader_u8(&r);
    struct span fingerprint = reader_bytes(&r, flag ? PEER_FINGERPRINT : 0);
    struct span text = reader_bytes(&r, reader_u8(&r));

    reader_bytes(&r, PEER_PROOF);
    if (!r.failed && check_version(version, err) != 0)
        return -1;
    if (!reader_done(&r) || flag > 1 || !is_version(text))
        return set_peer_message_error(err, "welcome");
    out->has_fingerprint = flag;
    if (flag)
        memcpy(out->fingerprint, fingerprint.data, fingerprint.size);
    memcpy(out->version, text.data, text.size);
    return 0;
}

int
peer_welcome_check(struct peer_transcript *t, const struct peer_identity *self,
                   struct span welcome, struct peer_welcome *out,
                   struct error *err)
{
    struct peer_welcome read = {0};

    if (read_welcome(welcome, &read, err) != 0 ||
        take_proven(t, self, PEER_SERVER, welcome, err) != 0)
        return -1;
    *out = read;
    return 0;
}

int
peer_session_key(const struct peer_transcript *t,
                 const struct peer_identity *self, uint8_t out[PEER_KEY],
                 struct error *err)
{
    const struct peer_prover *prover = &self->prover;

    return prover->prove(prover->arg, PEER_SESSION,
                         transcript_prefix(t, t->size), out, err);
}
