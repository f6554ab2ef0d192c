/*
 * index_column.c - see index_column.h: columns of equal width, and the packing
 * of texts.
 */
#include "index_column.h"

#include <string.h>

#include "buffer.h"

uint64_t
index_long_leb(struct reader *r)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = index_u8(r);

        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return r->failed ? 0 : value;
    }
    r->failed = true;
    return 0;
}

static uint32_t
width_of(const uint64_t *values, uint32_t count)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < count; i++)
        all |= values[i];
    return all ? 64 - (uint32_t)__builtin_clzll(all) : 0;
}

bool
index_column_put(const uint64_t *values, uint32_t count, uint64_t base,
                 struct buffer *head, struct buffer *bits)
{
    uint32_t width = width_of(values, count), held = 0;
    uint64_t word = 0;

    if (width > INDEX_WIDTH_MAX)
        return false;
    buffer_u8(head, (uint8_t)width);
    buffer_leb(head, base);
    for (uint32_t i = 0; i < count; i++) {
        word |= values[i] << held;
        for (held += width; held >= 8; held -= 8, word >>= 8)
            buffer_u8(bits, (uint8_t)word);
    }
    if (held)
        buffer_u8(bits, (uint8_t)word);
    return true;
}

/* Packed texts are sequences of these, until all bytes are there:
 *     u1   low 3 bits: number of literals, 7: and leb more; high 5 bits:
 *          bytes repeated less REPEAT_MIN, 31: and leb more
 *     ...  the literals
 *     leb  if bytes are still missing: how far back the repeated ones begin */

enum {
    LITERAL_BITS = 3,
    LITERALS_FULL = 7,
    REPEAT_FULL = 31,
    REPEAT_MIN = 4,
    HASH_BITS = 12,
    TRIES = 16 /* positions tried for a longer repetition */
};

/* Copies in steps of INDEX_PACK_SPARE bytes, so up to one less than that too
 * many; from must be at least that far before to, or elsewhere. */
static inline void
copy_unpacked_bytes(char *to, const char *from, size_t size)
{
    for (size_t i = 0; i < size; i += INDEX_PACK_SPARE)
        memcpy(to + i, from + i, INDEX_PACK_SPARE);
}

/* A number of the token, with the rest that did not fit into its bits. */
static inline uint64_t
take_more(struct reader *r, uint64_t value, uint64_t full)
{
    return value == full ? value + index_leb(r) : value;
}

bool
index_unpack(struct reader *from, char *out, size_t size, size_t wanted)
{
    struct reader r = *from; /* a copy, which may stay in registers */
    size_t at = 0;

    while (at < wanted) {
        uint8_t token = index_u8(&r);
        uint64_t literals = take_more(&r, token & LITERALS_FULL, LITERALS_FULL);
        uint64_t repeat = take_more(&r, token >> LITERAL_BITS, REPEAT_FULL);
        uint64_t left = (uint64_t)(r.end - r.pos), back;

        if (r.failed || literals > size - at || literals > left)
            return false;
        if (left >= literals + INDEX_PACK_SPARE)
            copy_unpacked_bytes(out + at, (const char *)r.pos,
                                (size_t)literals);
        else
            memcpy(out + at, r.pos, (size_t)literals);
        r.pos += literals;
        at += (size_t)literals;
        if (at >= wanted)
            break;
        back = index_leb(&r);
        if (r.failed || back == 0 || back > at || repeat > size ||
            repeat + REPEAT_MIN > size - at)
            return false;
        repeat += REPEAT_MIN;
        if (back >= INDEX_PACK_SPARE)
            copy_unpacked_bytes(out + at, out + at - back, (size_t)repeat);
        else /* it overlaps itself, so byte by byte */
            for (size_t i = 0; i < repeat; i++)
                out[at + i] = out[at + i - back];
        at += (size_t)repeat;
    }
    *from = r;
    return true;
}

/* Where each sequence of four bytes (by hash) occurred last, and before
 * that. */
struct seen {
    uint16_t last[1 << HASH_BITS]; /* position + 1; 0: nowhere */
    uint16_t before[INDEX_PACK_MAX];
};

static uint16_t *
last_of(struct seen *seen, const char *data)
{
    uint32_t word;

    memcpy(&word, data, sizeof(word));
    return &seen->last[word * 2654435761U >> (32 - HASH_BITS)];
}

static void
record_pack_position(struct seen *seen, const char *data, size_t size,
                     size_t at)
{
    uint16_t *last;

    if (size - at < REPEAT_MIN)
        return;
    last = last_of(seen, data + at);
    seen->before[at] = *last;
    *last = (uint16_t)(at + 1);
}

/* The longest repetition at `at`, and how far back it is; 0: none. */
static size_t
find_repeat(struct seen *seen, const char *data, size_t size, size_t at,
            size_t *back)
{
    size_t longest = 0, place;

    if (size - at < REPEAT_MIN)
        return 0;
    place = *last_of(seen, data + at);
    for (int i = 0; place > 0 && i < TRIES; i++) {
        size_t n = 0;

        place--;
        while (at + n < size && data[place + n] == data[at + n])
            n++;
        if (n > longest) {
            longest = n;
            *back = at - place;
        }
        place = seen->before[place];
    }
    return longest < REPEAT_MIN ? 0 : longest;
}

static void
put_packed_sequence(struct buffer *out, const char *literals, size_t count,
                    size_t repeat, size_t back)
{
    size_t coded = repeat ? repeat - REPEAT_MIN : 0;
    uint8_t low = (uint8_t)(count < LITERALS_FULL ? count : LITERALS_FULL);
    uint8_t high = (uint8_t)(coded < REPEAT_FULL ? coded : REPEAT_FULL);

    buffer_u8(out, (uint8_t)(low | high << LITERAL_BITS));
    if (low == LITERALS_FULL)
        buffer_leb(out, count - LITERALS_FULL);
    if (high == REPEAT_FULL)
        buffer_leb(out, coded - REPEAT_FULL);
    buffer_add(out, literals, count);
    if (repeat)
        buffer_leb(out, back);
}

bool
index_pack(const char *data, size_t size, struct buffer *out)
{
    struct seen seen;
    size_t at = 0, told = 0, repeat, back = 0;

    if (size > INDEX_PACK_MAX)
        return false;
    memset(seen.last, 0, sizeof(seen.last));
    while (at < size) {
        repeat = find_repeat(&seen, data, size, at, &back);
        if (repeat) {
            put_packed_sequence(out, data + told, at - told, repeat, back);
            told = at + repeat;
        } else {
            repeat = 1;
        }
        for (; repeat > 0; repeat--)
            record_pack_position(&seen, data, size, at++);
    }
    if (told < size)
        put_packed_sequence(out, data + told, size - told, 0, 0);
    return true;
}
