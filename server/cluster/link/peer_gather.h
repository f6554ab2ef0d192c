/*
 * peer_gather.h - collects single rows into blocks.
 *
 * One serves all links: rows are gathered only while one of them reads.
 */
#ifndef HW_PEER_GATHER_H
#define HW_PEER_GATHER_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"
#include "reader.h"

struct peer_block;

struct peer_gather {
    struct buffer cells, bytes;
    size_t rows;
};

void peer_gather_init(struct peer_gather *gather);
void peer_gather_fini(struct peer_gather *gather);

void peer_gather_add(struct peer_gather *gather, const struct span *cells,
                     size_t columns);
/* As much as a block should have? */
bool peer_gather_full(const struct peer_gather *gather);
/* The rows since the last call: -1 without memory, and they are lost; 0 with
 * *block, NULL if there are none. */
int peer_gather_take(struct peer_gather *gather, struct peer_block **block);

#endif
