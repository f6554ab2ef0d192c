/*
 * index_coder.h - numbers as bits, each by the odds that such bits had so far:
 * an adaptive range coder.
 *
 * A function that goes through something says how it is written and how it is
 * read at once: each call codes what it is given, or, when reading, answers
 * what was.  There are no tables in front, so that little data gets little,
 * too.
 *
 * What is read may be anything: it ends after as many numbers as are asked for,
 * zeros follow the last byte, and each number is to be looked at.
 */
#ifndef HW_INDEX_CODER_H
#define HW_INDEX_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

struct index_odds {
    uint16_t zero; /* of 65536 */
    uint16_t seen; /* bits, up to what matters */
};

enum {
    INDEX_NUMBER_BITS = 56,
    INDEX_NUMBER_HEADS = 16, /* the bits below the first are learnt, 4 */
    INDEX_TREE_BITS = 8
};

/* Of numbers of one kind. */
struct index_number_odds {
    struct index_odds size[INDEX_NUMBER_BITS];
    struct index_odds head[INDEX_NUMBER_BITS][INDEX_NUMBER_HEADS];
};

struct index_coder {
    struct buffer *out; /* NULL: reads */
    size_t start;       /* in out */
    uint64_t low, pending;
    uint32_t range, code;
    uint8_t held;
    bool begun;
    const uint8_t *pos, *end;
    bool failed; /* a number has too many bits, or one was no such */
};

void index_coder_write(struct index_coder *coder, struct buffer *out);
void index_coder_read(struct index_coder *coder, const uint8_t *data,
                      size_t size);
void index_coder_end(struct index_coder *coder); /* of writing */

/* So many bytes of struct index_odds. */
void index_odds_init(void *odds, size_t bytes);

bool index_code_bit(struct index_coder *coder, struct index_odds *odds,
                    bool bit);
/* Of so many bits, at most INDEX_TREE_BITS; odds has a place for each value. */
uint32_t index_code_tree(struct index_coder *coder, struct index_odds *odds,
                         unsigned bits, uint32_t value);
/* Small ones are short. */
uint64_t index_code_number(struct index_coder *coder,
                           struct index_number_odds *odds, uint64_t value);
/* Near 0, on both sides. */
int64_t index_code_signed(struct index_coder *coder,
                          struct index_number_odds *odds, int64_t value);

#endif
