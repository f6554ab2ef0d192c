/*
 * peer_envelope.h - a statement on its way to another node, sealed.
 *
 * Pure.  Holds the caller, the statement, the privileges and the time limit,
 * and an HMAC-SHA256 of all that with the key of one connection: only its two
 * ends can make one, and the receiver accepts each number once.
 */
#ifndef HW_PEER_ENVELOPE_H
#define HW_PEER_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include "peer_identity.h"
#include "peers.h"
#include "reader.h"

struct buffer;
struct error;

enum {
    PEER_TEXT_MAX = 1024 * 1024, /* bytes of a statement */
    PEER_ENVELOPE_MAX = PEER_TEXT_MAX + 512
};

struct peer_envelope {
    uint64_t sequence;
    struct peer_forwarded forwarded; /* but for its origin; the text is
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
