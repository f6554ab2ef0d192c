/*
 * index_seal.h - gives damaged index files right checksums, so that what is
 * behind these is tried, too.
 */
#ifndef HW_INDEX_SEAL_H
#define HW_INDEX_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "symbol_index_format.h"

static inline void
seal_put(uint8_t *to, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t
seal_get(const uint8_t *from, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

enum { SEAL_VERSION = 8, SEAL_HEADER = 12, SEAL_ID = 24 };
enum { SEAL_SIZE = 16, SEAL_SECTIONS = 24 + 8 + INDEX_BUILD_ID_MAX };

static inline bool
seal_is_packed(const uint8_t *bytes, size_t size)
{
    return size >= INDEX_PACKED_ID &&
           seal_get(bytes + SEAL_VERSION, 4) == (INDEX_VERSION | INDEX_PACKED);
}

/* Up to 64 bits; *at stops at end. */
static inline uint64_t
seal_leb(const uint8_t *bytes, size_t *at, size_t end)
{
    uint64_t value = 0;

    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = bytes[(*at)++];

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

/* A packed file's; calls block, if there is one, for each block of code. */
static inline void
seal_packed(uint8_t *bytes, size_t size,
            void (*block)(void *arg, uint64_t first), void *arg)
{
    uint64_t header = seal_get(bytes + SEAL_HEADER, 4), offset = header;
    size_t at = (size_t)INDEX_PACKED_ID + bytes[SEAL_ID], end;

    if (header < INDEX_PACKED_ID + 4 || header > size)
        return;
    end = (size_t)header - 4;
    seal_put(bytes + SEAL_SIZE, size, 8);
    for (int i = 0; i < INDEX_STREAMS; i++) {
        uint64_t count = seal_leb(bytes, &at, end), first = 0;

        seal_leb(bytes, &at, end); /* items */
        for (; count > 0 && at < end; count--) {
            uint64_t length;

            first += seal_leb(bytes, &at, end);
            if (block && i == INDEX_CODE)
                block(arg, first);
            length = seal_leb(bytes, &at, end);
            if (end < at + 4)
                break;
            if (offset <= size && length <= size - offset)
                seal_put(bytes + at, index_sum(bytes + offset, length), 4);
            offset += length;
            at += 4;
        }
    }
    seal_put(bytes + end, index_sum(bytes, end), 4);
}

static inline void
index_seal(uint8_t *bytes, size_t size)
{
    size_t table = INDEX_HEADER_SIZE;

    if (seal_is_packed(bytes, size)) {
        seal_packed(bytes, size, NULL, NULL);
        return;
    }
    if (size < INDEX_HEADER_SIZE)
        return;
    seal_put(bytes + SEAL_SIZE, size, 8);
    for (int i = 0; i < INDEX_SECTIONS; i++) {
        uint8_t *section = bytes + SEAL_SECTIONS + (size_t)16 * (size_t)i;
        uint64_t count = seal_get(section, 4);
        size_t part;

        if (count > (size - table) / INDEX_ENTRY_SIZE)
            break;
        part = (size_t)count * INDEX_ENTRY_SIZE;
        for (size_t k = 0; k < part; k += INDEX_ENTRY_SIZE) {
            uint8_t *entry = bytes + table + k;
            uint64_t offset = seal_get(entry + 8, 8);
            uint64_t length = seal_get(entry + 16, 4);

            if (offset <= size && length <= size - offset)
                seal_put(entry + 20, index_sum(bytes + offset, length), 4);
        }
        seal_put(section + 4, index_sum(bytes + table, part), 4);
        table += part;
    }
    seal_put(bytes + INDEX_HEADER_SIZE - 4,
             index_sum(bytes, INDEX_HEADER_SIZE - 4), 4);
}

#endif
