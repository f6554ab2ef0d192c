/*
 * index_packed.h - index files whose blocks are packed: half of the bytes of
 * plain ones, but each block has to be unpacked, into plain ones, before
 * anything is found in it.  See symbol_index_format.h.
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

/* Plain blocks of one packed one: of INDEX_RANGES to INDEX_SYMBOLS when section
 * is INDEX_RANGES, else of that section alone.  Each has at most
 * INDEX_BLOCK_MAX bytes and is the caller's.  false: it makes no sense, or
 * there is no memory. */
bool index_unpack_block(struct index_unpacker *unpacker,
                        enum index_section section, uint64_t first,
                        const uint8_t *data, size_t size,
                        struct buffer plain[INDEX_SECTIONS]);

/* ---- writing ---- */

/* Appends the same index, packed, to out; its texts are the dictionaries'.
 * -1 with *err without memory, and for what packed files cannot hold. */
int index_pack_file(const struct buffer *plain, const uint8_t *build_id,
                    size_t build_id_size, const struct index_dictionary *names,
                    const struct index_dictionary *files, struct buffer *out,
                    struct error *err);

#endif
