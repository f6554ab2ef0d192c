/*
 * bfd_names.h - libbfd's names of an address: DWARF lines and inlined frames,
 * as `addr2line -f -i` prints them.
 *
 * Besides the demangler's, this is the only file that uses libbfd.  libbfd
 * gives a function without a linkage name the symbol at the first address that
 * is asked for in it, and the function's own name afterwards.
 */
#ifndef HW_BFD_NAMES_H
#define HW_BFD_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "names.h"
#include "reader.h"

struct bfd_names;
struct code_chain;
struct error;
struct readable_names;

/* The frames of one address, innermost first; texts last until the next
 * question.  An unknown function is NULL. */
struct bfd_chain {
    struct frame frames[NAMES_INLINE_MAX];
    uint32_t count;
};

/* The path of the split debug file of the object behind fd, found by build-id,
 * then by .gnu_debuglink, with build-id or CRC checked.  path is the object's,
 * as the file may lie near it.  NULL: there is none, or it cannot be
 * determined.  The caller frees it with free(). */
char *bfd_debug_file(int fd, const char *path);

/* Opens the file behind fd, which has DWARF; the caller still closes fd. */
struct bfd_names *bfd_names_new(int fd, const char *path, struct error *err);
void bfd_names_free(struct bfd_names *names); /* NULL is fine */

/* Asks for an address.  -1 if memory ran out: the answer would be incomplete.
 */
int bfd_names_ask(struct bfd_names *names, uint64_t address,
                  struct bfd_chain *chain);

/* A symbol, demangled and without its version.  libiberty allocates it, so the
 * caller frees it with free().  NULL: no memory. */
char *bfd_names_readable(const char *symbol);

/*
 * Readable forms of names: demangled, without version, each made once.
 *
 * Demangling takes most of the time of many names, so expected names are
 * demangled by several threads.  All calls come from one thread.
 */

/* The texts made take at most bytes_max.  NULL: out of memory. */
struct readable_names *readable_names_new(size_t bytes_max);
void readable_names_free(struct readable_names *names); /* NULL is fine */

/* addr2line_reader.readable with a struct readable_names: the readable form of
 * name, which is not "". */
const char *readable_names_get(void *arg, struct span name);

/* Expects the linkage names of chain, for readable_names_make.  -1 without
 * memory. */
int readable_names_expect(struct readable_names *names,
                          const struct code_chain *chain);

/* Makes the expected names.  A name that failed is tried again when it is asked
 * for. */
void readable_names_make(struct readable_names *names);

#endif
