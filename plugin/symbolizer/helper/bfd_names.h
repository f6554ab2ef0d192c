/*
 * bfd_names.h - libbfd's names of an address: DWARF lines and inlined frames,
 * as `addr2line -f -i` prints them.
 *
 * With the demangler's, the only file that uses libbfd.  libbfd gives a
 * function without a linkage name the symbol at the first address asked for in
 * it, and the function's own name afterwards.
 */
#ifndef HW_BFD_NAMES_H
#define HW_BFD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"

struct bfd_names;
struct error;

/* One address's frames, innermost first; texts last until the next question.
 * An unknown function is NULL. */
struct bfd_chain {
    struct frame frames[NAMES_INLINE_MAX];
    uint32_t count;
};

/* The path of the split debug file of the object behind fd, with build-id or
 * CRC checked: found by build-id, then by .gnu_debuglink.  path is the
 * object's, as the file may lie near it.  NULL: none, or it cannot be found
 * out.  The caller frees it with free(). */
char *bfd_debug_file(int fd, const char *path);

/* Opens the file behind fd, which has DWARF; the caller still closes fd. */
struct bfd_names *bfd_names_new(int fd, const char *path, struct error *err);
void bfd_names_free(struct bfd_names *names); /* NULL is fine */

/* Asks for an address.  -1 if memory ran out: the answer would be incomplete.
 */
int bfd_names_ask(struct bfd_names *names, uint64_t address,
                  struct bfd_chain *chain);

/* A symbol, demangled and without its version; from libiberty, so the caller
 * frees it with free().  NULL: out of memory. */
char *bfd_names_readable(const char *symbol);

#endif
