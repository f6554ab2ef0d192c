/*
 * code_chain.h - what is known of the code at one address: by DWARF, or by an
 * index made of it.
 */
#ifndef HW_CODE_CHAIN_H
#define HW_CODE_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <string.h>

#include "reader.h"

struct code_frame {
    uint64_t entry;   /* which function, or place it was inlined at: equal
                         only for the same one of the same file */
    uint64_t low;     /* where its first range starts; 0: where its symbol
                         does, if that is not of a part moved away */
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

/* Whether that is the symbol of a function's part that was moved away. */
static inline bool
code_is_cold(struct span symbol)
{
    static const char plain[] = ".cold", readable[] = ".cold]";
    size_t size = sizeof(plain) - 1;

    if (symbol.size > size &&
        memcmp(symbol.data + symbol.size - size, plain, size) == 0)
        return true;
    size = sizeof(readable) - 1;
    return symbol.size > size &&
           memcmp(symbol.data + symbol.size - size, readable, size) == 0;
}

#endif
