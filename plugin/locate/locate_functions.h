/*
 * locate_functions.h - where a file's functions are, without symbols.
 *
 * .eh_frame_hdr has a table of all functions that can be unwound, sorted by
 * their addresses (LSB core, "Exception Frames"); it survives stripping.
 */
#ifndef HW_LOCATE_FUNCTIONS_H
#define HW_LOCATE_FUNCTIONS_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct elf_file;

/* The functions of a file; zeroed: of none. */
struct locate_functions {
    const struct elf_file *elf; /* borrowed */
    uint64_t base;              /* addresses are relative to it */
    uint64_t offset, count;     /* of the table, in the file */
    uint8_t *loaded;            /* the table, or NULL: it is read by entries */
};

/* Finds the table; false: there is none, or none that is understood. */
bool locate_functions_init(struct locate_functions *functions,
                           const struct elf_file *elf);
/* Keeps the table in memory, for many questions; false: it is too long, or
 * cannot be read. */
bool locate_functions_load(struct locate_functions *functions);
void locate_functions_fini(struct locate_functions *functions);

/* Whether a function starts there. */
bool locate_functions_start(const struct locate_functions *functions,
                            uint64_t address);
/* The first function that starts at or behind an address. */
bool locate_functions_next(const struct locate_functions *functions,
                           uint64_t address, uint64_t *start);
/* The function around address: [*start, *end). */
bool locate_functions_around(const struct locate_functions *functions,
                             uint64_t address, uint64_t *start, uint64_t *end);

/* Little-endian, as instructions and their operands are. */
static inline uint32_t
locate_load_u32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

#endif
