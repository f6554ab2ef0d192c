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
#include "dwarf_budget.h"
#include "hash.h"
#include "reader.h"
#include "symbol_index_format.h"

struct arena;
struct dwarf_budget;
struct error;
struct index_node;

/* One growing section. */
struct index_encoder {
    struct buffer table;  /* entries; offsets count from the section's start */
    struct buffer blocks; /* complete blocks */
    struct buffer heads, groups; /* of the current block */
    uint64_t first;              /* of the current block */
    uint32_t block_count, group_count;
    uint64_t items;
    bool failed; /* no memory, or the format cannot hold it */
};

void index_encoder_init(struct index_encoder *encoder);
void index_encoder_fini(struct index_encoder *encoder);

/* The items of one group: up to INDEX_GROUP_ITEMS. */
struct index_items {
    uint64_t first; /* address or number of the first item */
    uint32_t count;
    uint64_t column[2 + 1][INDEX_GROUP_ITEMS];
    uint32_t file[INDEX_GROUP_ITEMS],
        line[INDEX_GROUP_ITEMS]; /* source lines */
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

/*
 * The texts of an index file, each once.
 *
 * They are numbered in the order of arrival; the used ones are renumbered in
 * the order of the texts at the end.
 */

struct index_word {
    const char *data;
    uint32_t size;
    uint32_t rank; /* position among the used texts, sorted; before that 1 means
                    * used */
};

struct index_dictionary {
    struct dwarf_budget *budget;
    struct arena *arena;
    size_t arena_charged;
    struct index_word *words;
    size_t count, words_capacity;
    struct hash_index index; /* of words */
    uint32_t *sorted;
    size_t sorted_count, sorted_capacity;
};

/* "" is number 0.  false: no memory. */
bool index_dictionary_init(struct index_dictionary *dictionary,
                           struct dwarf_budget *budget);
void index_dictionary_fini(struct index_dictionary *dictionary);

/* The number of a text; UINT32_MAX: no room.  Texts are truncated to
 * INDEX_TEXT_MAX, and at a NUL. */
uint32_t index_dictionary_add(struct index_dictionary *dictionary,
                              struct span text);
void index_dictionary_use(struct index_dictionary *dictionary, uint32_t number);

/* Gives each used text, and "", its rank; false: no room. */
bool index_dictionary_rank(struct index_dictionary *dictionary);

/* The text of a rank. */
struct span index_dictionary_word(const struct index_dictionary *dictionary,
                                  size_t rank);

/* What was added to an index file: facts about ranges of addresses, in any
 * order at first, then sorted; and how they become sections. */

struct index_interval {
    uint64_t start, end;
    uint32_t a, b; /* the fact, by kind */
};

struct index_intervals {
    struct index_interval *items;
    size_t count, capacity;
};

struct index_collected {
    struct dwarf_budget *budget;
    struct index_intervals ranges;  /* a: the node; INDEX_NONE: left out */
    struct index_intervals rows;    /* a: the file, b: the line */
    struct index_intervals symbols; /* a: the name, b: bytes to its start */
    struct index_node *nodes;
    size_t node_count, node_capacity;
    struct index_dictionary names, files;
    bool symbols_only; /* then there are no files, not even "" */
};

/* ---- index_emit.c ---- */

/* Encodes everything; the intervals must be sorted.  false: no room. */
bool index_emit(struct index_collected *all,
                struct index_encoder encoders[INDEX_SECTIONS]);

#endif
