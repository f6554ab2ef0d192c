/*
 * inflate_stream.h - inflates a zlib section from its start, as far as needed:
 * half as fast as the whole at once (inflate.h), but the wanted units are often
 * among the first.
 *
 * It does not check that the rest is as the section claims.
 */
#ifndef HW_INFLATE_STREAM_H
#define HW_INFLATE_STREAM_H

#include <stddef.h>

#include "inflate.h"

/* Bytes of memory per stream. */
enum { INFLATE_STREAM_BYTES = 1 << 17 };

struct inflate_stream;

/* NULL without memory. */
struct inflate_stream *inflate_stream_new(const struct inflate_from *from);
void inflate_stream_free(struct inflate_stream *stream); /* NULL is fine */

/* Inflates the next size bytes; -1: they are unavailable, and all later ones.
 */
int inflate_stream_next(struct inflate_stream *stream, void *place,
                        size_t size);

#endif
