/*
 * index_blocks.h - finds the group of an index file that has an address or a
 * number, reading the file's blocks as they are needed.
 *
 * Blocks that were read and found whole stay, up to INDEX_CACHE_BYTES of texts.
 * Of those found by address only the last one does, for addresses come in
 * order, and functions, in nearly the same, need little more.  One thread.
 * See symbol_index_format.h.
 */
#ifndef HW_INDEX_BLOCKS_H
#define HW_INDEX_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index_column.h"
#include "symbol_index_format.h"

struct error;

enum { INDEX_CACHE_BYTES = 8 << 20, INDEX_NODES_CACHE_BYTES = 256 << 10 };

struct index_group {
    uint64_t first, next; /* the keys that it has: next is another's */
    uint32_t items, places;
    struct index_column column[INDEX_COLUMNS_MAX];
    struct reader texts; /* of a group of texts, behind its items */
};

struct index_block {
    uint64_t first, offset;
    uint32_t size, sum;
    uint8_t *data; /* NULL: not read */
};

struct index_table {
    struct index_block *blocks;
    uint32_t count;
    uint64_t items;
    struct index_group group;  /* the last one found */
    uint32_t group_block;      /* whose; count: none */
    struct index_block **kept; /* a ring, in the order they were read */
    size_t kept_first, kept_count;
    size_t kept_bytes, kept_max; /* one is kept even so */
};

struct index_blocks {
    int fd; /* borrowed */
    bool failed;
    struct index_table tables[INDEX_SECTIONS];
};

/* Reads and checks header and tables; blocks is zeroed by the caller. */
int index_blocks_open(struct index_blocks *blocks, int fd,
                      const uint8_t *build_id, size_t build_id_size,
                      struct error *err);
void index_blocks_close(struct index_blocks *blocks); /* zeroed is fine */

/* The group with key, until the same section is asked again or another block
 * is read; NULL where there is none, or, with failed set, damage. */
const struct index_group *index_blocks_find(struct index_blocks *blocks,
                                            enum index_section section,
                                            uint64_t key);

/* The last item at or before key of a group by address, that has it. */
uint32_t index_group_item(const struct index_group *group, uint64_t key);

#endif
