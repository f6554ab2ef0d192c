/*
 * peer_client.c - see peer_wire.h.  The proofs and seals of the asking end; the
 * bytes are access/peer_proof.h's, the packets peer_wire.c's.
 */
#include "peer_wire.h"

#include <string.h>

#include <openssl/crypto.h>

#include "buffer.h"
#include "errors.h"
#include "peer_proof.h"
#include "tls_stream.h"

int
peer_client_challenge(struct peer_client *client, struct span challenge,
                      struct span *hello, struct error *err)
{
    const struct peer_identity *self = client->self;

    return peer_challenge_read(&client->transcript, self, client->expected_id,
                               challenge, &client->server, err) == 0
               ? peer_hello_make(&client->transcript, self, client->expected_id,
                                 hello, err)
               : -1;
}

static void
keep_welcome(struct peer_client *client, const struct peer_welcome *welcome)
{
    memcpy(client->fingerprint, welcome->fingerprint, PEER_FINGERPRINT);
    client->has_fingerprint = welcome->has_fingerprint;
    memcpy(client->version, welcome->version, sizeof(client->version));
    client->sequence = 1;
    client->proven = true;
}

int
peer_client_welcome(struct peer_client *client, struct span welcome,
                    struct error *err)
{
    struct peer_welcome read;

    if (peer_welcome_check(&client->transcript, client->self, welcome, &read,
                           err) != 0 ||
        peer_session_key(&client->transcript, client->self, client->session_key,
                         err) != 0)
        return -1;
    keep_welcome(client, &read);
    OPENSSL_cleanse(&client->transcript, sizeof(client->transcript));
    return 0;
}

static void
put_hex(struct buffer *out, const struct buffer *bytes)
{
    static const char digits[] = "0123456789abcdef";
    char *at = buffer_reserve(out, 2 * bytes->size);

    if (!at)
        return;
    for (size_t i = 0; i < bytes->size; i++) {
        at[2 * i] = digits[(unsigned char)bytes->data[i] >> 4];
        at[2 * i + 1] = digits[(unsigned char)bytes->data[i] & 15];
    }
    buffer_claim(out, 2 * bytes->size);
}

const char *
peer_client_distrust(const struct peer_client *client,
                     const struct tls_stream *tls)
{
    uint8_t shown[TLS_FINGERPRINT];

    /* This node's own socket is not encrypted.  If a certificate is proven
     * here, it was shown to somebody else, who passes the proof on. */
    if (!tls)
        return client->has_fingerprint
                   ? "it uses TLS, and this connection does not: a third party "
                     "is in between"
                   : NULL;
    if (!client->has_fingerprint)
        return "it sends no fingerprint of its certificate";
    return tls_stream_fingerprint(tls, shown) &&
                   memcmp(shown, client->fingerprint, sizeof(shown)) == 0
               ? NULL
               : "the certificate is not the one that it proves to have: a "
                 "third party may be in between";
}

int
peer_client_seal(struct peer_client *client, const struct peer_request *request,
                 unsigned timeout_ms, struct buffer *out, struct error *err)
{
    struct peer_envelope envelope = {
        .sequence = client->sequence,
        .forwarded = {.verb = request->verb,
                      .text = request->text,
                      .caller = *request->caller,
                      .connection_id = request->connection_id,
                      .timeout_ms = timeout_ms}};
    struct buffer bytes;
    int rc = -1;

    buffer_init(&bytes, PEER_ENVELOPE_MAX);
    if (!client->proven) {
        error_set(err, ER_ACCESS_DENIED,
                  "Access denied: the other node has not proven itself");
        goto out;
    }
    if (peer_envelope_seal(&envelope, client->session_key, &bytes, err) != 0)
        goto out;
    buffer_text(out, "ADMIN FORWARD '");
    put_hex(out, &bytes);
    buffer_char(out, '\'');
    if (out->failed) {
        error_memory(err, "a statement for another node");
        goto out;
    }
    /* Only now: a number that was not sent may be used again. */
    client->sequence++;
    rc = 0;
out:
    buffer_fini(&bytes);
    return rc;
}

void
peer_client_fini(struct peer_client *client)
{
    OPENSSL_cleanse(client, sizeof(*client));
}
