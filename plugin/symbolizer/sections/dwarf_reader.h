/*
 * dwarf_reader.h - DWARF's numbers through the bounded reader: LEB128, those
 * whose size the file gives, and skipping values.
 *
 * Inline, for a unit has millions of them.
 */
#ifndef HW_DWARF_READER_H
#define HW_DWARF_READER_H

#include <string.h>

#include "reader.h"

/* Bits past the 64th are dropped. */
static inline uint64_t
reader_uleb(struct reader *r)
{
    uint64_t value = 0;

    if (__builtin_expect(r->pos < r->end && *r->pos < 0x80, 1))
        return *r->pos++;
    for (unsigned shift = 0; r->pos < r->end; shift += shift < 64 ? 7 : 0) {
        uint8_t byte = *r->pos++;

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    r->failed = true;
    return 0;
}

static inline int64_t
reader_sleb(struct reader *r)
{
    uint64_t value = 0;

    for (unsigned shift = 0; r->pos < r->end;) {
        uint8_t byte = *r->pos++;

        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
            shift += 7;
        }
        if (!(byte & 0x80)) {
            if (shift < 64 && (byte & 0x40))
                value |= UINT64_MAX << shift;
            return (int64_t)value;
        }
    }
    r->failed = true;
    return 0;
}

static inline bool
dwarf_need(struct reader *r, uint64_t size)
{
    if (__builtin_expect(r->failed || size > (uint64_t)(r->end - r->pos), 0))
        r->failed = true;
    return !r->failed;
}

static inline void
dwarf_skip(struct reader *r, uint64_t size)
{
    if (dwarf_need(r, size))
        r->pos += size;
}

/* Of 0 to 8 bytes, little-endian. */
static inline uint64_t
dwarf_number(struct reader *r, unsigned size)
{
    uint64_t v = 0;

    if (dwarf_need(r, size)) {
        for (unsigned i = 0; i < size; i++)
            v |= (uint64_t)r->pos[i] << (8 * i);
        r->pos += size;
    }
    return v;
}

static inline void
dwarf_skip_lebs(struct reader *r, uint32_t count)
{
    while (count > 0 && dwarf_need(r, 1))
        count -= *r->pos++ < 0x80;
}

static inline void
dwarf_skip_text(struct reader *r)
{
    const void *nul = r->failed || r->pos == r->end
                          ? NULL
                          : memchr(r->pos, 0, (size_t)(r->end - r->pos));

    if (nul)
        r->pos = (const uint8_t *)nul + 1;
    else
        r->failed = true;
}

#endif
