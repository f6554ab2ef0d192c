/* packet.c - see packet.h.
 *
 * Bytes are kept as they came; of a payload in several pieces only the headers
 * between them are cut out, so that it lies in one block.  A packet may have a
 * password that nobody asked for, so bytes that could be a login leave no copy
 * behind: neither where they are dropped nor where a buffer that grew has been.
 */
#include "packet.h"

#include <string.h>

enum { SECRET_MAX = 64 * 1024 }; /* no login is as large */

void
packet_reader_init(struct packet_reader *r, size_t limit)
{
    memset(r, 0, sizeof(*r));
    r->limit = limit;
    buffer_init(&r->bytes, limit + PACKET_AHEAD_MAX);
}

/* Wipes the buffer's bytes from offset on, as many as may be a secret. */
static void
wipe_packet_bytes(struct buffer *b, size_t offset, size_t size)
{
    if (b->data)
        explicit_bzero(b->data + offset, size < SECRET_MAX ? size : SECRET_MAX);
}

void
packet_reader_fini(struct packet_reader *r)
{
    wipe_packet_bytes(&r->bytes, 0, r->bytes.size);
    buffer_fini(&r->bytes);
}

void
packet_reader_set_limit(struct packet_reader *r, size_t limit)
{
    r->limit = limit;
    r->bytes.max = limit + PACKET_AHEAD_MAX;
    /* Never below what is there already: bytes of the next command may have
     * come with the login. */
    if (r->bytes.max < r->bytes.size)
        r->bytes.max = r->bytes.size;
}

size_t
packet_waiting(const struct packet_reader *r)
{
    return r->bytes.size - r->start;
}

void
packet_move(struct packet_reader *r, size_t room)
{
    struct buffer moved;

    buffer_init(&moved, r->bytes.max);
    if (buffer_reserve(&moved, room) && r->bytes.data)
        buffer_add(&moved, r->bytes.data + r->start, packet_waiting(r));
    if (moved.failed) {
        buffer_fini(&moved);
        return;
    }
    wipe_packet_bytes(&r->bytes, 0, r->bytes.size);
    buffer_fini(&r->bytes);
    r->bytes = moved;
    r->start = 0;
}

int
packet_feed(struct packet_reader *r, const void *data, size_t size)
{
    size_t waiting = packet_waiting(r);

    buffer_drop_front(&r->bytes, r->start);
    wipe_packet_bytes(&r->bytes, waiting,
                      r->start); /* the place they were moved from */
    r->start = 0;
    /* realloc() would leave a copy of a possible password in the freed block.
     */
    if (r->bytes.data && waiting < SECRET_MAX &&
        size >= r->bytes.capacity - waiting)
        packet_move(r, waiting + size);
    buffer_add(&r->bytes, data, size);
    return r->bytes.failed ? -1 : 0;
}

size_t
packet_expected(const struct packet_reader *r)
{
    return r->joined + (r->in_piece ? r->piece : 0);
}

/* Cuts out the header behind the payload that is joined so far; the first one
 * is merely skipped. */
static void
take_header(struct packet_reader *r)
{
    char *header = r->bytes.data + r->start + r->joined;

    if (r->joined == 0) {
        r->start += PACKET_HEADER;
        return;
    }
    memmove(header, header + PACKET_HEADER,
            packet_waiting(r) - r->joined - PACKET_HEADER);
    r->bytes.size -= PACKET_HEADER;
}

static enum packet_state
begin_piece(struct packet_reader *r)
{
    struct reader header;
    size_t size;
    uint8_t sequence;

    if (packet_waiting(r) - r->joined < PACKET_HEADER)
        return PACKET_MORE;
    header = reader_of(r->bytes.data + r->start + r->joined, PACKET_HEADER);
    size = reader_u24(&header);
    sequence = reader_u8(&header);
    if (sequence != r->sequence)
        return PACKET_OUT_OF_ORDER;
    /* By the header alone: a client cannot make us buffer what we will refuse.
     */
    if (size > r->limit - r->joined)
        return PACKET_TOO_LARGE;
    take_header(r);
    r->sequence++;
    r->piece = size;
    r->in_piece = true;
    return PACKET_READY;
}

enum packet_state
packet_next(struct packet_reader *r, struct span *payload)
{
    enum packet_state state;
    size_t piece;

    do {
        if (!r->in_piece) {
            state = begin_piece(r);
            if (state != PACKET_READY)
                return state;
        }
        if (packet_waiting(r) - r->joined < r->piece)
            return PACKET_MORE;
        piece = r->piece;
        r->joined += piece;
        r->in_piece = false;
        /* A piece of exactly 0xffffff bytes is followed by another, if only by
         * an empty one. */
    } while (piece == PACKET_PIECE_MAX);
    payload->data = r->bytes.data + r->start;
    payload->size = r->joined;
    return PACKET_READY;
}

struct span
packet_claim(struct packet_reader *r, size_t size)
{
    r->joined = size;
    return (struct span){size > 0 ? r->bytes.data + r->start : "", size};
}

void
packet_done(struct packet_reader *r, uint8_t sequence)
{
    size_t max = r->bytes.max;

/* A stale pointer into the packet then reads as nonsense in tests. */
#ifdef HW_WATCHFUL
    if (r->joined > 0)
        memset(r->bytes.data + r->start, 0xdb, r->joined);
#else
    wipe_packet_bytes(&r->bytes, r->start, r->joined);
#endif
    r->start += r->joined;
    r->joined = 0;
    r->sequence = sequence;
    if (r->start < r->bytes.size)
        return;
    r->start = 0;
    buffer_fini(&r->bytes);
    buffer_init(&r->bytes, max);
}

size_t
packet_begin(struct buffer *out)
{
    static const char blank[PACKET_HEADER];
    size_t mark = out->size;

    buffer_add(out, blank, sizeof(blank));
    return mark;
}

static void
put_packet_header(char *at, size_t size, uint8_t sequence)
{
    at[0] = (char)(size & 0xff);
    at[1] = (char)(size >> 8 & 0xff);
    at[2] = (char)(size >> 16 & 0xff);
    at[3] = (char)sequence;
}

/* Pieces are moved apart from the last to the first, so that each byte moves
 * once and none is overwritten. */
void
packet_end(struct buffer *out, size_t mark, uint8_t *sequence)
{
    size_t payload, extra, at, size;

    if (out->failed)
        return;
    payload = out->size - mark - PACKET_HEADER;
    extra = payload / PACKET_PIECE_MAX;
    if (!buffer_reserve(out, extra * PACKET_HEADER))
        return;
    for (size_t i = extra + 1; i-- > 0;) {
        at = mark + i * (PACKET_PIECE_MAX + PACKET_HEADER);
        size = payload - i * PACKET_PIECE_MAX;
        if (size > PACKET_PIECE_MAX)
            size = PACKET_PIECE_MAX;
        if (i > 0)
            memmove(out->data + at + PACKET_HEADER,
                    out->data + mark + PACKET_HEADER + i * PACKET_PIECE_MAX,
                    size);
        put_packet_header(out->data + at, size, (uint8_t)(*sequence + i));
    }
    buffer_claim(out, extra * PACKET_HEADER);
    *sequence = (uint8_t)(*sequence + extra + 1);
}

void
packet_drop(struct buffer *out, size_t mark)
{
    out->size = mark;
    out->failed = false;
    if (out->data)
        out->data[mark] = '\0';
}
