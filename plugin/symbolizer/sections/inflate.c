/* inflate.c - see inflate.h. */
#include "inflate.h"

#include <stdbool.h>

#include <libdeflate.h>
#include <zstd.h>

#include "elf_file.h"
#include "memory.h"

enum { STATE = 1 << 18 }; /* a bound on what the libraries allocate */

size_t
inflate_extra(uint64_t packed_size)
{
    return packed_size + STATE;
}

/* Linkers put several streams one after another. */
static bool
zlib_streams(struct libdeflate_decompressor *z, const uint8_t *packed,
             size_t left, uint8_t *place, size_t size)
{
    size_t taken, made;

    do {
        if (libdeflate_zlib_decompress_ex(z, packed, left, place, size, &taken,
                                          &made) != LIBDEFLATE_SUCCESS)
            return false;
        packed += taken;
        left -= taken;
        place += made;
        size -= made;
    } while (size > 0 && left > 0);
    return size == 0;
}

static int
inflate_zlib(const uint8_t *packed, size_t packed_size, void *place,
             size_t size)
{
    struct libdeflate_decompressor *z = libdeflate_alloc_decompressor();
    bool done = z && zlib_streams(z, packed, packed_size, place, size);

    libdeflate_free_decompressor(z);
    return done ? 0 : -1;
}

/* At once: needs no window besides the place itself. */
int
inflate_all(enum inflate_kind kind, const struct inflate_from *from,
            void *place, size_t size)
{
    uint8_t *packed = kind != INFLATE_ZLIB && kind != INFLATE_ZSTD
                          ? NULL
                          : mem_alloc(from->size);
    int rc = -1;

    if (!packed ||
        elf_read_at(from->elf, from->offset, from->size, packed) != 0)
        goto out;
    if (kind == INFLATE_ZLIB)
        rc = inflate_zlib(packed, from->size, place, size);
    else if (ZSTD_decompress(place, size, packed, from->size) == size)
        rc = 0;
out:
    mem_free(packed);
    return rc;
}
