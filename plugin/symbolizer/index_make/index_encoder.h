/*
 * index_encoder.h - puts groups into blocks and blocks into a file, in the
 * format of symbol_index_format.h.
 */
#ifndef HW_INDEX_ENCODER_H
#define HW_INDEX_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "symbol_index_format.h"

struct error;

/* One growing section. */
struct index_encoder {
    struct buffer table;  /* entries; offsets count from the section's start */
    struct buffer blocks; /* complete ones */
    struct buffer heads, groups; /* of the current block */
    uint64_t first;              /* of the current block */
    uint32_t block_count, group_count;
    uint64_t items;
    bool failed; /* no memory, or the format cannot hold it */
};

void index_encoder_init(struct index_encoder *encoder);
void index_encoder_fini(struct index_encoder *encoder);

/* Up to INDEX_GROUP_ITEMS items of one group. */
struct index_items {
    uint64_t first; /* address or number of the first */
    uint32_t count;
    uint64_t column[2 + 1][INDEX_GROUP_ITEMS];
    uint32_t file[INDEX_GROUP_ITEMS], line[INDEX_GROUP_ITEMS]; /* places */
};

void index_encoder_items(struct index_encoder *encoder,
                         enum index_section section,
                         const struct index_items *items);

/* Adds a complete group of texts. */
void index_encoder_texts(struct index_encoder *encoder, uint64_t first,
                         uint32_t count, const struct buffer *group);

/* Ends the last block. */
void index_encoder_end(struct index_encoder *encoder);

/* Writes the whole file through write. */
int index_encoder_write(struct index_encoder encoders[INDEX_SECTIONS],
                        const uint8_t *build_id, size_t build_id_size,
                        int (*write)(void *arg, const void *data, size_t size,
                                     struct error *err),
                        void *arg, struct error *err);

#endif
