/*
 * heap_text.h - the lines and numbers of a heap profile's text.
 *
 * The text is in memory, or read in pieces: then memory holds the current line
 * and at most one earlier line that the reader keeps.  Numbers are parsed fast,
 * for nearly all of them are addresses, each within one line; anything
 * unexpected fails the reader.
 */
#ifndef HW_HEAP_TEXT_H
#define HW_HEAP_TEXT_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "buffer.h"
#include "reader.h"

struct error;

/* ---- lines ---- */

/* The source of pieces: reads up to room bytes to `to`; 0 at the end, -1 with
 * *err. */
struct heap_source {
    ssize_t (*read)(void *arg, char *to, size_t room, struct error *err);
    void *arg;
};

struct heap_lines {
    const char *pos, *end;            /* available and not taken yet */
    const struct heap_source *source; /* NULL: no more pieces */
    struct buffer window;             /* the source's pieces */
    struct span kept; /* a line taken earlier: it moves with the window */
};

/* Reads either text, or source, which is borrowed. */
void heap_lines_init(struct heap_lines *lines, struct span text,
                     const struct heap_source *source);
void heap_lines_fini(struct heap_lines *lines);

/* 1: the next whole line, without its '\n', valid until the next call; 0: none,
 * and the bytes left at pos are a cut line; -1 with *err. */
int heap_lines_next(struct heap_lines *lines, struct span *line,
                    struct error *err);

/* All whole lines that are left.  -1 with *err. */
int heap_lines_rest(struct heap_lines *lines, struct span *rest,
                    struct error *err);

/* Whether the text ends within a line. */
bool heap_lines_cut(const struct heap_lines *lines);

/* ---- numbers ---- */

enum {
    HEAP_TEXT_EIGHT = sizeof(uint64_t),
    HEAP_TEXT_SAFE_DIGITS = 18 /* so many decimal digits cannot overflow */
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

/* 1 + the digit. */
static const uint8_t heap_text_hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
    ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
    ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
    ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Up to sixteen bytes of text: the first is the lowest; zeros follow. */
struct heap_text_word {
    uint64_t text[2];
};

static const uint64_t heap_text_ones = 0x0101010101010101ULL;

/* Occurs in no text: the last byte's highest bit. */
static const uint64_t heap_text_mark = 1ULL << 63;

static inline uint64_t
heap_text_load_eight(const uint8_t *at)
{
    uint64_t text;

    memcpy(&text, at, sizeof(text));
    return le64toh(text);
}

/* All bits of the bytes before the first blank or control character. */
static inline uint64_t
heap_text_up_to_blank(uint64_t text)
{
    /* Exact up to the first blank, the only one to borrow from bytes behind it.
     */
    uint64_t blanks =
        (text - heap_text_ones * '!') & ~text & heap_text_ones << 7;

    return ((blanks & -blanks) >> 7) - 1;
}

/* How many bytes such a mask covers. */
static inline unsigned
heap_text_mask_size(uint64_t mask)
{
    return ~mask ? (unsigned)__builtin_ctzll(~mask) / 8 : HEAP_TEXT_EIGHT;
}

/*
 * Reads the word between 0x and a blank or the end, which may be an address.
 * False for another spelling.  May read bytes up to end, which is r's end or
 * behind it.
 */
static inline bool
heap_text_usual_word(struct reader *r, const uint8_t *end,
                     struct heap_text_word *word)
{
    const uint8_t *at = r->pos + 2;
    uint64_t mask, text;

    if (end - r->pos < 2 + 2 * HEAP_TEXT_EIGHT || r->pos[0] != '0' ||
        r->pos[1] != 'x')
        return false;
    text = heap_text_load_eight(at);
    mask = heap_text_up_to_blank(text);
    word->text[0] = text & mask;
    word->text[1] = 0;
    if (!~mask) {
        at += HEAP_TEXT_EIGHT;
        text = heap_text_load_eight(at);
        mask = heap_text_up_to_blank(text);
        word->text[1] = text & mask;
    }
    at += heap_text_mask_size(mask);
    if ((at != r->end && (at > r->end || *at != ' ')) ||
        word->text[1] & heap_text_mark)
        return false;
    r->pos = at;
    return true;
}

/* The usual spelling of an address. */
static inline struct heap_text_word
heap_text_word_of(uint64_t address)
{
    struct heap_text_word word = {{0, 0}};

    for (unsigned i = 0; i < 2 * HEAP_TEXT_EIGHT; i++, address <<= 4)
        word.text[i / HEAP_TEXT_EIGHT] |=
            (uint64_t) "0123456789abcdef"[address >> 60]
            << 8 * (i % HEAP_TEXT_EIGHT);
    return word;
}

/* The number that a word spells; false: it is not one. */
static inline bool
heap_text_word_value(const struct heap_text_word *word, uint64_t *value)
{
    unsigned i = 0;
    uint8_t byte, digit;

    *value = 0;
    for (; i < 2 * HEAP_TEXT_EIGHT; i++) {
        byte = (uint8_t)(word->text[i / HEAP_TEXT_EIGHT] >>
                         8 * (i % HEAP_TEXT_EIGHT));
        digit = heap_text_hex_digits[byte];
        if (byte == 0 && i > 0)
            break;
        if (digit == 0)
            return false;
        *value = *value << 4 | (digit - 1U);
    }
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
