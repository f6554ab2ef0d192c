/* index_column.c - see index_column.h. */
#include "index_column.h"

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
