/*
 * cfi_section.h - the entries of .eh_frame and .debug_frame (LSB core,
 * "Exception Frames"; DWARF 5, 6.4.1): which code each describes, and its
 * instructions.
 *
 * Borrows the section's bytes, which may be anything.
 */
#ifndef HW_CFI_SECTION_H
#define HW_CFI_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct cfi_section {
    const uint8_t *bytes;
    size_t size;
    uint64_t address; /* address of its first byte in the object */
    bool debug;       /* it is .debug_frame */
};

/* Common to many functions (CIE). */
struct cfi_common {
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_column;
    uint8_t encoding; /* encoding of its functions' addresses (DW_EH_PE_*) */
    bool sized;       /* 'z': functions have augmentation data */
    bool signal;      /* 'S': the frame of a signal */
    struct reader instructions; /* the instructions that all its functions begin
                                 * with */
};

/* One run of code (FDE). */
struct cfi_function {
    uint64_t start, end; /* addresses in the object */
    uint64_t common;     /* offset of its CIE in the section */
    uint64_t at;         /* offset of itself */
    struct reader instructions;
};

/* Reads the entry at *at, and sets *at to the next one's.  false: there is
 * none. *is_function: out is filled; otherwise it was a CIE, or unusable.
 * last: the CIE that was read last, to be kept between calls. */
struct cfi_last {
    uint64_t at;
    bool valid;
    struct cfi_common common;
};
bool cfi_section_next(const struct cfi_section *section, uint64_t *at,
                      struct cfi_last *last, struct cfi_function *out,
                      bool *is_function);

/* Reads an address with a DW_EH_PE_* encoding; r must lie in the section. */
uint64_t cfi_take_pointer(struct reader *r, const struct cfi_section *section,
                          uint8_t encoding);

#endif
