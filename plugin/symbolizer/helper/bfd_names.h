/*
 * bfd_names.h - what libbfd calls an address: DWARF lines and inlined frames,
 * as `addr2line -f -i` prints them.
 *
 * The only file, with the demangler's, that knows libbfd.  Addresses must be
 * asked in ascending order: binutils takes the name of a function without a
 * linkage name from the first address asked in it.
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

/* Opens the object behind fd (which stays the caller's); path is where it is
 * said to be, and only directs the search for split debug files. */
struct bfd_names *bfd_names_new(int fd, const char *path, struct error *err);
void bfd_names_free(struct bfd_names *names); /* NULL is fine */

/* The split debug file, build-id or CRC checked, or NULL: by the object's
 * build-id first, then by its .gnu_debuglink. */
const char *bfd_names_debug_file(const struct bfd_names *names);

/* What `addr2line -f -i` says of an address. */
void bfd_names_ask(struct bfd_names *names, uint64_t address,
                   struct bfd_chain *chain);

/* A symbol demangled and without its version; the caller frees it with free(),
 * for libiberty allocates it.  NULL: out of memory. */
char *bfd_names_readable(const char *symbol);

#endif
