/*
 * index_pack.h - texts packed: what was said before in the same run is told by
 * where it was.
 *
 * Names of C++ repeat each other over and over, and a look-up unpacks a few
 * kilobytes at a time: without a code for each letter that costs a fifth of
 * what zstd needs to get going, and takes hardly more room.  Of 32,587 names
 * in groups of 4 KB, 11.1 MB, this makes 1.01 MB, unpacked at 4.1 GB/s; LZ4
 * at its highest level 1.03 MB, at 7.1 GB/s: 1 ms of 88 would not pay for
 * another library.
 */
#ifndef HW_INDEX_PACK_H
#define HW_INDEX_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "reader.h"

struct buffer;

enum {
    INDEX_PACK_MAX = 16 << 10, /* bytes of a run, unpacked */
    INDEX_PACK_SPARE = 16      /* written behind them */
};

/* Appends at most INDEX_PACK_MAX bytes, packed; false if there are more. */
bool index_pack(const char *data, size_t size, struct buffer *out);

/* The same without looking for what repeats itself: to be unpacked at once. */
void index_pack_as_it_is(const char *data, size_t size, struct buffer *out);

/* Unpacks the first wanted bytes, or some more, of size; false when r does not
 * say as many, or makes no sense.  out has room for INDEX_PACK_SPARE more. */
bool index_unpack(struct reader *r, char *out, size_t size, size_t wanted);

#endif
