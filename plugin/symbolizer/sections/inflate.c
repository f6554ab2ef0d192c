/*
 * inflate.c - see inflate.h.
 *
 * libdeflate is twice as fast as zlib, but needs input and output whole; zlib
 * inflates step by step, for readers that need only a section's beginning.  The
 * output's size is the one that the section claims and the budget has allowed,
 * so a bomb fails at that size.
 */
#include "inflate.h"

#include <libdeflate.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <zstd.h>

#include "elf_file.h"
#include "memory.h"
#include "zlib_memory.h"

/* ---- all at once ---- */

enum {
    STATE = 1 << 18
}; /* bound on what the libraries allocate for
    * themselves */

size_t
inflate_extra(uint64_t packed_size)
{
    return packed_size + STATE;
}

/* Linkers put several streams one after another. */
static bool
zlib_streams(struct libdeflate_decompressor *z, const uint8_t *packed,
             size_t left, uint8_t *target, size_t size)
{
    size_t taken, made;

    do {
        if (libdeflate_zlib_decompress_ex(z, packed, left, target, size, &taken,
                                          &made) != LIBDEFLATE_SUCCESS)
            return false;
        packed += taken;
        left -= taken;
        target += made;
        size -= made;
    } while (size > 0 && left > 0);
    return size == 0;
}

static int
inflate_zlib(const uint8_t *packed, size_t packed_size, void *target,
             size_t size)
{
    struct libdeflate_decompressor *z = libdeflate_alloc_decompressor();
    bool done = z && zlib_streams(z, packed, packed_size, target, size);

    libdeflate_free_decompressor(z);
    return done ? 0 : -1;
}

/* The whole at once: the target itself serves as the window. */
int
inflate_all(enum inflate_kind kind, const struct inflate_from *from,
            void *target, size_t size)
{
    uint8_t *packed = kind != INFLATE_ZLIB && kind != INFLATE_ZSTD
                          ? NULL
                          : mem_alloc(from->size);
    int rc = -1;

    if (!packed ||
        elf_read_at(from->elf, from->offset, from->size, packed) != 0)
        goto out;
    if (kind == INFLATE_ZLIB)
        rc = inflate_zlib(packed, from->size, target, size);
    else if (ZSTD_decompress(target, size, packed, from->size) == size)
        rc = 0;
out:
    mem_free(packed);
    return rc;
}

/* ---- as far as needed ---- */

enum { PACKED = 1 << 16 /* bytes read at once */ };

struct inflate_stream {
    struct inflate_from from; /* the part that is not read yet */
    z_stream z;
    bool failed;
    uint8_t packed[PACKED];
};

struct inflate_stream *
inflate_stream_new(const struct inflate_from *from)
{
    struct inflate_stream *stream = mem_alloc(sizeof(*stream));

    if (!stream)
        return NULL;
    stream->from = *from;
    stream->failed = false;
    memset(&stream->z, 0, sizeof(stream->z));
    stream->z.zalloc = zlib_alloc;
    stream->z.zfree = zlib_free;
    if (inflateInit(&stream->z) != Z_OK) {
        mem_free(stream);
        return NULL;
    }
    return stream;
}

void
inflate_stream_free(struct inflate_stream *stream)
{
    if (!stream)
        return;
    (void)inflateEnd(&stream->z);
    mem_free(stream);
}

static int
read_packed(struct inflate_stream *stream)
{
    struct inflate_from *from = &stream->from;
    size_t size = from->size < PACKED ? from->size : PACKED;

    if (size == 0 ||
        elf_read_at(from->elf, from->offset, size, stream->packed) != 0)
        return -1;
    from->offset += size;
    from->size -= size;
    stream->z.next_in = stream->packed;
    stream->z.avail_in = (unsigned)size;
    return 0;
}

/* Inflates a part of what is left. */
static int
inflate_next_part(struct inflate_stream *stream)
{
    int rc;

    if (stream->z.avail_in == 0 && read_packed(stream) != 0)
        return -1;
    rc = inflate(&stream->z, Z_NO_FLUSH);
    /* Linkers put several streams one after another. */
    if (rc == Z_STREAM_END)
        rc = inflateReset(&stream->z);
    return rc == Z_OK || rc == Z_BUF_ERROR ? 0 : -1;
}

int
inflate_stream_next(struct inflate_stream *stream, void *target, size_t size)
{
    if (size > UINT_MAX)
        stream->failed = true;
    stream->z.next_out = target;
    stream->z.avail_out = (unsigned)size;
    while (!stream->failed && stream->z.avail_out > 0)
        stream->failed = inflate_next_part(stream) != 0;
    return stream->failed ? -1 : 0;
}
