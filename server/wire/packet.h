/*
 * packet.h - MySQL's framing: bytes to packets and packets to bytes.
 *
 * A packet is a 24-bit length, a sequence id, and the payload; a payload of
 * 0xffffff bytes goes on in the next one (PROTOCOL.md, "Packets").  No sockets
 * here.  Not thread-safe: one reader belongs to one session.
 */
#ifndef HW_PACKET_H
#define HW_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "reader.h"

enum {
    PACKET_HEADER = 4,
    PACKET_PIECE_MAX = 0xffffff,
    PACKET_AHEAD_MAX = 128 * 1024 /* of commands sent ahead of their turn */
};

struct packet_reader {
    struct buffer bytes; /* as received, less the headers already read */
    size_t start;        /* bytes before it are used up */
    size_t joined;       /* payload from start on */
    size_t piece;        /* length of the piece under way */
    size_t limit;        /* of a whole payload */
    uint8_t sequence;    /* what the next piece must carry */
    bool in_piece;
};

enum packet_state {
    PACKET_MORE,  /* feed further bytes */
    PACKET_READY, /* one packet; packet_done before the next */
    PACKET_OUT_OF_ORDER,
    PACKET_TOO_LARGE /* by its header, before the bytes arrive */
};

void packet_reader_init(struct packet_reader *r, size_t limit);
void packet_reader_fini(struct packet_reader *r);
void packet_reader_set_limit(struct packet_reader *r, size_t limit);

/* -1: out of memory, or more ahead than PACKET_AHEAD_MAX. */
int packet_feed(struct packet_reader *r, const void *data, size_t size);

/* The payload is borrowed until packet_done or packet_feed. */
enum packet_state packet_next(struct packet_reader *r, struct span *payload);

/* For another framing, in place of packet_next: the next size bytes, which have
 * been fed, are one packet. */
struct span packet_claim(struct packet_reader *r, size_t size);

/* Drops the packet, whose bytes are overwritten (all of them with HW_WATCHFUL,
 * so that a stale pointer shows); the next one must begin with this sequence
 * id.  Frees memory once nothing is left. */
void packet_done(struct packet_reader *r, uint8_t sequence);

/* Moves what waits into a block of its size, or with room for so many bytes in
 * all, and leaves nothing in the former one.  Without memory it stays. */
void packet_move(struct packet_reader *r, size_t room);

/* Bytes of the packet under way, as far as its headers say. */
size_t packet_expected(const struct packet_reader *r);
size_t packet_waiting(const struct packet_reader *r); /* bytes fed, not used */

/* Append the payload to out between the two; packet_end fills in the header and
 * splits a payload that is too long.  packet_drop takes the packet back. */
size_t packet_begin(struct buffer *out);
void packet_end(struct buffer *out, size_t mark, uint8_t *sequence);
void packet_drop(struct buffer *out, size_t mark);

#endif
