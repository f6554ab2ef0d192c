/*
 * heap_text.h - the numbers of a heap profile's text, fast: nearly all of it is
 * addresses.
 *
 * Within one line; what is not there fails the reader.
 */
#ifndef HW_HEAP_TEXT_H
#define HW_HEAP_TEXT_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "reader.h"

enum {
    HEAP_TEXT_EIGHT = sizeof(uint64_t),
    HEAP_TEXT_SAFE_DIGITS = 18 /* decimal ones that cannot be too many */
};

static inline void
heap_text_skip_blanks(struct reader *r)
{
    if (r->pos < r->end && *r->pos == ' ')
        r->pos++;
    while (r->pos < r->end && *r->pos <= ' ' &&
           (*r->pos == ' ' || *r->pos == '\t' || *r->pos == '\r'))
        r->pos++;
}

static inline bool
heap_text_take(struct reader *r, char c)
{
    if (r->failed || r->pos == r->end || *r->pos != (uint8_t)c)
        return false;
    r->pos++;
    return true;
}

static inline void
heap_text_expect(struct reader *r, char c)
{
    if (!heap_text_take(r, c))
        r->failed = true;
}

static inline uint64_t
heap_text_decimal(struct reader *r)
{
    const uint8_t *at = r->pos;
    uint64_t v = 0;
    uint8_t digit;

    for (; at < r->end && (digit = (uint8_t)(*at - '0')) <= 9; at++) {
        if (at - r->pos < HEAP_TEXT_SAFE_DIGITS)
            v = v * 10 + digit;
        else if (__builtin_mul_overflow(v, 10, &v) ||
                 __builtin_add_overflow(v, digit, &v))
            r->failed = true;
    }
    if (at == r->pos)
        r->failed = true;
    r->pos = at;
    return v;
}

/* 1 + the digit; most of a dump is these. */
static const uint8_t heap_text_hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
    ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
    ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
    ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static const uint64_t heap_text_ones = 0x0101010101010101ULL;

static inline uint64_t
heap_text_load_eight(const uint8_t *at)
{
    uint64_t text;

    memcpy(&text, at, sizeof(text));
    return be64toh(text);
}

/*
 * Eight digits at once, if all are: false otherwise.  Of a byte the upper half
 * is 3, or of a letter 4 or 6; the lower one is 0 to 9, or 1 to 6.
 */
static inline bool
heap_text_eight_digits(uint64_t text, uint32_t *value)
{
    uint64_t low, letters, v;

    letters = text >> 6 & heap_text_ones;
    low = text & heap_text_ones * 0x0f;
    if (((text | letters << 5) & heap_text_ones * 0xf0) !=
            (heap_text_ones + letters) * 0x30 ||
        ((low + heap_text_ones * 6 + letters * 3) & heap_text_ones * 0x10) ||
        (~(low + heap_text_ones * 0x0f) >> 4 & letters))
        return false;
    v = low + letters * 9;
    v = (v | v >> 4) & 0x00ff00ff00ff00ffULL;
    v = (v | v >> 8) & 0x0000ffff0000ffffULL;
    *value = (uint32_t)(v | v >> 16);
    return true;
}

/* Bytes before the first blank or control character of eight, or eight. */
static inline unsigned
heap_text_size_of_word(uint64_t text)
{
    /* Exact: no byte carries into the next. */
    uint64_t high = (text & ~(heap_text_ones << 7)) + heap_text_ones * 0x5f;
    uint64_t blanks = ~(high | text) & heap_text_ones << 7;

    return blanks ? (unsigned)__builtin_clzll(blanks) / 8 : HEAP_TEXT_EIGHT;
}

/*
 * 0x and up to sixteen digits, with a blank or the end behind them, read as two
 * eights that may overlap; false for whatever looks otherwise.  Bytes up to
 * end, which is r's or behind it, may be looked at.
 */
static inline bool
heap_text_usual_address(struct reader *r, const uint8_t *end, uint64_t *value)
{
    const uint8_t *at = r->pos + 2;
    uint64_t text;
    uint32_t high, low;
    unsigned size;

    if (end - r->pos < 2 + 2 * HEAP_TEXT_EIGHT || r->end - r->pos < 2 ||
        r->pos[0] != '0' || r->pos[1] != 'x')
        return false;
    text = heap_text_load_eight(at);
    size = heap_text_size_of_word(text);
    if (size < HEAP_TEXT_EIGHT) {
        if (size == 0)
            return false;
        text = text >> 8 * (HEAP_TEXT_EIGHT - size) | heap_text_ones * '0'
                                                          << 8 * size;
        if (!heap_text_eight_digits(text, &low))
            return false;
        *value = low;
    } else {
        size =
            heap_text_size_of_word(heap_text_load_eight(at + HEAP_TEXT_EIGHT));
        if (!heap_text_eight_digits(text, &high) ||
            !heap_text_eight_digits(heap_text_load_eight(at + size), &low))
            return false;
        *value = (uint64_t)high << 4 * size | low;
        size += HEAP_TEXT_EIGHT;
    }
    if (size != r->end - at && (size > r->end - at || at[size] != ' '))
        return false;
    r->pos = at + size;
    return true;
}

static inline uint64_t
heap_text_hexadecimal(struct reader *r)
{
    const uint8_t *at = r->pos, *first;
    uint64_t v = 0, lost = 0;
    uint8_t digit;

    if (r->end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
        at += 2;
    first = at;
    for (; at < r->end && (digit = heap_text_hex_digits[*at]) != 0; at++) {
        lost |= v >> 60;
        v = v << 4 | (digit - 1);
    }
    if (at == first || lost)
        r->failed = true;
    r->pos = at;
    return v;
}

#endif
