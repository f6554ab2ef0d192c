/* index_coder.c - see index_coder.h. */
#include "index_coder.h"

#include <string.h>

#include "buffer.h"

enum {
    HALF = 1 << 15,
    ODDS_MIN = 64,
    SEEN_MAX = 23, /* from then on each bit counts the same */
    RANGE_BITS = 24
};

/* A bit's weight after so many: 65536 / (seen + 1.5). */
static const uint16_t weights[SEEN_MAX + 1] = {
    43690, 26214, 18724, 14563, 11915, 10082, 8738, 7710,
    6898,  6241,  5698,  5242,  4854,  4519,  4228, 3971,
    3744,  3542,  3360,  3196,  3048,  2912,  2788, 2674};

void
index_odds_init(void *odds, size_t bytes)
{
    struct index_odds *list = odds;

    for (size_t i = 0; i < bytes / sizeof(*list); i++)
        list[i] = (struct index_odds){HALF, 0};
}

void
index_coder_write(struct index_coder *coder, struct buffer *out)
{
    memset(coder, 0, sizeof(*coder));
    coder->out = out;
    coder->start = out->size;
    coder->range = UINT32_MAX;
}

static uint8_t
next_byte(struct index_coder *coder)
{
    return coder->pos < coder->end ? *coder->pos++ : 0;
}

void
index_coder_read(struct index_coder *coder, const uint8_t *data, size_t size)
{
    memset(coder, 0, sizeof(*coder));
    coder->range = UINT32_MAX;
    coder->pos = data;
    coder->end = data + size;
    for (int i = 0; i < 4; i++)
        coder->code = coder->code << 8 | next_byte(coder);
}

/* The top byte is final, except for a later carry. */
static void
shift(struct index_coder *coder)
{
    uint8_t carry = (uint8_t)(coder->low >> 32);

    if ((uint32_t)coder->low >= 0xff000000U && !carry) {
        coder->pending++;
    } else {
        if (coder->begun)
            buffer_u8(coder->out, (uint8_t)(coder->held + carry));
        for (; coder->pending > 0; coder->pending--)
            buffer_u8(coder->out, (uint8_t)(0xff + carry));
        coder->held = (uint8_t)(coder->low >> 24);
        coder->begun = true;
    }
    coder->low = (coder->low & 0xffffff) << 8;
}

void
index_coder_end(struct index_coder *coder)
{
    const uint64_t rest = ((uint64_t)1 << RANGE_BITS) - 1;
    struct buffer *out = coder->out;

    coder->low = (coder->low + rest) & ~rest;
    for (int i = 0; i < 5; i++)
        shift(coder);
    while (out->size > coder->start && out->data[out->size - 1] == 0)
        out->size--;
}

static inline void
learn(struct index_odds *odds, bool bit)
{
    uint32_t zero = odds->zero, weight = weights[odds->seen];

    if (bit)
        zero -= (zero - ODDS_MIN) * weight >> 16;
    else
        zero += (65536 - ODDS_MIN - zero) * weight >> 16;
    odds->zero = (uint16_t)zero;
    if (odds->seen < SEEN_MAX)
        odds->seen++;
}

/* ---- writing ---- */

static void
write_part(struct index_coder *coder, uint32_t bound, bool bit)
{
    if (bit) {
        coder->range -= bound;
        coder->low += bound;
    } else {
        coder->range = bound;
    }
    while (coder->range < (uint32_t)1 << RANGE_BITS) {
        coder->range <<= 8;
        shift(coder);
    }
}

static void
write_bit(struct index_coder *coder, struct index_odds *odds, bool bit)
{
    write_part(coder, (coder->range >> 16) * odds->zero, bit);
    learn(odds, bit);
}

static void
write_number(struct index_coder *coder, struct index_number_odds *odds,
             uint64_t value)
{
    unsigned size;
    uint64_t found = 1;

    if (++value == 0 || value >> INDEX_NUMBER_BITS) {
        coder->failed = true;
        value = 1;
    }
    size = 63 - (unsigned)__builtin_clzll(value);
    for (unsigned i = 0; i < size; i++)
        write_bit(coder, &odds->size[i], true);
    if (size < INDEX_NUMBER_BITS - 1)
        write_bit(coder, &odds->size[size], false);
    for (unsigned i = size; i-- > 0;) {
        bool bit = value >> i & 1;

        if (found < INDEX_NUMBER_HEADS)
            write_bit(coder, &odds->head[size][found], bit);
        else
            write_part(coder, coder->range >> 1, bit);
        found = found << 1 | bit;
    }
}

/* ---- reading: of a copy of the coder, that may stay in registers ---- */

static inline bool
read_part(struct index_coder *coder, uint32_t bound)
{
    bool bit = coder->code >= bound;

    coder->code -= bit ? bound : 0;
    coder->range = bit ? coder->range - bound : bound;
    while (coder->range < (uint32_t)1 << RANGE_BITS) {
        coder->range <<= 8;
        coder->code = coder->code << 8 | next_byte(coder);
    }
    return bit;
}

static inline bool
read_bit(struct index_coder *coder, struct index_odds *odds)
{
    bool bit = read_part(coder, (coder->range >> 16) * odds->zero);

    learn(odds, bit);
    return bit;
}

static void
read_back(struct index_coder *coder, const struct index_coder *copy)
{
    coder->code = copy->code;
    coder->range = copy->range;
    coder->pos = copy->pos;
}

static uint64_t
read_number(struct index_coder *coder, struct index_number_odds *odds)
{
    struct index_coder copy = *coder;
    unsigned size = 0;
    uint64_t found = 1;

    while (size < INDEX_NUMBER_BITS - 1 && read_bit(&copy, &odds->size[size]))
        size++;
    for (unsigned i = 0; i < size; i++)
        found = found << 1 | (found < INDEX_NUMBER_HEADS
                                  ? read_bit(&copy, &odds->head[size][found])
                                  : read_part(&copy, copy.range >> 1));
    read_back(coder, &copy);
    return found - 1;
}

static uint32_t
read_tree(struct index_coder *coder, struct index_odds *odds, unsigned bits)
{
    struct index_coder copy = *coder;
    uint32_t place = 1;

    for (unsigned i = 0; i < bits; i++)
        place = place << 1 | read_bit(&copy, &odds[place]);
    read_back(coder, &copy);
    return place - ((uint32_t)1 << bits);
}

/* ---- both ---- */

bool
index_code_bit(struct index_coder *coder, struct index_odds *odds, bool bit)
{
    if (!coder->out)
        return read_bit(coder, odds);
    write_bit(coder, odds, bit);
    return bit;
}

uint32_t
index_code_tree(struct index_coder *coder, struct index_odds *odds,
                unsigned bits, uint32_t value)
{
    uint32_t place = 1;

    if (!coder->out)
        return read_tree(coder, odds, bits);
    for (unsigned i = bits; i-- > 0;) {
        write_bit(coder, &odds[place], value >> i & 1);
        place = place << 1 | (value >> i & 1);
    }
    return value;
}

uint64_t
index_code_number(struct index_coder *coder, struct index_number_odds *odds,
                  uint64_t value)
{
    if (!coder->out)
        return read_number(coder, odds);
    write_number(coder, odds, value);
    return value;
}

int64_t
index_code_signed(struct index_coder *coder, struct index_number_odds *odds,
                  int64_t value)
{
    uint64_t coded = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);

    coded = index_code_number(coder, odds, coded);
    return (int64_t)(coded >> 1) ^ -(int64_t)(coded & 1);
}
