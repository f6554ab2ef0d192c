/*
 * peer_wire.h - the asking end of MySQL's protocol, as nodes speak it: bytes
 * in, bytes out, no socket.
 *
 * Logs in with peer_client's proofs, asks one thing at a time, and checks
 * whatever the other end says before it is passed on.  An unexpected packet
 * closes the connection.  Packets: server/wire/PROTOCOL.md.
 */
#ifndef HW_PEER_WIRE_H
#define HW_PEER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "packet.h"
#include "peer_key.h"
#include "peer_proof.h"
#include "peers.h"
#include "reader.h"

struct error;
struct tls_stream;

/* ---- peer_client.c ----
 * The asking end of a link between nodes: proofs and seals.  No packets here;
 * peer_proof.h describes what they hold.  Proves this node to the other and the
 * other to this one, with nonces of both, before any statement; both then share
 * a key of this connection alone, with which every envelope is sealed. */

/* For one connection.  Zeroed, except the first two. */
struct peer_client {
    const struct peer_identity *self;
    uint64_t expected_id;
    struct peer_transcript transcript; /* until the other end is proven */
    struct peer_party server;          /* as it said of itself */
    /* The other end has proven itself.  False after the login if it let us in
     * without a proof, and then nothing is sent to it. */
    bool proven;
    /* What the other end said and proved: */
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
/* NULL: the certificate is the one that the node has proven to be its own; else
 * the reason why not.  tls NULL: this connection has none. */
const char *peer_client_distrust(const struct peer_client *client,
                                 const struct tls_stream *tls);
/* Appends "ADMIN FORWARD '...'" to out.  Send envelopes at once, in the order
 * in which they were sealed. */
int peer_client_seal(struct peer_client *client,
                     const struct peer_request *request, unsigned timeout_ms,
                     struct buffer *out, struct error *err);
void peer_client_fini(struct peer_client *client); /* forgets the key */

enum {
    PEER_WIRE_PACKET = 64 << 10, /* bytes of a packet that is not a row */
    PEER_WIRE_KEPT = 256 << 10   /* of the buffer, kept between packets */
};

enum peer_wire_event {
    PEER_WIRE_MORE,  /* needs further bytes */
    PEER_WIRE_TLS,   /* all that follows goes through TLS: peer_wire_secured */
    PEER_WIRE_READY, /* it has proven itself; the certificate is not checked */
    PEER_WIRE_ROW,   /* cells, borrowed until the next call */
    PEER_WIRE_ANSWERED, /* *err, code 0: all rows came */
    PEER_WIRE_BROKEN    /* *err says why, with the code that the node gave */
};

struct peer_wire {
    struct peer_client client;
    struct packet_reader in;
    struct buffer out; /* bytes to send; its owner empties it */
    enum peer_wire_event (*step)(struct peer_wire *wire, struct span packet,
                                 struct error *err);
    struct span *cells; /* of the current call: where a row goes */
    size_t columns, defined;
    uint8_t sequence;
    bool tls;          /* wanted */
    bool row_borrowed; /* the packet in front is a row that was passed on */
};

void peer_wire_init(struct peer_wire *wire, const struct peer_identity *self,
                    uint64_t expected_id, bool tls);
void peer_wire_fini(struct peer_wire *wire);

/* -1: no memory, or more than can have been asked for. */
int peer_wire_feed(struct peer_wire *wire, const void *data, size_t size);
/* cells has room for PEER_COLUMNS_MAX.  Nothing may be called after BROKEN but
 * peer_wire_fini. */
enum peer_wire_event peer_wire_next(struct peer_wire *wire, struct span *cells,
                                    struct error *err);
void peer_wire_secured(struct peer_wire *wire);

/* After READY or ANSWERED; -1 with *err: nothing is sent. */
int peer_wire_ask(struct peer_wire *wire, const struct peer_request *request,
                  unsigned timeout_ms, struct error *err);
void peer_wire_quit(struct peer_wire *wire);
/* Has no byte come that nothing asked for? */
bool peer_wire_is_clean(const struct peer_wire *wire);

#endif
