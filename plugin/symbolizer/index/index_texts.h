/*
 * index_texts.h - the texts of an index file that were asked for, by their
 * numbers; they stay where they are.
 *
 * Only the text that is wanted is kept, not those unpacked on the way: fresh
 * memory costs more than unpacking a few hundred bytes again.
 */
#ifndef HW_INDEX_TEXTS_H
#define HW_INDEX_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"
#include "symbol_index_format.h"

struct arena;
struct index_blocks;

enum {
    INDEX_TEXTS_FIRST = 1 << 12, /* places, at most half of them used */
    INDEX_TEXTS_BYTES = 512 << 20
};

struct index_text {
    uint64_t key; /* section and number; 0: free */
    struct span text;
};

struct index_texts {
    struct index_text *places;
    uint32_t room, count; /* of places; and of those that are taken */
    struct arena *arena;
};

bool index_texts_init(struct index_texts *texts);
void index_texts_fini(struct index_texts *texts); /* zeroed is fine */

/* The number-th text of NAMES or FILES, with a NUL behind it, until fini;
 * false: damage, or no memory. */
bool index_texts_get(struct index_texts *texts, struct index_blocks *blocks,
                     enum index_section section, uint64_t number,
                     struct span *text);

#endif
