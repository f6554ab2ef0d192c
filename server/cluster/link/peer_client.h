/*
 * peer_client.h - the asking end of a link between nodes: proofs and seals.
 *
 * An authentication plugin for libmysqlclient, "heapwire_peer", whose packets
 * peer_proof.h describes.  It proves this node to the other and the other to
 * this one, with nonces of both, before any statement; both then share a key of
 * this connection alone, with which every envelope is sealed.
 */
#ifndef HW_PEER_CLIENT_H
#define HW_PEER_CLIENT_H

#include <mysql.h>
#include <stdbool.h>
#include <stdint.h>

#include "errors.h"
#include "peer_identity.h"
#include "peer_proof.h"
#include "peers.h"

struct buffer;

/* One connection's; outlives its MYSQL.  Zeroed, but for the first two. */
struct peer_client {
    const struct peer_identity *self;
    uint64_t expected_id;
    /* The other end has proven itself; false once connected: it let us in
     * without, and nothing is to be sent to it. */
    bool proven;
    /* Why the plugin gave up ("id mismatch: node 3 answers at ..."); code 0:
     * the connection failed for another reason, if it did. */
    struct error error;
    /* Told and proven by the other end, once connected: */
    uint8_t session_key[PEER_KEY];
    uint8_t incarnation[PEER_INCARNATION];
    uint8_t fingerprint[PEER_FINGERPRINT]; /* of its TLS certificate */
    bool has_fingerprint;                  /* false: it shows none here */
    char version[PEER_VERSION_MAX + 1];
    uint64_t sequence; /* of the next envelope */
};

/* Registers the plugin: once, before there are other threads. */
int peer_client_prepare(struct error *err);
/* Sets mysql's options so that it logs in with client's proof and in no other
 * way.  The names for mysql_real_connect count for nothing. */
int peer_client_attach(struct peer_client *client, MYSQL *mysql,
                       struct error *err);
/* Appends "ADMIN FORWARD '...'" to out.  Each is for being sent at once, in the
 * order in which they were sealed. */
int peer_client_seal(struct peer_client *client,
                     const struct peer_request *request, unsigned timeout_ms,
                     struct buffer *out, struct error *err);
/* Forgets the key: before the next connection, and at the end. */
void peer_client_reset(struct peer_client *client);

#endif
