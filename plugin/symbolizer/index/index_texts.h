/*
 * index_texts.h - the texts of one section of an index file that are wanted.
 *
 * First all numbers are told, then all texts are taken, in their order: each
 * group is unpacked once, however many of its texts are wanted.
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

enum { INDEX_USES_MAX = 2 }; /* names are functions' and symbols' */

/* A bit for each number of 64. */
struct index_wanted {
    uint64_t bits;
    uint32_t before; /* how many texts are wanted before these, once sealed */
};

struct index_text {
    struct span text; /* data NULL: damaged; "#": numbered */
    uint32_t number;  /* by who took it; 0: nobody did */
};

struct index_texts {
    struct index_wanted *wanted[INDEX_USES_MAX];
    unsigned uses;  /* one text may be taken for each of them */
    uint64_t items; /* of the section */
    uint32_t count; /* that are wanted */
    struct index_text *list;
};

/* texts is zeroed, or was ended; false: no memory. */
bool index_texts_begin(struct index_texts *texts, unsigned uses,
                       uint64_t items);
void index_texts_end(struct index_texts *texts); /* zeroed is fine */

/* false: there is no text of that number. */
static inline bool
index_texts_want(struct index_texts *texts, unsigned use, uint64_t number)
{
    if (number >= texts->items)
        return number == 0;
    texts->wanted[use][number / 64].bits |= (uint64_t)1 << number % 64;
    return true;
}

/* Calls question->text for each that is wanted, with a NUL behind it, and takes
 * those that it did not number into arena.  -1 without memory, or what text
 * said. What is damaged stays away. */
int index_texts_take(struct index_texts *texts, struct index_blocks *blocks,
                     enum index_section section, struct arena *arena,
                     const struct symbol_index_question *question);

/* One that was wanted, once they were taken; false: it is damaged. */
bool index_texts_get(const struct index_texts *texts, unsigned use,
                     uint64_t number, struct index_text *text);

#endif
