/*
 * peer_proof.h - how two nodes prove themselves to each other, and seal their
 * statements: the bytes.
 *
 * Pure, both ends.  After the switch to the plugin "heapwire_peer":
 *
 *   server  challenge  version, nonce, its id, its incarnation
 *   client  hello      version, nonce, its id, the id it wants, its
 *                      incarnation, proof
 *   server  welcome    version, its certificate's fingerprint or none,
 *                      heapwire's version, proof
 *
 * A proof is an HMAC-SHA256 with the cluster's key of its end's name and of all
 * that was said so far, what it stands in included: each nonce and id, from
 * both ends.  The client proves first, so that an unauthenticated peer is never
 * given anything made with the key.  Another HMAC of it all is this
 * connection's key.
 */
#ifndef HW_PEER_PROOF_H
#define HW_PEER_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peer_key.h"
#include "peers.h"
#include "reader.h"

struct error;
struct buffer;

#define PEER_PLUGIN "heapwire_peer"

enum {
    PEER_PROTOCOL = 1,
    PEER_NONCE = 32,
    PEER_FINGERPRINT = 20, /* SHA-1 */
    PEER_CHALLENGE = 1 + PEER_NONCE + 8 + PEER_INCARNATION,
    PEER_HELLO = 1 + PEER_NONCE + 8 + 8 + PEER_INCARNATION + PEER_PROOF,
    PEER_WELCOME_MAX =
        1 + 1 + PEER_FINGERPRINT + 1 + PEER_VERSION_MAX + PEER_PROOF
};

/* One end, as it said of itself. */
struct peer_party {
    uint64_t id;
    uint8_t incarnation[PEER_INCARNATION];
};

struct peer_welcome {
    bool has_fingerprint; /* false: no TLS here */
    uint8_t fingerprint[PEER_FINGERPRINT];
    char version[PEER_VERSION_MAX + 1];
};

/* All that both ends have said; zeroed at the start. */
struct peer_transcript {
    uint8_t bytes[PEER_CHALLENGE + PEER_HELLO + PEER_WELCOME_MAX];
    size_t size;
};

/* The server's end.  make: *out is what to send, and borrows t. */
int peer_challenge_make(struct peer_transcript *t,
                        const struct peer_identity *self, struct span *out,
                        struct error *err);
/* -1: 1045 for a wrong proof; "id mismatch: ..." for a right proof that asks
 * for another node. */
int peer_hello_check(struct peer_transcript *t,
                     const struct peer_identity *self, struct span hello,
                     struct peer_party *client, struct error *err);
int peer_welcome_make(struct peer_transcript *t,
                      const struct peer_identity *self,
                      const struct peer_welcome *welcome, struct span *out,
                      struct error *err);

/* The client's end. */
int peer_challenge_read(struct peer_transcript *t,
                        const struct peer_identity *self, uint64_t wanted,
                        struct span challenge, struct peer_party *server,
                        struct error *err);
int peer_hello_make(struct peer_transcript *t, const struct peer_identity *self,
                    uint64_t wanted, struct span *out, struct error *err);
int peer_welcome_check(struct peer_transcript *t,
                       const struct peer_identity *self, struct span welcome,
                       struct peer_welcome *out, struct error *err);

/* From the whole transcript; the same at both ends. */
int peer_session_key(const struct peer_transcript *t,
                     const struct peer_identity *self, uint8_t out[PEER_KEY],
                     struct error *err);

enum {
    PEER_TEXT_MAX = 1024 * 1024, /* bytes of a statement */
    PEER_ENVELOPE_MAX = PEER_TEXT_MAX + 512
};

/* A statement on its way to another node.  Sealed, it holds the caller, the
 * statement, the privileges and the time limit, and an HMAC-SHA256 of all that
 * with the key of one connection: only its two ends can make one, and the
 * receiver accepts each number once. */
struct peer_envelope {
    uint64_t sequence;
    struct peer_forwarded forwarded; /* except for its origin; the text is
                                        borrowed */
};

/* Appends it to out. */
int peer_envelope_seal(const struct peer_envelope *envelope,
                       const uint8_t key[PEER_KEY], struct buffer *out,
                       struct error *err);
/* Checks the seal first.  -1: 1045 for a wrong seal, or 1835 if the seal is
 * right but this node does not know the contents. */
int peer_envelope_open(struct span bytes, const uint8_t key[PEER_KEY],
                       struct peer_envelope *out, struct error *err);

#endif
