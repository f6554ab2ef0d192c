/*
 * bfd_names.h - what libbfd calls an address: DWARF lines and inlined frames,
 * as `addr2line -f -i` prints them.
 *
 * The only file, with the demangler's, that knows libbfd.  It calls a function
 * without a linkage name after the symbol at the first address that it is asked
 * for in it, and by its own name afterwards.
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
 * A function that libbfd does not know is NULL. */
struct bfd_chain {
    struct frame frames[NAMES_INLINE_MAX];
    uint32_t count;
};

/* Where the split debug file of the object behind fd is, build-id or CRC
 * checked: by its build-id first, then by its .gnu_debuglink.  path is where
 * the object is said to be, for it may lie near.  NULL: none, or not to be
 * found out; the caller frees it with free(). */
char *bfd_debug_file(int fd, const char *path);

/* Opens the file behind fd, which stays the caller's and has DWARF in it. */
struct bfd_names *bfd_names_new(int fd, const char *path, struct error *err);
void bfd_names_free(struct bfd_names *names); /* NULL is fine */

/* What `addr2line -f -i` says of an address; -1 when memory ran out on the way,
 * for then it would only say less. */
int bfd_names_ask(struct bfd_names *names, uint64_t address,
                  struct bfd_chain *chain);

/* A symbol demangled and without its version; the caller frees it with free(),
 * for libiberty allocates it.  NULL: out of memory. */
char *bfd_names_readable(const char *symbol);

#endif
