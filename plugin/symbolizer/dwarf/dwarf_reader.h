/*
 * dwarf_reader.h - what DWARF adds to the bounded reader: numbers whose size
 * the file says, and passing over values.
 *
 * Inline, for a unit has millions of them.
 */
#ifndef HW_DWARF_READER_H
#define HW_DWARF_READER_H

#include <string.h>

#include "leb128.h"
#include "reader.h"

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
