/*
 * index_dictionary.h - the texts of an index file, each once.
 *
 * They are numbered in the order of arrival; the used ones are renumbered in
 * the order of the texts at the end.
 */
#ifndef HW_INDEX_DICTIONARY_H
#define HW_INDEX_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct arena;
struct dwarf_room;

struct index_word {
    const char *data;
    uint32_t size;
    uint32_t rank; /* of the used ones, sorted; before that 1: used */
};

struct index_dictionary {
    struct dwarf_room *room;
    struct arena *arena;
    size_t arena_charged;
    struct index_word *words;
    size_t count, words_capacity;
    uint32_t *places; /* word + 1; 0: free */
    size_t places_capacity;
    uint32_t *sorted;
    size_t sorted_count, sorted_capacity;
};

/* "" is number 0.  false: no memory. */
bool index_dictionary_init(struct index_dictionary *dictionary,
                           struct dwarf_room *room);
void index_dictionary_fini(struct index_dictionary *dictionary);

/* UINT32_MAX: no room.  Texts are truncated to INDEX_TEXT_MAX, and at a NUL. */
uint32_t index_dictionary_add(struct index_dictionary *dictionary,
                              struct span text);

void index_dictionary_use(struct index_dictionary *dictionary, uint32_t number);
/* Gives each used text, and "", its rank; false: no room. */
bool index_dictionary_rank(struct index_dictionary *dictionary);
/* The word of that rank. */
struct span index_dictionary_word(const struct index_dictionary *dictionary,
                                  size_t rank);

#endif
