/*
 * chunk.h - rows of a reply, encoded ahead of the session that will send them.
 *
 * A worker fills one while the loop writes the last: whoever steps the
 * statement has it, and gives it whole.  No bytes are copied on the way, and
 * memory goes round.
 */
#ifndef HW_CHUNK_H
#define HW_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reply.h"

enum {
    CHUNK_BYTES = 128 * 1024, /* enough for one; the last row may be longer */
    CHUNK_ROWS = 4096         /* likewise: first rows are not kept back */
};

struct chunk {
    struct reply reply; /* its sequence and all runs on from the session's */
    uint8_t first;      /* sequence of its first packet */
    size_t rows;
};

void chunk_init(struct chunk *chunk);
void chunk_fini(struct chunk *chunk);

/* An empty one, before rows are put into chunk->reply. */
void chunk_begin(struct chunk *chunk, const struct reply *session);
bool chunk_full(const struct chunk *chunk);
/* Whether there is something to give: bytes, or that memory ran out. */
bool chunk_made(const struct chunk *chunk);
/* On the loop: appends it to what the session sends, which may have had other
 * packets since the begin.  Then it is empty. */
void chunk_give(struct chunk *chunk, struct reply *session);

#endif
