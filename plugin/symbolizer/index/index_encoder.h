/*
 * index_encoder.h - puts groups into blocks and blocks into a file, as
 * symbol_index_format.h has it.
 */
#ifndef HW_INDEX_ENCODER_H
#define HW_INDEX_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "symbol_index_format.h"

struct error;

/* One section, as it grows. */
struct index_encoder {
    struct buffer table;  /* the entries, offsets from the section's start */
    struct buffer blocks; /* the whole ones */
    struct buffer heads, groups; /* of the block in hand */
    uint64_t first;              /* of it */
    size_t block_bytes;          /* aimed at: INDEX_BLOCK_BYTES */
    uint32_t block_count, group_count;
    uint64_t items;
    bool failed; /* no memory, or more than the format can hold */
};

void index_encoder_init(struct index_encoder *encoder);
void index_encoder_fini(struct index_encoder *encoder);

/* Up to INDEX_GROUP_ITEMS items to be put as one group. */
struct index_items {
    uint64_t first; /* address or number of the first */
    uint32_t count;
    uint64_t column[2 + 1][INDEX_GROUP_ITEMS];
    uint32_t file[INDEX_GROUP_ITEMS], line[INDEX_GROUP_ITEMS]; /* places */
};

void index_encoder_items(struct index_encoder *encoder,
                         enum index_section section,
                         const struct index_items *items);

/* A group of texts, ready made. */
void index_encoder_texts(struct index_encoder *encoder, uint64_t first,
                         uint32_t count, const struct buffer *group);

/* Ends the last block. */
void index_encoder_end(struct index_encoder *encoder);

/* How many bytes the file will have. */
uint64_t index_encoder_size(const struct index_encoder *encoders);

/* All of the file, through write. */
int index_encoder_write(struct index_encoder encoders[INDEX_SECTIONS],
                        const uint8_t *build_id, size_t build_id_size,
                        int (*write)(void *arg, const void *data, size_t size,
                                     struct error *err),
                        void *arg, uint64_t *bytes, struct error *err);

#endif
