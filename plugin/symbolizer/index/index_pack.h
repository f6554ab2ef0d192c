/*
 * index_pack.h - packs texts: bytes that occurred before in the same run are
 * replaced by a reference.
 *
 * C++ names repeat each other, and a look-up unpacks a few kilobytes at a time.
 * Without a code per letter, that costs a fifth of zstd's start-up, and takes
 * hardly more room.  32,587 names in groups of 4 KB, 11.1 MB, become 1.01 MB,
 * unpacked at 4.1 GB/s; with LZ4 at its highest level 1.03 MB, at 7.1 GB/s: 1
 * ms of 88 would not pay for another library.
 */
#ifndef HW_INDEX_PACK_H
#define HW_INDEX_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "reader.h"

struct buffer;

enum {
    INDEX_PACK_MAX = 16 << 10, /* bytes of a run, unpacked */
    INDEX_PACK_SPARE = 16      /* may be written behind them */
};

/* Appends at most INDEX_PACK_MAX bytes, packed; false if there are more. */
bool index_pack(const char *data, size_t size, struct buffer *out);

/* Unpacks the first wanted bytes of size, or some more; false if r is invalid
 * or too short.  out has room for INDEX_PACK_SPARE more. */
bool index_unpack(struct reader *r, char *out, size_t size, size_t wanted);

#endif
