/*
 * peer_wire.h - the asking end of MySQL's protocol, as nodes speak it: bytes
 * in, bytes out, no socket.
 *
 * Logs in with peer_client's proofs, asks one thing at a time, and checks
 * whatever the other end says before it is passed on.  What is not expected
 * breaks the connection.  Packets: server/wire/PROTOCOL.md.
 */
#ifndef HW_PEER_WIRE_H
#define HW_PEER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "packet.h"
#include "peer_client.h"
#include "reader.h"

struct error;
struct peer_request;

enum {
    PEER_WIRE_PACKET = 64 << 10, /* bytes of one that is not a row */
    PEER_WIRE_KEPT = 256 << 10   /* of the buffer, between packets */
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
    struct buffer out; /* what is to be sent; its owner empties it */
    enum peer_wire_event (*step)(struct peer_wire *wire, struct span packet,
                                 struct error *err);
    struct span *cells; /* of the call under way: where a row goes */
    size_t columns, defined;
    uint8_t sequence;
    bool tls;  /* wanted */
    bool lent; /* the packet in front is a row that was passed on */
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
/* No byte came that nothing asked for. */
bool peer_wire_is_clean(const struct peer_wire *wire);

#endif
