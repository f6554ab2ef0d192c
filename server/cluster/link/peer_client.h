/*
 * peer_client.h - the asking end of a link between nodes: proofs and seals.
 *
 * No packets here; peer_proof.h describes what they hold.  Proves this node to
 * the other and the other to this one, with nonces of both, before any
 * statement; both then share a key of this connection alone, with which every
 * envelope is sealed.
 */
#ifndef HW_PEER_CLIENT_H
#define HW_PEER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "peer_key.h"
#include "peer_proof.h"
#include "peers.h"
#include "reader.h"

struct buffer;
struct error;
struct tls_stream;

/* One connection's.  Zeroed, but for the first two. */
struct peer_client {
    const struct peer_identity *self;
    uint64_t expected_id;
    struct peer_transcript said; /* until the other end is proven */
    struct peer_party server;    /* as it said of itself */
    /* The other end has proven itself: false after the login if it let us in
     * without, and then nothing is sent to it. */
    bool proven;
    /* Said and proven by the other end: */
    uint8_t session_key[PEER_KEY];
    uint8_t fingerprint[PEER_FINGERPRINT]; /* of its TLS certificate */
    bool has_fingerprint;                  /* false: it shows none here */
    char version[PEER_VERSION_MAX + 1];
    uint64_t sequence; /* of the next envelope */
};

/* What the other end says, in this order; *hello is what to answer, and borrows
 * client.  -1 with *err: it has not proven itself. */
int peer_client_challenge(struct peer_client *client, struct span challenge,
                          struct span *hello, struct error *err);
int peer_client_welcome(struct peer_client *client, struct span welcome,
                        struct error *err);
/* Why not, or NULL: the certificate is the one that the node has proven to be
 * its own; tls NULL: this connection has none. */
const char *peer_client_distrust(const struct peer_client *client,
                                 const struct tls_stream *tls);
/* Appends "ADMIN FORWARD '...'" to out.  Each is for being sent at once, in the
 * order in which they were sealed. */
int peer_client_seal(struct peer_client *client,
                     const struct peer_request *request, unsigned timeout_ms,
                     struct buffer *out, struct error *err);
void peer_client_fini(struct peer_client *client); /* forgets the key */

#endif
