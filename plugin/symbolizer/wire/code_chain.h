/*
 * code_chain.h - the functions and lines at one address, from DWARF or an
 * index.
 */
#ifndef HW_CODE_CHAIN_H
#define HW_CODE_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

struct code_frame {
    struct span name; /* "": DWARF has none */
    struct span file; /* "" unknown */
    uint32_t line;    /* 0 unknown */
    bool linkage;     /* name is a linkage name, or was before demangling */
    bool readable;    /* name is demangled already */
    bool inlined;
    bool lasting; /* texts stay where they are, terminated by a NUL */
    /* Given by an index's text callback; then the text is "#". */
    uint32_t name_number, file_number;
};

/* Innermost first.  A line without a function is one frame with the name "". */
struct code_chain {
    const struct code_frame *frames;
    uint32_t count; /* at most NAMES_INLINE_MAX innermost ones; 0: unknown */
};

#endif
