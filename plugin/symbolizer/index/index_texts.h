/*
 * index_texts.h - the texts of an index file that were asked for of late, by
 * their numbers.
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
    INDEX_TEXTS_KEPT = 1 << 14,     /* half of them are ever used */
    INDEX_TEXTS_BYTES = 4 << 20,    /* above it they are forgotten */
    INDEX_TEXTS_ASK_BYTES = 4 << 20 /* what one question may add, besides */
};

struct index_text {
    uint64_t key; /* section and number; 0: free */
    struct span text;
};

struct index_texts {
    struct index_text *places;
    uint32_t count; /* of them that are taken */
    struct arena *arena;
};

bool index_texts_init(struct index_texts *texts);
void index_texts_fini(struct index_texts *texts); /* zeroed is fine */

/* Forgets texts when there are many; those given out until then end here. */
void index_texts_begin(struct index_texts *texts);

/* The number-th text of NAMES or FILES; false: damage, or no memory. */
bool index_texts_get(struct index_texts *texts, struct index_blocks *blocks,
                     enum index_section section, uint64_t number,
                     struct span *text);

#endif
