/*
 * addr2line_names.h - from what DWARF or an index says of an address to the
 * frames of `addr2line -f -i -C`, named as llvm-symbolizer names them.
 *
 * A function without a linkage name (static, in an anonymous namespace, a
 * lambda) has the name of the symbol that holds the address, but where it was
 * inlined: there that symbol is another function's, and it has its own name.
 * (Binutils calls it after that symbol, too, once for each.)
 */
#ifndef HW_ADDR2LINE_NAMES_H
#define HW_ADDR2LINE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "code_chain.h"
#include "names.h"

struct addr2line_names;
struct error;

/* Makes a name readable; what it answers lasts as names do.  NULL without
 * memory. */
struct addr2line_reader {
    const char *(*readable)(void *arg, struct span name);
    void *arg;
};

/* reader NULL: all names come readable. */
struct addr2line_names *
addr2line_names_new(const struct addr2line_reader *reader, struct error *err);
void addr2line_names_free(struct addr2line_names *names); /* NULL is fine */

/* A name that is readable already, or is to be made so. */
struct addr2line_name {
    struct span text; /* "" none */
    bool readable;
    bool lasting;    /* and it stays where it is, with a NUL behind it */
    uint32_t number; /* somebody's, of a lasting one; 0: it has none */
};

/* The numbers that a frame's texts came with; 0: none. */
struct addr2line_numbers {
    uint32_t function, file;
};

/*
 * The frames of one address, at least one, innermost first; symbol is what
 * holds it.  A function that nobody knows is "??" among others, and "" alone.
 * -1 without memory.  Texts last as names do.
 */
int addr2line_names_frames(struct addr2line_names *names,
                           const struct code_chain *chain,
                           const struct addr2line_name *symbol,
                           struct frame frames[NAMES_INLINE_MAX],
                           struct addr2line_numbers numbers[NAMES_INLINE_MAX],
                           uint32_t *count);

/* One name, demangled and without its version, each only once but for lasting
 * ones, which are as they came; NULL without memory. */
const char *addr2line_names_readable(struct addr2line_names *names,
                                     const struct addr2line_name *name);

#endif
