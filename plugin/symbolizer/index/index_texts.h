/*
 * index_texts.h - the wanted texts of one section of an index file.
 *
 * First all wanted numbers are collected, then all texts are taken in order of
 * their numbers: each group is unpacked once, however many of its texts are
 * wanted.
 */
#ifndef HW_INDEX_TEXTS_H
#define HW_INDEX_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"
#include "symbol_index.h"
#include "symbol_index_format.h"

struct arena;
struct index_blocks;

enum { INDEX_USES_MAX = 2 }; /* names are of functions and of symbols */

/* A bit for each of 64 numbers. */
struct index_wanted {
    uint64_t bits;
    uint32_t before; /* number of wanted texts before these, once sealed */
};

struct index_text {
    struct span text; /* data NULL: damaged; "#": numbered */
    uint32_t number;  /* number given by the text callback; 0: none */
};

struct index_texts {
    struct index_wanted *wanted[INDEX_USES_MAX];
    unsigned uses;  /* a text may be taken once for each */
    uint64_t items; /* texts of the section */
    uint32_t count; /* wanted texts */
    struct index_text *list;
};

/* texts must be zeroed, or ended; false: no memory. */
bool index_texts_begin(struct index_texts *texts, unsigned uses,
                       uint64_t items);
void index_texts_end(struct index_texts *texts); /* zeroed is fine */

/* Marks a text as wanted; false: there is none with that number. */
static inline bool
index_texts_want(struct index_texts *texts, unsigned use, uint64_t number)
{
    if (number >= texts->items)
        return number == 0;
    texts->wanted[use][number / 64].bits |= (uint64_t)1 << number % 64;
    return true;
}

/* Calls question->text for each wanted text, terminated by a NUL, and keeps in
 * arena those that it did not number.  -1 without memory, or text's result.
 * Skips damaged texts. */
int index_texts_take(struct index_texts *texts, struct index_blocks *blocks,
                     enum index_section section, struct arena *arena,
                     const struct symbol_index_question *question);

/* A wanted text, after index_texts_take; false: it is damaged. */
bool index_texts_get(const struct index_texts *texts, unsigned use,
                     uint64_t number, struct index_text *text);

#endif
