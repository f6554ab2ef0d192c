/*
 * addr2line_names.h - turns the answer of DWARF or an index into the frames of
 * `addr2line -f -i -C`, named as llvm-symbolizer does.
 *
 * A function without a linkage name (static, in an anonymous namespace, a
 * lambda) gets the name of the symbol at the address, unless it was inlined:
 * then the symbol is another function's, and it gets its own name.  (Binutils
 * gives it that symbol too, once for each.)
 */
#ifndef HW_ADDR2LINE_NAMES_H
#define HW_ADDR2LINE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "names.h"
#include "reader.h"

struct addr2line_names;
struct error;

/* The functions and lines at one address, from DWARF or an index. */

struct code_frame {
    struct span name; /* "": DWARF has none */
    struct span file; /* "" unknown */
    uint32_t line;    /* 0 unknown */
    bool linkage;     /* name is a linkage name, or was before demangling */
    bool readable;    /* name is demangled already */
    bool inlined;
    bool lasting; /* texts outlive the answer where they are, and end with a
                   * NUL */
    /* Numbers given by the caller's text callback; the texts are "#" then. */
    uint32_t name_number, file_number;
};

/* Innermost first.  A line without a function is one frame with the name "". */
struct code_chain {
    const struct code_frame *frames;
    uint32_t count; /* at most NAMES_INLINE_MAX innermost ones; 0: unknown */
};

/* Makes a name readable; the result lasts as long as names.  NULL without
 * memory. */
struct addr2line_reader {
    const char *(*readable)(void *arg, struct span name);
    void *arg;
};

/* reader NULL: all names are readable already. */
struct addr2line_names *
addr2line_names_new(const struct addr2line_reader *reader, struct error *err);
void addr2line_names_free(struct addr2line_names *names); /* NULL is fine */

/* A name, readable already or not. */
struct addr2line_name {
    struct span text; /* "": none */
    bool readable;
    bool lasting;    /* stays where it is, terminated by a NUL */
    uint32_t number; /* given by the text callback, if lasting; 0: none yet */
};

/* The numbers of a frame's texts; 0: none. */
struct addr2line_numbers {
    uint32_t function, file;
};

/*
 * The frames of one address, at least one, innermost first; symbol contains it.
 * An unknown function is "??" among others, and "" if alone.  -1 without
 * memory.  Texts last as long as names.
 */
int addr2line_names_frames(struct addr2line_names *names,
                           const struct code_chain *chain,
                           const struct addr2line_name *symbol,
                           struct frame frames[NAMES_INLINE_MAX],
                           struct addr2line_numbers numbers[NAMES_INLINE_MAX],
                           uint32_t *count);

/* One name, demangled and without its version.  Each is made once; lasting ones
 * are used in place.  NULL without memory. */
const char *addr2line_names_readable(struct addr2line_names *names,
                                     const struct addr2line_name *name);

#endif
