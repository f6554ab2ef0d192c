/* peer_gather.c - see peer_gather.h. */
#include "peer_gather.h"

#include <string.h>

#include "memory.h"
#include "peers.h"

enum {
    ROW_MAX = PEER_CELL_MAX + PEER_BLOCK_BYTES,
    CELLS_MAX = 4 << 20, /* bytes of the cells' descriptions */
    KEPT = 4 * PEER_BLOCK_BYTES
};

void
peer_gather_init(struct peer_gather *g)
{
    buffer_init(&g->cells, CELLS_MAX);
    buffer_init(&g->bytes, ROW_MAX);
    g->rows = 0;
}

void
peer_gather_fini(struct peer_gather *g)
{
    buffer_fini(&g->cells);
    buffer_fini(&g->bytes);
}

void
peer_gather_add(struct peer_gather *g, const struct span *cells, size_t columns)
{
    buffer_add(&g->cells, cells, columns * sizeof(*cells));
    for (size_t i = 0; i < columns; i++)
        buffer_add(&g->bytes, cells[i].data, cells[i].size);
    g->rows++;
}

bool
peer_gather_full(const struct peer_gather *g)
{
    return g->cells.size + g->bytes.size >= PEER_BLOCK_BYTES;
}

static struct peer_block *
make(const struct peer_gather *g)
{
    struct peer_block *block;
    char *to;

    if (g->cells.failed || g->bytes.failed)
        return NULL;
    block = mem_alloc(sizeof(*block) + g->cells.size + g->bytes.size);
    if (!block)
        return NULL;
    memset(block, 0, sizeof(*block));
    block->row_count = g->rows;
    block->bytes = g->bytes.size;
    if (g->cells.size > 0)
        memcpy(block->cells, g->cells.data, g->cells.size);
    to = (char *)block->cells + g->cells.size;
    if (g->bytes.size > 0)
        memcpy(to, g->bytes.data, g->bytes.size);
    for (size_t i = 0; i < g->cells.size / sizeof(struct span); i++) {
        if (!block->cells[i].data)
            continue;
        block->cells[i].data = to;
        to += block->cells[i].size;
    }
    return block;
}

int
peer_gather_take(struct peer_gather *g, struct peer_block **block)
{
    *block = NULL;
    if (g->rows == 0)
        return 0;
    *block = make(g);
    if (g->bytes.failed || g->cells.failed || g->bytes.capacity > KEPT) {
        peer_gather_fini(g);
        peer_gather_init(g);
    } else {
        buffer_clear(&g->cells);
        buffer_clear(&g->bytes);
        g->rows = 0;
    }
    return *block ? 0 : -1;
}
