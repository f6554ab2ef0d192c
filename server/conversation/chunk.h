/*
 * chunk.h - rows of a reply, encoded ahead of the session that will send them.
 *
 * Whoever steps the statement has it.  A worker that fills it gives it whole
 * to the loop, with nothing copied; or, in a long result, writes it itself, as
 * long as the client takes it, so that its bytes stay with one processor.
 */
#ifndef HW_CHUNK_H
#define HW_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reply.h"

enum {
    CHUNK_BYTES = 32 * 1024, /* enough for one; the last row may be longer */
    CHUNK_ROWS = 4096,       /* likewise: first rows are not kept back */
    CHUNK_WRITTEN_MAX = 8 * 1024 * 1024 /* then a worker is for others */
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
/* To a socket that nobody else writes to now.  True: all of it is written, and
 * there may be more.  Faults are left to who writes the rest. */
bool chunk_write(struct chunk *chunk, int fd);
/* Whether there is something to give: bytes, or that memory ran out. */
bool chunk_made(const struct chunk *chunk);
/* On the loop: appends it to what the session sends, which may have had other
 * packets since the begin.  Then it is empty. */
void chunk_give(struct chunk *chunk, struct reply *session);

#endif
