/*
 * code_chain.h - what is known of the code at one address: by DWARF, or by an
 * index made of it.
 */
#ifndef HW_CODE_CHAIN_H
#define HW_CODE_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

struct code_frame {
    struct span name; /* "" when DWARF has none */
    struct span file; /* "" unknown */
    uint32_t line;    /* 0 unknown */
    bool linkage;     /* name is a linkage name, or was before it was made
                         readable */
    bool readable;    /* name is demangled already */
    bool inlined;
    bool lasting; /* texts stay where they are, with a NUL behind them */
    /* Of texts that somebody took from an index and numbered: they are "#". */
    uint32_t name_number, file_number;
};

/* Innermost first.  Without a function, but with a line, there is one frame
 * with the name "". */
struct code_chain {
    const struct code_frame *frames;
    uint32_t count; /* at most NAMES_INLINE_MAX: the innermost; 0: unknown */
};

#endif
