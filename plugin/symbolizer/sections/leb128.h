/* leb128.h - DWARF's numbers of variable length, through the bounded reader. */
#ifndef HW_LEB128_H
#define HW_LEB128_H

#include "reader.h"

/* What does not fit into 64 bits is cut off. */
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

#endif
