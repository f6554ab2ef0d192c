/*
 * index_packed.h - index files with packed blocks: half as large as plain ones,
 * but each block must be unpacked into plain ones before a search.  See
 * symbol_index_format.h.
 */
#ifndef HW_INDEX_PACKED_H
#define HW_INDEX_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "symbol_index_format.h"

struct error;
struct index_block;
struct index_dictionary;
struct index_unpacker;

/* ---- reading ---- */

struct index_unpacker *index_unpacker_new(void); /* NULL without memory */
void index_unpacker_free(struct index_unpacker *unpacker); /* NULL is fine */

/* Unpacks a block into plain ones: for INDEX_RANGES into those of INDEX_RANGES
 * to INDEX_SYMBOLS, else into one of that section.  Each has at most
 * INDEX_BLOCK_MAX bytes and belongs to the caller.  False: invalid, or no
 * memory. */
bool index_unpack_block(struct index_unpacker *unpacker,
                        enum index_section section, uint64_t first,
                        const uint8_t *data, size_t size,
                        struct buffer plain[INDEX_SECTIONS]);

/* ---- writing ---- */

/* Appends the same index, packed, to out; its texts are the dictionaries'. -1
 * with *err: no memory, or packed files cannot hold it. */
int index_pack_file(const struct buffer *plain, const uint8_t *build_id,
                    size_t build_id_size, const struct index_dictionary *names,
                    const struct index_dictionary *files, struct buffer *out,
                    struct error *err);

#endif
