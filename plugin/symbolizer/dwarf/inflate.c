/* inflate.c - see inflate.h. */
#include "inflate.h"

#include <limits.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "elf_file.h"
#include "memory.h"

enum {
    PIECE = 1 << 16,      /* of packed bytes that zlib gets at a time */
    ZLIB_STATE = 1 << 16, /* about what zlib holds itself */
    ZSTD_STATE = 1 << 18
};

size_t
inflate_extra(enum inflate_kind kind, uint64_t packed_size)
{
    return kind == INFLATE_ZSTD ? packed_size + ZSTD_STATE
                                : (size_t)PIECE + ZLIB_STATE;
}

/* Linkers put streams one after another. */
static int
zlib_pieces(z_stream *z, const struct inflate_from *from, uint8_t *piece,
            uint8_t *place, size_t size)
{
    uint64_t read = 0;
    size_t done = 0, had;
    int rc = Z_OK;

    while (rc == Z_OK || rc == Z_BUF_ERROR) {
        if (z->avail_in == 0) {
            uint64_t left = from->size - read;

            z->next_in = piece;
            z->avail_in = (uInt)(left < PIECE ? left : PIECE);
            if (left == 0 || elf_read_at(from->elf, from->offset + read,
                                         z->avail_in, piece) != 0)
                return -1;
            read += z->avail_in;
        }
        had = size - done < INT_MAX ? size - done : INT_MAX;
        z->next_out = place + done;
        z->avail_out = (uInt)had;
        rc = inflate(z, Z_NO_FLUSH);
        had -= z->avail_out;
        done += had;
        if (rc == Z_BUF_ERROR && z->avail_in > 0)
            return -1; /* more comes out than was claimed */
        if (rc == Z_STREAM_END && done < size)
            rc = inflateReset(z);
    }
    return rc == Z_STREAM_END && done == size ? 0 : -1;
}

static int
inflate_zlib(const struct inflate_from *from, void *place, size_t size)
{
    uint8_t *piece = mem_alloc(PIECE);
    z_stream z;
    int rc = -1;

    memset(&z, 0, sizeof(z));
    if (piece && inflateInit(&z) == Z_OK) {
        rc = zlib_pieces(&z, from, piece, place, size);
        (void)inflateEnd(&z);
    }
    mem_free(piece);
    return rc;
}

/* In one go: no window besides the place itself. */
static int
inflate_zstd(const struct inflate_from *from, void *place, size_t size)
{
    uint8_t *packed = mem_alloc(from->size);
    int rc = -1;

    if (packed &&
        elf_read_at(from->elf, from->offset, from->size, packed) == 0 &&
        ZSTD_decompress(place, size, packed, from->size) == size)
        rc = 0;
    mem_free(packed);
    return rc;
}

int
inflate_all(enum inflate_kind kind, const struct inflate_from *from,
            void *place, size_t size)
{
    switch (kind) {
    case INFLATE_ZLIB:
        return inflate_zlib(from, place, size);
    case INFLATE_ZSTD:
        return inflate_zstd(from, place, size);
    default:
        return -1;
    }
}
