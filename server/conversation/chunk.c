/* chunk.c - see chunk.h. */
#include "chunk.h"

#include <errno.h>
#include <sys/socket.h>

#include "packet.h"

void
chunk_init(struct chunk *chunk)
{
    reply_init(&chunk->reply);
}

void
chunk_fini(struct chunk *chunk)
{
    reply_fini(&chunk->reply);
}

void
chunk_begin(struct chunk *chunk, const struct reply *session)
{
    chunk->reply.capabilities = session->capabilities;
    chunk->reply.status = session->status;
    chunk->reply.sequence = session->sequence;
    chunk->first = session->sequence;
    chunk->rows = 0;
    chunk->written_rows = chunk->written_bytes = 0;
}

bool
chunk_full(const struct chunk *chunk)
{
    return chunk->reply.out.size >= CHUNK_BYTES || chunk->rows >= CHUNK_ROWS;
}

bool
chunk_write(struct chunk *chunk, int fd)
{
    struct buffer *out = &chunk->reply.out;
    size_t written = 0;
    ssize_t n = 0;

    while (written < out->size && !out->failed) {
        n = send(fd, out->data + written, out->size - written,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            break;
        written += n > 0 ? (size_t)n : 0;
    }
    chunk->written_bytes += written;
    if (written < out->size) {
        buffer_drop_front(out, written);
        return false;
    }
    buffer_clear(out);
    chunk->written_rows += chunk->rows;
    chunk->rows = 0;
    return chunk->written_bytes < CHUNK_WRITTEN_MAX;
}

bool
chunk_made(const struct chunk *chunk)
{
    return chunk->reply.out.size > 0 || chunk->reply.out.failed;
}

void
chunk_give(struct chunk *chunk, struct reply *session)
{
    struct buffer *from = &chunk->reply.out, *to = &session->out;
    uint8_t later = (uint8_t)(session->sequence - chunk->first);
    struct buffer empty = *to;

    if (later != 0)
        packet_renumber(from, later);
    session->sequence = (uint8_t)(chunk->reply.sequence + later);
    if (to->size == 0 && !to->failed) {
        *to = *from;
        *from = empty;
    } else {
        buffer_add(to, from->data, from->size);
        to->failed |= from->failed; /* part of it is missing */
        buffer_clear(from);
    }
    chunk->rows = 0;
}
