/*
 * inflate.h - inflates a compressed section into a place of fixed size.
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

/* Additional memory needed meanwhile, in bytes. */
size_t inflate_extra(uint64_t packed_size);

int inflate_all(enum inflate_kind kind, const struct inflate_from *from,
                void *place, size_t size);

#endif
