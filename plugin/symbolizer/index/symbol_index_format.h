/*
 * symbol_index_format.h - the symbol index's file, byte by byte.
 *
 * Numbers are little-endian; "leb" is an unsigned LEB128 of at most 64 bits.
 * The file is read with pread, not mapped: a file that is cut meanwhile gives
 * an error, not SIGBUS.
 *
 * Header, INDEX_HEADER_SIZE bytes:
 *     8    "HWINDEX\n"
 *     u4   version: 4; other versions are refused
 *     u4   bytes of the header
 *     u8   bytes of the file
 *     u1   bytes of the build-id, 64 for it, the rest zero, 7 zero
 *     6 x  a section: u4 blocks, u4 sum of its table, u8 items
 *     u4   sum of the header up to here
 *
 * Then the sections' tables, in order, then their blocks, in order, without
 * gaps.  A table has per block:
 *     u8   first: address or number of its first item, ascending
 *     u8   offset in the file
 *     u4   bytes, at most INDEX_BLOCK_MAX
 *     u4   sum of the block
 * A sum is index_sum's; a block's is checked when the block is first read, so
 * that a look-up pays only for the blocks it touches.
 *
 * A block is
 *     u2   groups
 *     n x  a group: u4 first, less the block's first, ascending; u2 offset
 *          behind this table, ascending
 *     the groups
 *
 * Sections, and the columns of their items:
 *     RANGES   address, node.  A run of code up to the next item's address: 0
 *              no function, 1 left out (DWARF is to be asked), else node + 2;
 *              the column's base is added to values of 2 and more only
 *     ROWS     address, source line.  The source of the code from there on
 *     SYMBOLS  address, back, name.  The symbol of the code begins
 *              back bytes before the item's address; name 0: none, but if back
 *              is not 0 a function, which begins back - 1 bytes before
 *     NODES    up, function, source line.  A function, or where it was
 *              inlined: up is the distance to the node that holds it, which
 *              has a lower number, 0 none; function is name * 8 + 2 if that was
 *              a linkage name + 1 if inlined; source line: the call's
 *     NAMES    texts, sorted; number 0 is ""; readable
 *     FILES    texts, sorted; number 0 is "": unknown.  None at all, not even
 *              it: there was no debug information, and symbols are all there is
 *
 * A group of the first four: u1 items (1 to INDEX_GROUP_ITEMS), [u1 k, if it
 * has source lines], per column u1 width (at most INDEX_WIDTH_MAX) and leb
 * base, then the columns' bits, each from a byte's start, lowest bit first:
 * item i's value is base + the width bits from i * width on.  Addresses are
 * less the group's first.  A source line is four columns: k files, k lines,
 * then per item which of these k, and its line less that one's: files and lines
 * repeat themselves.
 *
 * A group of texts: u1 items (at least 1), leb bytes of each, then all of them,
 * at most INDEX_TEXTS_MAX bytes, as a frame of zstd.
 */
#ifndef HW_SYMBOL_INDEX_FORMAT_H
#define HW_SYMBOL_INDEX_FORMAT_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INDEX_MAGIC "HWINDEX\n"

enum {
    INDEX_VERSION = 4, /* earlier ones did not pack texts with zstd */
    INDEX_BUILD_ID_MAX = 64,
    INDEX_HEADER_SIZE = 24 + 8 + INDEX_BUILD_ID_MAX + 6 * 16 + 4,
    INDEX_ENTRY_SIZE = 24,       /* of a table */
    INDEX_GROUP_ENTRY_SIZE = 6,  /* of a block's table */
    INDEX_BLOCK_BYTES = 8 << 10, /* bytes that the writer aims at */
    INDEX_BLOCK_MAX = 64 << 10,
    INDEX_BLOCKS_MAX = 1 << 17, /* of a section; a reader holds the table of
                                 * all */
    INDEX_GROUP_ITEMS = 64,
    INDEX_GROUP_TEXTS = 255,
    INDEX_TEXTS_MAX = 16 << 10, /* bytes of a group, unpacked */
    INDEX_ITEMS_MAX = 1 << 28,  /* nodes, and texts of a kind */
    INDEX_TEXT_MAX = 8 << 10,   /* longer ones are truncated */
    INDEX_WIDTH_MAX = 56, /* they and the first byte's offset fit in 8 bytes */
    INDEX_COLUMNS_MAX = 6
};

enum index_section {
    INDEX_RANGES,
    INDEX_ROWS,
    INDEX_SYMBOLS,
    INDEX_NODES,
    INDEX_NAMES,
    INDEX_FILES,
    INDEX_SECTIONS
};

enum { INDEX_NO_FUNCTION, INDEX_LEFT_OUT, INDEX_FIRST_NODE };

/* The columns of an item of the first four sections, then those of a source
 * line. */
enum {
    RANGE_ADDRESS = 0,
    RANGE_NODE = 1,
    ROW_ADDRESS = 0,
    ROW_SOURCE = 1,
    SYMBOL_ADDRESS = 0,
    SYMBOL_BACK = 1,
    SYMBOL_NAME = 2,
    NODE_UP = 0,
    NODE_FUNCTION = 1,
    NODE_SOURCE = 2
};
enum {
    SOURCE_FILES,
    SOURCE_LINES,
    SOURCE_WHICH,
    SOURCE_LINE_OFFSET,
    SOURCE_COLUMNS
};

struct index_shape {
    unsigned columns;    /* without those of a source line */
    unsigned has_source; /* 0 or 1 */
};

static const struct index_shape index_shapes[INDEX_SECTIONS] = {
    [INDEX_RANGES] = {2, 0},
    [INDEX_ROWS] = {1, 1},
    [INDEX_SYMBOLS] = {3, 0},
    [INDEX_NODES] = {2, 1},
};

static inline uint64_t
index_load(const uint8_t *bytes)
{
    uint64_t v;

    memcpy(&v, bytes, sizeof(v));
    return le64toh(v);
}

/*
 * Detects damage, not forgery.  Four lanes make it run at memory's speed, where
 * zlib's CRC-32 would take longer than all the rest.  Each word certainly
 * changes its lane.
 */
static inline uint32_t
index_sum(const uint8_t *data, size_t size)
{
    const uint64_t k = 0x9e3779b97f4a7c15ULL;
    uint64_t a = size, b = 1, c = 2,
             d = 3; /* an array would not be in registers */
    uint64_t lane[4], h = 0;
    uint8_t last[32] = {0};

    for (; size >= 32; size -= 32, data += 32) {
        a = (a ^ index_load(data)) * k;
        b = (b ^ index_load(data + 8)) * k;
        c = (c ^ index_load(data + 16)) * k;
        d = (d ^ index_load(data + 24)) * k;
        a ^= a >> 32;
        b ^= b >> 32;
        c ^= c >> 32;
        d ^= d >> 32;
    }
    if (size)
        memcpy(last, data, size);
    lane[0] = a;
    lane[1] = b;
    lane[2] = c;
    lane[3] = d;
    for (unsigned i = 0; i < 4; i++) {
        lane[i] = (lane[i] ^ index_load(last + (size_t)8 * i)) * k;
        h = (h ^ lane[i] ^ lane[i] >> 29) * k;
    }
    return (uint32_t)(h >> 32);
}

#endif
