/*
 * addr2line_names.h - from what DWARF or an index says of an address to the
 * frames that `addr2line -f -i -C` prints for it.
 *
 * Binutils calls a C++ function without a linkage name (static, in an anonymous
 * namespace, a lambda) after the symbol at the first address where it is the
 * innermost one.  It keeps that name if the symbol starts where the function
 * does; otherwise (it was inlined, or this is its cold part) the name is for
 * that one address, and its own is printed from then on.  So the answers depend
 * on what was asked before: to be asked in ascending order, as addr2line is to
 * compare.
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

/* The symbol that holds an address. */
struct addr2line_symbol {
    struct addr2line_name name;
    uint64_t start;
    bool cold; /* code_is_cold, where name has only a number */
};

/* The numbers that a frame's texts came with; 0: none. */
struct addr2line_numbers {
    uint32_t function, file;
};

/*
 * The frames of one address, at least one, innermost first.  A function that
 * nobody knows is "??" among others, and "" alone.  -1 without memory.  Texts
 * last as names do.
 */
int addr2line_names_frames(struct addr2line_names *names,
                           const struct code_chain *chain,
                           const struct addr2line_symbol *symbol,
                           struct frame frames[NAMES_INLINE_MAX],
                           struct addr2line_numbers numbers[NAMES_INLINE_MAX],
                           uint32_t *count);

/* One name, demangled and without its version, each only once but for lasting
 * ones, which are as they came; NULL without memory. */
const char *addr2line_names_readable(struct addr2line_names *names,
                                     const struct addr2line_name *name);

#endif
