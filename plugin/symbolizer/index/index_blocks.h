/*
 * index_blocks.h - finds the group of an index file that has an address or a
 * number; reads the file's blocks when they are needed.
 *
 * Made for roughly ascending keys: of each section it keeps the few blocks that
 * were read last, and reads ahead if many keys are coming.  One thread.  See
 * symbol_index_format.h.
 */
#ifndef HW_INDEX_BLOCKS_H
#define HW_INDEX_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index_column.h"
#include "symbol_index_format.h"

struct error;

enum { INDEX_RUN_BLOCKS = 16, INDEX_RUNS = 4 };

struct index_group {
    uint64_t first, next; /* its keys: first up to next, which is the next
                           * group's first */
    uint32_t items, sources;
    struct index_column column[INDEX_COLUMNS_MAX];
    struct reader texts; /* in a group of texts, behind its items */
};

struct index_block {
    uint64_t first, offset;
    uint32_t size, sum;
};

/* Blocks read at once: at most INDEX_BLOCK_MAX bytes. */
struct index_run {
    uint8_t *data;
    size_t capacity;
    uint32_t first, count;
    uint32_t verified; /* a bit for each block already checked */
};

struct index_table {
    struct index_block *blocks;
    uint32_t count;
    uint64_t items;
    struct index_group group; /* the last one found */
    uint32_t group_block;     /* the block of that group; count: none */
    uint32_t near;            /* the block found last */
    uint32_t ahead;           /* how many blocks to read at once */
    struct index_run runs[INDEX_RUNS];
    uint32_t next_run; /* the run to replace next */
};

struct index_blocks {
    int fd; /* borrowed */
    bool failed;
    struct index_table tables[INDEX_SECTIONS];
};

/* Reads and checks header and tables; blocks must be zeroed. */
int index_blocks_open(struct index_blocks *blocks, int fd,
                      const uint8_t *build_id, size_t build_id_size,
                      struct error *err);
void index_blocks_close(struct index_blocks *blocks); /* zeroed is fine */

/* Announces that about so many keys of the section will be looked up. */
void index_blocks_expect(struct index_blocks *blocks,
                         enum index_section section, uint64_t keys);

/* The group with key, valid until the same section is searched again or another
 * of its blocks is read.  NULL: none, or, with failed set, damage. */
const struct index_group *index_blocks_find(struct index_blocks *blocks,
                                            enum index_section section,
                                            uint64_t key);

/* In a group by address: its last item at or before key, which it contains. */
static inline uint32_t
index_group_item(const struct index_group *group, uint64_t key)
{
    const struct index_column *column = &group->column[0];
    uint32_t low = 0, high = group->items;

    key -= group->first;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (index_column_get(column, middle) <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

#endif
