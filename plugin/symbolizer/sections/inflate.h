/*
 * inflate.h - inflates a compressed section into a buffer of fixed size.
 *
 * Fails if the output is longer or shorter than the size that the section
 * claims, which was checked against the ceiling before.
 */
#ifndef HW_INFLATE_H
#define HW_INFLATE_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;

enum inflate_kind { INFLATE_NONE, INFLATE_ZLIB, INFLATE_ZSTD, INFLATE_UNKNOWN };

struct inflate_from {
    const struct elf_file *elf;
    uint64_t offset, size; /* of the packed bytes in the file */
};

/* Bytes of additional memory while inflate_all runs. */
size_t inflate_extra(uint64_t packed_size);

int inflate_all(enum inflate_kind kind, const struct inflate_from *from,
                void *target, size_t size);

/* Inflates a zlib section from its start, as far as needed: half as fast as the
 * whole at once, but the wanted units are often among the first.  Whether the
 * rest has the claimed size is not checked. */

/* Bytes of memory per stream. */
enum { INFLATE_STREAM_BYTES = 1 << 17 };

struct inflate_stream;

/* NULL without memory. */
struct inflate_stream *inflate_stream_new(const struct inflate_from *from);
void inflate_stream_free(struct inflate_stream *stream); /* NULL is fine */

/* Inflates the next size bytes.  -1: these and all later ones are
 * unavailable. */
int inflate_stream_next(struct inflate_stream *stream, void *target,
                        size_t size);

#endif
