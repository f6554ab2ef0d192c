/*
 * index_column.h - numbers of one kind with the same few bits each, so that any
 * of them can be read alone.  See symbol_index_format.h.
 */
#ifndef HW_INDEX_COLUMN_H
#define HW_INDEX_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"
#include "symbol_index_format.h"

struct buffer;

struct index_column {
    const uint8_t *bits; /* 8 bytes behind them must be readable */
    uint64_t base;
    uint32_t width;
};

/* reader_u8, inlined: a look-up reads hundreds of bytes. */
static inline uint8_t
index_u8(struct reader *r)
{
    if (r->failed || r->pos == r->end) {
        r->failed = true;
        return 0;
    }
    return *r->pos++;
}

uint64_t index_long_leb(struct reader *r);

/* An unsigned LEB128; fails on more than 64 bits. */
static inline uint64_t
index_leb(struct reader *r)
{
    const uint8_t *p = r->pos;

    if (!r->failed && r->end - p >= 2 && !(p[0] & p[1] & 0x80)) {
        r->pos += 1 + (p[0] >> 7);
        return p[0] & 0x80 ? (uint64_t)p[1] << 7 | (p[0] & 0x7f) : p[0];
    }
    return index_long_leb(r);
}

/* Reads the column's head. */
static inline void
index_column_head(struct reader *r, struct index_column *column)
{
    column->width = index_u8(r);
    column->base = index_leb(r);
    if (column->width > INDEX_WIDTH_MAX)
        r->failed = true;
}

/* Takes the bits of count items. */
static inline void
index_column_bits(struct reader *r, uint32_t count, struct index_column *column)
{
    size_t bytes = ((size_t)count * column->width + 7) / 8;

    if (r->failed || bytes > (size_t)(r->end - r->pos)) {
        r->failed = true;
        return;
    }
    column->bits = r->pos;
    r->pos += bytes;
}

/* The i-th value without the base; i is below count. */
static inline uint64_t
index_column_raw(const struct index_column *column, uint32_t i)
{
    uint64_t bit = (uint64_t)i * column->width;

    return index_load(column->bits + bit / 8) >> bit % 8 &
           (((uint64_t)1 << column->width) - 1);
}

static inline uint64_t
index_column_get(const struct index_column *column, uint32_t i)
{
    return column->base + index_column_raw(column, i);
}

/* Appends a column's head to head, and the bits of values (already less base)
 * to bits.  false: a value needs too many bits. */
bool index_column_put(const uint64_t *values, uint32_t count, uint64_t base,
                      struct buffer *head, struct buffer *bits);

#endif
