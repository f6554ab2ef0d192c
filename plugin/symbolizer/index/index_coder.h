/*
 * index_coder.h - numbers as bits, each coded by its odds so far: an adaptive
 * range coder.
 *
 * The same function describes writing and reading: each call codes the number
 * given or, when reading, returns the coded one.  There are no tables in front,
 * so little data stays small.
 *
 * Input may be hostile: it yields as many numbers as are asked for, zeros
 * follow the last byte, and callers must check each number.
 */
#ifndef HW_INDEX_CODER_H
#define HW_INDEX_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

struct index_odds {
    uint16_t zero; /* of 65536 */
    uint16_t seen; /* bits, up to a maximum */
};

enum {
    INDEX_NUMBER_BITS = 56,
    INDEX_NUMBER_HEADS = 16, /* bits below the first 4 are not modelled */
    INDEX_TREE_BITS = 8
};

/* For numbers of one kind. */
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
    bool failed; /* a number has too many bits, or is invalid */
};

void index_coder_write(struct index_coder *coder, struct buffer *out);
void index_coder_read(struct index_coder *coder, const uint8_t *data,
                      size_t size);
void index_coder_end(struct index_coder *coder); /* of writing */

/* bytes is the size of the array of struct index_odds. */
void index_odds_init(void *odds, size_t bytes);

bool index_code_bit(struct index_coder *coder, struct index_odds *odds,
                    bool bit);
/* A number of so many bits, at most INDEX_TREE_BITS; odds has an entry per
 * value. */
uint32_t index_code_tree(struct index_coder *coder, struct index_odds *odds,
                         unsigned bits, uint32_t value);
/* Small numbers take few bits. */
uint64_t index_code_number(struct index_coder *coder,
                           struct index_number_odds *odds, uint64_t value);
/* Numbers near 0, of either sign, take few bits. */
int64_t index_code_signed(struct index_coder *coder,
                          struct index_number_odds *odds, int64_t value);

#endif
