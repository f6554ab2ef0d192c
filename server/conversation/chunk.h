/*
 * chunk.h - rows of a reply, encoded ahead of the session that will send them.
 *
 * Belongs to the thread that steps the statement.  A worker gives a full chunk
 * to the loop without a copy; in a long result it writes the chunk itself, as
 * long as the client takes it, so that the bytes stay with one processor.
 */
#ifndef HW_CHUNK_H
#define HW_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reply.h"

enum {
    CHUNK_BYTES = 32 * 1024, /* enough; the last row may exceed it */
    CHUNK_ROWS = 4096,       /* likewise: small rows are not held back */
    CHUNK_WRITTEN_MAX =
        8 * 1024 * 1024 /* then the worker does something else */
};

struct chunk {
    struct reply reply; /* its sequence and all runs on from the session's */
    uint8_t first;      /* sequence of its first packet */
    size_t rows;
    size_t written_rows, written_bytes; /* by chunk_write, since the begin */
};

void chunk_init(struct chunk *chunk);
void chunk_fini(struct chunk *chunk);

/* An empty one, before rows are put into chunk->reply. */
void chunk_begin(struct chunk *chunk, const struct reply *session);
bool chunk_full(const struct chunk *chunk);
/* Writes to a socket that has no other writer now.  True: all is written, and
 * there may be more.  Leaves faults to the next writer. */
bool chunk_write(struct chunk *chunk, int fd);
/* Whether there is something to give: bytes, or that memory ran out. */
bool chunk_made(const struct chunk *chunk);
/* On the loop: appends the chunk to the session's output, which may have got
 * other packets since the begin.  Then it is empty. */
void chunk_give(struct chunk *chunk, struct reply *session);

#endif
