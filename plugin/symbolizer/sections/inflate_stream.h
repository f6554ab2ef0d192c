/*
 * inflate_stream.h - unpacks a zlib section from its start, as far as it is
 * wanted: half as fast as the whole at once (inflate.h), but the units that
 * are asked for are often among the first.
 *
 * Whether the rest is what the section claims is not known then.
 */
#ifndef HW_INFLATE_STREAM_H
#define HW_INFLATE_STREAM_H

#include <stddef.h>

#include "inflate.h"

/* Bytes of memory that one takes. */
enum { INFLATE_STREAM_BYTES = 1 << 17 };

struct inflate_stream;

/* NULL without memory. */
struct inflate_stream *inflate_stream_new(const struct inflate_from *from);
void inflate_stream_free(struct inflate_stream *stream); /* NULL is fine */

/* The next size bytes; -1: they cannot be had, nor can any after that. */
int inflate_stream_next(struct inflate_stream *stream, void *place,
                        size_t size);

#endif
