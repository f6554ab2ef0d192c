/* index_coder.c - see index_coder.h. */
#include "index_coder.h"

#include <string.h>

#include "buffer.h"

enum {
    HALF = 1 << 15,
    ODDS_MIN = 64,
    SEEN_MAX = 23, /* then each bit counts as much */
    RANGE_BITS = 24
};

/* What a bit counts when so many were seen: 65536 / (seen + 1.5). */
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

/* The top byte is known, but for a carry that what follows may bring. */
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

static void
narrow(struct index_coder *coder, uint32_t bound, bool bit)
{
    if (bit) {
        coder->range -= bound;
        if (coder->out)
            coder->low += bound;
        else
            coder->code -= bound;
    } else {
        coder->range = bound;
    }
    while (coder->range < (uint32_t)1 << RANGE_BITS) {
        coder->range <<= 8;
        if (coder->out)
            shift(coder);
        else
            coder->code = coder->code << 8 | next_byte(coder);
    }
}

bool
index_code_bit(struct index_coder *coder, struct index_odds *odds, bool bit)
{
    uint32_t bound = (coder->range >> 16) * odds->zero;
    uint32_t weight = weights[odds->seen], zero = odds->zero;

    if (!coder->out)
        bit = coder->code >= bound;
    narrow(coder, bound, bit);
    if (bit)
        zero -= (zero - ODDS_MIN) * weight >> 16;
    else
        zero += (65536 - ODDS_MIN - zero) * weight >> 16;
    odds->zero = (uint16_t)zero;
    if (odds->seen < SEEN_MAX)
        odds->seen++;
    return bit;
}

static bool
code_even(struct index_coder *coder, bool bit)
{
    uint32_t bound = coder->range >> 1;

    if (!coder->out)
        bit = coder->code >= bound;
    narrow(coder, bound, bit);
    return bit;
}

uint32_t
index_code_tree(struct index_coder *coder, struct index_odds *odds,
                unsigned bits, uint32_t value)
{
    uint32_t place = 1;

    for (unsigned i = bits; i-- > 0;)
        place = place << 1 | index_code_bit(coder, &odds[place],
                                            coder->out && value >> i & 1);
    return place - ((uint32_t)1 << bits);
}

uint64_t
index_code_number(struct index_coder *coder, struct index_number_odds *odds,
                  uint64_t value)
{
    const bool writes = coder->out;
    unsigned bits = 0, size = 0;
    uint64_t found = 1;

    value++;
    if (writes) {
        if (value == 0 || value >> INDEX_NUMBER_BITS) {
            coder->failed = true;
            value = 1;
        }
        size = 63 - (unsigned)__builtin_clzll(value);
    }
    while (bits < INDEX_NUMBER_BITS - 1 &&
           index_code_bit(coder, &odds->size[bits], writes && bits < size))
        bits++;
    for (unsigned i = bits; i-- > 0;) {
        bool bit = writes && value >> i & 1;

        found = found << 1 |
                (found < INDEX_NUMBER_HEADS
                     ? index_code_bit(coder, &odds->head[bits][found], bit)
                     : code_even(coder, bit));
    }
    return found - 1;
}

int64_t
index_code_signed(struct index_coder *coder, struct index_number_odds *odds,
                  int64_t value)
{
    uint64_t coded = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);

    coded = index_code_number(coder, odds, coded);
    return (int64_t)(coded >> 1) ^ -(int64_t)(coded & 1);
}
